package compile_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// Symbolic links that are discovered one by one, each below the last, are learned up to
// a number of passes. Later ones are unexplained, and the passes agree on all names.
func TestManyLinks(t *testing.T) {
	links := func(n int) string {
		input, path := "# pianola script 1\n# cwd: \"/\"\n", ""
		for i := range n {
			path += fmt.Sprintf("/l%d", i)
			input += fmt.Sprintf("1 0.000001000 stat(\"%s/x\", 0x1) = 0 <0.000001000>\n", path)
			input += fmt.Sprintf("1 0.000001000 readlink(\"%s\", 0x1, 100) = 2 <0.000001000> {target=\"t%d\"}\n", path, i)
		}
		return input
	}
	s, r := compiled(t, links(4), compile.Options{})
	require.Contains(t, s.String(), "# file: \"t0/t1/t2/t3/x\"")
	require.Zero(t, r.Unexplained)

	s, r = compiled(t, links(20), compile.Options{})
	require.Contains(t, s.String(), "# file: \"t0/t1/t2/t3/x\"")
	require.Positive(t, r.Unexplained)
}

// faulty is a Sink that takes so many batches.
type faulty struct {
	text
	batches int
	closed  bool
}

var errFaulty = errors.New("no room")

func (s *faulty) Write(events []format.Event) error {
	if s.batches--; s.batches < 0 {
		return errFaulty
	}
	return nil
}

func (s *faulty) Close(*format.Header) error {
	s.closed = true
	return nil
}

// endless is a Reader that never ends.
type endless struct{ header format.Header }

func (e *endless) Header() *format.Header { return &e.header }

func (e *endless) Read(events []format.Event) (int, error) {
	for i := range events {
		events[i] = format.Event{Op: format.OpRename, TID: 1, Str: [format.MaxStrings][]byte{[]byte("/a"), []byte("/b")}}
	}
	return len(events), nil
}

// A Sink that fails ends the compilation, and is not closed.
func TestSinkFault(t *testing.T) {
	input := string(database(20_000, 1))
	for _, batches := range []int{0, 1, 10} {
		s := &faulty{batches: batches}
		_, err := compile.Compile(script.NewReader(strings.NewReader(input), "test.txt"), new(testkit.Spool), s, compile.Options{})
		require.ErrorIs(t, err, errFaulty)
		require.False(t, s.closed)
	}
}

// A trace that Accept refuses is not written.
func TestAccept(t *testing.T) {
	refused := errors.New("refused")
	s := &faulty{batches: 1000}
	r, err := compile.Compile(script.NewReader(strings.NewReader(string(database(2000, 1))), "test.txt"), new(testkit.Spool), s, compile.Options{
		Accept: func(r *compile.Report) error {
			require.EqualValues(t, 2000, r.Events)
			return refused
		},
	})
	require.Equal(t, refused, err)
	require.EqualValues(t, 2000, r.Events)
	require.False(t, s.closed)
}

// A fault of the recording is returned as it is, after the events before it.
func TestSourceFault(t *testing.T) {
	input := string(database(20_000, 1)) + "nonsense\n"
	r, err := compile.Compile(script.NewReader(strings.NewReader(input), "test.txt"), new(testkit.Spool), &faulty{}, compile.Options{})
	require.EqualError(t, err, "test.txt:20004: expected a thread id")
	require.IsType(t, &script.SyntaxError{}, err)
	require.EqualValues(t, 20_000, r.Events)

	_, err = compile.Compile(script.NewReader(strings.NewReader(""), "test.txt"), new(testkit.Spool), &faulty{}, compile.Options{})
	require.EqualError(t, err, "no events in the recording")
}

// full is a temporary file without room.
type full struct{ testkit.Spool }

func (*full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// A recording without an end needs a temporary file, whose fault ends the
// compilation.
func TestTemporaryFault(t *testing.T) {
	_, err := compile.Compile(&endless{}, &full{}, &faulty{}, compile.Options{})
	require.ErrorIs(t, err, io.ErrShortWrite)
}
