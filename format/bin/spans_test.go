package bin

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// spanned returns events of two threads with spans, as a reader of the trace returns them.
func spanned() (*format.Header, []format.Event) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1, Start: 1000}}}
	span := func(tid int32, start, dur, tail int64, s *format.Span) format.Event {
		return format.Event{TID: tid, Start: start, Dur: dur, Compute: tail, Ret: 7, Span: s}
	}
	write := func(tid int32, start, compute int64) format.Event {
		return format.Event{Op: format.OpFsync, TID: tid, Start: start, Dur: 10, Compute: compute, Args: [format.MaxArgs]int64{3}}
	}
	return h, []format.Event{
		write(1, 5, 5),
		span(1, 3, 22, 10, &format.Span{Layer: "hdf5", Function: "H5Fopen", Kind: "open", Bytes: -1, Args: []format.Value{
			{Kind: format.ValuePath, Text: []byte("a.h5")}, {Kind: format.ValueInt, Int: -3}, {Kind: format.ValueText, Text: []byte("x"), Cut: true},
			{Kind: format.ValueNumbers, Numbers: []int64{50, -1, 1 << 40}}, {Kind: format.ValueNumbers, Numbers: []int64{8}}, {Kind: format.ValueNumbers}, {},
			{Kind: format.ValuePointed, Int: 9}, {Kind: format.ValueAddr, Int: 1 << 62}, {Kind: format.ValueText},
		}}),
		span(1, 30, 5, 20, &format.Span{Layer: "sqlite3", Function: "sqlite3_step", Bytes: 4096, Failed: true}),
		write(1, 45, 30),
		span(1, 50, format.Unknown, 0, &format.Span{Layer: "hdf5", Function: "H5Fclose", Kind: "close", Bytes: 0, Args: []format.Value{{Kind: format.ValueInt, Int: 1}}}),
		span(2, 1000, 1, 1, &format.Span{Layer: "hdf5", Function: "H5Fopen", Kind: "open", Bytes: -1}),
	}
}

func TestSpans(t *testing.T) {
	h, events := spanned()
	events[4].Start = 55 // its end, because the duration is unknown
	file := compiled(t, h, events)
	tr := opened(t, file)
	for _, n := range []int{1, 2, 100} {
		r := tr.Events()
		got, err := every(r, n)
		require.NoError(t, err)
		for i := range got {
			if s := got[i].Span; s != nil && len(s.Args) == 0 {
				s.Args = nil
			}
		}
		require.Len(t, got, len(events))
		for i := range got {
			require.Equal(t, events[i], got[i], i)
		}
	}
	got, err := every(format.WithoutSpans(tr.Events()), 10)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.EqualValues(t, 2, tr.Len(1))
	require.Zero(t, tr.Len(2))
	require.Equal(t, file, interleaved(t, h, [][]format.Event{events[:5], events[5:]}, 1000, func([][]format.Event) int { return 0 }))
}

func TestWrongSpans(t *testing.T) {
	for _, s := range []*format.Span{
		nil, {}, {Layer: "hdf5", Function: "a b"}, {Layer: "io_uring", Function: "read"}, {Layer: "a", Function: "b", Kind: "c d"},
		{Layer: "a", Function: "b", Args: make([]format.Value, format.MaxSpanArgs+1)},
	} {
		w := NewWriter(new(bytes.Buffer), new(testkit.Spool))
		require.Error(t, w.Write([]format.Event{{TID: 1, Span: s}}), "%+v", s)
	}

	tr := &Trace{strings: []string{"hdf5:H5Fopen", "open", "a b"}}
	sound := []uint64{0, 5, 5, 0, 1, 0, 1<<64 - 1, 0}
	require.Empty(t, kinds[kindSpans].wrong(tr, 1, sound))
	for word, bad := range map[int]uint64{spanTail: 1 << 63, spanDur: 1<<64 - 2, spanName: 1, spanKind: 2, spanBytes: 1 << 63, spanFailed: 2} {
		row := append([]uint64{}, sound...)
		row[word] = bad
		require.NotEmpty(t, kinds[kindSpans].wrong(tr, 1, row), word)
		if word == spanName || word == spanKind {
			row[word] = 3
			require.Contains(t, kinds[kindSpans].wrong(tr, 1, row), "string 3 of 3")
		}
	}
	sound = []uint64{0, 0, 0, uint64(format.ValueText), 2, 0}
	require.Empty(t, kinds[kindValues].wrong(tr, 1, sound))
	for word, bad := range map[int]uint64{valueArg: format.MaxSpanArgs, valueOf: uint64(format.NumValueKinds), valueIs: 3, valueLen: format.MaxSpanNumbers + 1} {
		row := append([]uint64{}, sound...)
		row[word] = bad
		require.NotEmpty(t, kinds[kindValues].wrong(tr, 1, row), word)
	}
}
