package replay

import (
	"fmt"

	"pianola/format"
	"pianola/replay/rings"
	"pianola/replay/sandbox"
)

// callRingOpen sets up the ring. If the kernel refuses a feature, the queue uses
// another way.
func callRingOpen(w *worker, r *format.Record) int64 {
	q := w.queueOf(r)
	if q == nil || !q.owner.CompareAndSwap(nil, w.process) {
		return errInvalid
	}
	if w.e.Backend.Has().Roots {
		q.open(w, r)
	}
	return r.Ret
}

// open opens the queue in the kernel, as far as that is possible.
func (q *queue) open(w *worker, r *format.Record) {
	w.unpin()
	defer w.pin()
	// The recording does not show on which processor the kernel's thread ran.
	flags := rings.SetupFlags(r.Args[2]) &^ (rings.TaskrunFlag | rings.SQAff)
	if left := flags & (rings.SingleIssuer | rings.DeferTaskrun); left != 0 && q.via == format.ViaUring {
		flags &^= left
		w.e.noteOnce(fmt.Sprintf("io_uring: set up without %v, because any thread of a replay can reap completions", left))
	}
	if flags&rings.CoopTaskrun != 0 {
		flags |= rings.TaskrunFlag // so that look sees what the kernel holds back
	}
	c := rings.Config{
		Kernel: w.e.guard.Kernel, Entries: int(min(max(r.Args[1], 1), 1<<15)), CQEntries: int(min(max(r.Args[3], 0), 1<<16)), Flags: flags,
		ThreadIdle: uint32(r.Args[4]), Depth: int(min(max(r.Args[1], 1), poolThreads)),
		Enter: func() error {
			guard := w.e.guard
			return guard.Enter(guard.Jailed())
		},
	}
	if !w.holdRing(&q.holds.ring, heldRing+int64(c.Entries)*heldEntry+int64(max(c.CQEntries, 2*c.Entries))*heldResult) {
		return
	}
	open := rings.OpenRing
	if q.via == format.ViaAIO {
		open = rings.OpenAIO
	}
	under, err := open(c)
	if err != nil {
		w.e.noteOnce(fmt.Sprintf("requests are executed one after the other: %v", err))
		return
	}
	o := &openQueue{under, under.Threads() > 0}
	if o.pool && w.process.private {
		// The threads of the pool don't have the descriptors of this process.
		_ = o.Close()
		w.e.noteOnce("requests are executed one after the other: the kernel refuses asynchronous I/O, and the process has its own descriptor table")
		return
	}
	w.e.noteQueue(o)
	q.under.Store(o)
}

// poolThreads is the maximum number of requests in flight if threads execute them.
const poolThreads = 64

// refusedQueues returns how many queues of the trace the kernel refuses, so that threads
// play them.
func (e *engine) refusedQueues() (all int) {
	var count [format.NumVias]int
	for _, th := range e.trace.Header().Threads {
		count[th.Ring]++
	}
	for via, n := range count {
		if format.Via(via) != format.ViaCall && n > 0 && refused(format.Via(via), e.guard.Kernel) {
			all += n
		}
	}
	return all
}

// refused reports whether threads would play a queue.
func refused(via format.Via, k sandbox.Kernel) bool {
	if via == format.ViaUring {
		return rings.RingRefused(k) != nil
	}
	q, err := rings.OpenAIO(rings.Config{Kernel: k, Entries: 1})
	if err != nil {
		return false // it fails for the replay, too
	}
	threads := q.Threads()
	return q.Close() == nil && threads > 0
}

// close ends the queue after its last request. After a stop, the log ends where
// requests are missing.
func (q *queue) close(w *worker) {
	if !q.claim(w) { // the run has stopped, so the one that has the lock gives it back soon
		q.lock.take()
		q.taken(w)
	}
	defer q.give(w)
	q.drain(w) // with the lock: no other worker submits from now on
	for !q.driving.CompareAndSwap(false, true) {
		yield()
	}
	if o := q.under.Swap(nil); o != nil {
		for q.looking.Load() > 0 {
			yield()
		}
		w.unpin()
		w.e.noteQueue(o) // registrations can have added notes
		err := o.Close()
		w.pin()
		if err != nil {
			w.failf("close the queue of thread %d: %w", q.g.number, err)
		}
	}
	q.dropBuffers()
	for _, n := range []*int64{&q.holds.ring, &q.holds.files, &q.holds.buffers} {
		w.e.kernel.exchange(n, 0)
	}
	q.endDrive()
	g := q.g
	g.event = g.done.Load()
	g.log.entries = g.log.entries[:g.event-g.log.spilled]
}
