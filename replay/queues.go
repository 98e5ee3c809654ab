package replay

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/rings"
	"pianola/replay/sandbox"
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

// waitsInside reports whether the waits of an event belong to its duration: a call that
// submits nothing waits for requests that others submit in the meantime.
func (w *worker) waitsInside(r *format.Record) bool {
	if r.Args[1] > 0 || w.queueOf(r) == nil {
		return false
	}
	for _, v := range w.waits[w.wait:] {
		switch {
		case v.Event != w.event:
			return true
		case v.For.Kind != format.EdgeMessage, v.For.Delay|v.Held|v.Expired != 0:
			return false
		}
	}
	return true
}

// reapUntil reaps completions as they arrive, until the worker's event no longer has to
// wait.
func (q *queue) reapUntil(w *worker) {
	for i := w.wait; w.waits[i].Event == w.event; i++ {
		edge := &w.waits[i].For
		for edge.Thread > 0 && !w.satisfied(w.e.workers[edge.Thread-1], edge.Event) && q.g.done.Load() < q.submitted.Load() && !w.e.stopped.Load() {
			q.drive(w, &q.came, q.came.Load()+1)
		}
	}
}

// awaitReaped waits, before an event that submits requests, for as many completions as
// the application had reaped. The event is due after its compute, counted from the last
// of them.
func (w *worker) awaitReaped(r *format.Record) {
	q, n := w.queueOf(r), r.Args[3]
	if q == nil || n <= 0 || r.Args[1] <= 0 {
		return
	}
	if q.came.Load() < n {
		q.watch(w, n)
		q.drive(w, &q.came, n)
		w.end = w.e.now()
		w.edgeAt = w.end
	}
	if all := q.came.Load(); r.Args[4] > 0 && n <= all && all-n < keptTimes {
		w.after = max(w.after, q.cameAt[n%keptTimes]+w.e.scale(r.Args[4]))
	}
}

// watch reaps completions as they arrive, for a short time, until there have been n.
// The application has reaped these without a call, so it may have spun as well.
func (q *queue) watch(w *worker, n int64) {
	for until := w.e.now() + watchTime; q.came.Load() < n && q.isBusy(w) && !w.e.stopped.Load() && w.e.now() < until; {
		q.look(w)
	}
}

// watchTime is in nanoseconds. It is longer than a request of a fast device takes, and
// no longer than going to sleep costs, because spinning keeps the processor from other
// workers.
const watchTime = 50_000

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

// grow makes room for more requests in flight. The state is locked.
func (q *queue) grow() {
	n := len(q.flights)
	q.flights = append(q.flights, make([]flight, max(n, 64))...)
	q.free = make([]int32, 0, len(q.flights))
	for i := len(q.flights) - 1; i >= n; i-- {
		q.free = append(q.free, int32(i))
	}
}

// translate fills in the request for a record. It returns false for operations that
// are executed as calls, and an errno for a request that fails at once.
func (q *queue) translate(w *worker, r *format.Record, how format.How) (bool, unix.Errno) {
	if int(r.Op) >= len(ringOps) || ringOps[r.Op] == rings.OpNop {
		return false, 0
	}
	s := w.lookup(r.Args[0])
	if s == 0 {
		return true, unix.EBADF
	}
	req := &q.request
	*req = rings.Request{Op: ringOps[r.Op], Flags: rings.Flags(how.Flags) & (rings.Drain | rings.Link | rings.HardLink | rings.Async), FD: int32(s.real())}
	if q.via == format.ViaAIO {
		req.Flags = 0
	}
	if how.Flags&format.ReqFixed != 0 && uint64(how.Slot) < uint64(len(q.files)) && q.files[how.Slot] == r.Args[0] {
		req.FD, req.Flags = int32(how.Slot), req.Flags|rings.FixedFile
	}
	switch info := r.Op.Info(); {
	case info.Acts.Any(format.Buffers) && info.At.Vector < 0:
		return q.transfer(w, r, how)
	case info.Acts.Any(format.Buffers):
		return q.vector(w, r, how)
	}
	switch r.Op {
	case format.OpFdatasync:
		req.OpFlags = 1 // IORING_FSYNC_DATASYNC
	case format.OpSyncFileRange:
		req.Offset, req.Length, req.OpFlags = r.Args[1], uint64(max(r.Args[2], 0)), uint32(r.Args[3])
	case format.OpFadvise64:
		req.Offset, req.Length, req.OpFlags = r.Args[1], uint64(max(r.Args[2], 0)), uint32(r.Args[3])
	}
	return true, 0
}

// ringOps are the operations that a queue executes. Others, OpNop here, are executed as
// calls when they are submitted: they change names and tables, and so need the guard.
var ringOps = [...]rings.Op{
	format.OpRead: rings.OpRead, format.OpPread64: rings.OpRead, format.OpWrite: rings.OpWrite, format.OpPwrite64: rings.OpWrite,
	format.OpReadv: rings.OpReadv, format.OpPreadv: rings.OpReadv, format.OpWritev: rings.OpWritev, format.OpPwritev: rings.OpWritev,
	format.OpFsync: rings.OpFsync, format.OpFdatasync: rings.OpFsync,
	format.OpSyncFileRange: rings.OpSyncFileRange, format.OpFadvise64: rings.OpFadvise,
}

// transfer fills in a read or a write of one buffer.
func (q *queue) transfer(w *worker, r *format.Record, how format.How) (bool, unix.Errno) {
	req, m := &q.request, w.process.arena
	writes := req.Op == rings.OpWrite
	if writes {
		m = w.e.pool
	}
	if r.Args[2] < 0 {
		return true, unix.EINVAL
	}
	size := uint64(min(r.Args[2], maxTransfer))
	if size > uint64(len(m)) {
		return false, 0 // the call moves them in pieces
	}
	req.Offset = -1
	if r.Op == format.OpPread64 || r.Op == format.OpPwrite64 {
		if req.Offset = r.Args[3]; req.Offset < 0 {
			return true, unix.EINVAL
		}
	}
	if writes && !q.mayWrite(w, r, r.Args[2]) {
		return true, unix.ENOSPC
	}
	req.Addr, req.Length, req.OpFlags = m.at(uint64(r.Args[1]), size), size, uint32(how.RW)&^unix.RWF_APPEND
	if how.Buf > 0 && q.fixed > 0 {
		req.Op, req.Buffer = req.Op+rings.OpReadFixed-rings.OpRead, uint16(how.Buf-1)
		if writes {
			req.Buffer = uint16(q.fixed)
		}
	}
	return true, 0
}

// vector fills in a read or a write of several buffers.
func (q *queue) vector(w *worker, r *format.Record, how format.How) (bool, unix.Errno) {
	req, m := &q.request, w.process.arena
	size, offset := r.Args[3], int64(-1)
	if r.Op == format.OpPreadv || r.Op == format.OpPwritev {
		if size, offset = r.Args[4], r.Args[3]; offset < 0 {
			return true, unix.EINVAL
		}
	}
	writes := req.Op == rings.OpWritev
	if writes {
		m = w.e.pool
	}
	count := r.Args[2]
	if count < 0 || count > maxSegments || size < 0 {
		return true, unix.EINVAL
	}
	if writes && !q.mayWrite(w, r, size) {
		return true, unix.ENOSPC
	}
	if !m.segments(&q.iov, uint64(r.Args[1]), uint64(min(size, maxTransfer)), uint64(count)) {
		return true, unix.EFAULT
	}
	req.Offset, req.Vector, req.OpFlags = offset, q.iov[:count], uint32(how.RW)&^unix.RWF_APPEND
	return true, 0
}

// mayWrite takes the bytes of a write from the budget.
func (q *queue) mayWrite(w *worker, r *format.Record, size int64) bool {
	if r.Op == format.OpWrite || r.Op == format.OpWritev {
		return w.spend(size)
	}
	return w.spendAt(size)
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

// drain waits until no request is in flight.
func (q *queue) drain(w *worker) { q.drive(w, &q.g.done, q.submitted.Load()) }

// awaitEnd waits for the end of a request and of all before it. It does not wait for
// requests that were not submitted, so that no deadlock can arise: an edge leads to
// the event that submits them, too.
func (q *queue) awaitEnd(w *worker, event int64) bool {
	q.drive(w, &q.g.done, min(event+1, q.submitted.Load()))
	return !w.e.stopped.Load()
}

// drive waits until a count of completions is so high, or no request is in flight, or
// the run has stopped. Meanwhile it takes completions from the kernel, unless another
// worker does.
func (q *queue) drive(w *worker, count *atomic.Int64, until int64) {
	for {
		seq := q.g.wakeUp.Value()
		if count.Load() >= until || q.g.done.Load() >= q.submitted.Load() || w.e.hasStopped() {
			return
		}
		if !q.canDrive() || !q.driving.CompareAndSwap(false, true) {
			w.callBegins()
			q.sleepers.Add(1)
			if count.Load() < until && (!q.canDrive() || q.driving.Load()) {
				w.unpin()
				q.g.wakeUp.Wait(seq, 0)
				w.pin()
			}
			q.sleepers.Add(-1)
			w.callEnds()
			continue
		}
		if count.Load() < until && !q.reap(w) && q.canDrive() {
			q.wait(w)
			q.reap(w)
		}
		q.endDrive()
	}
}

// canDrive reports whether completions do not come from the workers that submit, but
// from the kernel or from the model of a device.
func (q *queue) canDrive() bool { return q.under.Load() != nil || q.lates.Load() > 0 }

// wait waits in the kernel for a completion.
func (q *queue) wait(w *worker) {
	if q.lates.Load() > 0 {
		q.awaitLate(w)
		return
	}
	o := q.reach(w)
	if o == nil { // its descriptor is not in the table of this thread, but its memory is mapped
		w.unpin()
		q.g.wakeUp.Wait(q.g.wakeUp.Value(), w.e.deadline(w.e.now()+100_000))
		w.pin()
		return
	}
	o.enter(w)
	w.callBegins()
	err := o.Wait(1)
	w.callEnds()
	o.leave(w)
	if err != nil && !errors.Is(err, rings.ErrBusy) {
		w.failf("wait for requests of thread %d: %w", q.g.number, err)
	}
}

// rest waits for a completion, or for so many nanoseconds, and takes what has come. It
// reports whether it could wait: requests are in flight, and no other worker drives.
func (q *queue) rest(w *worker, nanos int64) (waited bool) {
	if !q.isBusy(w) || !q.driving.CompareAndSwap(false, true) {
		return false
	}
	if o := q.reach(w); o != nil { // no worker has closed it meanwhile
		waited = q.reap(w) || o.WaitFor(nanos)
		q.reap(w)
	}
	q.endDrive()
	return waited
}

// look takes the completions that have come. It does not drive until there are some,
// because it is called often, and others would wake up each time.
func (q *queue) look(w *worker) {
	if !q.isBusy(w) {
		return
	}
	q.looking.Add(1)
	o := q.reach(w)
	ready := o != nil && o.Ready()
	q.looking.Add(-1)
	if ready && q.driving.CompareAndSwap(false, true) {
		q.reap(w)
		q.endDrive()
	}
}

// isBusy reports whether requests of a queue are in flight in the kernel, and the worker
// can wait for them.
func (q *queue) isBusy(w *worker) bool {
	o := q.reach(w)
	return o != nil && !o.pool && q.g.done.Load() < q.submitted.Load()
}

// reap takes completions from the kernel, and those that a model delayed until now, and
// reports whether a request has ended.
func (q *queue) reap(w *worker) bool {
	n := 0
	if o := q.under.Load(); o != nil {
		o.enter(w)
		n = o.Reap(q.completed[:])
		o.leave(w)
	}
	if n == 0 && q.lates.Load() == 0 {
		return false
	}
	now := w.e.now()
	q.state.take()
	came := q.release(now)
	for _, c := range q.completed[:n] {
		if !q.delay(c, now) {
			q.finish(c, now)
			came = true
		}
	}
	q.publish()
	q.state.give()
	return came
}

// finish records the completion of a request in flight. The caller holds the lock of
// the state, as for the methods below.
func (q *queue) finish(c rings.Completion, now int64) {
	if c.User >= uint64(len(q.flights)) {
		return
	}
	f := &q.flights[c.User]
	q.complete(f.event, f.begin, &f.record, c.Result, now)
	q.free = append(q.free, int32(c.User))
}

// complete notes the end of a request.
func (q *queue) complete(event, begin int64, r *format.Record, got, now int64) {
	g := q.g
	at := &q.entries[event-g.log.spilled]
	at.ret, at.dur = got, max(now-begin-g.e.cost, 0)
	g.byOp[r.Op].Executed++
	g.last = max(g.last, now-g.e.start)
	if got != r.Ret {
		g.score(r, event, got)
	}
	n := q.came.Load() + 1
	q.cameAt[n%keptTimes] = now
	q.came.Store(n)
}

// publish announces the requests that have ended with all before them.
func (q *queue) publish() {
	g := q.g
	done, until := g.done.Load(), q.submitted.Load()
	before := done
	for done < until && q.entries[done-g.log.spilled].dur != inFlight {
		done++
	}
	if done == before {
		return
	}
	for ; g.targets[g.target] < done; g.target++ {
		now := g.e.now()
		g.ends[g.target].Store(now)
		g.post(g.target, now, now)
	}
	g.done.Store(done)
	if done > g.awaited.Load() {
		g.awake()
	}
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
