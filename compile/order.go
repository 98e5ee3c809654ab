package compile

import (
	"unsafe"

	"pianola/format"
)

// place is an event of the trace: a thread and the position in it. The zero
// place is none, for threads count from 1.
type place struct {
	thread int32
	event  int64
}

// writesKept is how many writes of a file are remembered to find those that a
// read of another thread depends on. Older ones are almost always ordered by
// something else by then.
const writesKept = 16

// writeAt is a write that changed the bytes from off to end.
type writeAt struct {
	place    place
	off, end int64
}

// growthsKept bounds the growths of a file that a write within its size can be
// ordered behind. Each growth follows the one before, so older ones matter only
// to a thread that lags far behind.
const growthsKept = 16

// growth is an event that made a file larger than before.
type growth struct {
	place  place
	before int64
}

// order collects what the event in hand depends on. An edge is kept only where
// the thread is not already behind the other by an earlier edge.
type order struct {
	edges []format.Edge
	here  place
	alone bool    // no other thread has been there yet, so whatever comes to be depends on all before it
	count []int64 // events emitted so far, per thread
	seen  []int64 // of the thread in hand: per other thread, one more than the newest event it is known to follow

	budget *budget
}

// maxSeen bounds the threads that a thread remembers to be behind, since all of
// them can remember all. Edges to later ones can be there twice.
const maxSeen = 1024

// begin starts the collection for the next event of t. What events that were
// left out since the last one depended on counts for it.
func (o *order) begin(t *thread, alone bool) {
	o.alone = alone
	o.edges = append(o.edges[:0], t.owed...)
	o.here = place{t.num, t.events}
	o.seen = t.seen
}

// after makes the event wait for p.
func (o *order) after(p place) {
	if p.thread == 0 || p.thread == o.here.thread || int(p.thread) >= len(o.count) {
		return
	}
	// An event that was left out stands for the one before it.
	if p.event = min(p.event, o.count[p.thread]-1); p.event < 0 {
		return
	}
	if p.thread < maxSeen {
		if n := int(p.thread) + 1 - len(o.seen); n > 0 {
			room := cap(o.seen)
			o.seen = append(o.seen, make([]int64, n)...)
			o.budget.take(forOrder, 8*(cap(o.seen)-room))
		}
		if o.seen[p.thread] > p.event {
			return
		}
		o.seen[p.thread] = p.event + 1
	}
	for i := range o.edges {
		if o.edges[i].Thread == p.thread {
			o.edges[i].Event = p.event
			return
		}
	}
	o.edges = append(o.edges, format.Edge{Thread: p.thread, Event: p.event})
}

// afterAll makes the event wait for each of them.
func (o *order) afterAll(places []place) {
	for _, p := range places {
		o.after(p)
	}
}

// use notes in a list of newest uses, one a thread, that the event uses a
// resource.
func (o *order) use(uses []place) []place {
	if o.alone {
		return uses
	}
	// The newest user stands last, for it is mostly the next one, too.
	for i := len(uses) - 1; i >= 0; i-- {
		if uses[i].thread == o.here.thread {
			copy(uses[i:], uses[i+1:])
			uses[len(uses)-1] = o.here
			return uses
		}
	}
	room := cap(uses)
	uses = append(uses, o.here)
	o.budget.take(forOrder, placeBytes*(cap(uses)-room))
	return uses
}

// read makes the event wait for the writes of a file that it reads from.
func (o *order) read(nd *node, off, end int64) {
	if o.alone {
		return
	}
	if nd.written == nil {
		return
	}
	for i := range nd.written {
		if w := &nd.written[i]; w.off < end && off < w.end {
			o.after(w.place)
		}
	}
}

// wrote notes that the event changes the bytes from off to end.
func (o *order) wrote(nd *node, off, end int64) {
	if o.alone {
		return
	}
	if nd.written == nil {
		nd.written = new([writesKept]writeAt)
		o.budget.take(forOrder, int(unsafe.Sizeof(*nd.written)))
	}
	// A sequential writer needs one place only.
	last := &nd.written[(nd.nwrite+writesKept-1)%writesKept]
	if last.place.thread == o.here.thread && last.end == off {
		last.place, last.end = o.here, end
		return
	}
	nd.written[nd.nwrite%writesKept] = writeAt{o.here, off, end}
	nd.nwrite++
}

// named makes the event wait for whatever made the names that it passes
// through, and notes that it uses them.
func (o *order) named(trail []*entry) {
	for _, e := range trail {
		o.after(e.changed)
		e.used = o.use(e.used)
	}
}

// renamed makes the event, which changes the name, wait for all its uses.
func (o *order) renamed(e *entry) {
	o.afterAll(e.used)
	o.after(e.changed)
	e.changed, e.used = o.here, e.used[:0]
	if e.dir != nil {
		o.afterAll(e.dir.kept)
		e.dir.changes = o.use(e.dir.changes)
	}
}

// held makes the event, which failed to remove a directory or to put something
// in its place, wait for the changes in it, and those to come for the event.
func (o *order) held(e *entry) {
	if e.node != nil {
		o.afterAll(e.node.changes)
		e.node.kept = o.use(e.node.kept)
	}
}

// sized makes the event, which is about to change the size of a file, wait for
// what depends on the size as it was. One that can make it smaller says so.
func (o *order) sized(nd *node, size int64, smaller bool) {
	o.after(nd.resized)
	o.afterAll(nd.ends)
	nd.ends = nd.ends[:0]
	if smaller {
		o.afterAll(nd.reads)
		nd.reads = nd.reads[:0]
	}
	nd.resized = o.here
	if !o.alone && size > nd.now {
		if nd.grown == nil {
			nd.grown = new([growthsKept]growth)
			o.budget.take(forOrder, int(unsafe.Sizeof(*nd.grown)))
		}
		nd.grown[nd.ngrown%growthsKept] = growth{o.here, nd.now}
		nd.ngrown++
	}
}

// within makes the event, which reads or writes up to an offset that the file
// reaches, wait for the growth that made it reach so far: ahead of it, a read
// would find the end, and a write make the file larger itself, too early.
func (o *order) within(nd *node, end int64) {
	for i := nd.ngrown - 1; i >= max(nd.ngrown-growthsKept, 0); i-- {
		if g := nd.grown[i%growthsKept]; g.before < end {
			o.after(g.place)
			return
		}
	}
}
