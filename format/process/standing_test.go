package process

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// stood returns the lines of a Standing after events. The events are lines in the form
// of simulated.
func stood(t *testing.T, s *Standing, lines string) string {
	t.Helper()
	for line := range strings.SplitSeq(lines, "; ") {
		e := parsedPaths(t, line)
		s.Apply(&e)
	}
	var h format.Header
	s.Header(&h)
	return strings.TrimSuffix(string(h.Append(nil)), "\n")
}

// parsedPaths is parsed for calls with several paths.
func parsedPaths(t *testing.T, line string) format.Event {
	t.Helper()
	e := parsed(t, line)
	call, _, _ := strings.Cut(line, " = ")
	n := 0
	for _, word := range strings.Fields(call)[2:] {
		var v int64
		if _, err := fmt.Sscan(word, &v); err != nil {
			e.Str[n] = []byte(word)
			n++
		}
	}
	return e
}

func TestStanding(t *testing.T) {
	begin := &format.Header{Meta: []format.Meta{{Key: format.MetaCwd, Value: `"/w"`}, {Key: format.MetaUmask, Value: "0022"}, {Key: format.MetaCommand, Value: "/bin/x -y"}},
		Descriptors: []format.Descriptor{{Process: 1, FD: 0, Flags: format.RDONLY, Path: "/dev/null"}}}
	const one = `# process: 1 threads=1 cwd="/w" umask=0022 command="/bin/x -y"
# fd: 1 0 O_RDONLY 0 "/dev/null"`
	for name, test := range map[string]struct{ lines, want string }{
		"nothing":                       {"1 close 99 = -9", one},
		"an open and its offset":        {"1 open f 4 = 3; 1 write 3 0 10 = 10; 1 read 3 0 4 = 4", one + "\n# fd: 1 3 O_RDWR 14 \"/w/f\""},
		"a positioned read":             {"1 open f 4 = 3; 1 pread64 3 0 10 5 = 10", one + "\n# fd: 1 3 O_RDWR 0 \"/w/f\""},
		"what is closed is gone":        {"1 open f 4 = 3; 1 close 3 = 0", one},
		"a renamed file":                {"1 open f 4 = 3; 1 rename f g = 0", one + "\n# fd: 1 3 O_RDWR 0 \"/w/g\""},
		"a renamed directory":           {"1 open d/e/f 4 = 3; 1 rename d h = 0", one + "\n# fd: 1 3 O_RDWR 0 \"/w/h/e/f\""},
		"a file with another's name":    {"1 open f 4 = 3; 1 open g 4 = 4; 1 rename f g = 0", one + "\n# fd: 1 3 O_RDWR 0 \"/w/g\"\n# fd: 1 4 O_RDWR 0 \"/w/g (deleted)\""},
		"a removed file, and a new one": {"1 open f 4 = 3; 1 unlink f = 0; 1 open f 36 = 4", one + "\n# fd: 1 3 O_RDWR 0 \"/w/f (deleted)\"\n# fd: 1 4 O_RDWR 0 \"/w/f\""},
		"a directory that it is in":     {"1 chdir d = 0; 1 rename /w/d /w/e = 0", strings.Replace(one, `"/w"`, `"/w/e"`, 1)},
		"a pipe":                        {"1 pipe 17179869187 = 0", one + "\n# fd: 1 3 O_RDONLY 0 \"pipe:[4294967297]\"\n# fd: 1 4 O_WRONLY 0 \"pipe:[4294967297]\""},
		"a child":                       {"1 open f 4 = 3; 1 fork = 2; 2 close 3 = 0; 2 umask 7 = 18", one + "\n# fd: 1 3 O_RDWR 0 \"/w/f\""},
	} {
		t.Run(name, func(t *testing.T) {
			got := stood(t, NewStanding(begin), test.lines)
			if name == "a child" {
				require.Contains(t, got, test.want[:strings.IndexByte(test.want, '\n')])
				require.Contains(t, got, "# process: 2 threads=2 cwd=\"/w\" umask=0007 command=\"/bin/x -y\"\n# fd: 1 0")
				require.NotContains(t, got, "# fd: 2 3")
				require.Contains(t, got, "# fd: 2 0")
				return
			}
			require.Equal(t, test.want, got)
		})
	}
}

// All that a child does up to its exec comes before its parent's vfork returns.
func TestStandingVfork(t *testing.T) {
	s := NewStanding(&format.Header{})
	e := parsedPaths(t, "1 open /f 4 = 3")
	s.Apply(&e)
	e = parsedPaths(t, "2 open /g 4 = 4")
	s.Apply(&e)
	require.False(t, s.Settled())
	got := stood(t, s, "2 close 3 = 0; 1 vfork = 2")
	require.True(t, s.Settled())
	require.Contains(t, got, "# fd: 1 3 O_RDWR 0 \"/f\"\n# fd: 2 4 O_RDWR 0 \"/g\"")
	require.NotContains(t, got, "# fd: 2 3")
}

// A Standing that reads its own output has the same state.
func TestStandingAgain(t *testing.T) {
	first := stood(t, NewStanding(&format.Header{}), "1 open /f 4 = 3; 1 write 3 0 10 = 10; 1 fork = 2; 2 open /g 8196 = 4; 1 chdir /d = 0; 2 umask 7 = 18")
	var h format.Header
	for line := range strings.Lines(first + "\n") {
		require.NoError(t, h.ParseLine([]byte(strings.TrimSuffix(line, "\n"))))
	}
	require.Equal(t, first, stood(t, NewStanding(&h), "1 close 99 = -9"))
}

// Files that come and go leave no names behind.
func TestStandingForgets(t *testing.T) {
	s := NewStanding(&format.Header{})
	keep := parsedPaths(t, "1 open /keep 4 = 3")
	s.Apply(&keep)
	for i := range 3 * standingFiles {
		e := parsedPaths(t, fmt.Sprintf("1 open /file%d 4 = 4", i))
		s.Apply(&e)
		e = parsedPaths(t, "1 close 4 = 0")
		s.Apply(&e)
	}
	last := parsedPaths(t, "1 open /last 4 = 4")
	s.Apply(&last)
	require.LessOrEqual(t, len(s.follower.byName), standingFiles)
	var h format.Header
	s.Header(&h)
	require.Len(t, h.Descriptors, 2)
	require.Equal(t, "/keep", h.Descriptors[0].Path)
	require.Equal(t, "/last", h.Descriptors[1].Path)
}

// A fault on a mapping from before has the name of its file.
func TestStandingMapping(t *testing.T) {
	s := NewStanding(&format.Header{})
	events := []format.Event{
		parsedPaths(t, "1 open /f 4 = 3"),
		{Op: format.OpMmap, TID: 1, Args: [format.MaxArgs]int64{0, 8192, 1, 1, 3, 0}, Ret: 1 << 20},
	}
	for i := range events {
		s.Apply(&events[i])
	}
	fault := func() string {
		e := format.Event{Op: format.OpMapRead, TID: 1, Args: [format.MaxArgs]int64{1<<20 + 4096, 4096, 4096}, Ret: 4096}
		var notes format.Notes
		s.Place(&e, &notes)
		if e.Notes == nil {
			return ""
		}
		return string(e.Notes.Path)
	}
	require.Empty(t, fault())
	s.Header(&format.Header{})
	require.Equal(t, "/f", fault())
}
