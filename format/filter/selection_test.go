package filter

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/limit"
)

// events is a trace of two threads.
type events struct {
	header format.Header
	all    []format.Event
	more   int64 // events that the trace has and does not say
}

func (t *events) Header() *format.Header { return &t.header }
func (t *events) Events() format.Reader  { return &eventsReader{t, t.all} }
func (t *events) Len(thread int32) (n int64) {
	for i := range t.all {
		if t.all[i].TID == thread && t.all[i].Span == nil {
			n++
		}
	}
	return n - t.more
}

type eventsReader struct {
	of   *events
	left []format.Event
}

func (r *eventsReader) Header() *format.Header { return &r.of.header }
func (r *eventsReader) Read(to []format.Event) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(to, r.left)
	r.left = r.left[n:]
	return n, nil
}

func TestSelect(t *testing.T) {
	of := &events{
		header: format.Header{Threads: []format.Thread{{Process: 1}, {Process: 2}}},
		all: []format.Event{
			{TID: 1, Op: format.OpOpen, Str: [2][]byte{[]byte("data/f")}, Ret: 3, Start: 0, Dur: 5},
			{TID: 2, Op: format.OpSync, Start: 5, Dur: 5},
			{TID: 1, Op: format.OpPread64, Args: [6]int64{3, 0, 10, 0}, Ret: 10, Start: 10, Dur: 5},
			{TID: 1, Start: 9, Dur: 10, Span: &format.Span{Layer: "lib", Function: "get"}},
			{TID: 1, Op: format.OpPread64, Args: [6]int64{3, 0, 10, 0}, Ret: 10, Start: 30, Dur: 5},
			{TID: 1, Op: format.OpClose, Args: [6]int64{3}, Start: 40, Dur: 5},
		},
	}
	for expr, want := range map[string][2]string{
		"class == read":             {".xx.", "."},
		"class == read || op==sync": {".xx.", "x"},
		`path ~ "data/*"`:           {"xxxx", "."},
		"process == 2":              {"....", "x"},
		"time >= 30ns":              {"..xx", "."},
		"span == lib:get":           {".x..", "."},
		"!(span == get)":            {"x.xx", "x"},
	} {
		s, err := Select(of, expr, 1<<10)
		require.NoError(t, err, expr)
		for i, marks := range want {
			for at, mark := range marks {
				require.Equal(t, mark == 'x', s.Has(int32(i+1), int64(at)), "%s: event %d of thread %d", expr, at, i+1)
			}
		}
	}
	_, err := Select(of, "op == unlink", 1<<10)
	require.EqualError(t, err, `filter "op == unlink" selects no event of the trace`)
	_, err = Select(of, "op == read", 15)
	require.ErrorIs(t, err, limit.Err)
	_, err = Select(of, "op =", 1<<10)
	require.ErrorContains(t, err, "at byte 3")
	of.more = 1
	_, err = Select(of, "op == pread64", 1<<10)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	of.more, of.all = 0, of.all[4:]
	_, err = Select(of, "span == get", 1<<10)
	require.ErrorIs(t, err, ErrNoSpans)
}
