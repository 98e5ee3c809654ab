package format

import (
	"container/heap"
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
	ready   readyQueues // events to return
}

// heldEvent is an event that was held back. It has the number of its line among those that
// were.
type heldEvent struct {
	Event
	arrival int64
}

// readyQueues are the events of threads that were held back and can come now. The first
// queue, none of which is empty, begins with the earliest one (container/heap).
type readyQueues [][]heldEvent

func (q readyQueues) Len() int           { return len(q) }
func (q readyQueues) Less(i, j int) bool { return q[i][0].arrival < q[j][0].arrival }
func (q readyQueues) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *readyQueues) Push(x any)        { *q = append(*q, x.([]heldEvent)) }
func (q *readyQueues) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// add adds the events of a thread, if there are any.
func (q *readyQueues) add(events []heldEvent) {
	if len(events) > 0 {
		heap.Push(q, events)
	}
}

// NewCausal returns a Causal that reads r.
func NewCausal(r Reader) *Causal {
	return &Causal{r: r, batch: make([]Event, causalBatch), alive: map[int32]bool{}, held: map[int32][]heldEvent{}}
}

// Next returns the next event, valid until the next call. After the last event
// of the Reader it returns the events of threads whose creation never came, and
// then io.EOF. Other errors are those of the Reader.
func (c *Causal) Next() (*Event, error) {
	for {
		if len(c.ready) > 0 {
			queue := heap.Pop(&c.ready).([]heldEvent)
			if c.admit(&queue[0].Event) {
				c.ready.add(queue[1:])
				return &queue[0].Event, nil
			}
			c.holdAgain(queue)
			continue
		}
		e := c.read()
		if e == nil {
			if c.err != nil && (!errors.Is(c.err, io.EOF) || !c.release()) {
				return nil, c.err
			}
			continue
		}
		if c.admit(e) {
			return e, nil
		}
		c.arrived++
		c.held[e.TID] = append(c.held[e.TID], heldEvent{e.Clone(), c.arrived})
		c.heldNum++
	}
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
		if !c.alive[e.TID] && !c.begins(e.TID) {
			return false
		}
		c.last = e.TID
	}
	switch e.Op.Info().Effect {
	case EffectFork:
		if e.Ret > 0 {
			child := int32(e.Ret)
			c.alive[child] = true
			c.ready.add(c.held[child])
			c.heldNum -= len(c.held[child])
			delete(c.held, child)
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

// begins reports whether a thread can begin whose creation has not come.
func (c *Causal) begins(tid int32) bool {
	if len(c.alive) > 0 {
		if c.heldNum < maxHeld {
			return false
		}
		c.Orphans++
	}
	c.alive[tid] = true
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

// release admits the threads whose creation never came, and reports whether
// there were any.
func (c *Causal) release() bool {
	if len(c.held) == 0 {
		return false
	}
	for tid, events := range c.held {
		c.alive[tid] = true
		c.Orphans++
		c.ready.add(events)
	}
	c.held, c.heldNum = map[int32][]heldEvent{}, 0
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
