package format

import (
	"errors"
	"io"
)

// maxHeld bounds the events that are held back because the creation of their
// thread has not come. A child can run ahead of the line of its parent's clone
// only while the parent returns from it, so there are far fewer in practice.
const maxHeld = 1 << 18

// causalBatch is how many events a Causal reads at once.
const causalBatch = 512

// How far Causal looks ahead for the creation of a thread: events, and
// nanoseconds of the recording.
const (
	maxAhead     = 1 << 14
	maxAheadTime = 1_000_000_000
)

// Causal yields the events of a Reader one by one, in an order in which a
// thread is created before its first event. The lines of a script are in order
// of completion, so a child's first lines can precede the line of the clone
// that created it. Causal moves that line up; all others keep their order. If
// the clone does not come soon, Causal holds the child's events back until it
// comes. Events that were held back keep their order, too: those of a process in which a
// thread creates another one come as they were recorded.
type Causal struct {
	Orphans int // threads so far whose creation is not in the recording

	r       Reader
	batch   []Event
	n, i    int
	err     error
	started bool
	ahead   lookahead

	alive   map[int32]bool
	last    int32 // a living thread, 0 for none; most events are of the same thread as the one before
	held    map[int32][]heldEvent
	heldNum int
	arrived int64
	ready   Heap[[]heldEvent] // events of threads that were held back and can come now, none without any
}

// heldEvent is an event that was held back. It has the number of its line among those that
// were.
type heldEvent struct {
	Event
	arrival int64
}

// release has the events of a thread come, if there are any.
func (c *Causal) release(events []heldEvent) {
	if len(events) > 0 {
		c.ready.Push(events)
	}
}

// NewCausal returns a Causal that reads r.
func NewCausal(r Reader) *Causal {
	return &Causal{r: r, batch: make([]Event, causalBatch), alive: map[int32]bool{}, held: map[int32][]heldEvent{},
		ready: NewHeap(func(a, b *[]heldEvent) bool { return (*a)[0].arrival < (*b)[0].arrival }, nil)}
}

// Next returns the next event, valid until the next call. After the last event
// of the Reader it returns the events of threads whose creation never came, and
// then io.EOF. Other errors are those of the Reader.
func (c *Causal) Next() (*Event, error) {
	for {
		if len(c.ready.Items) > 0 {
			queue := c.ready.Pop()
			if c.admit(&queue[0].Event) {
				c.release(queue[1:])
				return &queue[0].Event, nil
			}
			c.holdAgain(queue)
			continue
		}
		e := c.read()
		if e == nil {
			if c.err != nil && (!errors.Is(c.err, io.EOF) || !c.releaseAll()) {
				return nil, c.err
			}
			continue
		}
		if c.admit(e) {
			return e, nil
		}
		c.arrived++
		c.held[e.TID] = append(c.held[e.TID], heldEvent{e.Clone(), c.arrived})
		if c.heldNum++; c.heldNum > maxHeld {
			c.orphan(e.TID)
		}
	}
}

// orphan lets a thread begin whose creation has not come.
func (c *Causal) orphan(tid int32) {
	c.Orphans++
	c.born(tid)
}

// born lets a thread begin, with the events that were held back for that.
func (c *Causal) born(tid int32) {
	c.alive[tid] = true
	c.release(c.held[tid])
	c.heldNum -= len(c.held[tid])
	delete(c.held, tid)
}

// read returns the next event of the Reader, with clones moved up. The result
// is nil at the end, and at an error.
func (c *Causal) read() *Event {
	a := &c.ahead
	for {
		e := a.next()
		if e == nil {
			if e = c.fetch(); e == nil || !c.unborn(e) {
				return e
			}
			a.add(e)
			continue
		}
		if !c.unborn(e) {
			return a.take()
		}
		if made := c.creation(e.TID); made != nil {
			return made
		}
		if a.reaches(maxAhead, e.Start+maxAheadTime) {
			return a.take()
		}
		k := c.fetch()
		if k == nil {
			return a.take()
		}
		a.add(k)
	}
}

// unborn reports whether the creation of an event's thread has not come, and no
// event of the thread is held back for that.
func (c *Causal) unborn(e *Event) bool {
	switch {
	case e.TID == c.last && e.TID != 0, !e.Valid(), e.Enters != nil, len(c.alive) == 0, c.alive[e.TID], len(c.held[e.TID]) > 0:
		return false
	}
	was := e.Renamed()
	return was == 0 || !c.alive[was]
}

// maxUnborn is how many threads Causal moves up that create one another.
const maxUnborn = 64

// creation takes the event that creates a thread out of those that were read
// ahead, and returns it, nil if it has not come. If the thread of that event is
// to be created first, it returns that creation.
func (c *Causal) creation(tid int32) *Event {
	for range maxUnborn {
		e := c.ahead.creation(tid)
		if e == nil {
			return nil
		}
		if !c.unborn(e) {
			return c.ahead.moveUp(tid)
		}
		tid = e.TID
	}
	return nil
}

// fetch returns the next event of the Reader, nil at the end and at an error.
func (c *Causal) fetch() *Event {
	for c.i == c.n {
		if c.err != nil {
			return nil
		}
		c.n, c.err = c.r.Read(c.batch)
		c.i = 0
		if !c.started {
			c.begin()
		}
	}
	c.i++
	return &c.batch[c.i-1]
}

// begin admits the threads of a trace that no other thread creates, and those that ran when
// the recording began.
func (c *Causal) begin() {
	c.started = true
	for i, t := range c.r.Header().Threads {
		if t.Parent == 0 {
			c.alive[int32(i+1)] = true
		}
	}
	c.enter(c.r.Header())
}

// enter admits the threads of processes that already run when a header names them.
func (c *Causal) enter(h *Header) {
	for _, p := range h.Running() {
		for _, tid := range p.Threads {
			c.alive[tid] = true
		}
	}
}

// admit reports whether e can be returned now. If not, the caller holds it back.
func (c *Causal) admit(e *Event) bool {
	if !e.Valid() {
		return true // the caller reports the error
	}
	if e.Enters != nil {
		c.enter(e.Enters)
	}
	if was := e.Renamed(); was != 0 && c.alive[was] {
		delete(c.alive, was)
		c.alive[e.TID] = true
		c.last = 0
	}
	if e.TID != c.last || e.TID == 0 {
		if !c.alive[e.TID] {
			if len(c.alive) > 0 {
				return false
			}
			c.alive[e.TID] = true
		}
		c.last = e.TID
	}
	switch e.Op.Info().Effect {
	case EffectFork:
		if e.Ret > 0 {
			c.born(int32(e.Ret))
		}
	case EffectExit, EffectExitGroup:
		// The map must not become empty, because an empty map means the start
		// of the recording.
		if len(c.alive) > 1 {
			delete(c.alive, e.TID)
			c.last = 0
		}
	}
	return true
}

// holdAgain holds back events that were held before: those after the end of a thread,
// which belong to another thread with its id. It copies none, because this can happen
// as often as there are events.
func (c *Causal) holdAgain(queue []heldEvent) {
	tid := queue[0].TID
	if before := c.held[tid]; before != nil {
		queue = append(before, queue...)
		c.heldNum -= len(before)
	}
	c.held[tid] = queue
	c.heldNum += len(queue)
}

// releaseAll admits the threads whose creation never came, and reports whether
// there were any.
func (c *Causal) releaseAll() bool {
	if len(c.held) == 0 {
		return false
	}
	for tid := range c.held {
		c.orphan(tid)
	}
	return true
}

// CausalReader reads the events of a Reader in the order of Causal.
type CausalReader struct {
	r     Reader
	next  *Causal
	first *Event // nil once it was read
	err   error
}

// NewCausalReader returns a CausalReader of r. It reads the first event, so that the
// header is complete except for lines at the end of a recording. Read returns an error
// of that.
func NewCausalReader(r Reader) *CausalReader {
	c := &CausalReader{r: r, next: NewCausal(r)}
	c.first, c.err = c.next.Next()
	return c
}

// Read implements Reader. It returns one event at a time.
func (c *CausalReader) Read(events []Event) (int, error) {
	if c.first == nil && c.err == nil {
		c.first, c.err = c.next.Next()
	}
	if c.err != nil {
		return 0, c.err
	}
	if len(events) == 0 {
		return 0, nil
	}
	events[0], c.first = *c.first, nil
	return 1, nil
}

// Header implements Reader.
func (c *CausalReader) Header() *Header { return c.r.Header() }

// lookahead is events that were read ahead, of which creations of threads can
// be taken out of turn. Events count from 0.
type lookahead struct {
	events []aheadEvent
	base   int   // number of the first of these
	first  int   // number of the next one to take
	last   Event // the newest one that was taken, or moved up

	creations map[int32]creation // by the thread that they create
	newest    map[int32]int      // number of the newest event of each thread
}

type aheadEvent struct {
	Event
	moved bool // up
}

// creation is an event that creates a thread.
type creation struct {
	number int
	before int // number of the event of the same thread before it, -1 if it was not read ahead
}

// next returns the next event, nil for none.
func (a *lookahead) next() *Event {
	for ; a.first < a.base+len(a.events); a.first++ {
		if e := &a.events[a.first-a.base]; !e.moved {
			return &e.Event
		}
	}
	if len(a.events) > 0 {
		*a = lookahead{events: a.events[:0]}
	}
	return nil
}

// add adds a copy of an event.
func (a *lookahead) add(e *Event) {
	if a.creations == nil {
		a.creations, a.newest = map[int32]creation{}, map[int32]int{}
	}
	if n := a.first - a.base; n > maxAhead {
		a.events = append(a.events[:0], a.events[n:]...)
		a.base = a.first
	}
	number := a.base + len(a.events)
	before, known := a.newest[e.TID]
	if !known {
		before = -1
	}
	a.newest[e.TID] = number
	if child := int32(e.Ret); e.Op.Valid() && e.Op.Info().Effect == EffectFork && e.Ret > 0 && child != e.TID {
		if _, twice := a.creations[child]; !twice {
			a.creations[child] = creation{number, before}
		}
	}
	a.events = append(a.events, aheadEvent{Event: e.Clone()})
}

// take takes the next event, which is valid until the next call.
func (a *lookahead) take() *Event {
	a.last = a.events[a.first-a.base].Event
	if child := int32(a.last.Ret); a.creations[child].number == a.first {
		delete(a.creations, child)
	}
	a.first++
	return &a.last
}

// reaches reports whether so many events were read ahead, or one that began
// after a time.
func (a *lookahead) reaches(events int, time int64) bool {
	return a.base+len(a.events)-a.first >= events || a.events[len(a.events)-1].Start > time
}

// creation returns the event that creates a thread, nil if it was not read
// ahead. A thread has no event while it creates another, so the event can be
// moved up unless one of its thread is before it.
func (a *lookahead) creation(tid int32) *Event {
	c, known := a.creations[tid]
	if !known || c.before >= a.first {
		return nil
	}
	return &a.events[c.number-a.base].Event
}

// moveUp takes the event that creation returns. It is valid until the next
// call.
func (a *lookahead) moveUp(tid int32) *Event {
	e := &a.events[a.creations[tid].number-a.base]
	a.last, e.moved = e.Event, true
	delete(a.creations, tid)
	return &a.last
}
