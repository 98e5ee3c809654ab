package engine

import (
	"math"
	"sync/atomic"

	"pianola/format"
	"pianola/internal/eventcount"
)

// progress is the state of a worker that others see. It has cache lines of its
// own, so that publishing does not disturb workers that read their own.
type progress struct {
	_       [64]byte
	done    atomic.Int64     // number of events that have ended; the constant ended when the thread has ended
	awaited atomic.Int64     // the earliest event that a worker sleeps for, or unawaited
	WakeUp  eventcount.Count // woken when done has passed awaited, and by a stop

	// Waits that can end early do so when other workers need a later event of this one.
	needed    [2]atomic.Int64                  // one more than the latest event that others have waited for, if hasEarly; and the same for timers
	timedWait atomic.Pointer[eventcount.Count] // the futex of such a wait

	// The event that the worker sleeps for, read by workers that look for a deadlock.
	// The thread is 0 while the worker does not sleep. Before its creation a thread
	// sleeps for its parent.
	forThread atomic.Int32
	forEvent  atomic.Int64

	started    atomic.Bool // its creating event has been executed
	submitting atomic.Bool // it is the submitter of a ring, and may wait for others meanwhile
	_          [64]byte
}

const (
	ended       = math.MaxInt64     // of progress.done: more than any event
	unawaited   = math.MaxInt64     // of progress.awaited
	creation    = math.MaxInt64 - 1 // of progress.forEvent: the thread's creation
	ringRelease = math.MaxInt64 - 2 // of progress.forEvent: the release of the ring whose submitter it is
)

// edgeSpin is how long a worker spins for an edge before it sleeps, in
// nanoseconds: about the cost of going to sleep and waking up.
const edgeSpin = 20_000

// publish announces that the events before w.Event have ended. Other workers wait for
// the last of them.
func (w *Worker) publish() {
	w.ends[w.target].Store(w.due)
	w.target++
	w.done.Store(w.Event)
	w.notifyAny(w.target - 1)
	w.post(w.target-1, w.due, w.end)
	if w.Event > w.awaited.Load() {
		w.wakeWaiters()
	}
}

// notifyAny notifies a worker that waits for any of several events of the end of a target.
func (w *Worker) notifyAny(target int) {
	if w.notifies != nil && w.notifies[target] != nil {
		w.notifies[target].count(w.due)
	}
}

// wakeWaiters wakes the workers that sleep for this one. Those that wait for a later
// event set awaited again; they read the futex before that, so no wake-up is
// lost.
func (w *Worker) wakeWaiters() {
	w.awaited.Store(unawaited)
	w.WakeUp.Advance()
}

// finish announces that the worker will execute no more events. It starts the threads
// that its remaining events should have created.
func (w *Worker) finish() {
	w.done.Store(ended)
	for ; w.target < len(w.targets)-1; w.target++ {
		w.notifyAny(w.target)
		w.post(w.target, w.due, w.end)
	}
	w.wakeWaiters()
	for _, k := range w.children {
		if !k.started.Load() {
			w.reserveSlot(k)
			k.WakeUp.Advance()
		}
	}
}

// awaitStart waits for the event that creates the thread, and reports false if
// the run stopped first. A parent that ends without that event releases the
// thread, so that a wrong trace shows in results and does not hang.
func (w *Worker) awaitStart() bool {
	for w.parent != nil && !w.satisfied(w.parent, creation) {
		seq := w.WakeUp.Value()
		if !w.sleepFor(w.parent, creation, &w.WakeUp, seq) {
			return false
		}
	}
	w.forThread.Store(0)
	return !w.e.Stopped()
}

// setParent makes the worker wait for the worker that creates its thread.
func (w *Worker) setParent(parent *Worker) {
	w.parent = parent
	parent.children = append(parent.children, w)
	w.forEvent.Store(creation)
	w.forThread.Store(parent.Number)
}

// Start starts the thread, once. The worker of its parent calls it, during the event that
// creates it.
func (w *Worker) Start() {
	if w.started.Load() {
		return
	}
	w.createdAt = w.parent.current
	w.started.Store(true)
	w.WakeUp.Advance()
}

// awaitEdges waits for all dependencies of the worker's next event, and returns false
// if the run stopped first.
func (w *Worker) awaitEdges() bool {
	w.endTimedWaits()
	for ; w.Event == w.waits[w.wait].Event; w.wait++ {
		v := &w.waits[w.wait]
		w.held += v.Held
		w.early += v.Expired
		w.timer = w.timer || v.Timer()
		if v.For.Kind == format.EdgeJoin && v.For.Thread == 0 { // see dropWaits
			w.after = max(w.after, w.synced+w.e.scale(v.For.Delay))
			continue
		}
		if w.e.Outside.ignores(v.For.Kind) {
			continue
		}
		from := w.e.start
		switch {
		case v.For.Thread == 0:
		case v.For.Kind == format.EdgeAny && w.any != nil:
			n := int64(w.places[w.wait])
			if !w.awaitAny(n) {
				return false
			}
			from = w.any.ends[n-1].Load()
		default:
			k := w.e.Workers[v.For.Thread-1]
			if !w.await(k, v.For.Event) {
				return false
			}
			from = k.endOf(w.places[w.wait])
		}
		if from += w.e.scale(v.For.Delay); v.For.Kind == format.EdgeTick {
			w.tick = max(w.tick, from)
		} else {
			w.after = max(w.after, from)
		}
	}
	for len(w.durable) > 0 && w.durable[0].event <= w.Event {
		w.awaitDurable()
	}
	// A thread that stops releases those that wait for it.
	return !w.e.Stopped()
}

func (w *Worker) await(k *Worker, event int64) bool {
	if w.satisfied(k, event) {
		return true
	}
	begin := w.e.Now()
	defer w.waitedFrom(begin)
	if k.ring != nil {
		return k.ring.awaitEnd(w, event)
	}
	ended := k.ended()
	if w.e.acquireSpin() {
		for !w.satisfied(k, event) && !w.e.Stopped() && w.e.Now()-begin < edgeSpin {
		}
		w.e.releaseSpin()
	}
	for !w.satisfied(k, event) {
		seq := ended.Value()
		k.wakeAfter(event)
		if !w.sleepFor(k, event, ended, seq) {
			return false
		}
	}
	return true
}

// endTimedWaits calls endTimedWait for all edges of the worker's next event, before it waits for
// any. One edge can allow what another one doesn't.
func (w *Worker) endTimedWaits() {
	for i := w.wait; w.Event == w.waits[i].Event; i++ {
		v := &w.waits[i].For
		if v.Thread == 0 || v.Kind == format.EdgeAny && w.any != nil || w.e.Outside.ignores(v.Kind) {
			continue
		}
		if k := w.e.Workers[v.Thread-1]; k.hasEarly {
			k.endTimedWait(v.Event, v.Kind)
		}
	}
}

// endTimedWait makes the worker skip the waits for a time limit before an event that another
// worker waits for, as far as the edge allows. In the recording, the thread would not have
// blocked the other one.
func (p *progress) endTimedWait(event int64, by format.EdgeKind) {
	for i := range p.needed {
		if !by.Hastens(i == 1) {
			continue
		}
		needed := &p.needed[i]
		for n := needed.Load(); n <= event && !needed.CompareAndSwap(n, event+1); n = needed.Load() {
		}
	}
	if f := p.timedWait.Load(); f != nil {
		f.Advance()
	}
}

// awaitWaker repeats a wait that ended by a time limit. It waits until the event is
// due, the thread has been woken, or the event is needed, whichever comes first. The
// thread's waker is its next event with an edge of EdgeTimed. awaitWaker returns when
// the current event is due, or slightly earlier.
func (w *Worker) awaitWaker(due int64) int64 {
	i := max(w.timed, w.wait)
	for w.waits[i].Event < math.MaxInt64 && w.waits[i].For.Kind != format.EdgeTimed {
		i++
	}
	w.timed = i
	event := w.waits[i].Event
	if w.hasTimer() || event == math.MaxInt64 { // no thread wakes it
		least := due
		if w.timer || w.tick == 0 {
			least -= w.e.scale(w.early)
		}
		due = max(due, w.tick)
		w.useGap(w.end, due)
		w.awaitUntil(nil, 0, due-warmUp)
		if w.end = w.e.Now(); w.isNeeded() {
			return min(due, max(least, w.end))
		}
		return due
	}
	least := due - w.e.scale(w.early)
	w.useGap(w.end, due)
	for ; w.waits[i].Event == event; i++ {
		v := &w.waits[i]
		if v.For.Kind != format.EdgeTimed {
			continue
		}
		from := w.e.start
		if v.For.Thread > 0 {
			k := w.e.Workers[v.For.Thread-1]
			if !w.awaitUntil(k, v.For.Event, due-warmUp) {
				least = due
				break
			}
			from = k.endOf(w.places[i])
		}
		least = max(least, from)
	}
	if w.end = w.e.Now(); w.isNeeded() {
		least = max(due-w.e.scale(w.early), w.end)
	}
	return min(due, least)
}

// hasTimer reports whether the wait before the current event is for a timer.
func (w *Worker) hasTimer() bool { return w.timer || w.tick > 0 }

// isNeeded reports whether another worker needs the current event, so that the wait before
// it ends early.
func (w *Worker) isNeeded() bool {
	needed := &w.needed[0]
	if w.hasTimer() {
		needed = &w.needed[1]
	}
	return needed.Load() > w.Event
}

// awaitUntil waits for the end of an event of k, nil for none, at most to a deadline, and
// reports whether it has come. It returns early if another worker needs the current event.
func (w *Worker) awaitUntil(k *Worker, event, deadline int64) bool {
	defer w.timedWait.Store(nil)
	ended := &w.WakeUp
	for k == nil || !w.satisfied(k, event) {
		if k != nil {
			ended = k.ended()
		}
		seq := ended.Value()
		if w.e.Now() >= deadline || w.e.hasStopped() {
			return false
		}
		if k != nil {
			k.wakeAfter(event)
		}
		w.timedWait.Store(ended)
		if w.isNeeded() {
			return false
		}
		if k == nil || !w.satisfied(k, event) {
			w.sleep(ended, seq, w.e.deadline(deadline))
		}
	}
	return true
}

// wakeAfter makes the worker wake its sleepers after an event.
func (w *Worker) wakeAfter(event int64) {
	if w.remote != nil {
		w.remote.Expect(event)
		return
	}
	p := &w.progress
	for a := p.awaited.Load(); a > event && !p.awaited.CompareAndSwap(a, event); a = p.awaited.Load() {
	}
}

// waitedFrom records that the worker has waited for others, from begin until now.
func (w *Worker) waitedFrom(begin int64) {
	w.end = w.e.Now()
	w.edgeAt = w.end
	w.orderWait += w.end - begin
}

// sleepFor sleeps once for an event of k, until f is woken. It returns false if
// the run has stopped. It stops the run if there is a deadlock.
func (w *Worker) sleepFor(k *Worker, event int64, f *eventcount.Count, seq uint32) bool {
	return w.sleepAtMost(k, event, f, seq, 0)
}

// sleepAtMost does the same, at most until CLOCK_MONOTONIC reaches a time; 0 means no limit.
func (w *Worker) sleepAtMost(k *Worker, event int64, f *eventcount.Count, seq uint32, until int64) bool {
	w.forEvent.Store(event)
	w.forThread.Store(k.Number)
	defer w.forThread.Store(0)
	if w.deadlocked() {
		w.Failf("event %d of thread %d and event %d of thread %d wait for each other", w.Event, w.Number, k.done.Load(), k.Number)
	}
	if w.e.Stopped() {
		return false
	}
	if !w.satisfied(k, event) {
		w.sleep(f, seq, until)
	}
	return !w.e.Stopped()
}

// satisfied reports whether the worker no longer needs to wait for an event of k.
func (w *Worker) satisfied(k *Worker, event int64) bool {
	done := k.done.Load()
	if k.remote != nil {
		done = k.remote.Done()
	}
	switch event {
	case creation:
		return done == ended || w.started.Load()
	case ringRelease:
		return !k.submitting.Load()
	}
	if k.ring != nil && event >= k.ring.submitted.Load() {
		return true // see Ring.awaitEnd
	}
	return done > event
}

// deadlocked reports whether the sleepers form a cycle from w to w. The last
// worker of a cycle to fall asleep sees all of it, so no cycle is missed. The
// cycle is walked twice: counts of events never decrease, so two equal walks
// mean that no worker moved in between.
func (w *Worker) deadlocked() bool {
	length, events, closed := w.chain()
	if !closed {
		return false
	}
	length2, events2, closed2 := w.chain()
	return closed2 && length == length2 && events == events2
}

// chain follows, from w, which worker sleeps for which. It returns their number, the
// sum of their ended events, and whether the chain leads back to w.
func (w *Worker) chain() (length int, events int64, closed bool) {
	for k := w; length <= len(w.e.Workers); length++ {
		n := k.forThread.Load()
		if n == 0 {
			return length, events, false
		}
		on := w.e.Workers[n-1]
		if k.satisfied(on, k.forEvent.Load()) {
			return length, events, false
		}
		if k = on; k == w {
			return length, events, true
		}
		events += k.done.Load()
	}
	return length, events, false
}
