package format

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever is done to a heap, the least item comes first, and each knows its place.
func TestHeap(t *testing.T) {
	type item struct{ value, place int }
	rnd := rand.New(rand.NewPCG(1, 2))
	h := NewHeap(func(a, b **item) bool { return (*a).value < (*b).value }, func(i *item, place int) { i.place = place })
	var want []int
	for range 5000 {
		switch n := rnd.IntN(5); {
		case n < 2 || len(want) == 0:
			h.Push(&item{value: rnd.IntN(100)})
		case n == 2:
			require.Equal(t, slices.Min(want), h.Pop().value)
		case n == 3:
			i := h.Items[rnd.IntN(len(want))]
			i.value = rnd.IntN(100)
			h.Fix(i.place)
		default:
			i := h.Items[rnd.IntN(len(want))]
			require.Same(t, i, h.Remove(i.place))
			require.Equal(t, -1, i.place)
		}
		want = want[:0]
		for place, i := range h.Items {
			require.Equal(t, place, i.place)
			want = append(want, i.value)
		}
	}
}
