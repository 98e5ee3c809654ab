package engine

import (
	"math"
	"sync/atomic"

	"pianola/format"
	"pianola/internal/spin"
)

// waitsInside reports whether the waits of an event belong to its duration: a call that
// submits nothing waits for requests that others submit in the meantime.
func (w *Worker) waitsInside(r *format.Record) bool {
	if r.Args[1] > 0 || w.Ring(r) == nil {
		return false
	}
	for _, v := range w.waits[w.wait:] {
		switch {
		case v.Event != w.Event:
			return true
		case v.For.Kind != format.EdgeMessage, v.For.Delay|v.Held|v.Expired != 0:
			return false
		}
	}
	return true
}

// reapForEdges reaps completions as they arrive, until the worker's event no longer has to
// wait.
func (q *Ring) reapForEdges(w *Worker) {
	for i := w.wait; w.waits[i].Event == w.Event; i++ {
		edge := &w.waits[i].For
		for edge.Thread > 0 && !w.satisfied(w.e.Workers[edge.Thread-1], edge.Event) && q.g.done.Load() < q.submitted.Load() && !w.e.Stopped() {
			q.awaitCount(w, &q.completions, q.completions.Load()+1)
		}
	}
}

// awaitReaped waits, before an event that submits requests, for as many completions as
// the application had reaped. The event is due after its compute, counted from the last
// of them.
func (w *Worker) awaitReaped(r *format.Record) {
	q, n := w.Ring(r), r.Args[3]
	if q == nil || n <= 0 || r.Args[1] <= 0 {
		return
	}
	if q.completions.Load() < n {
		q.poll(w, n)
		q.awaitCount(w, &q.completions, n)
		w.end = w.e.Now()
		w.edgeAt = w.end
	}
	if all := q.completions.Load(); r.Args[4] > 0 && n <= all && all-n < keptTimes {
		w.after = max(w.after, q.completedAt[n%keptTimes]+w.e.scale(r.Args[4]))
	}
}

// poll reaps completions as they arrive, for a short time, until there have been n.
// The application has reaped these without a call, so it may have spun as well.
func (q *Ring) poll(w *Worker, n int64) {
	for until := w.e.Now() + pollTime; q.completions.Load() < n && q.hasPending(w) && !w.e.Stopped() && w.e.Now() < until; {
		q.tryReap(w)
	}
}

// pollTime is in nanoseconds. It is longer than a request of a fast device takes, and
// no longer than going to sleep costs, because spinning keeps the processor from other
// workers.
const pollTime = 50_000

// Drain waits until no request is in flight.
func (q *Ring) Drain(w *Worker) { q.awaitCount(w, &q.g.done, q.submitted.Load()) }

// Quiesce waits until no request is in flight, and makes the worker the reaper. The worker is the
// submitter, so that no other worker submits or reaps. It calls StopReaping afterwards.
func (q *Ring) Quiesce(w *Worker) {
	q.Drain(w)
	for !q.reaping.CompareAndSwap(false, true) {
		spin.Yield() // the reaper finds nothing, or that the run has stopped
	}
}

// AwaitRequestsOf waits until no request that a process has submitted is in flight: until
// then the kernel uses the memory of the process.
func (q *Ring) AwaitRequestsOf(w *Worker, process int32) {
	for came := q.completions.Load(); q.hasRequestsOf(process) && !w.e.Stopped(); came = q.completions.Load() {
		q.awaitCount(w, &q.completions, came+1)
	}
}

// hasRequestsOf reports whether requests that a process has submitted are in flight.
func (q *Ring) hasRequestsOf(process int32) bool {
	submitted := q.submitted.Load()
	if q.g.done.Load() >= submitted {
		return false
	}
	q.state.Take()
	defer q.state.Give()
	for i := range q.flights {
		if f := &q.flights[i]; f.by == process && f.event < submitted {
			return true
		}
	}
	return false
}

// awaitEnd waits for the end of a request and of all before it. It does not wait for
// requests that were not submitted, so that no deadlock can arise: an edge leads to
// the event that submits them, too.
func (q *Ring) awaitEnd(w *Worker, event int64) bool {
	q.awaitCount(w, &q.g.done, min(event+1, q.submitted.Load()))
	return !w.e.Stopped()
}

// awaitCount waits until a count of completions is so high, or no request is in flight, or
// the run has stopped. Meanwhile it takes completions from the kernel, unless another
// worker does.
func (q *Ring) awaitCount(w *Worker, count *atomic.Int64, until int64) {
	for {
		seq := q.g.WakeUp.Value()
		if count.Load() >= until || q.g.done.Load() >= q.submitted.Load() || w.e.hasStopped() {
			return
		}
		if !q.canReap() || !q.reaping.CompareAndSwap(false, true) {
			w.CallBegins()
			q.sleepers.Add(1)
			if count.Load() < until && (!q.canReap() || q.reaping.Load()) {
				w.Unpin()
				q.g.WakeUp.Wait(seq, 0)
				w.Pin()
			}
			q.sleepers.Add(-1)
			w.CallEnds()
			continue
		}
		if count.Load() < until && !q.reap(w) && q.canReap() {
			q.wait(w)
			q.reap(w)
		}
		q.StopReaping()
	}
}

// wait waits in the kernel for a completion.
func (q *Ring) wait(w *Worker) {
	if q.numDelayed.Load() > 0 {
		q.awaitDelayed(w)
		return
	}
	o := q.RequestsFor(w)
	if o == nil { // its descriptor is not in the table of this thread, but its memory is mapped
		w.Unpin()
		q.g.WakeUp.Wait(q.g.WakeUp.Value(), w.e.deadline(w.e.Now()+100_000))
		w.Pin()
		return
	}
	w.CallBegins()
	var err error
	if !o.WaitFor(w, stopPoll) {
		err = o.Wait(w)
	}
	w.CallEnds()
	if err != nil {
		w.Failf("wait for requests of thread %d: %w", q.g.Number, err)
	}
}

// awaitDelayed waits until the first of the delayed completions is due, or another one
// comes. The worker is the reaper.
func (q *Ring) awaitDelayed(w *Worker) {
	e := w.e
	q.state.Take()
	first := int64(math.MaxInt64)
	for _, d := range q.delayed {
		first = min(first, d.at)
	}
	q.state.Give()
	now := e.Now()
	if first <= now {
		return
	}
	if o := q.requests.Load(); o != nil && (*o).InFlight() > 0 {
		if (*o).Accessible(w) {
			w.CallBegins()
			waited := (*o).WaitFor(w, min(first-now, stopPoll))
			w.CallEnds()
			if waited {
				return
			}
		}
		first = min(first, now+delayedPoll)
	}
	w.CallBegins()
	if first-now > e.Margin {
		now = w.SleepUntil(first - e.Margin)
	}
	for now < first && !e.Stopped() {
		now = e.Now()
	}
	w.CallEnds()
}

// delayedPoll is how long a worker waits for delayed completions, in nanoseconds, before
// it checks for those that it can't wait for at the same time.
const delayedPoll = 50_000

// stopPoll is how long a worker waits in a ring at most before it checks for a stop, in
// nanoseconds: a stop can't wake it there.
const stopPoll = 20_000_000

// waitAndReap waits for a completion, or for so many nanoseconds, and takes what has come. It
// reports whether it could wait: requests are in flight, and no other worker reaps.
func (q *Ring) waitAndReap(w *Worker, nanos int64) (waited bool) {
	if !q.hasPending(w) || !q.reaping.CompareAndSwap(false, true) {
		return false
	}
	if o := q.RequestsFor(w); o != nil { // no worker has closed it meanwhile
		waited = q.reap(w) || o.WaitFor(w, min(nanos, stopPoll))
		q.reap(w)
	}
	q.StopReaping()
	return waited
}

// tryReap takes the completions that have come. It does not start reaping until there are some,
// because it is called often, and others would wake up each time.
func (q *Ring) tryReap(w *Worker) {
	if !q.hasPending(w) {
		return
	}
	q.readers.Add(1)
	o := q.RequestsFor(w)
	ready := o != nil && o.Ready()
	q.readers.Add(-1)
	if ready && q.reaping.CompareAndSwap(false, true) {
		q.reap(w)
		q.StopReaping()
	}
}

// hasPending reports whether requests of a ring are in flight in the kernel, and the worker
// can wait for them.
func (q *Ring) hasPending(w *Worker) bool {
	o := q.RequestsFor(w)
	return o != nil && q.g.done.Load() < q.submitted.Load()
}
