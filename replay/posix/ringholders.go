package posix

import (
	"slices"
	"sync"
	"sync/atomic"

	"pianola/format"
)

// holders are the processes that have a ring. It is closed when the last of them gives it
// up, by its exit or an exec, as the kernel closes a ring with its last descriptor.
type holders struct {
	any  atomic.Bool // there are any
	lock sync.Mutex  // of all; a worker takes it while it is not pinned
	all  []*process
	last atomic.Pointer[process] // that has submitted
}

// addHolder notes that a process has the ring. A process whose table in the kernel is not that
// of the ring never has it.
func (q *ring) addHolder(p *process) {
	if !q.inTableOf(p) {
		return
	}
	q.lock.Lock()
	defer q.lock.Unlock()
	if !slices.Contains(q.all, p) {
		q.all = append(q.all, p)
		q.any.Store(true)
	}
}

// isHolder reports whether a process has the ring.
func (q *ring) isHolder(p *process) bool {
	q.lock.Lock()
	defer q.lock.Unlock()
	return slices.Contains(q.all, p)
}

// removeHolder notes that a process no longer has the ring, and reports whether no other one
// has it. An exec of the last one that has it does not count if there are still requests
// to come: then its descriptor outlives an exec.
func (q *ring) removeHolder(p *process, execs bool) (closes bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	i := slices.Index(q.all, p)
	if i < 0 || execs && len(q.all) == 1 && q.HasMore() {
		return false
	}
	q.all = slices.Delete(q.all, i, i+1)
	q.any.Store(len(q.all) > 0)
	return len(q.all) == 0
}

// inheritRings gives a forked process the rings of the worker's process. A context of
// libaio belongs to memory, so only a process that shares the memory has it.
func (w *worker) inheritRings(child *process, sharesMemory bool) {
	for _, q := range w.e.rings {
		if q == nil || !q.any.Load() || q.Via == format.ViaAIO && !sharesMemory {
			continue
		}
		w.Unpin()
		if q.isHolder(w.process) {
			q.addHolder(child)
		}
		w.Pin()
	}
}

// releaseRings gives up the rings of the worker's process at its exit or an exec.
func (w *worker) releaseRings(execs bool) {
	for _, q := range w.e.rings {
		if q == nil || !q.any.Load() {
			continue
		}
		w.Unpin()
		closes := q.removeHolder(w.process, execs)
		w.Pin()
		if closes {
			q.Ring.Close(w.Worker)
		}
	}
}

// awaitRequests waits until no ring has a request of the worker's process in flight,
// because the process is about to lose its memory and its files. An exec and an exit
// do that in the kernel, too.
func (w *worker) awaitRequests() {
	for _, q := range w.e.rings {
		if q != nil {
			q.AwaitRequestsOf(w.Worker, w.process.number)
		}
	}
}
