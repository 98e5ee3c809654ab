package replay

import (
	"math"
	"sync/atomic"
)

// progress is what other workers see of one. It has cache lines of its own, so
// that publishing it doesn't disturb those who look at their own.
type progress struct {
	_       [64]byte
	done    atomic.Int64 // events that have ended; ended once the thread has
	awaited atomic.Int64 // the earliest event that somebody sleeps for, or nobody
	bell    bell         // rung when done has passed awaited; rung for all by a stop

	// What the worker sleeps for; read by those who look for a deadlock. The
	// thread is 0 while it doesn't sleep.
	forThread atomic.Int32
	forEvent  atomic.Int64

	born    atomic.Bool // its creating event has been executed
	endowed atomic.Bool // it has the descriptors that its process was born with
	locking atomic.Bool // it waits for a record lock
	_       [64]byte
}

const (
	ended  = math.MaxInt64     // of progress.done: more than any event
	nobody = math.MaxInt64     // of progress.awaited
	birth  = math.MaxInt64 - 1 // of progress.forEvent: the thread's creation
)

// edgeSpin is how long an edge is waited for awake, in nanoseconds: about what
// going to sleep and waking up would cost.
const edgeSpin = 20_000

// publish says that the worker's events before w.event have ended.
func (w *worker) publish() {
	w.done.Store(w.event)
	if w.event > w.awaited.Load() {
		w.awake()
	}
}

// awake wakes who sleeps for the worker. Sleepers that want a later event put
// it into awaited again, for they read the bell before they do.
func (w *worker) awake() {
	w.awaited.Store(nobody)
	w.bell.ring()
}

// finish says that the worker will execute no further event.
func (w *worker) finish() {
	w.done.Store(ended)
	w.awake()
	for _, k := range w.e.workers {
		if k.parent == w {
			k.bell.ring()
		}
	}
}

// awaitBirth waits for the event that creates the thread, and reports false if
// the run stopped first. A parent that ends without it releases the thread: a
// trace that is wrong is to be seen in results, not in a hang.
func (w *worker) awaitBirth() bool {
	for w.parent != nil && !w.settled(w.parent, birth) {
		seq := w.bell.rung.Load()
		if !w.sleepFor(w.parent, birth, &w.bell, seq) {
			return false
		}
	}
	return !w.e.stopped.Load()
}

// bear lets the thread begin that an event of its parent has created.
func (w *worker) bear() {
	w.born.Store(true)
	w.bell.ring()
}

// awaitEdges waits for all that the worker's next event depends on, and
// reports false if the run stopped first.
func (w *worker) awaitEdges() bool {
	for ; w.event == w.waits[w.wait].Event; w.wait++ {
		edge := w.waits[w.wait].For
		if !w.await(w.e.workers[edge.Thread-1], edge.Event) {
			return false
		}
	}
	return true
}

func (w *worker) await(k *worker, event int64) bool {
	if w.settled(k, event) {
		return true
	}
	begin := w.e.now()
	defer func() {
		// What was waited for decides when the event is due, not what the
		// time would have been without it.
		w.end = w.e.now()
		w.edgeAt = w.end
		w.orderWait += w.end - begin
	}()
	if w.e.claimSpin() {
		for !w.settled(k, event) && !w.e.stopped.Load() && w.e.now()-begin < edgeSpin {
		}
		w.e.releaseSpin()
	}
	for !w.settled(k, event) {
		seq := k.bell.rung.Load()
		for a := k.awaited.Load(); a > event && !k.awaited.CompareAndSwap(a, event); a = k.awaited.Load() {
		}
		if !w.sleepFor(k, event, &k.bell, seq) {
			return false
		}
	}
	return true
}

// sleepFor sleeps once for an event of k, until b is rung. It reports false if
// the run has stopped, which it does here if nobody could ever wake w.
func (w *worker) sleepFor(k *worker, event int64, b *bell, seq uint32) bool {
	w.forEvent.Store(event)
	w.forThread.Store(k.number)
	defer w.forThread.Store(0)
	if w.deadlocked() {
		w.failf("event %d of thread %d and event %d of thread %d wait for each other", w.event, w.number, k.done.Load(), k.number)
	}
	if w.e.stopped.Load() {
		return false
	}
	if !w.settled(k, event) {
		unpin()
		b.wait(seq, 0)
		pin()
	}
	return !w.e.stopped.Load()
}

// settled reports whether the worker need not wait for an event of k any more.
func (w *worker) settled(k *worker, event int64) bool {
	done := k.done.Load()
	if event == birth {
		return done == ended || w.born.Load()
	}
	return done > event
}

// deadlocked reports whether the sleepers form a ring from w to w. Whoever is
// the last of a ring to fall asleep sees all of it, so none is missed. The
// ring is walked twice: as nobody's count of events can go back, two equal
// walks mean that nobody of it moved in between.
func (w *worker) deadlocked() bool {
	length, events, closed := w.chain()
	if !closed {
		return false
	}
	length2, events2, closed2 := w.chain()
	return closed2 && length == length2 && events == events2
}

// chain follows from w who sleeps for whom, and reports how many they are, the
// sum of their ended events, and whether the way leads back to w.
func (w *worker) chain() (length int, events int64, closed bool) {
	for k := w; length <= len(w.e.workers); length++ {
		n := k.forThread.Load()
		if n == 0 {
			return length, events, false
		}
		on := w.e.workers[n-1]
		if k.settled(on, k.forEvent.Load()) {
			return length, events, false
		}
		if k = on; k == w {
			return length, events, true
		}
		events += k.done.Load()
	}
	return length, events, false
}
