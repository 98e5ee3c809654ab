package rings

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// ring is an instance of io_uring.
//
// The kernel and the thread share four counters that only grow, modulo 2³². The
// producer of entries stores its tail after it has written them, and the consumer
// stores its head after it has read them; the other side loads these. Package atomic
// orders the accesses as the kernel's protocol demands (io_uring(7)): its loads
// acquire, its stores release, and a store is not reordered with a later load, which
// sqNeedWakeup depends on. Values that only this thread changes are in ordinary
// variables.
type ring struct {
	tables
	fd    uintptr
	flags SetupFlags // that are in effect

	limits bool // waits can have a time limit: since Linux 5.11

	sqes           []sqe
	slots          []slot // of each sqe
	sqHead, sqTail *uint32
	sqFlags        *uint32
	prepared       uint32        // the tail that the next Submit stores
	taken          atomic.Uint32 // requests that the kernel has taken, or its thread will take

	cqes           []cqe
	cqHead, cqTail *uint32
	cqOverflow     *uint32
	reaped         atomic.Uint32

	memory  [][]byte
	control []byte // a page: parameters of set-up, later those of waits and of cancellation
}

// OpenRing sets up a ring of io_uring for the calling thread. Features that the kernel
// refuses are dropped and noted. If it refuses io_uring itself, the queue is a pool of
// threads.
func OpenRing(c Config) (Queue, error) {
	c = c.clamped()
	q, err := openRing(c)
	switch {
	case err == nil:
		return q, nil
	case refused(err):
		return c.openFallback("io_uring", err)
	}
	return nil, fmt.Errorf("set up io_uring: %w", err)
}

// RingRefused returns why OpenRing would open a pool, or nil. A replay asks before it
// gives threads their own descriptor tables, or counts its threads.
func RingRefused(k sandbox.Kernel) error {
	q, err := openRing(Config{Kernel: k}.clamped())
	switch {
	case err == nil:
		return q.Close()
	case refused(err):
		return err
	}
	return nil // OpenRing fails as well
}

// openFallback opens a pool because of an error.
func (c Config) openFallback(of string, err error) (Queue, error) {
	q, poolErr := openPool(c)
	if poolErr != nil {
		return nil, poolErr
	}
	reason := err
	if errno := unix.Errno(0); errors.As(err, &errno) {
		reason = errno
	}
	q.notes = slices.Insert(q.notes, 0, fmt.Sprintf("%s: the kernel refuses it (%v), so %d threads make the calls", of, reason, len(q.threads)))
	return q, nil
}

func openRing(c Config) (_ *ring, err error) {
	if c.Kernel == nil {
		c.Kernel = sandbox.Linux
	}
	q := &ring{tables: tables{kernel: c.Kernel}}
	q.idle = func() bool { return q.InFlight() == 0 && q.prepared == q.taken.Load() }
	if q.control, err = mapAnonymous(4096); err != nil {
		return nil, err
	}
	q.memory = append(q.memory, q.control)
	p := field[ringParams](q.control, 0)
	fd := c.establish(p, &q.tables)
	if err := sandbox.Error(fd); err != nil {
		q.unmap()
		return nil, err
	}
	q.fd = uintptr(fd)
	if err := q.mapRings(p); err != nil {
		q.unmap()
		q.kernel.Call(unix.SYS_CLOSE, q.fd, 0, 0)
		return nil, err
	}
	clear(q.control)
	return q, nil
}

// mapRings maps the memory that the kernel shares.
func (q *ring) mapRings(p *ringParams) error {
	if p.features&requiredFeatures != requiredFeatures {
		return fmt.Errorf("the kernel is older than Linux 5.5: %w", unix.ENOSYS)
	}
	shared := func(offset int64, size uint32) []byte {
		mem, err := unix.Mmap(int(q.fd), offset, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
		if err != nil {
			return nil
		}
		q.memory = append(q.memory, mem)
		return mem
	}
	rings := shared(mapSQ, max(p.sq.array+4*p.sqEntries, p.cq.cqes+16*p.cqEntries))
	entries := shared(mapSQEs, 64*p.sqEntries)
	slotMemory, slots, err := newSlots(int(p.sqEntries))
	if rings == nil || entries == nil || err != nil {
		unmap(slotMemory)
		return fmt.Errorf("map the ring: %w", unix.ENOMEM)
	}
	q.memory = append(q.memory, slotMemory)
	q.slots, q.flags, q.limits = slots, SetupFlags(p.flags), p.features&featTimeLimit != 0
	q.sqes = array[sqe](entries, 0, int(p.sqEntries))
	q.sqHead, q.sqTail, q.sqFlags = field[uint32](rings, p.sq.head), field[uint32](rings, p.sq.tail), field[uint32](rings, p.sq.flags)
	q.cqes = array[cqe](rings, p.cq.cqes, int(p.cqEntries))
	q.cqHead, q.cqTail, q.cqOverflow = field[uint32](rings, p.cq.head), field[uint32](rings, p.cq.tail), field[uint32](rings, p.cq.overflow)
	if q.flags&NoSQArray == 0 {
		for i, places := uint32(0), array[uint32](rings, p.sq.array, int(p.sqEntries)); i < p.sqEntries; i++ {
			places[i] = i // permanently: entries are used in turn
		}
	}
	return nil
}

func (q *ring) unmap() {
	for _, mem := range q.memory {
		unmap(mem)
	}
	q.memory = nil
}

// Threads implements Queue.
func (q *ring) Threads() int { return 0 }

// Prepare implements Queue.
func (q *ring) Prepare(r *Request) error {
	for q.prepared-atomic.LoadUint32(q.sqHead) >= uint32(len(q.sqes)) {
		if q.prepared != q.taken.Load() {
			return ErrFull
		}
		// The kernel's thread has not taken them yet.
		if got := q.enter(0, 0, enterSQWait|enterWakeup); got < 0 && got != -int64(unix.EINTR) {
			return unix.Errno(-got)
		}
	}
	i := q.prepared & uint32(len(q.sqes)-1)
	if errno := q.encode(&q.sqes[i], &q.slots[i], r); errno != 0 {
		return errno
	}
	q.prepared++
	return nil
}

func (q *ring) enter(submit, complete uint32, flags uintptr) int64 {
	return q.kernel(unix.SYS_IO_URING_ENTER, q.fd, uintptr(submit), uintptr(complete), flags, 0, 0)
}

// Submit implements Queue.
func (q *ring) Submit(n int) (int, error) {
	batch := q.prepared - q.taken.Load()
	atomic.StoreUint32(q.sqTail, q.prepared)
	if q.flags&SQPoll != 0 {
		q.taken.Store(q.prepared)
		if atomic.LoadUint32(q.sqFlags)&sqNeedWakeup != 0 {
			if got := q.enter(batch, 0, enterWakeup); got < 0 && got != -int64(unix.EINTR) {
				return int(batch), unix.Errno(-got)
			}
		}
		return int(batch), q.Wait(n)
	}
	for left := batch; left > 0; left = q.prepared - q.taken.Load() {
		// The kernel waits if it has taken all of them.
		flags, complete := uintptr(0), q.reachable(n, int(left))
		if complete > q.ready() {
			flags = enterGetEvents
		}
		got := q.enter(left, complete, flags)
		switch {
		case got > 0: // fewer if one of them could not begin, which completes it
			q.taken.Add(uint32(got))
		case got == -int64(unix.EINTR):
		case got == 0 || busy(got):
			q.flush()
			return int(batch - left), ErrBusy
		default:
			return int(batch - left), unix.Errno(-got)
		}
	}
	return int(batch), q.Wait(n)
}

// busy reports whether the kernel has no memory for a request, or no room for
// its completion.
func busy(got int64) bool { return got == -int64(unix.EBUSY) || got == -int64(unix.EAGAIN) }

// reachable returns n, or the number of completions that are possible if that is
// smaller; more requests are about to be submitted.
func (q *ring) reachable(n, more int) uint32 {
	return uint32(max(0, min(n, q.InFlight()+more, len(q.cqes))))
}

// ready returns how many completions can be reaped without a call.
func (q *ring) ready() uint32 { return atomic.LoadUint32(q.cqTail) - q.reaped.Load() }

// InFlight implements Queue. It leaves out completions that the kernel dropped for lack
// of memory.
func (q *ring) InFlight() int {
	return int(int32(q.taken.Load() - q.reaped.Load() - atomic.LoadUint32(q.cqOverflow)))
}

// Wait implements Queue.
func (q *ring) Wait(n int) error {
	if n <= 0 {
		return nil // another thread may reap
	}
	for {
		complete := q.reachable(n, 0)
		if q.ready() >= complete {
			return nil
		}
		if got := q.enter(0, complete, enterGetEvents); got < 0 && got != -int64(unix.EINTR) {
			if busy(got) {
				return ErrBusy
			}
			return unix.Errno(-got)
		}
	}
}

// WaitFor implements Queue.
func (q *ring) WaitFor(nanos int64) bool {
	if q.InFlight() <= 0 {
		return false
	}
	p := field[closing](q.control, 0) // Close has not begun
	p.limit = unix.NsecToTimespec(nanos)
	if !q.limits {
		return q.poll(p)
	}
	p.arg.limit = uint64(address(&p.limit))
	got := q.kernel(unix.SYS_IO_URING_ENTER, q.fd, 0, 1, enterGetEvents|enterTimeLimit, address(&p.arg), unsafe.Sizeof(p.arg))
	return got >= 0 || got == -int64(unix.ETIME) || got == -int64(unix.EINTR)
}

// poll waits for a completion on the ring's descriptor, with a time limit.
func (q *ring) poll(p *closing) bool {
	if q.flags&IOPoll != 0 {
		return false // only a call that asks for completions finds any
	}
	p.poll = unix.PollFd{Fd: int32(q.fd), Events: unix.POLLIN}
	got := q.kernel(unix.SYS_PPOLL, address(&p.poll), 1, address(&p.limit), 0, 0, 0)
	return got >= 0 || got == -int64(unix.EINTR)
}

// Ready implements Queue.
func (q *ring) Ready() bool { return q.ready() > 0 || q.hasUnposted() }

// hasUnposted reports whether the kernel has completions that it posts in the next call.
func (q *ring) hasUnposted() bool { return atomic.LoadUint32(q.sqFlags)&(sqOverflow|sqTaskrun) != 0 }

// flush makes the kernel post completions that it holds back: those that found no room,
// and those that it posts only in a call of this thread.
func (q *ring) flush() { q.enter(0, 0, enterGetEvents) }

// Reap implements Queue. It makes a call only if no completion is available and the
// kernel holds some back.
func (q *ring) Reap(done []Completion) int {
	n := q.reap(done)
	if n == 0 && q.InFlight() > 0 && (q.flags&(IOPoll|DeferTaskrun) != 0 || q.hasUnposted()) {
		q.flush()
		n = q.reap(done)
	}
	return n
}

func (q *ring) reap(done []Completion) int {
	n, first := min(int(q.ready()), len(done)), q.reaped.Load()
	for i := range n {
		e := &q.cqes[(first+uint32(i))&uint32(len(q.cqes)-1)]
		done[i] = Completion{User: e.userData, Result: int64(e.res)}
	}
	if n > 0 {
		atomic.StoreUint32(q.cqHead, q.reaped.Add(uint32(n)))
	}
	return n
}

func (q *ring) register(op, addr uintptr, n int) int64 {
	return q.kernel(unix.SYS_IO_URING_REGISTER, q.fd, op, addr, uintptr(n), 0, 0)
}

// registerList registers values, whose kind the operation says.
func registerList[T any](q *ring, op uintptr, values []T) error {
	mem, err := listed(&q.tables, 0, values)
	if err != nil {
		return err
	}
	return sandbox.Error(q.register(op, address(&mem[0]), len(values)))
}

// RegisterFiles implements Queue.
func (q *ring) RegisterFiles(fds []int32) error {
	if len(q.fds) > 0 && !q.holds {
		if err := sandbox.Error(q.register(unregisterFiles, 0, 0)); err != nil {
			return err
		}
		q.fds = q.fds[:0]
	}
	if len(fds) == 0 || q.refusesFiles {
		return q.tables.RegisterFiles(fds)
	}
	err := registerList(q, registerFiles, fds)
	if err == nil {
		if q.holds {
			q.retire(q.fds)
		}
		q.fds, q.holds = append(q.fds[:0], fds...), false
		return nil
	}
	if errors.Is(err, unix.EBADF) { // not the kernel's limits, but a file
		return err
	}
	q.refusesFiles = true
	q.notef("io_uring: the kernel refuses %d registered files (%v), so requests name their descriptors", len(fds), err)
	return q.tables.RegisterFiles(fds)
}

// UpdateFiles implements Queue.
func (q *ring) UpdateFiles(at int, fds []int32) error {
	if q.holds {
		return q.tables.UpdateFiles(at, fds)
	}
	if err := q.checkRange(at, fds); err != nil || len(fds) == 0 {
		return err
	}
	if err := q.awaitTaken(); err != nil {
		return err
	}
	const head = int(unsafe.Sizeof(filesUpdate{}))
	mem, err := listed(&q.tables, head, fds)
	if err != nil {
		return err
	}
	*field[filesUpdate](mem, 0) = filesUpdate{offset: uint32(at), fds: uint64(address(&mem[head]))}
	got := q.register(registerFilesUpdate, address(&mem[0]), len(fds))
	copy(q.fds[at:], fds[:max(got, 0)])
	switch {
	case got < 0:
		return unix.Errno(-got)
	case got < int64(len(fds)):
		return unix.EBADF
	}
	return nil
}

// awaitTaken waits until the kernel's thread has taken the submitted requests, because
// it finds their registered files only then.
func (q *ring) awaitTaken() error {
	for q.flags&SQPoll != 0 && atomic.LoadUint32(q.sqHead) != q.taken.Load() {
		if got := q.enter(0, 0, enterWakeup); got < 0 && got != -int64(unix.EINTR) {
			return unix.Errno(-got)
		}
		q.kernel.Call(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	return nil
}

// RegisterBuffers implements Queue.
func (q *ring) RegisterBuffers(buffers []unix.Iovec) error {
	if q.pinned {
		if err := sandbox.Error(q.register(unregisterBuffers, 0, 0)); err != nil {
			return err
		}
	}
	if err := q.tables.RegisterBuffers(buffers); err != nil || len(buffers) == 0 {
		return err
	}
	err := registerList(q, registerBuffers, numbers(buffers))
	switch {
	case err == nil:
		q.pinned = true
	case errors.Is(err, unix.EFAULT):
		q.buffers = q.buffers[:0]
		return err
	case !q.refusesBuffers:
		q.refusesBuffers = true
		q.notef("io_uring: the kernel refuses %d registered buffers (%v), so requests name their addresses", len(buffers), err)
	}
	return nil
}

// Close implements Queue.
func (q *ring) Close() error {
	if q.memory == nil {
		return nil
	}
	var dropped [64]Completion
	for q.InFlight() > 0 {
		if q.Reap(dropped[:]) > 0 {
			continue
		}
		if got := q.cancel(); got < 0 {
			return fmt.Errorf("wait for %d requests in flight: %w", q.InFlight(), unix.Errno(-got))
		}
	}
	q.release()
	q.unmap()
	q.kernel.Call(unix.SYS_CLOSE, q.fd, 0, 0)
	return nil
}

// cancel cancels requests that have begun, and waits for a completion, or until another
// request may have begun: one behind the cancelled ones, or one that the kernel's thread
// had not taken. It returns 0 or -errno.
func (q *ring) cancel() int64 {
	p := field[closing](q.control, 0)
	*p = closing{cancel: syncCancel{fd: -1, flags: cancelAny}, limit: unix.NsecToTimespec(cancelAgain)}
	p.arg.limit = uint64(address(&p.limit))
	q.register(registerSyncCancel, address(&p.cancel), 1) // Linux 6.0; before, requests end by themselves
	flags, arg, size := uintptr(enterGetEvents), uintptr(0), uintptr(0)
	if q.limits {
		flags, arg, size = flags|enterTimeLimit, address(&p.arg), unsafe.Sizeof(p.arg)
	}
	got := q.kernel(unix.SYS_IO_URING_ENTER, q.fd, 0, 1, flags, arg, size)
	switch unix.Errno(-got) {
	case unix.EINTR, unix.ETIME, unix.EBUSY, unix.EAGAIN, unix.EBADR: // EBADR: completions were lost
		return 0
	}
	return min(got, 0)
}

// cancelAgain is the time after which Close cancels again, in nanoseconds.
const cancelAgain = 10_000_000
