package engine

import (
	"fmt"
	"sync/atomic"

	"pianola/format"
	"pianola/internal/spin"
)

// Ring replays a ring of the thread table: the requests of a ring of io_uring or of a
// context of libaio. The worker of the ring has no goroutine. It has the records, the
// edges and the log of the requests, which workers of threads submit and reap.
//
//	ring_submit ──► edges of its requests ──► Prepare, Submit
//	waits for completions or for an edge to a request ──► awaitCount: Reap, else wait in the kernel
//
// Two workers can use a ring at a time: the submitter and the reaper. Other workers that wait
// for completions sleep until the reaper wakes them. A worker that closes the ring or registers
// something is both (Quiesce). A worker acquires these three in this order:
//
//	submitter  of the worker that submits, which may wait for events of others meanwhile
//	reaping    of the worker that takes completions, which may wait in the kernel meanwhile
//	state      of a worker that begins or ends a request, which neither waits nor allocates,
//	           unless it stops the run
//
// A worker that checks for completions needs none of them; readers keeps the ring open for it.
// A reaper never waits for events of others.
type Ring struct {
	Via      format.Via
	g        *Worker
	requests atomic.Pointer[Requests] // nil if requests are executed as calls, one after the other

	submitter atomic.Int32 // the number of the worker that submits, 0 for none; see Acquire
	ways      format.WayReader
	way       [1]format.Way // the next one, if hasWay
	hasWay    bool

	state   spin.Lock // of what follows
	entries []Entry   // of the log, with all its room
	flights []flight
	free    []int32
	delayed []delayed // completions that a model of a device delays

	numDelayed atomic.Int32 // how many

	submitted   atomic.Int64 // requests
	completions atomic.Int64 // completions
	completedAt [keptTimes]int64

	reaping   atomic.Bool
	readers   atomic.Int32 // workers that use requests and neither submit nor reap
	sleepers  atomic.Int32
	completed [64]Completion // of the reaper
}

// Requests executes the requests of a ring, without a thread that waits for each. The
// submitter of the ring calls the methods that submit, and the reaper calls those that wait and
// reap, possibly at the same time. Close is called when the ring has neither. CallBegins and
// CallEnds of the worker enclose calls of the kernel.
type Requests interface {
	// Accessible reports whether a worker can submit to it and wait in it.
	Accessible(w *Worker) bool

	// Translate makes the request of an event. Only the outcomes Taken, AsCall and Failed,
	// which comes with -errno, are possible.
	Translate(w *Worker, r *format.Record, how format.How, event int64) (Outcome, int64)

	// Prepare adds the request that was translated last to those that Submit submits.
	// Its completion has the number user. AsCall means that the executor can't do it.
	Prepare(w *Worker, user uint64) (Outcome, int64)

	// Submit submits the prepared requests. The outcomes are Taken, and Busy if
	// completions must be reaped first.
	Submit(w *Worker) (Outcome, error)

	// WaitFor waits for a completion, or for so many nanoseconds. It can return earlier.
	// It reports whether it could wait: not if nothing is in flight, nor after an error,
	// which Wait returns.
	WaitFor(w *Worker, nanos int64) bool

	// Wait waits for a completion.
	Wait(w *Worker) error

	// Ready reports whether there are completions, and InFlight how many requests there
	// are without one. Any worker calls them.
	Ready() bool
	InFlight() int

	// Reap takes completions, and returns how many.
	Reap(w *Worker, completed []Completion) int

	// Reserve is called when there can be so many more requests in flight.
	Reserve(requests int)

	// Close ends it. No request is in flight unless the run has stopped. The caller is not
	// pinned.
	Close() error
}

// Outcome is the result of submitting a request.
type Outcome uint8

// The outcomes.
const (
	Taken  Outcome = iota
	AsCall         // the request has to be executed as a call
	Full           // there is no room before Submit
	Busy           // there is no room before a completion
	Failed         // the request fails at once
)

// Completion is the end of a request.
type Completion struct {
	User   uint64 // of Prepare
	Result int64  // or -errno
}

// keptTimes is the number of completions whose times are kept.
const keptTimes = 4096

// flight is a request that was submitted and has not completed.
type flight struct {
	by     int32 // number of the process that submitted it; 0 once it has completed
	record format.Record
	event  int64
	begin  int64 // by the clock

	recorded int64 // recorded duration in nanoseconds, if calls take their recorded durations
}

// inFlight is entry.dur of a request that has not completed.
const inFlight = -1

func newRing(g *Worker, via format.Via) *Ring {
	return &Ring{g: g, Via: via, ways: g.e.Trace.Ways(g.Number), entries: g.log.entries[:cap(g.log.entries)]}
}

// Ring returns the ring that an event is about, nil if there is none, or if the thread
// has exited: in a forged trace, requests can follow the exit.
func (w *Worker) Ring(r *format.Record) *Ring {
	if n := r.Args[0]; n > 0 && n <= int64(len(w.e.Workers)) && !w.exited {
		return w.e.Workers[n-1].ring
	}
	return nil
}

// OwnRing returns the ring of the worker, nil for the worker of a thread. Any goroutine may
// call it.
func (w *Worker) OwnRing() *Ring { return w.ring }

// Number returns the number of the ring in the thread table.
func (q *Ring) Number() int32 { return q.g.Number }

// HasMore reports whether requests of the ring are to come.
func (q *Ring) HasMore() bool { return q.submitted.Load() < q.g.length }

// Done returns how many requests have ended with all before them.
func (q *Ring) Done() int64 { return q.g.done.Load() }

// Open makes under execute the requests of the ring, until Close.
func (q *Ring) Open(under Requests) { q.requests.Store(&under) }

// Acquire makes the worker the submitter. It waits until the current submitter releases the
// ring, which may itself wait for other events. It returns false if the run has stopped.
func (q *Ring) Acquire(w *Worker) bool {
	for !q.tryAcquire(w) {
		seq := q.g.WakeUp.Value()
		switch k := q.submitter.Load(); {
		case w.e.Stopped():
			return false
		case k == 0 || !w.e.Workers[k-1].submitting.Load(): // it begins or ends
			spin.Yield()
		case !w.sleepAtMost(w.e.Workers[k-1], ringRelease, &q.g.WakeUp, seq, w.e.deadline(w.e.Now()+acquireRetry)):
			return false
		}
	}
	if w.e.Stopped() { // the ring can have been closed before its last request
		q.Release(w)
		return false
	}
	return true
}

// tryAcquire makes the worker the submitter if there is none.
func (q *Ring) tryAcquire(w *Worker) bool {
	if !q.submitter.CompareAndSwap(0, w.Number) {
		return false
	}
	w.submitting.Store(true)
	return true
}

// acquireRetry is how long a worker sleeps at most before it tries to acquire the ring again, in
// nanoseconds: no other worker wakes it.
const acquireRetry = 50_000

// Release ends what Acquire began.
func (q *Ring) Release(w *Worker) {
	w.submitting.Store(false)
	q.submitter.Store(0)
}

// Close ends the ring after its last request. After a stop, the log ends where
// requests are missing.
func (q *Ring) Close(w *Worker) {
	if !q.Acquire(w) { // the run has stopped, so the submitter ends soon
		for !q.tryAcquire(w) {
			spin.Yield()
		}
	}
	defer q.Release(w)
	q.Quiesce(w)
	w.Unpin()
	q.CloseQuiesced()
	w.Pin()
	q.StopReaping()
}

// CloseQuiesced ends the ring in the kernel, and its log where requests are missing. No
// other worker submits or reaps. The caller is not pinned.
func (q *Ring) CloseQuiesced() {
	g, e := q.g, q.g.e
	if o := q.requests.Swap(nil); o != nil {
		for q.readers.Load() > 0 {
			spin.Yield()
		}
		if err := (*o).Close(); err != nil {
			e.Fail(fmt.Errorf("close the ring of thread %d: %w", g.Number, err))
		}
	}
	g.Event = g.done.Load()
	g.log.entries = g.log.entries[:g.Event-g.log.spilled]
}

// RequestsFor returns what executes the requests if a worker can submit to it: it is open, and in
// the worker's table of descriptors. Otherwise it returns nil.
func (q *Ring) RequestsFor(w *Worker) Requests {
	if o := q.requests.Load(); o != nil && (*o).Accessible(w) {
		return *o
	}
	return nil
}

// StopReaping lets another worker reap.
func (q *Ring) StopReaping() {
	q.reaping.Store(false)
	q.wakeWaiters()
}

// wakeWaiters wakes the workers that wait while another one reaps.
func (q *Ring) wakeWaiters() {
	if q.sleepers.Load() > 0 {
		q.g.WakeUp.Advance()
	}
}

// canReap reports whether completions do not come from the workers that submit, but
// from the kernel or from the model of a device.
func (q *Ring) canReap() bool { return q.requests.Load() != nil || q.numDelayed.Load() > 0 }
