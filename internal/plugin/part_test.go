package plugin

import (
	"cmp"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/filter"
	"pianola/internal/testkit"
)

// parts is the events of a script by their threads.
type parts struct {
	all []format.Event
}

func (p *parts) of(thread int32) (own []format.Event) {
	for i := range p.all {
		if p.all[i].TID == thread {
			own = append(own, p.all[i])
		}
	}
	return own
}

func (p *parts) Len(thread int32) int64              { return int64(len(p.of(thread))) }
func (p *parts) EventsOf(thread int32) format.Reader { return &partReader{p.of(thread)} }
func (p *parts) Events() format.Reader               { return &partReader{p.all} }
func (p *partReader) Header() *format.Header         { return nil }

type partReader struct{ left []format.Event }

func (p *partReader) Read(to []format.Event) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(to, p.left)
	p.left = p.left[n:]
	return n, nil
}

// partly passes the reads of a script through a command.
func partly(t *testing.T, command, text string) (string, error) {
	t.Helper()
	all, err := testkit.ReadAll(read(t, text), 7)
	require.NoError(t, err)
	of := &parts{all: all}
	part := &Part{Trace: of, Selected: make(filter.Selection, 2)}
	for i := range part.Selected {
		part.Selected[i] = make([]uint64, 1)
		for at, e := range of.of(int32(i + 1)) {
			if e.Op.Info().Class == format.ClassRead {
				part.Selected[i][0] |= 1 << at
			}
		}
	}
	spool, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer spool.Close()
	var out printed
	p := shell(t, command)
	p.Only = "class == read"
	err = p.Filter(t.Context(), read(t, text), part, spool, &out)
	return byThread(out.text.String()), err
}

// byThread sorts the lines of a script by their threads.
func byThread(text string) string {
	lines := slices.Collect(strings.Lines(text))
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(a[0], b[0]) })
	return strings.Join(lines, "")
}

// Events that a program is not given keep their place, whatever it does with the others.
func TestPart(t *testing.T) {
	got, err := partly(t, "cat", threads)
	require.NoError(t, err)
	require.Equal(t, byThread(threads), got)

	first := "1 pread64 ( 3 10 0 ) = 10 <0.000000500>\n"
	got, err = partly(t, "grep -v ' 10 0 '", threads)
	require.NoError(t, err)
	want := strings.NewReplacer("after=1:1", "after=1:0", "after=1:3", "after=1:2", first, "").Replace(threads)
	require.Equal(t, byThread(want), got, "what waited for it waits for the open before it")

	got, err = partly(t, "grep '^#'", threads)
	require.NoError(t, err)
	require.Equal(t, header+"1 open ( a 1 ) = 3\n2 close ( 3 ) = 0 {after=1:0}\n", got, "it inherits what the removed events waited for")

	got, err = partly(t, `awk '{ if (!/^#/ && !n++) print "1 sync ( ) = 0"; print }'`, threads)
	require.NoError(t, err)
	require.Contains(t, got, header+"1 open ( a 1 ) = 3\n1 sync ( ) = 0\n1 compute")

	_, err = partly(t, "sed s/at=1:1/at=1:0/", threads)
	require.EqualError(t, err, "exec:test: at=1:0: the program was not given this event")
	_, err = partly(t, "true", threads)
	require.EqualError(t, err, "exec:test: wrote no events")
}
