package compile

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
)

// nothing is a Sink.
type nothing struct{}

func (nothing) Write([]format.Event) error { return nil }
func (nothing) Close(*format.Header) error { return nil }

// spare returns an empty file.
func spare(t *testing.T) *os.File {
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// simulated runs a script through a model that finds out, and checks that at
// each event no less was counted than the model holds.
func simulated(t *testing.T, text string, o Options) *model {
	t.Helper()
	known := &learned{links: map[string]string{}, named: map[string]bool{}, strays: map[stray]bool{}}
	m := newModel(o, known, nil)
	r := script.NewReader(strings.NewReader(text), "test.txt")
	c := format.NewCausal(r)
	for {
		e, err := c.Next()
		if err == io.EOF {
			return m
		}
		require.NoError(t, err)
		if !m.started {
			m.start(&intake{first: r.Header()}, e)
		}
		m.line++
		m.apply(e)
		require.NoError(t, m.broken)
		for p, held := range m.holds() {
			require.LessOrEqual(t, held, m.budget.taken[p], "%s after line %d", purposeNames[p], e.Line)
		}
	}
}

func repeated(n int, line func(i int) string) string {
	var b strings.Builder
	b.WriteString("# pianola script 1\n# cwd: \"/w\"\n")
	for i := range n {
		b.WriteString(line(i))
	}
	return b.String()
}

// The memory of a small recording grows with its length, for all kinds of recordings.
func TestBudgetGrowsWithInput(t *testing.T) {
	deep := strings.Repeat("/ab", 1300)
	for _, test := range []struct {
		name string
		most int64 // bytes that are held for each byte of the recording
		text string
	}{
		{"names of many components", 250, repeated(20, func(i int) string {
			return fmt.Sprintf("1 0.1 stat(\"/%d%s\", 0x1) = -1 ENOENT (x) <0.1>\n", i, deep)
		})},
		{"one name that is too long", 10, repeated(1, func(int) string {
			return fmt.Sprintf("1 0.1 stat(\"%s\", 0x1) = -1 ENAMETOOLONG (x) <0.1>\n", strings.Repeat("/a", 60000))
		})},
		{"directories entered one by one", 50, repeated(3000, func(int) string {
			return "1 0.1 chdir(\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\") = 0 <0.1>\n"
		})},
		{"forks of a table", 120, repeated(3000, func(i int) string {
			if i < 1500 {
				return fmt.Sprintf("1 0.1 open(\"f\", O_RDONLY) = %d <0.1>\n", i)
			}
			return fmt.Sprintf("%d 0.1 fork() = %d <0.1>\n", i-1499, i-1498)
		})},
		{"attributes", 20, repeated(1000, func(i int) string {
			return fmt.Sprintf("1 0.1 getxattr(\"f\", \"user.%d\", 0x1, 10) = 1 <0.1>\n", i)
		})},
	} {
		t.Run(test.name, func(t *testing.T) {
			known := &learned{links: map[string]string{}, named: map[string]bool{}, strays: map[stray]bool{}}
			m := newModel(Options{}, known, nil)
			require.NoError(t, m.run(take(script.NewReader(strings.NewReader(test.text), "test.txt"), spare(t))))
			held := int64(0)
			for _, bytes := range m.holds() {
				held += bytes
			}
			require.LessOrEqual(t, held, test.most*int64(len(test.text)))
			require.LessOrEqual(t, m.budget.total, 2*test.most*int64(len(test.text)))
		})
	}
}

// The budget counts all memory that is held, for any threads, tables and names.
func TestBudgetCountsAllThatIsHeld(t *testing.T) {
	for _, o := range []Options{{}, {Paths: Flat}, {Key: []byte("0123456789abcdef")}} {
		simulated(t, `# pianola script 1
# cwd: "/w"
1 0.1 openat(AT_FDCWD, "a", O_RDWR|O_CREAT, 0600) = 3 <0.1> {type=reg size=0 new}
1 0.1 clone(SIGCHLD) = 2 <0.1>
1 0.1 clone(CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD) = 3 <0.1>
2 0.1 write(3, 0x1000, 4096) = 4096 <0.1>
1 0.1 read(3, 0x9000, 4096) = 4096 <0.1>
2 0.1 dup2(3, 100) = 100 <0.1>
2 0.1 fcntl(3, F_SETFD, FD_CLOEXEC) = 0 <0.1>
2 0.1 fork() = 4 <0.1>
4 0.1 pwrite64(100, 0x1000, 10, 5) = 10 <0.1>
4 0.1 execve("/usr/bin/x", 0x1, 0x1) = 0 <0.1>
3 0.1 close_range(3, 50, 0) = 0 <0.1>
4 0.1 mkdir("d", 0700) = 0 <0.1>
4 0.1 rename("a", "d/b") = 0 <0.1>
4 0.1 setxattr("d/b", "user.x", 0x1, 1, 0) = 0 <0.1>
2 0.1 pipe([5, 6]) = 0 <0.1>
2 0.1 unlink("d/b") = 0 <0.1>
2 0.1 readlink("/usr/lib/l", "x", 10) = 1 <0.1> {target="y"}
2 0.1 stat("/usr/lib/l/z", 0x1) = 0 <0.1>
1 0.1 io_uring_setup(4, 0, 8, 0) = 9 <0.1> {ring=1}
1 0.1 io_uring_register(9, IORING_REGISTER_FILES, 0x1, 1, "3") = 0 <0.1> {ring=1}
4 0.1 exit_group(0) = ?
`, o)
	}
}

// A thread that comes after ever more threads takes bounded memory.
func TestFollowedIsBounded(t *testing.T) {
	m := newModel(Options{}, &learned{}, nil)
	w := newTies(m.pass)
	one := &thread{num: 1}
	for other := range int32(10 * maxFollowed) {
		one.gap.causes = []cause{{place: place{thread: other + 2}, kind: format.EdgeWake}}
		w.tie(&simEvent{t: one, out: &format.Event{Op: format.OpSync}})
	}
	require.Len(t, one.followed.of, maxFollowed)
}

// A recording that needs more than the limit is refused, by the line that was
// too much and what took the memory.
func TestLimit(t *testing.T) {
	for what, text := range map[string]string{
		"names": repeated(1000, func(i int) string {
			return fmt.Sprintf("1 0.1 stat(\"/none/%d\", 0x1) = -1 ENOENT (x) <0.1>\n", i)
		}),
		"files": repeated(100, func(i int) string {
			return fmt.Sprintf("1 0.1 stat(\"/%d%s\", 0x1) = 0 <0.1>\n", i, strings.Repeat("/"+strings.Repeat("n", 250), 10))
		}),
		"threads": repeated(1000, func(i int) string {
			return fmt.Sprintf("1 0.1 clone(CLONE_FS|CLONE_FILES|CLONE_THREAD) = %d <0.1>\n", i+2)
		}),
		"descriptors": repeated(1000, func(i int) string {
			return fmt.Sprintf("1 0.1 open(\"f\", O_RDONLY) = %d <0.1>\n", i)
		}),
		"waits of threads": repeated(2000, func(i int) string {
			if i < 1000 {
				return fmt.Sprintf("1 0.1 clone(CLONE_FS|CLONE_FILES|CLONE_THREAD) = %d <0.1>\n", i+2)
			}
			return fmt.Sprintf("%d 0.1 stat(\"/a%s\", 0x1) = -1 ENOENT (x) <0.1>\n", i-998, strings.Repeat("/b", 100))
		}),
		"buffers": repeated(3000, func(i int) string {
			return fmt.Sprintf("1 0.1 %s = %d <0.1>\n", []string{`open("f", O_RDWR)`, fmt.Sprintf("pread64(0, %#x, 4096, 0)", 0x10000*i)}[min(i, 1)], 4096*min(i, 1))
		}),
	} {
		t.Run(what, func(t *testing.T) {
			limit := int64(100 << 10)
			if what == "waits of threads" {
				limit = 11 << 18
			}
			_, err := Compile(script.NewReader(strings.NewReader(text), "test.txt"), spare(t), nothing{}, Options{Memory: limit})
			var refused *LimitError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, what, refused.What)
			require.Greater(t, refused.Line, int64(2))
			require.Less(t, refused.Line, int64(strings.Count(text, "\n")))

			// All before that line is no more than the limit.
			before := strings.Join(strings.SplitAfter(text, "\n")[:refused.Line-1], "")
			_, err = Compile(script.NewReader(strings.NewReader(before), "test.txt"), spare(t), nothing{}, Options{Memory: limit})
			require.NoError(t, err)
		})
	}
}

// The tables of rings count, also when all that is held is counted again.
func TestLimitOfRings(t *testing.T) {
	text := "# pianola script 1\n" + repeated(200, func(i int) string {
		return fmt.Sprintf("1 0.1 io_uring_register(4, IORING_REGISTER_FILES_UPDATE, 0x1, 1, \"%d=3\") = 0 <0.1> {ring=%d}\n", format.MaxRegistered-1, i+1)
	})
	_, err := Compile(script.NewReader(strings.NewReader(text), "test.txt"), spare(t), nothing{}, Options{Memory: 10 << 20})
	var refused *LimitError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "waits of threads", refused.What)
}

// Memory that was released stops counting.
func TestLimitOfWhatIsHeld(t *testing.T) {
	text := repeated(10000, func(i int) string {
		switch i % 4 {
		case 0:
			return fmt.Sprintf("1 0.1 open(\"f\", O_RDONLY) = 3 <0.1>\n1 0.1 fork() = %d <0.1>\n", i+2)
		case 1:
			return fmt.Sprintf("%d 0.1 dup(3) = 4 <0.1>\n", i+1)
		case 2:
			return fmt.Sprintf("%d 0.1 exit_group(0) = ?\n", i)
		}
		return "1 0.1 close(3) = 0 <0.1>\n"
	})
	report, err := Compile(script.NewReader(strings.NewReader(text), "test.txt"), spare(t), nothing{}, Options{Memory: 2 << 20})
	require.NoError(t, err)
	require.Equal(t, 2501, report.Threads)
	m := simulated(t, repeated(1, func(int) string { return "1 0.1 getpid() = 1 <0.1>\n" }), Options{})
	require.Less(t, m.budget.total, int64(64<<10))
}
