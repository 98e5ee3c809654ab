package compile

import (
	"slices"

	"pianola/format"
)

// place is the position of an event in the trace: a thread and an index in it.
// Threads count from 1, so the zero place means none.
type place struct {
	thread int32
	event  int64
}

// order collects what the current event depends on. It drops an edge that an
// earlier edge of the thread implies.
type order struct {
	edges []format.Edge
	here  place
	self  int32   // the thread that makes or submits the event
	now   int64   // start of the event, on the recording's clock
	any   place   // one of several process ends that the current event waits for; thread 0 for none
	alone bool    // there has been only one thread, so no edges are needed
	count []int64 // events emitted so far, per thread
	seen  []int64 // of the current thread: per other thread, one more than the index of the newest event that it follows
	ended []int32 // per thread: how many threads had been created at its end, 0 before it

	places map[int32]int // of edges, by thread, if the current event has many
	placed int           // edges that are in it

	writes   int64 // of files so far
	planning bool  // no edges are needed, because it is not the last pass

	rings  map[int32]*ring // by the number of their threads
	budget *budget
}

// idle reports whether no event will wait for the current one.
func (o *order) idle() bool { return o.alone || o.planning }

// maxSeen bounds the length of seen, because each thread can have an element
// for every other. Edges to threads beyond it can be redundant.
const maxSeen = 1024

// begin starts the collection for the next event of t. The event inherits the
// dependencies of the events left out since the last one.
func (o *order) begin(t *thread, alone bool) {
	o.alone = alone
	o.forget()
	o.edges = append(o.edges, t.owed...)
	o.here, o.self, o.any = place{t.num, t.events}, t.num, place{}
	o.seen = t.seen
}

// submit starts the collection for a request of a ring that t submits. The request
// comes after everything that t came after; t waits for that before it submits.
func (o *order) submit(t *thread, r *ring) {
	o.alone = false
	o.forget()
	o.here, o.self, o.any = place{r.num, r.events}, t.num, place{}
	o.seen = t.seen
}

// forget removes the edges of the last event.
func (o *order) forget() {
	o.edges = o.edges[:0]
	o.forgetPlaces()
}

func (o *order) forgetPlaces() {
	if o.placed > 0 {
		o.placed = 0
		clear(o.places)
	}
}

// after makes the event wait for p.
func (o *order) after(p place, kind format.EdgeKind) {
	if p.thread == 0 || p.thread == o.self || o.planning || int(p.thread) >= len(o.count) || p.thread == o.here.thread && o.rings[p.thread] == nil {
		return
	}
	// An event that was left out is replaced by the one before it.
	if p.event = min(p.event, o.count[p.thread]-1); p.event < 0 {
		return
	}
	if len(o.rings) > 0 && o.rings[p.thread].isInFlight(p.event, o.now) {
		return
	}
	if p.thread < maxSeen {
		if n := int(p.thread) + 1 - len(o.seen); n > 0 {
			o.seen = grow(o.budget, forOrder, o.seen, make([]int64, n)...)
		}
		if o.seen[p.thread] > p.event {
			return
		}
		o.seen[p.thread] = p.event + 1
	}
	if r := o.rings[p.thread]; r != nil {
		o.after(r.submitter(p.event), kind) // it is in flight from then on
	}
	if i := o.edgeTo(p.thread); i >= 0 {
		if e := &o.edges[i]; e.Event < p.event {
			e.Kind, e.Event = kind, p.event
		}
		return
	}
	o.edges = append(o.edges, format.Edge{Thread: p.thread, Kind: kind, Event: p.event})
}

// follows reports whether the current event comes after p, whatever it waits for.
func (o *order) follows(p place) bool {
	return p.thread == 0 || p.thread == o.self || int(p.thread) < len(o.seen) && o.seen[p.thread] > p.event
}

// manyEdges is the number of edges from which on their places are in a map.
const manyEdges = 64

// edgeTo returns the index of the event's edge to a thread, -1 if it has none.
func (o *order) edgeTo(thread int32) int {
	if len(o.edges) < manyEdges {
		return slices.IndexFunc(o.edges, func(e format.Edge) bool { return e.Thread == thread })
	}
	if o.places == nil {
		o.places = make(map[int32]int)
	}
	for ; o.placed < len(o.edges); o.placed++ {
		to := o.edges[o.placed].Thread
		if _, ok := o.places[to]; !ok {
			o.places[to] = o.placed
		}
	}
	if i, ok := o.places[thread]; ok {
		return i
	}
	return -1
}

// afterAny makes the event wait for the end of any process; p was the recorded one. So
// events before p may not have ended when the event begins.
func (o *order) afterAny(p place) {
	if p.thread == 0 || p.thread == o.here.thread || int(p.thread) >= len(o.count) || p.event >= o.count[p.thread] {
		o.after(p, format.EdgeExit)
		return
	}
	if o.planning {
		return
	}
	o.any = p
	o.edges = append(o.edges, format.Edge{Thread: p.thread, Kind: format.EdgeAny, Event: p.event})
}

// afterAll makes the event wait for each of the places.
func (o *order) afterAll(places []place, kind format.EdgeKind) {
	for _, p := range places {
		o.after(p, kind)
	}
}

// use adds the event to a list of the newest uses of a resource, one for each
// thread, and returns it.
func (o *order) use(uses []place) []place {
	if o.idle() {
		return uses
	}
	room := cap(uses)
	uses = o.newest(uses)
	o.budget.take(forOrder, placeBytes*(cap(uses)-room))
	return uses
}

// newest does the same without counting memory.
func (o *order) newest(uses []place) []place {
	// The newest user comes last, because it is usually the next one, too. A user that
	// ended before this thread began has no use of this thread before it.
	for i := len(uses) - 1; i >= 0 && !o.outlived(uses[i].thread); i-- {
		if uses[i].thread == o.here.thread {
			copy(uses[i:], uses[i+1:])
			uses[len(uses)-1] = o.here
			return uses
		}
	}
	return append(uses, o.here)
}

// end records the end of a thread, and how many threads had been created by then.
func (o *order) end(thread int32, threads int) {
	for len(o.ended) <= int(thread) {
		o.ended = append(o.ended, 0)
	}
	o.ended[thread] = int32(threads)
}

// outlived reports whether a thread had ended before the current one began.
func (o *order) outlived(thread int32) bool {
	return int(thread) < len(o.ended) && o.ended[thread] > 0 && o.here.thread > o.ended[thread]
}

// named makes the event wait for the changes of the names that it passes through, and
// records that it uses them.
func (o *order) named(trail []*entry) {
	for _, e := range trail {
		o.after(e.changed, format.EdgeName)
		e.used = o.use(e.used)
	}
}

// renamed makes the event, which changes the name, wait for all its uses.
func (o *order) renamed(e *entry) {
	o.afterAll(e.used, format.EdgeName)
	o.after(e.changed, format.EdgeName)
	e.changed, e.used = o.here, e.used[:0]
	if e.dir != nil {
		o.afterAll(e.dir.kept, format.EdgeName)
		e.dir.changes = o.use(e.dir.changes)
	}
}

// held orders the event, which listed a directory or failed to remove or replace it,
// after the changes in it so far and before later ones.
func (o *order) held(dir *node) {
	if dir != nil {
		o.afterAll(dir.changes, format.EdgeName)
		dir.kept = o.use(dir.kept)
	}
}

// vanished orders the event, which removed or replaced a file, after the changes in it and
// its listings if it is a directory, and before listings by what still has it open.
func (o *order) vanished(dir *node) {
	if dir.typ != format.TypeDir {
		return
	}
	o.afterAll(dir.changes, format.EdgeName)
	o.afterAll(dir.kept, format.EdgeName)
	dir.changes = o.use(dir.changes)
}

// turn orders events that come one after the other: the event comes after the newest one, and is
// it from now on.
func (o *order) turn(newest *place, kind format.EdgeKind) {
	o.after(*newest, kind)
	*newest = o.here
}

// atEnd orders the event, whose result depends on where a file ends, among changes of the size.
func (o *order) atEnd(nd *node) {
	o.after(nd.resized, format.EdgeBytes)
	nd.ends = o.use(nd.ends)
}

// sized makes the event, which changes the size of a file, wait for the events
// that depend on the size before. smaller says that it can reduce the size.
func (o *order) sized(nd *node, size int64, smaller bool) {
	o.after(nd.resized, format.EdgeBytes)
	o.afterAll(nd.ends, format.EdgeBytes)
	nd.ends = nd.ends[:0]
	if smaller {
		o.afterAll(nd.reads, format.EdgeBytes)
		nd.reads = nd.reads[:0]
		nd.cut(size)
	}
	nd.resized = o.here
	if !o.idle() && size > nd.now {
		o.grew(nd)
	}
}
