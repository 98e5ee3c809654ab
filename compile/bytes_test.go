package compile

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A read waits for the newest write of each byte, and for no others while there
// are few writes; later, for the thread's newest of those that are old.
func TestNewestWrites(t *testing.T) {
	for _, c := range []struct {
		name           string
		files, longest int64
		exact          bool
	}{{"few", 100, 30, true}, {"many", 5000, 9, false}} {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			o := order{budget: &budget{}, count: make([]int64, 5)}
			nd := &node{}
			wrote := make([]place, c.files)
			for range 20_000 {
				n := int32(random.IntN(4) + 1)
				o.here, o.seen, o.edges = place{n, o.count[n]}, make([]int64, 5), o.edges[:0]
				off := random.Int64N(c.files)
				end := min(off+1+random.Int64N(c.longest), c.files)
				if random.IntN(2) == 0 {
					o.wrote(nd, off, end)
					for i := off; i < end; i++ {
						wrote[i] = o.here
					}
					if random.IntN(500) == 0 {
						o.wrote(nd, off, math.MaxInt64)
						for i := off; i < c.files; i++ {
							wrote[i] = o.here
						}
					}
				} else {
					o.read(nd, off, end)
					newest := map[int32]int64{}
					for _, p := range wrote[off:end] {
						if p.thread != 0 && p.thread != n {
							newest[p.thread] = max(newest[p.thread], p.event)
						}
					}
					waits := map[int32]int64{}
					for _, g := range o.edges {
						waits[g.Thread] = g.Event
					}
					if c.exact {
						require.Equal(t, newest, waits)
					}
					for thread, event := range newest {
						require.Contains(t, waits, thread)
						require.GreaterOrEqual(t, waits[thread], event)
					}
				}
				require.LessOrEqual(t, len(nd.written.spansOf()), spansKept)
				o.count[n]++
			}
			require.Equal(t, int64(nd.written.bytes()), o.budget.taken[forOrder])
		})
	}
}

func (w *written) spansOf() []span {
	if w == nil {
		return nil
	}
	return w.spans
}

// A read waits for the growth that made the file so large, or, after many growths,
// for one soon after it.
func TestGrowths(t *testing.T) {
	o := order{budget: &budget{}, count: []int64{0, 100_000, 0}}
	nd := &node{}
	grow := func(from, to int64) {
		for size := from; size < to; size++ {
			o.here, nd.now = place{1, size}, size
			o.sized(nd, size+1, false)
		}
		nd.now = to
	}
	waits := func(end int64) int64 {
		o.here, o.seen, o.edges = place{2, 0}, nil, nil
		o.within(nd, end)
		if len(o.edges) == 0 {
			return -1
		}
		return o.edges[0].Event
	}
	grow(10, 200)
	require.EqualValues(t, -1, waits(10))
	for end := int64(11); end <= 200; end++ {
		require.Equal(t, end-1, waits(end))
	}
	grow(200, 10_000)
	require.LessOrEqual(t, len(nd.grown), growthsKept)
	for end := int64(11); end <= 10_000; end++ {
		require.GreaterOrEqual(t, waits(end), end-1)
		require.LessOrEqual(t, waits(end), end+10_000/(growthsKept/4))
	}
	// A truncated part grows again.
	o.here = place{1, 20_000}
	o.sized(nd, 50, true)
	nd.now = 50
	require.Less(t, waits(50), int64(10_000))
	o.here = place{1, 20_001}
	o.sized(nd, 60, false)
	nd.now = 60
	require.EqualValues(t, 20_001, waits(55))
}
