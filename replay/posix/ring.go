package posix

import (
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/rings"
	"pianola/replay/sandbox"
)

// ring is the kernel's ring of a ring of the trace. It implements engine.Requests, which
// documents concurrent use.
type ring struct {
	*engine.Ring
	e     *Executor
	owner atomic.Pointer[process] // that opens or has opened it
	holders
	queue       rings.Queue // nil if requests are executed as calls, one after the other
	pool        bool        // the queue waits in Go
	maxInFlight int         // requests in flight whose completions are sure to find room; 0 for any number

	registered
	kernelBytes struct{ ring, files, buffers int64 } // bytes of kernel memory for the ring and its registered files and buffers
	request     rings.Request
	iov         [maxSegments]unix.Iovec
	completed   [64]rings.Completion // of the reaper
}

// ringOf returns the ring that an event is about, nil if there is none, or if the thread
// has exited: in a forged trace, requests can follow the exit.
func (w *worker) ringOf(r *format.Record) *ring {
	if q := w.Ring(r); q != nil && !w.exited {
		return w.e.rings[q.Number()-1]
	}
	return nil
}

// callRingOpen sets up the ring. If the kernel refuses a feature, the ring uses
// another way.
func callRingOpen(w *worker, r *format.Record) int64 {
	q := w.ringOf(r)
	if q == nil || !q.owner.CompareAndSwap(nil, w.process) {
		return errInvalid
	}
	w.Unpin()
	q.addHolder(w.process)
	w.Pin()
	if !w.e.InMemory {
		q.open(w, r)
	}
	return r.Ret
}

// callRingSubmit submits requests, and waits for completions.
func callRingSubmit(w *worker, r *format.Record) int64 {
	q := w.ringOf(r)
	if q == nil {
		return errInvalid
	}
	if r.Args[1] > 0 {
		q.owner.CompareAndSwap(nil, w.process) // a trace that does not open it
		if q.last.Load() != w.process {
			q.last.Store(w.process)
			w.Unpin()
			q.addHolder(w.process) // the trace may not show how the process got it
			w.Pin()
		}
	}
	w.Submit(r)
	return r.Ret
}

// open opens the queue in the kernel, as far as that is possible.
func (q *ring) open(w *worker, r *format.Record) {
	w.Unpin()
	defer w.Pin()
	// The recording does not show on which processor the kernel's thread ran.
	flags := rings.SetupFlags(r.Args[2]) &^ (rings.TaskrunFlag | rings.SQAff)
	if left := flags & (rings.SingleIssuer | rings.DeferTaskrun); left != 0 && q.Via == format.ViaUring {
		flags &^= left
		w.e.Note(fmt.Sprintf("io_uring: set up without %v, because any thread of a replay can reap completions", left))
	}
	if flags&rings.CoopTaskrun != 0 {
		flags |= rings.TaskrunFlag // so that tryReap sees what the kernel holds back
	}
	c := rings.Config{
		Kernel: w.e.guard.Kernel, Entries: int(min(max(r.Args[1], 1), 1<<15)), CQEntries: int(min(max(r.Args[3], 0), 1<<16)), Flags: flags,
		ThreadIdle: uint32(r.Args[4]), Depth: int(min(max(r.Args[1], 1), poolThreads)),
		Enter: func() error {
			guard := w.e.guard
			return guard.Enter(guard.Jailed())
		},
	}
	if q.Via == format.ViaUring && c.CQEntries < minCompletions {
		c.Flags, c.CQEntries = c.Flags|rings.CQSize, minCompletions
	}
	if !w.chargeRing(&q.kernelBytes.ring, sizeRing+int64(c.Entries)*sizeEntry+int64(max(c.CQEntries, 2*c.Entries))*sizeResult) {
		return
	}
	open := rings.OpenRing
	if q.Via == format.ViaAIO {
		open = rings.OpenAIO
	}
	queue, err := open(c)
	if err != nil {
		w.e.Note(fmt.Sprintf("requests are executed one after the other: %v", err))
		q.release()
		return
	}
	q.queue, q.pool = queue, queue.Threads() > 0
	if q.pool && w.process.private {
		// The threads of the pool don't have the descriptors of this process.
		_ = queue.Close()
		w.e.Note("requests are executed one after the other: the kernel refuses asynchronous I/O, and the process has its own descriptor table")
		q.release()
		return
	}
	w.e.noteRing(queue)
	if q.Via == format.ViaUring && !q.pool {
		q.maxInFlight = c.CQEntries - c.Entries
	}
	q.Open(q)
}

// minCompletions is the minimum room for completions of each ring of io_uring. The kernel
// keeps those that find no room until a thread of a process that has the ring asks for
// them, and such a thread can wait for one that waits for them.
const minCompletions = 1 << 12

// poolThreads is the maximum number of requests in flight if threads execute them.
const poolThreads = 64

// refusedQueues returns how many queues of the trace the kernel refuses, so that threads
// play them.
func (e *Executor) refusedQueues() (all int) {
	var count [format.NumVias]int
	for _, th := range e.Trace.Header().Threads {
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

// Accessible implements engine.Requests: the ring has to be in the worker's table of
// descriptors.
func (q *ring) Accessible(w *engine.Worker) bool {
	return q.inTableOf(w.Player().(*worker).process)
}

// inTableOf reports whether the ring is in the table of descriptors that a process uses in
// the kernel.
func (q *ring) inTableOf(p *process) bool {
	owner := q.owner.Load()
	return p == owner || !owner.private && !p.private
}

// enter and leave enclose calls of methods that wait in Go.
func (q *ring) enter(w *engine.Worker) {
	if q.pool {
		w.Unpin()
	}
}

func (q *ring) leave(w *engine.Worker) {
	if q.pool {
		w.Pin()
	}
}

// Submit implements engine.Requests.
func (q *ring) Submit(w *engine.Worker) (engine.Outcome, error) {
	q.enter(w)
	w.CallBegins()
	_, err := q.queue.Submit(0)
	w.CallEnds()
	q.leave(w)
	switch {
	case err == nil:
		return engine.Taken, nil
	case errors.Is(err, rings.ErrBusy) && q.queue.InFlight() != 0:
		return engine.Busy, nil
	}
	return engine.Failed, err
}

// Wait implements engine.Requests.
func (q *ring) Wait(w *engine.Worker) error {
	q.enter(w)
	err := q.queue.Wait(1)
	q.leave(w)
	if errors.Is(err, rings.ErrBusy) {
		return nil
	}
	return err
}

// WaitFor implements engine.Requests.
func (q *ring) WaitFor(w *engine.Worker, nanos int64) bool {
	q.enter(w)
	defer q.leave(w)
	return q.queue.WaitFor(nanos)
}

// Ready implements engine.Requests.
func (q *ring) Ready() bool { return q.queue.Ready() }

// InFlight implements engine.Requests.
func (q *ring) InFlight() int { return q.queue.InFlight() }

// Reap implements engine.Requests.
func (q *ring) Reap(w *engine.Worker, completed []engine.Completion) int {
	q.enter(w)
	n := q.queue.Reap(q.completed[:min(len(completed), len(q.completed))])
	q.leave(w)
	for i, c := range q.completed[:n] {
		completed[i] = engine.Completion(c)
	}
	return n
}

// Reserve implements engine.Requests.
func (q *ring) Reserve(requests int) {
	q.e.kernel.exchange(&q.kernelBytes.ring, q.kernelBytes.ring+int64(requests)*sizeRequest)
}

// Close implements engine.Requests.
func (q *ring) Close() error {
	q.e.noteRing(q.queue) // registrations can have added notes
	q.release()
	return q.queue.Close()
}

// release gives back what the ring holds of the kernel's memory.
func (q *ring) release() {
	q.dropBuffers()
	for _, n := range []*int64{&q.kernelBytes.ring, &q.kernelBytes.files, &q.kernelBytes.buffers} {
		q.e.kernel.exchange(n, 0)
	}
}

// closeRings closes the rings that are left when no worker runs: after a stop, a
// process that has a ring need not begin.
func (e *Executor) closeRings() {
	for _, q := range e.rings {
		if q != nil {
			q.CloseQuiesced()
		}
	}
}
