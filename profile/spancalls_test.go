package profile

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// Single calls of libraries have their own time, and the file that they name or cause calls on.
func TestSpanCalls(t *testing.T) {
	c := &Collector{To: 1e9}
	named := spanOf(1, "hdf5:H5Fopen", "open", 1, 9, format.Unknown)
	named.Span.Args = []format.Value{{Kind: format.ValueInt, Int: 1}, {Kind: format.ValuePath, Text: []byte("a.h5")}}
	failed := spanOf(1, "hdf5:H5Dwrite", "write", 20, 10, 4096)
	failed.Span.Failed = true
	require.NoError(t, c.Write([]format.Event{
		on(format.OpOpenat, 1, 2, 2, 3, "/data/a.h5", format.AtFDCWD),
		named,
		on(format.OpWrite, 1, 22, 2, 10, "", 3, 0, 10),
		failed,
		on(format.OpOpenat, 1, 41, 1, 4, "/data/b.h5", format.AtFDCWD),
		spanOf(1, "hdf5:H5Fopen", "open", 40, 5, format.Unknown),
		on(format.OpWrite, 1, 46, 1, 10, "", 3, 0, 10),
		spanOf(1, "hdf5:H5Ocopy", "metadata", 39, 10, format.Unknown),
		spanOf(1, "hdf5:H5Fclose", "close", 2_000_000, 1, format.Unknown), // after the part
	}))
	p := c.Profile()
	require.Equal(t, []SpanCall{
		{TID: 1, Function: "hdf5:H5Fopen", Kind: "open", File: "a.h5", Start: 1e3, Nanos: 9e3, Self: 9e3, Bytes: format.Unknown},
		{TID: 1, Function: "hdf5:H5Dwrite", Kind: "write", File: "/data/a.h5", Start: 20e3, Nanos: 10e3, Self: 10e3, Bytes: 4096, Failed: true},
		{TID: 1, Function: "hdf5:H5Ocopy", Kind: "metadata", Start: 39e3, Nanos: 10e3, Self: 5e3, Bytes: format.Unknown},
		{TID: 1, Function: "hdf5:H5Fopen", Kind: "open", File: "/data/b.h5", Start: 40e3, Nanos: 5e3, Self: 5e3, Bytes: format.Unknown},
	}, p.SpanCalls.List)
	require.Zero(t, p.SpanCalls.Least)
	require.Nil(t, p.Timeline.Lanes[0].Short)

	without := &Collector{}
	require.NoError(t, without.Write([]format.Event{named}))
	require.Nil(t, without.Profile().SpanCalls, "no part was asked for")
}

// Where there are too many calls, the longest stay, and the others are sums by their kind.
func TestShortSpanCalls(t *testing.T) {
	const n = 3 * MaxSpanCalls
	c := &Collector{To: 1e18}
	batch := []format.Event{on(format.OpOpenat, 1, 0, 1, 3, "/a", format.AtFDCWD)}
	sum := int64(0)
	for i := range int64(n) {
		e := spanOf(1, "x:f", fmt.Sprint("k", i%20), 10*(i+1), 1, format.Unknown)
		e.Dur += i * 7919 % 1000
		sum += e.Dur
		batch = append(batch, e)
	}
	batch = append(batch, on(format.OpClose, 1, 10*n+50, 1, 0, "", 3))
	require.NoError(t, c.Write(batch))
	p := c.Profile()
	require.LessOrEqual(t, len(p.SpanCalls.List), MaxSpanCalls)
	require.Positive(t, p.SpanCalls.Least)
	require.Len(t, p.SpanCalls.Kinds, 1, "a function has one kind")
	singly := int64(0)
	for i := range p.SpanCalls.List {
		require.GreaterOrEqual(t, p.SpanCalls.List[i].Nanos, p.SpanCalls.Least)
		singly += p.SpanCalls.List[i].Nanos
	}
	lane := p.Timeline.Lanes[0]
	require.LessOrEqual(t, len(lane.Short), maxColumns)
	short := int64(0)
	for i := range lane.Short {
		short += lane.Short[i][0]
	}
	require.InDelta(t, sum, singly+short, 0.001*float64(sum))
}

// Kinds and paths come from strangers: their number is bounded.
func TestSpanCallsAreBounded(t *testing.T) {
	var s spanCalls
	for i := range 100 {
		require.Less(t, s.kind(fmt.Sprint(i)), maxSpanKinds)
	}
	long := make([]byte, 100_000)
	for i := range 100 {
		long[0] = byte(i)
		s.path(&format.Span{Args: []format.Value{{Kind: format.ValuePath, Text: long}}})
	}
	require.LessOrEqual(t, s.bytes, maxSpanPaths+len(long))
}
