package replay

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/rings"
)

// queue replays a ring of the thread table: the requests of a ring of io_uring or of a
// context of libaio. The worker of the ring has no goroutine. It has the records, the
// edges and the log of the requests, which workers of threads submit and reap.
//
//	ring_submit ──► edges of its requests ──► Prepare, Submit
//	waits for completions or for an edge to a request ──► drive: Reap, else wait in the kernel
//
// Two workers can be in a queue at a time: one that submits, which holds lock, and one
// that drives. Others that wait for completions sleep until the driver wakes them.
type queue struct {
	g     *worker
	via   format.Via
	owner atomic.Pointer[process]   // that opens or has opened it
	under atomic.Pointer[openQueue] // nil if requests are executed as calls, one after the other

	lock  spinLock     // of those who submit, see claim
	taker atomic.Int32 // the number of the worker that holds lock
	ways  format.WayReader
	way   [1]format.Way // the next one, if some is left
	some  bool
	registered

	holds struct{ ring, files, buffers int64 } // bytes of kernel memory for the ring and its registered files and buffers

	request rings.Request
	iov     [maxSegments]unix.Iovec

	state   spinLock // of what follows
	entries []entry  // of the log, with all its room
	flights []flight
	free    []int32
	late    []delayed // completions that a model of a device delays

	lates atomic.Int32 // how many

	submitted atomic.Int64 // requests
	came      atomic.Int64 // completions
	cameAt    [keptTimes]int64

	driving   atomic.Bool
	looking   atomic.Int32 // workers that use under without driving or lock
	sleepers  atomic.Int32
	completed [64]rings.Completion // of the driver
}

// openQueue is a queue of package rings. The worker that holds lock, or that drives,
// can use it: close takes both before it closes the queue.
type openQueue struct {
	rings.Queue
	pool bool // it waits in Go
}

// enter and leave enclose calls of methods that wait in Go.
func (o *openQueue) enter(w *worker) {
	if o.pool {
		w.unpin()
	}
}

func (o *openQueue) leave(w *worker) {
	if o.pool {
		w.pin()
	}
}

// keptTimes is the number of completions whose times are kept.
const keptTimes = 4096

// flight is a request that was submitted and has not completed.
type flight struct {
	record format.Record
	event  int64
	begin  int64 // by the clock

	recorded int64 // recorded duration in nanoseconds, if calls take their recorded durations
}

// inFlight is entry.dur of a request that has not completed.
const inFlight = -1

func newQueue(g *worker, via format.Via) *queue {
	q := &queue{g: g, via: via, ways: g.e.trace.Ways(g.number), entries: g.log.entries[:cap(g.log.entries)]}
	return q
}

// queueOf returns the queue that an event is about, nil if there is none.
func (w *worker) queueOf(r *format.Record) *queue {
	if n := r.Args[0]; n > 0 && n <= int64(len(w.e.workers)) {
		return w.e.workers[n-1].queue
	}
	return nil
}

// claim takes the lock. A worker that has the lock may wait for other events, so claim
// waits for that worker. It returns false if the run has stopped.
func (q *queue) claim(w *worker) bool {
	for !q.lock.taken.CompareAndSwap(false, true) {
		seq := q.g.wakeUp.Value()
		switch k := q.taker.Load(); {
		case w.e.stopped.Load():
			return false
		case k == 0: // it is being taken or given back
			yield()
		case !w.napFor(w.e.workers[k-1], release, &q.g.wakeUp, seq, w.e.deadline(w.e.now()+lockNap)):
			return false
		}
	}
	q.taken(w)
	if w.e.stopped.Load() { // the queue can have been closed before its last request
		q.give(w)
		return false
	}
	return true
}

// taken notes that the worker has the lock.
func (q *queue) taken(w *worker) {
	w.submits.Store(true)
	q.taker.Store(w.number)
}

// lockNap is how long a worker sleeps at most before it looks for the lock again, in
// nanoseconds: no other worker wakes it then.
const lockNap = 50_000

func (q *queue) give(w *worker) {
	q.taker.Store(0)
	w.submits.Store(false)
	q.lock.give()
}

// reach returns the queue of the kernel if a worker can submit to it: it is open, and in
// the worker's table of descriptors. Otherwise it returns nil.
func (q *queue) reach(w *worker) *openQueue {
	o, owner := q.under.Load(), q.owner.Load()
	if o == nil || w.process != owner && (owner.private || w.process.private) {
		return nil
	}
	return o
}

// endDrive lets another worker drive.
func (q *queue) endDrive() {
	q.driving.Store(false)
	q.wakeWaiters()
}

// wakeWaiters wakes the workers that wait while another one drives the queue.
func (q *queue) wakeWaiters() {
	if q.sleepers.Load() > 0 {
		q.g.wakeUp.Advance()
	}
}

// canDrive reports whether completions do not come from the workers that submit, but
// from the kernel or from the model of a device.
func (q *queue) canDrive() bool { return q.under.Load() != nil || q.lates.Load() > 0 }
