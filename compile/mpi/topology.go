package mpi

import (
	"slices"

	"pianola/format"
)

// grid is a Cartesian topology: the ranks of a communicator in row-major order, the last
// dimension being the fastest (MPI 4.1, section 8.5).
type grid struct {
	dims, periods []int64
	size          int // number of ranks
}

// maxDims bounds the dimensions of grids that are followed: MPI_Cart_sub doesn't say how many
// its grid has, so the recorder reads so many numbers.
const maxDims = 6

// newGrid returns nil if the numbers make no grid.
func newGrid(dims, periods []int64) *grid {
	if len(dims) == 0 || len(dims) > maxDims || len(periods) != len(dims) {
		return nil
	}
	size := int64(1)
	for _, n := range dims {
		if n < 1 || n > (format.MaxRank+1)/size {
			return nil
		}
		size *= n
	}
	return &grid{slices.Clone(dims), slices.Clone(periods), int(size)}
}

// sub returns the grid that keeps some dimensions, nil if it keeps none, and a number that tells
// the one with a rank at a place from its siblings. ok is false if keep is too short.
func (g *grid) sub(keep []int64, place int64) (sub *grid, sibling int64, ok bool) {
	if len(keep) < len(g.dims) {
		return nil, 0, false
	}
	var dims, periods []int64
	rest, unit := place, int64(1)
	for i := len(g.dims) - 1; i >= 0; i-- {
		n := g.dims[i]
		if keep[i] == 0 {
			sibling += rest % n * unit
			unit *= n
		} else {
			dims, periods = append([]int64{n}, dims...), append([]int64{g.periods[i]}, periods...)
		}
		rest /= n
	}
	return newGrid(dims, periods), sibling, true
}

// neighbours appends to dst the places next to a place, in both directions of each dimension.
func (g *grid) neighbours(dst []int64, place int64) []int64 {
	rest, unit := place, int64(1)
	for i := len(g.dims) - 1; i >= 0; i-- {
		n, at := g.dims[i], rest%g.dims[i]
		for _, to := range [2]int64{at - 1, at + 1} {
			if g.periods[i] != 0 {
				to = (to + n) % n
			}
			if to >= 0 && to < n {
				dst = append(dst, place+(to-at)*unit)
			}
		}
		rest /= n
		unit *= n
	}
	return dst
}

// graph is a topology in which each rank names those that it receives from.
type graph struct {
	sources map[int32][]int64 // by rank: places
	holders int               // communicators that have it: copies of one share it
}

// shared returns a graph for one more communicator.
func (g *graph) shared() *graph {
	if g != nil {
		g.holders++
	}
	return g
}

// drop takes a graph away from a communicator.
func (p *Pairer) drop(g *graph) {
	if g == nil {
		return
	}
	if g.holders--; g.holders == 0 {
		for _, sources := range g.sources {
			p.sources -= len(sources) + 1
		}
	}
}

// placeOf returns the place of a rank in a communicator. It can be known before those of others.
func (c *comm) placeOf(rank int32) (place int64, ok bool) {
	if c.all {
		return int64(rank), true
	}
	for i, r := range c.ranks {
		if r == rank {
			return int64(i), true
		}
	}
	if c.keepsPlaces() {
		return c.making.of.placeOf(rank)
	}
	return 0, false
}

// keepsPlaces reports whether a rank has the place that it had in the communicator that this one is
// made of, although those of all ranks are not known yet: all ranks call, and keep their order.
func (c *comm) keepsPlaces() bool {
	return !c.known && (c.making.kind == inOrder || c.making.kind == copied)
}

// places returns a function that does what placeOf does, for many ranks.
func (c *comm) places() func(rank int32) (place int64, ok bool) {
	if c.all {
		return c.placeOf
	}
	elsewhere := func(int32) (int64, bool) { return 0, false }
	if c.keepsPlaces() {
		elsewhere = c.making.of.places()
	}
	places := make(map[int32]int64, len(c.ranks))
	for place, rank := range slices.Backward(c.ranks) {
		places[rank] = int64(place)
	}
	return func(rank int32) (int64, bool) {
		if place, ok := places[rank]; ok {
			return place, true
		}
		return elsewhere(rank)
	}
}

// joined returns how many of the ranks that made a communicator are in it: the first ones, if it
// has a grid. The others have none, which handles of Open MPI don't tell.
func (c *comm) joined() int {
	if c.grid == nil {
		return len(c.members)
	}
	return min(len(c.members), c.grid.size)
}

// part returns what grid.sub does for a rank. ok is false also if its place in a grid is not known.
func (c *comm) part(rank int32, keep []int64) (sub *grid, sibling int64, ok bool) {
	place, ok := c.placeOf(rank)
	if !ok || c.grid == nil {
		return nil, 0, false
	}
	return c.grid.sub(keep, place)
}

// topology notes what a call that makes a communicator says of neighbours.
func (p *Pairer) topology(r *rank, a arguments, c *comm) {
	if a.has(argDims) && c.grid == nil {
		c.grid = newGrid(a.numbers(argDims), a.numbers(argPeriods))
	}
	if !a.has(argSources) {
		return
	}
	if c.graph == nil {
		c.graph = &graph{sources: map[int32][]int64{}, holders: 1}
	}
	sources := a.numbers(argSources)
	n, ok := a.int(argCount)
	if _, known := c.graph.sources[r.number]; known || !ok || int64(len(sources)) != n || p.sources+len(sources) >= maxMembers {
		return
	}
	if reorder, ok := a.int(argReorder); !ok || reorder != 0 {
		return // they are places in the old communicator
	}
	c.graph.sources[r.number] = slices.Clone(sources)
	p.sources += len(sources) + 1
}

// neighbours appends to dst the places from which a rank receives in collectives of neighbours. ok is
// false if they are not known. It finds the rank's own place by placeOf.
func (c *comm) neighbours(dst []int64, rank int32, placeOf func(int32) (int64, bool)) (places []int64, ok bool) {
	if c.graph != nil {
		sources, known := c.graph.sources[rank]
		return append(dst, sources...), known
	}
	if c.grid == nil {
		return dst, false
	}
	place, ok := placeOf(rank)
	if !ok || place >= int64(c.grid.size) {
		return dst, false
	}
	return c.grid.neighbours(dst, place), true
}
