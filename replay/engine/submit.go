package engine

import (
	"errors"
	"fmt"
	"io"

	"pianola/format"
)

// Submit plays an event that submits the next requests of a ring, and waits for
// completions. The worker's time before and after the call of the kernel is subtracted from
// the following compute, as for other events. Submit does nothing for other events of rings, or if
// there is no such ring.
func (w *Worker) Submit(r *format.Record) {
	q := w.Ring(r)
	if q == nil || r.Op != format.OpRingSubmit {
		return
	}
	w.used = q
	if r.Args[1] > 0 {
		q.submit(w, r.Args[1])
	}
	if r.Args[2] > 0 {
		q.awaitCount(w, &q.completions, r.Args[2]+r.Args[3])
	}
}

// submit submits the next n requests, after all their dependencies.
func (q *Ring) submit(w *Worker, n int64) {
	g := q.g
	if !q.Acquire(w) {
		return
	}
	defer q.Release(w)
	n = min(n, g.length-g.Event)
	for ; g.waits[g.wait].Event < g.Event+n; g.wait++ {
		if v := &g.waits[g.wait]; v.For.Thread > 0 && !w.await(w.e.Workers[v.For.Thread-1], v.For.Event) {
			return
		}
	}
	if int64(cap(g.log.entries)-len(g.log.entries)) < n && !q.spill(w) { // rather than within the batch
		return
	}
	for ; n > 0 && !w.e.Stopped(); n-- {
		if g.at == g.filled && !g.more() {
			break
		}
		if g.log.full() && !q.spill(w) {
			return
		}
		r := &g.batch[g.at]
		if w.e.plays(r.Op) && w.e.operation[r.Op].Prepares {
			w.player.Prepare(r)
		}
		q.begin(w, r)
		g.at++
	}
	q.flush(w, g.Event)
}

// spill writes the log's entries out once all of them are whole, and reports whether it
// has. After a stop they may never be.
func (q *Ring) spill(w *Worker) bool {
	q.flush(w, q.g.Event)
	q.Drain(w)
	return q.g.done.Load() == q.g.Event && q.g.spill()
}

// begin begins a request: it prepares it, or executes it as a call.
func (q *Ring) begin(w *Worker, r *format.Record) {
	g, e := q.g, w.e
	how := q.how(w, g.Event)
	at := e.Now()
	event := g.Event
	g.Event++
	g.log.entries = append(g.log.entries, Entry{Start: at - e.start, Dur: inFlight})
	if !e.plays(r.Op) || bookkeeping[r.Op] || submits[r.Op] {
		w.Failf("event %d of thread %d: operation %d can't be a request", event, g.Number, r.Op)
		return
	}
	if o := q.RequestsFor(w); o != nil && q.prepare(w, o, r, how, event, at) {
		return
	}
	// The ring does not execute this operation. Prepared requests may use the same
	// descriptors.
	q.flush(w, event)
	if how.Flags != 0 && q.RequestsFor(w) != nil {
		q.Drain(w)
	}
	q.submitted.Store(g.Event)
	got := w.player.Play(r)
	place := q.addInFlight(w, r, event, at)
	q.state.Take()
	if c, now := (Completion{User: uint64(place), Result: got}), e.Now(); !q.delay(c, now) {
		q.finish(c, now)
	}
	q.publish()
	q.state.Give()
	q.wakeWaiters()
}

// addInFlight records a request as in flight, and returns its place.
func (q *Ring) addInFlight(w *Worker, r *format.Record, event, at int64) int32 {
	q.state.Take()
	if len(q.free) == 0 { // other workers only add to it
		q.state.Give()
		q.grow(w)
		q.state.Take()
	}
	defer q.state.Give()
	place := q.free[len(q.free)-1]
	q.free = q.free[:len(q.free)-1]
	q.flights[place] = flight{by: w.Process, record: *r, event: event, begin: at}
	if g := q.g; g.nanos != nil {
		q.flights[place].recorded = g.nanos[g.at]
	}
	return place
}

// grow makes room for more requests in flight. It allocates before it locks the state,
// because pinned workers spin for that lock.
func (q *Ring) grow(w *Worker) {
	n := len(q.flights)
	size := n + max(n, 64)
	w.Unpin()
	flights, free := make([]flight, size), make([]int32, 0, size)
	var late []delayed
	if w.e.Model != nil {
		late = make([]delayed, 0, size)
	}
	w.Pin()
	for i := size - 1; i >= n; i-- {
		free = append(free, int32(i))
	}
	q.state.Take()
	copy(flights, q.flights)
	q.flights, q.free, q.delayed = flights, append(free, q.free...), append(late, q.delayed...)
	q.state.Give()
	if o := q.requests.Load(); o != nil {
		(*o).Reserve(size - n)
	}
}

// how returns how the request of an event is made.
func (q *Ring) how(w *Worker, event int64) (how format.How) {
	if event == 0 {
		q.nextWay(w)
	}
	for q.hasWay && q.way[0].Event < event {
		q.nextWay(w)
	}
	if q.hasWay && q.way[0].Event == event {
		return q.way[0].How
	}
	return how
}

func (q *Ring) nextWay(w *Worker) {
	w.Unpin()
	n, err := q.ways.Read(q.way[:])
	w.Pin()
	if q.hasWay = n == 1; err != nil && !errors.Is(err, io.EOF) {
		q.g.e.Fail(fmt.Errorf("requests of thread %d: %w", q.g.Number, err))
	}
}

// prepare adds a request to the batch. It returns false for one that is executed as a
// call.
func (q *Ring) prepare(w *Worker, o Requests, r *format.Record, how format.How, event, at int64) bool {
	outcome, result := o.Translate(w, r, how, event)
	if outcome == AsCall {
		return false
	}
	place := q.addInFlight(w, r, event, at)
	for outcome != Failed {
		if w.e.Stopped() {
			return true // the batch may stay full
		}
		switch outcome, result = o.Prepare(w, uint64(place)); outcome {
		case Taken:
			return true
		case AsCall:
			q.state.Take()
			q.free = append(q.free, place)
			q.state.Give()
			return false
		case Full:
			q.flush(w, event)
		case Busy:
			q.flush(w, event)
			q.awaitCount(w, &q.completions, q.completions.Load()+1)
		}
	}
	q.flush(w, event)
	q.submitted.Store(q.g.Event)
	q.state.Take()
	q.finish(Completion{User: uint64(place), Result: result}, w.e.Now())
	q.publish()
	q.state.Give()
	q.wakeWaiters()
	return true
}

// flush submits the prepared requests before an event. It does not wait for a request
// that has only begun, because that wait would not end.
func (q *Ring) flush(w *Worker, event int64) {
	q.submitted.Store(event)
	for o := q.RequestsFor(w); o != nil && !w.e.Stopped(); {
		switch outcome, err := o.Submit(w); {
		case err != nil:
			w.Failf("submit requests of thread %d: %w", q.g.Number, err)
		case outcome == Taken:
			return
		case o.InFlight() == 0:
			w.Failf("submit requests of thread %d: the kernel has no room, and none is in flight", q.g.Number)
		default:
			q.awaitCount(w, &q.completions, q.completions.Load()+1)
		}
	}
}
