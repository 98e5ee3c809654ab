package mpi

import (
	"cmp"
	"maps"
	"slices"

	"pianola/format"
)

// rank is what is known of a rank.
type rank struct {
	number   int32
	comms    map[int64]*comm // by handle
	makings  map[maker]int   // how many communicators it has made
	entered  map[*comm]int   // how many collectives
	requests map[int64]request
	asked    int64
	openMPI  bool  // handles are addresses
	world    int64 // the address of MPI_COMM_WORLD in Open MPI, 0 if it is not known
}

// comm is a communicator.
type comm struct {
	id    int
	ranks []int32 // by place, -1 for one that is not known
	all   bool    // it has all ranks of the program, in order; ranks is nil
	size  int     // 0 as long as it is not known
	known bool    // nothing more will be learned of ranks and size
	alone bool    // it has one rank

	// confused says that two ranks have one place: they are in two communicators, which can't be
	// told apart.
	confused bool

	grid  *grid // its topology; both are nil if it has none that is known
	graph *graph

	making  *making
	allMade bool     // all ranks have called that make it
	perhaps bool     // some of members can have MPI_COMM_NULL: in Open MPI its address is not known
	members []member // of those that were made of another one
	makings []*making
	holders int // ranks that have a handle

	pending []*message // that need the ranks
	unsure  bool       // some of these were given up: pairs are guesses
	inboxes map[int32]*inbox
	first   int           // number of the first open collective
	open    []*collective // in order
}

// member is a rank that has made a communicator.
type member struct {
	key, place int64 // place in the one that it was made of
	rank       int32
}

// makingKind says how a communicator is made of another one.
type makingKind uint8

const (
	copied       makingKind = iota
	inOrder                 // of some ranks
	byColor                 // one of each color, with the ranks in the order of keys
	byNode                  // one of each node
	byGrid                  // one of each place in the other dimensions of a grid
	byPlace                 // of some ranks, in an order that MPI_Comm_rank tells
	byGroup                 // the same, but maybe several with different ranks
	byGroupAlone            // the same, and only the ranks of one of them call
)

// Handles of MPICH and of what is made from it are numbers. Those of Open MPI are addresses, which
// can be below 4 GiB: a program that is not position-independent has copies of the predefined
// communicators.
const (
	mpichNull  = 0x04000000
	mpichWorld = 0x44000000
	mpichSelf  = 0x44000001
)

// Types of MPI_Comm_split_type for ranks that share memory: of MPICH and of Open MPI.
const (
	mpichShared = 1
	openShared  = 0
)

// maker is what ranks make communicators of. The n-th one that they make is the same one.
type maker struct {
	of    *comm
	alone bool
	tag   int64
}

// origin is how a communicator was created, which is the same in all of its ranks.
type origin struct {
	maker
	number int
}

// making is the calls by which the ranks of a communicator make others.
type making struct {
	origin
	kind  makingKind
	calls int
	parts map[int64]*comm // by color
}

// comm returns the communicator of a call, nil if it is not known.
func (p *Pairer) comm(r *rank, a arguments) *comm {
	if !a.has(argComm) {
		return p.world
	}
	v := a.value(argComm)
	if v == nil || !slices.Contains(handleKinds, v.Kind) {
		return nil
	}
	if c := r.comms[v.Int]; c != nil {
		if c.perhaps && c.known && !c.confused && !slices.Contains(c.ranks, r.number) {
			p.confuse(c) // there are several
		}
		return c
	}
	switch {
	case v.Kind == format.ValueAddr:
		return p.predefined(r, a, v.Int)
	case v.Int == mpichSelf:
		return p.self
	case v.Int == mpichWorld:
		return p.world
	}
	return nil
}

// predefined returns the communicator of an address that no call has made. In Open MPI there are
// two: a program uses that of all ranks first, unless a call says that it has one rank.
func (p *Pairer) predefined(r *rank, a arguments, handle int64) *comm {
	r.openMPI = true
	size, ok := a.result(argSize)
	switch {
	case ok && size == 1 && (p.partial || p.world.size > 1):
		r.comms[handle] = p.self
	case r.world == 0:
		r.world = handle
		r.comms[handle] = p.world
	}
	return r.comms[handle]
}

// at returns the rank at a place of a communicator.
func (p *Pairer) at(c *comm, place int64) (rank int32, ok bool) {
	switch {
	case place < 0 || place > format.MaxRank || c.confused:
		return 0, false
	case c.all:
		_, ok = p.nodes[int32(place)]
		return int32(place), ok
	case place >= int64(len(c.ranks)):
		return 0, false
	}
	rank = c.ranks[place]
	return rank, rank >= 0
}

// make adds a call that makes a communicator of another one.
func (p *Pairer) make(r *rank, f *function, a arguments, c *Call) bool {
	of := p.comm(r, a)
	if of == nil || of.confused {
		p.Stats.Unknown++
		return true
	}
	id, ok := a.handle(argNew)
	null := !ok || a.span.Failed || id == mpichNull && !r.openMPI
	if len(r.comms) >= maxComms { // predefined adds two at most
		null = true
	}
	if of.alone {
		if !null {
			r.comms[id] = of
		}
		return true
	}
	kind, from := f.making, maker{of: of}
	if reorder, known := a.int(argReorder); known && reorder == 0 {
		kind = inOrder
	}
	if kind == byGroupAlone {
		from.alone = true
		from.tag, _ = a.int(argTag)
	} else {
		entry := p.enter(r, of, ofAll, 0, c)
		p.leaveOrAsk(r, a, entry, c)
	}
	if len(r.makings) == maxComms {
		clear(r.makings)
	}
	number := r.makings[from]
	r.makings[from]++
	color := int64(0)
	var sub *grid
	switch kind {
	case byGrid:
		if sub, color, ok = of.part(r.number, a.numbers(argKeep)); !ok {
			kind = byGroup
		}
	case byColor:
		if color, ok = a.int(argColor); !ok || color < 0 {
			null = true
		}
	case byNode:
		color = int64(p.nodes[c.Rank])
		if typ, known := a.int(argColor); !known || !r.openMPI && typ != mpichShared || r.openMPI && typ != openShared {
			kind, color = byGroup, 0
		}
	}
	if p.partial && kind != copied && kind < byPlace {
		kind = byPlace // some places are of ranks that are not recorded
	}
	g := p.makings[origin{from, number}]
	if g == nil {
		g = &making{origin: origin{from, number}, kind: kind, parts: map[int64]*comm{}}
		if len(p.makings) == maxComms {
			return true
		}
		p.makings[g.origin] = g
		of.makings = append(of.makings, g)
	}
	if f.making == byGrid && g.kind != kind { // of some ranks it is not known which of several they make
		for _, c := range g.parts {
			p.confuse(c)
		}
		g.kind, color = byGroup, 0
	}
	g.calls++
	if !null {
		key, _ := a.int(argKey)
		if joined := p.join(r, g, color, id, member{key, 0, c.Rank}); joined != nil {
			joined.perhaps = joined.perhaps || !joined.known && r.openMPI && f.subset
			if sub != nil {
				joined.grid = sub
			}
			p.topology(r, a, joined)
		}
	}
	p.made(g, false)
	return true
}

// join adds a rank to a communicator that it has made, and returns it: nil if there are too many.
func (p *Pairer) join(r *rank, g *making, color, handle int64, m member) *comm {
	c := g.parts[color]
	if c == nil {
		if len(p.comms) == maxComms {
			return nil
		}
		p.ids++
		c = &comm{id: p.ids, making: g}
		g.parts[color] = c
		p.comms[c] = true
		if g.kind == copied {
			c.grid, c.graph = g.of.grid, g.of.graph.shared()
		}
		if g.kind == copied && g.of.known {
			p.learnCopy(c, g.of)
		}
	}
	if r.comms[handle] != c {
		c.holders++
		r.comms[handle] = c
	}
	switch {
	case !c.known && p.members < maxMembers:
		p.members++
		c.members = append(c.members, m)
	case g.kind == byGroupAlone && !c.confused && !slices.Contains(c.ranks, m.rank):
		p.confuse(c)
	}
	return c
}

// made learns the ranks of new communicators once all have made them, or at the end.
func (p *Pairer) made(g *making, end bool) {
	if !end && (g.alone || !g.of.known || g.calls < g.of.size) {
		return
	}
	if g.of.known && g.calls >= g.of.size {
		delete(p.makings, g.origin)
		g.of.makings = slices.DeleteFunc(g.of.makings, func(other *making) bool { return other == g })
	}
	placeOf := g.of.places()
	for _, color := range sortedKeys(g.parts) {
		c := g.parts[color]
		switch {
		case g.of.confused && !c.confused:
			p.confuse(c)
		case c.known:
		case g.kind == copied:
			p.learnCopy(c, g.of)
		case g.kind < byPlace:
			for i := range c.members {
				m := &c.members[i]
				m.place, _ = placeOf(m.rank)
			}
			slices.SortFunc(c.members, func(a, b member) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.place, b.place)) })
			ranks := make([]int32, c.joined())
			for i := range ranks {
				ranks[i] = c.members[i].rank
			}
			p.learn(c, ranks, len(ranks))
		case g.kind == byPlace && end:
			p.learn(c, c.ranks, c.joined())
		case end:
			p.confuse(c)
		default:
			if g.kind == byPlace && !p.partial {
				c.size = c.joined()
			}
			c.allMade = true
			p.complete(c)
		}
	}
}

// learnCopy sets the ranks of a communicator, which are those of another one.
func (p *Pairer) learnCopy(c, of *comm) {
	c.all, c.confused = of.all, of.confused
	p.learn(c, of.ranks, of.size)
}

// learn sets the ranks of a communicator, and pairs what has waited for that.
func (p *Pairer) learn(c *comm, ranks []int32, size int) {
	if !c.known {
		p.members -= len(c.members) + len(c.ranks)
	}
	c.ranks, c.size, c.known, c.members = ranks, size, true, nil
	pending := c.pending
	c.pending = nil
	p.queued -= len(pending)
	for _, m := range pending {
		p.post(m)
	}
	for i := 0; i < len(c.open); i++ {
		p.closeIfComplete(c.open[i])
	}
	p.trim(c)
	for _, g := range slices.Clone(c.makings) {
		if g.kind == copied || g.calls >= size {
			p.made(g, g.kind == copied)
		}
	}
}

// complete learns the ranks of a communicator if each has said its place, and there is only one
// such communicator.
func (p *Pairer) complete(c *comm) {
	one := c.making.kind == byGroupAlone || c.allMade && (c.perhaps || c.joined() == c.size)
	if !c.known && one && c.size > 0 && len(c.ranks) == c.size && !slices.Contains(c.ranks, -1) {
		p.learn(c, c.ranks, c.size)
	}
}

// commRank adds a call that says which place a rank has.
func (p *Pairer) commRank(r *rank, _ *function, a arguments, call *Call) bool {
	c := p.comm(r, a)
	place, ok := a.result(argPlace)
	if c == nil || c.known || !ok || place < 0 || place >= int64(len(p.nodes)) {
		return true
	}
	for ; int64(len(c.ranks)) <= place; p.members++ {
		if p.members == maxMembers {
			return true
		}
		c.ranks = append(c.ranks, -1)
	}
	if other := c.ranks[place]; other >= 0 && other != call.Rank {
		p.confuse(c)
		return true
	}
	c.ranks[place] = call.Rank
	p.complete(c)
	return true
}

// confuse gives up a communicator.
func (p *Pairer) confuse(c *comm) {
	c.confused = true
	for _, k := range c.open {
		p.Stats.Unknown += int64(len(k.entries))
		p.entries -= len(k.entries)
		k.closed, k.entries, k.left = true, nil, nil
	}
	c.open = nil
	p.learn(c, nil, 0)
}

// commSize adds a call that says how many ranks a communicator has.
func (p *Pairer) commSize(r *rank, _ *function, a arguments, _ *Call) bool {
	c := p.comm(r, a)
	if size, ok := a.result(argSize); ok && c != nil && !c.known && size > 0 && size <= int64(len(p.nodes)) {
		c.size = int(size)
		p.complete(c)
	}
	return true
}

// freeComm adds a call that ends a communicator. It is forgotten when all ranks have ended it.
func (p *Pairer) freeComm(r *rank, _ *function, a arguments, _ *Call) bool {
	id, _ := a.handle(argComm)
	c := r.comms[id]
	if c == nil || c == p.world {
		return true
	}
	delete(r.comms, id)
	if c.alone {
		return true
	}
	delete(r.entered, c)
	delete(r.makings, maker{of: c})
	if c.holders--; c.holders == 0 && c.known && len(c.makings) == 0 && p.makings[c.making.origin] == nil {
		p.endComm(c)
		p.drop(c.graph)
		delete(p.comms, c)
	}
	return true
}

// settle gives up learning more of a communicator.
func (p *Pairer) settle(c *comm) {
	if !c.known {
		p.made(c.making, true)
	}
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[K cmp.Ordered, V any](of map[K]V) []K { return slices.Sorted(maps.Keys(of)) }
