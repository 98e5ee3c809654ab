package format_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// kept is a writer that counts events, and fails after a number of them.
type kept struct{ n, most int }

var errFull = errors.New("full")

func (k *kept) Write(events []format.Event) error {
	k.n += len(events)
	if k.n > k.most {
		return errFull
	}
	return nil
}

// All events come before the end or a fault, whose error is that of the reader.
func TestCopy(t *testing.T) {
	events := make([]format.Event, 2000)
	for i := range events {
		events[i].Ret = int64(i)
	}
	broken := errors.New("broken")
	for _, end := range []error{io.EOF, broken} {
		want := end
		if end == io.EOF {
			want = nil
		}
		next := int64(0)
		require.Equal(t, want, format.Each(&testkit.Reader{Events: events, Batch: 300, Err: end}, func(e *format.Event) error {
			require.Equal(t, next, e.Ret)
			next++
			return nil
		}))
		require.EqualValues(t, len(events), next)
		k := &kept{most: len(events)}
		require.Equal(t, want, format.Copy(k, &testkit.Reader{Events: events, Batch: 300, Err: end}))
		require.Equal(t, len(events), k.n)
	}
	require.Equal(t, errFull, format.Copy(&kept{most: 100}, &testkit.Reader{Events: events, Batch: 300, Err: io.EOF}))
	calls := 0
	require.Equal(t, errFull, format.Each(&testkit.Reader{Events: events, Batch: 300, Err: io.EOF}, func(*format.Event) error {
		calls++
		return errFull
	}))
	require.Equal(t, 1, calls)
}

// processors runs a test with so many processors at least.
func processors(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// recording is a script with what events can borrow, and with headers in its midst.
func recording() string {
	var b strings.Builder
	b.WriteString("# pianola script 1\n# command: first\n# rank: 3 process=7 node=a\n")
	for range 300 {
		b.WriteString("7 0.000001000 openat(AT_FDCWD, \"a\\n\\\"b\", O_RDONLY) = 3 <0.000001000> {type=reg size=7 target=\"x\\ny\"}\n" +
			"7 0.000001000 read(3, 0x1000, 4096) = 0 <0.000001000>\n" +
			"# process: 8 parent=7\n" +
			"8 0.000001000 rename(\"here\", \"there\") = -1 ENOENT (No such file or directory) <0.000001000> {unknown=9}\n")
	}
	return b.String() + "# lost: 0\n"
}

// An AheadReader returns what its Reader returns, with the header that goes with it.
func TestAhead(t *testing.T) {
	processors(t, 2)
	for _, size := range []int{1, 7, 256, 1000} {
		a := format.NewAhead(script.NewReader(strings.NewReader(recording()), "recording"))
		plain := script.NewReader(strings.NewReader(recording()), "recording")
		want := make([]format.Event, 1)
		got := make([]format.Event, size)
		for {
			n, err := a.Read(got)
			for i := range got[:n] {
				one, err := plain.Read(want)
				require.NoError(t, err)
				require.Equal(t, 1, one)
				if want[0].Line%10 == 1 || want[0].Line != got[i].Line || !bytes.Equal(want[0].Str[0], got[i].Str[0]) {
					require.Equal(t, want[0].Clone(), got[i].Clone())
				}
			}
			if err != nil {
				require.Equal(t, io.EOF, err)
				break
			}
		}
		_, err := plain.Read(want)
		require.Equal(t, io.EOF, err)
		require.Equal(t, plain.Header(), a.Header())
		require.NoError(t, a.Close())
		_, err = a.Read(got)
		require.Equal(t, io.EOF, err)
		require.Equal(t, plain.Header(), a.Header())
	}
}

// Errors come after the events before them.
func TestAheadError(t *testing.T) {
	broken := errors.New("broken")
	for _, n := range []int{1, 2} {
		processors(t, n)
		events := testkit.Application(1, 1)
		a := format.NewAhead(&testkit.Reader{Events: events, Batch: 5, Err: broken})
		got, err := testkit.ReadAll(a, 7)
		require.Equal(t, broken, err)
		require.Len(t, got, len(events))
		require.NoError(t, a.Close())
	}
}

// Close ends the reading of a source without an end.
func TestAheadClose(t *testing.T) {
	processors(t, 2)
	require.NoError(t, format.NewAhead(endless{}).Close())
	a := format.NewAhead(endless{})
	n, err := a.Read(make([]format.Event, 3))
	require.NoError(t, err)
	require.Positive(t, n)
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	_, err = a.Read(make([]format.Event, 3))
	require.Equal(t, io.ErrClosedPipe, err)
}

// endless is a Reader of one event again and again.
type endless struct{}

func (endless) Read(events []format.Event) (int, error) {
	events[0] = format.Event{Op: format.OpRead, TID: 1}
	return 1, nil
}

func (endless) Header() *format.Header { return &format.Header{} }
