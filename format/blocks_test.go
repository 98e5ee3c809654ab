package format_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestParseBlocks(t *testing.T) {
	for _, text := range []string{"data:1", "reserved:4096", "hole:65536,data:4096,reserved:1152921504606846976"} {
		blocks, ok := format.ParseBlocks([]byte(text))
		require.True(t, ok, text)
		require.Equal(t, text, string(format.AppendBlocks(nil, blocks)))
	}
	for _, text := range []string{
		"", "data", "data:", "data:0", "data:-1", "data:+1", "data:1,", ",data:1", "date:1", "data:1x", "data:2305843009213693953",
		"data:2305843009213693952,hole:1",
	} {
		_, ok := format.ParseBlocks([]byte(text))
		require.False(t, ok, text)
	}
}

func TestParseBlocksBoundsTheirNumber(t *testing.T) {
	var blocks []format.Stretch
	for i := range format.MaxStretches {
		blocks = append(blocks, format.Stretch{Allocation: format.Allocation(i % 3), Bytes: 4096})
	}
	text := format.AppendBlocks(nil, blocks)
	got, ok := format.ParseBlocks(text)
	require.True(t, ok)
	require.Equal(t, blocks, got)
	_, ok = format.ParseBlocks(append(text, ",hole:1"...))
	require.False(t, ok)
}

func TestAddStretch(t *testing.T) {
	var blocks []format.Stretch
	for _, s := range []format.Stretch{{format.Hole, 0}, {format.Data, 1}, {format.Data, 2}, {format.Hole, 0}, {format.Data, 4}, {format.Hole, 8}} {
		blocks = format.AddStretch(blocks, s.Allocation, s.Bytes)
	}
	require.Equal(t, []format.Stretch{{format.Data, 7}, {format.Hole, 8}}, blocks)
}
