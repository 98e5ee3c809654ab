package replay

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/rings"
)

// callRingSubmit submits the next requests of the queue, and waits for completions. The
// worker's time before and after the call of the kernel is subtracted from the
// following compute, as for other events.
func callRingSubmit(w *worker, r *format.Record) int64 {
	q := w.queueOf(r)
	if q == nil {
		return errInvalid
	}
	w.ring = q
	if r.Args[1] > 0 {
		q.submit(w, r.Args[1])
	}
	if r.Args[2] > 0 {
		q.drive(w, &q.came, r.Args[2]+r.Args[3])
	}
	return r.Ret
}

// submit submits the next n requests, after all their dependencies.
func (q *queue) submit(w *worker, n int64) {
	g := q.g
	q.owner.CompareAndSwap(nil, w.process) // a trace that does not open it
	if !q.claim(w) {
		return
	}
	defer q.give(w)
	n = min(n, g.length-g.event)
	for ; g.waits[g.wait].Event < g.event+n; g.wait++ {
		if v := &g.waits[g.wait]; v.For.Thread > 0 && !w.await(w.e.workers[v.For.Thread-1], v.For.Event) {
			return
		}
	}
	for ; n > 0; n-- {
		if g.at == g.filled && !g.more() {
			break
		}
		if g.log.full() && !q.spill(w) {
			return
		}
		r := &g.batch[g.at]
		if int(r.Op) < len(intoArena) && intoArena[r.Op] {
			w.readyPages(r)
		}
		q.begin(w, r)
		g.at++
	}
	q.flush(w, g.event)
}

// spill writes the log's entries out once all of them are whole.
func (q *queue) spill(w *worker) bool {
	q.drain(w)
	return q.g.spill()
}

// begin begins a request: it prepares it, or executes it as a call.
func (q *queue) begin(w *worker, r *format.Record) {
	g, e := q.g, w.e
	how := q.how(w, g.event)
	at := e.now()
	event := g.event
	g.event++
	g.log.entries = append(g.log.entries, entry{start: at - e.start, dur: inFlight})
	if int(r.Op) >= len(e.calls) || e.calls[r.Op] == nil || r.Op.Info().Class == format.ClassProcess || r.Op.Info().Acts.Any(format.Submits) {
		w.failf("event %d of thread %d: operation %d can't be a request", event, g.number, r.Op)
		return
	}
	if o := q.reach(w); o != nil && q.prepare(w, o, r, how, event, at) {
		return
	}
	// The queue does not execute this operation. Prepared requests may use the same
	// descriptors.
	q.flush(w, event)
	if how.Flags != 0 && q.reach(w) != nil {
		q.drain(w)
	}
	q.submitted.Store(g.event)
	got := e.calls[r.Op](w, r)
	place := q.addInFlight(w, r, event, at)
	q.state.take()
	if c, now := (rings.Completion{User: uint64(place), Result: got}), e.now(); !q.delay(c, now) {
		q.finish(c, now)
	}
	q.publish()
	q.state.give()
	q.wakeWaiters()
}

// addInFlight records a request as in flight, and returns its place.
func (q *queue) addInFlight(w *worker, r *format.Record, event, at int64) int32 {
	q.state.take()
	defer q.state.give()
	if len(q.free) == 0 {
		w.unpin()
		q.grow()
		w.pin()
		if q.under.Load() != nil {
			w.e.kernel.exchange(&q.holds.ring, q.holds.ring+int64(len(q.flights))*heldRequest)
		}
	}
	place := q.free[len(q.free)-1]
	q.free = q.free[:len(q.free)-1]
	q.flights[place] = flight{record: *r, event: event, begin: at}
	if g := q.g; g.nanos != nil {
		q.flights[place].recorded = g.nanos[g.at]
	}
	return place
}

// grow makes room for more requests in flight. The state is locked.
func (q *queue) grow() {
	n := len(q.flights)
	q.flights = append(q.flights, make([]flight, max(n, 64))...)
	q.free = make([]int32, 0, len(q.flights))
	for i := len(q.flights) - 1; i >= n; i-- {
		q.free = append(q.free, int32(i))
	}
}

// how returns how the request of an event is made.
func (q *queue) how(w *worker, event int64) (how format.How) {
	if event == 0 {
		q.nextWay(w)
	}
	for q.some && q.way[0].Event < event {
		q.nextWay(w)
	}
	if q.some && q.way[0].Event == event {
		return q.way[0].How
	}
	return how
}

func (q *queue) nextWay(w *worker) {
	w.unpin()
	n, err := q.ways.Read(q.way[:])
	w.pin()
	if q.some = n == 1; err != nil && !errors.Is(err, io.EOF) {
		q.g.e.fail(fmt.Errorf("requests of thread %d: %w", q.g.number, err))
	}
}

// prepare adds a request to the batch. It returns false for one that is executed as a
// call.
func (q *queue) prepare(w *worker, o *openQueue, r *format.Record, how format.How, event, at int64) bool {
	ok, errno := q.translate(w, r, how)
	if !ok {
		return false
	}
	if q.request.Flags&^rings.FixedFile != 0 {
		q.deferred = event + 2 // the next one as well, if it is linked to this one
	}
	place := q.addInFlight(w, r, event, at)
	q.request.User = uint64(place)
	for errno == 0 {
		o.enter(w)
		err := o.Prepare(&q.request)
		o.leave(w)
		switch {
		case err == nil:
			return true
		case errors.Is(err, rings.ErrFull):
			q.flush(w, event)
		case errors.Is(err, rings.ErrBusy):
			q.flush(w, event)
			q.drive(w, &q.came, q.came.Load()+1)
		default:
			errno = errnoOf(err)
		}
		if errno == unix.EFAULT && (q.request.Op == rings.OpReadFixed || q.request.Op == rings.OpWriteFixed) {
			q.request.Op, errno = q.request.Op+rings.OpRead-rings.OpReadFixed, 0 // the buffer is not at its registered place
		}
	}
	if errno == unix.EINVAL { // the queue doesn't have the operation
		q.state.take()
		q.free = append(q.free, place)
		q.state.give()
		return false
	}
	q.flush(w, event)
	q.submitted.Store(q.g.event)
	q.state.take()
	q.finish(rings.Completion{User: uint64(place), Result: -int64(errno)}, w.e.now())
	q.publish()
	q.state.give()
	q.wakeWaiters()
	return true
}

// errnoOf returns the errno of an error, EIO if it has none.
func errnoOf(err error) (errno unix.Errno) {
	if !errors.As(err, &errno) || errno == 0 {
		return unix.EIO
	}
	return errno
}

// flush submits the prepared requests before an event. It does not wait for a request
// that has only begun, because that wait would not end.
func (q *queue) flush(w *worker, event int64) {
	q.submitted.Store(event)
	for o := q.reach(w); o != nil && !w.e.stopped.Load(); {
		o.enter(w)
		w.callBegins()
		_, err := o.Submit(0)
		w.callEnds()
		o.leave(w)
		switch {
		case err == nil:
			return
		case errors.Is(err, rings.ErrBusy) && o.InFlight() != 0:
			q.drive(w, &q.came, q.came.Load()+1)
		default:
			w.failf("submit requests of thread %d: %w", q.g.number, err)
		}
	}
}
