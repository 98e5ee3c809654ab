package spool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestSpans(t *testing.T) {
	events := []format.Event{
		{TID: 7, Start: 5, Dur: 9, Ret: -1, Line: 3, Span: &format.Span{Layer: "hdf5", Function: "H5Fopen", Kind: "open", Bytes: format.Unknown, Failed: true, Args: []format.Value{
			{Kind: format.ValuePath, Text: []byte("x")}, {Kind: format.ValueText, Text: []byte{}, Cut: true}, {Kind: format.ValueInt, Int: -9},
			{Kind: format.ValueNumbers, Numbers: []int64{1, -2}}, {}, {Kind: format.ValuePointed, Int: 1 << 60}, {Kind: format.ValueAddr, Int: 16},
		}}},
		{Op: format.OpFsync, TID: 7, Start: 6, Dur: 1, Line: 4},
		format.Entry(&format.Header{Meta: []format.Meta{{Key: format.MetaProcess, Value: `9 threads=9,10 cwd="/a\\nb"`}},
			Descriptors: []format.Descriptor{{Process: 9, FD: 3, Path: "/srv/a"}}}, 4),
		{TID: 7, Start: 5, Dur: 9, Line: 5, Span: &format.Span{Layer: "a", Function: "b", Bytes: 0}},
	}
	var b Buffer
	for i := range events {
		require.NoError(t, b.Append(&events[i]))
	}
	taken := make([]byte, b.Size())
	b.Take(taken)
	var got []format.Event
	require.NoError(t, Each(taken, func(e *format.Event) error {
		c := e.Clone()
		got = append(got, c)
		return nil
	}))
	for i := range got {
		if s := got[i].Span; s != nil {
			for k := range s.Args {
				s.Args[k].Numbers = append([]int64(nil), s.Args[k].Numbers...)
			}
		}
	}
	require.Equal(t, events, got)
	for cut := range taken { // a damaged file
		_ = Each(append(append([]byte{}, taken[:cut]...), make([]byte, slack)...), func(*format.Event) error { return nil })
	}
	require.Error(t, b.Append(&format.Event{Op: format.Op(format.NumOps)}))
}
