package compile

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// A thread that uses what very many ended threads have used is found in the list of users
// without a search through all of them.
func TestUsesOfEnded(t *testing.T) {
	o := order{budget: &budget{}}
	var uses []place
	for n := int32(1); n <= 1000; n++ {
		o.here = place{n, 0}
		uses = o.use(uses)
		o.end(n, int(n))
	}
	require.Len(t, uses, 1000)
	o.here = place{1001, 0}
	require.True(t, o.outlived(1000))
	uses = o.use(uses)
	o.end(500, 1001) // lived until now
	o.here = place{500, 7}
	require.False(t, o.outlived(1001))
	uses = o.use(o.use(uses))
	require.Equal(t, place{500, 7}, uses[len(uses)-1])
	o.here = place{1001, 5}
	uses = o.use(uses)
	require.Equal(t, []place{{500, 7}, {1001, 5}}, uses[len(uses)-2:])
}

// An event has one edge to a thread, however many threads it waits for.
func TestManyEdges(t *testing.T) {
	const threads = 3 * manyEdges
	o := order{budget: &budget{}, count: slices.Repeat([]int64{1000}, maxSeen+threads)}
	th := &thread{num: 1}
	for range 2 {
		o.begin(th, false)
		for event := range int64(3) {
			for n := range int32(threads) {
				o.after(place{maxSeen + n, event}, format.EdgeName)
			}
		}
		require.Len(t, o.edges, threads)
		for i, e := range o.edges {
			require.Equal(t, format.Edge{Thread: maxSeen + int32(i), Kind: format.EdgeName, Event: 2}, e)
		}
	}
}
