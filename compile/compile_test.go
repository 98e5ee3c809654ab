package compile_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// text is a Sink that collects the intermediate script of what it is given,
// thread by thread.
type text struct {
	events []format.Event
	header *format.Header
}

func (s *text) Write(events []format.Event) error {
	for i := range events {
		s.events = append(s.events, events[i].Clone())
	}
	return nil
}

func (s *text) Close(h *format.Header) error {
	s.header = h
	return nil
}

func (s *text) String() string {
	var b bytes.Buffer
	w := script.NewIntermediateWriter(&b, s.header)
	if err := w.Write(s.events); err != nil {
		return err.Error()
	}
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	return b.String()
}

// calls returns the lines of the calls, without times, edges and notes.
func (s *text) calls() string {
	var b strings.Builder
	for line := range strings.Lines(s.String()) {
		if call, _, ok := strings.Cut(line, " <"); ok && line[0] != '#' {
			fmt.Fprintln(&b, call)
		}
	}
	return b.String()
}

// compiled compiles a script and returns its intermediate form.
func compiled(t *testing.T, input string, o compile.Options) (*text, *compile.Report) {
	t.Helper()
	s := &text{}
	r, err := compile.Compile(script.NewReader(strings.NewReader(input), "test.txt"), new(testkit.Spool), s, o)
	require.NoError(t, err)
	return s, r
}

// The figures 3 and 4 of "May: Pianola".
func TestPaper(t *testing.T) {
	input, err := os.ReadFile("../testdata/paper.txt")
	require.NoError(t, err)
	want, err := os.ReadFile("../testdata/paper.golden")
	require.NoError(t, err)
	got, r := compiled(t, string(input), compile.Options{Paths: compile.Flat, Bare: true, Compensate: true})
	require.Equal(t, string(want), got.String())
	require.Equal(t, []compile.Substitution{
		{Original: "/home/john/somefile.txt", Mapped: "pianola_tmp1"},
		{Original: "/home/john/otherfile.txt", Mapped: "pianola_tmp2"},
	}, r.Substitutions)
	require.Zero(t, r.Unexplained)
}

// Each file of testdata is a script; its golden file holds the intermediate
// script, and below it the report.
func TestGolden(t *testing.T) {
	testkit.Goldens(t, func(t *testing.T, input []byte) []byte {
		var b bytes.Buffer
		for _, paths := range []compile.Paths{compile.Tree, compile.Flat} {
			s, r := compiled(t, string(input), compile.Options{Paths: paths, Compensate: true})
			b.WriteString([]string{"== tree\n", "== flat\n"}[paths] + s.String() + "== report\n")
			_, err := r.WriteTo(&b)
			require.NoError(t, err)
		}
		return b.Bytes()
	})
}

// Processes that share descriptors are announced; threads are not.
func TestSharing(t *testing.T) {
	const fork = "# pianola script 1\n1 0.000000001 clone(%s) = 2 <0.000000001>\n2 0.000000001 exit(0) = ?\n"
	for flags, want := range map[string]string{"CLONE_FILES|SIGCHLD": "1", "CLONE_FILES|CLONE_THREAD": "", "SIGCHLD": ""} {
		s, _ := compiled(t, fmt.Sprintf(fork, flags), compile.Options{})
		got, _ := s.header.Value(format.MetaSharing)
		require.Equal(t, want, got, flags)
	}
}

// Bytes that a pending call wrote at the end of a file were not there at the start.
func TestGrowthInFlight(t *testing.T) {
	s, report := compiled(t, `# pianola script 1
10 0.000000001 openat(AT_FDCWD, "/w/a", O_RDWR) = 3 <0.000001000> {type=reg size=100}
10 0.000000001 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 11 <0.000001000>
10 0.000010000 pwrite64(3, 0x1, 10, 100) = 10 <0.000001000>
11 0.000050000 lseek(3, 0, SEEK_END) = 120 <0.000001000>
10 -0.000040000 pwrite64(3, 0x1, 10, 110) = 10 <0.000090000>
11 0.000100000 lseek(3, 0, SEEK_END) = 120 <0.000001000>
`, compile.Options{})
	require.Zero(t, report.Raised)
	require.Len(t, s.header.Files, 2, "with its directory")
	require.EqualValues(t, 100, s.header.Files[1].Size)
}

// A fork copies the descriptors: it waits for what other threads have opened and closed,
// and a later close waits for it.
func TestForkAmongThreads(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
10 0.000000000 openat(AT_FDCWD, "/d/a", O_RDWR) = 3 <0.000010000>
10 0.000020000 clone(CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD) = 11 <0.000010000>
11 0.000020000 openat(AT_FDCWD, "/d/b", O_RDWR) = 4 <0.000010000>
11 0.000020000 close(3) = 0 <0.000010000>
10 0.000020000 clone(0) = 12 <0.000010000>
12 0.000020000 read(4, 0x1000, 10) = 10 <0.000010000>
11 0.000020000 close(4) = 0 <0.000010000>
12 0.000020000 pread64(4, 0x1000, 10, 0) = 10 <0.000010000>
`, compile.Options{})
	text := s.String()
	require.Regexp(t, `1 clone \( 0 \) = 3 .*after=2:1:descriptor`, text)
	require.Regexp(t, `2 close \( 4 \) = 0 .*after=1:2:descriptor`, text)
}
