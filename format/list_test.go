package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The text of a list is what is printed of it. A word that is no item ends a list.
func TestList(t *testing.T) {
	for _, c := range []struct {
		text string
		want List
		ok   bool
	}{
		{"", List{}, true},
		{"8,-1,9", List{Items: []int64{8, -1, 9}}, true},
		{"2=8,-2,9", List{Update: true, From: 2, Items: []int64{8, -2, 9}}, true},
		{"4294967295=7", List{Update: true, From: 1<<32 - 1, Items: []int64{7}}, true},
		{"-2=8", List{Update: true, From: -2, Items: []int64{8}}, true},
		{"4096+512,0+1", List{Of: ListPlaces, Items: []int64{4096, 512, 0, 1}}, true},
		{"2=0xffffffffffffffff+512,0x0+-1", List{Of: ListRanges, Update: true, From: 2, Items: []int64{-1, 512, 0, -1}}, true},
		{"7,x,8", List{Items: []int64{7}}, false},
		{"7,,8", List{Items: []int64{7}}, false},
		{"7,", List{Items: []int64{7}}, false},
		{"7+,8", List{Of: ListPlaces}, false},
		{"1+2+3", List{Of: ListPlaces}, false},
		{"x=3", List{Update: true}, false},
		{"9223372036854775808", List{}, false},
		{"-", List{}, false},
	} {
		memory := []int64{5}
		got, grown, ok := ParseList([]byte(c.text), memory)
		require.Equal(t, c.ok, ok, c.text)
		require.Equal(t, c.want, *new(SpanMemory).AddList(got), c.text)
		require.Equal(t, append(memory, c.want.Items...), grown)
		if ok {
			require.Equal(t, c.text, string(got.Append(nil)))
			require.Equal(t, `"`+c.text+`"`, string(got.AppendQuoted(nil)))
		}
		require.GreaterOrEqual(t, got.First(), 0)
		require.LessOrEqual(t, got.First(), MaxRegistered)
	}
	require.Equal(t, "NULL", string((*List)(nil).AppendQuoted(nil)))
	require.Zero(t, (*List)(nil).Len()+(*List)(nil).First())
	text, memory := []byte("0x7f0000001000+4096,0x7f0000002000+512"), make([]int64, 0, 8)
	require.Zero(t, testing.AllocsPerRun(100, func() { ParseList(text, memory) }))
}
