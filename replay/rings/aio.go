package rings

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// aio is a context of libaio.
type aio struct {
	tables
	id uintptr

	memory  [][]byte
	iocbs   []iocb
	slots   []slot
	list    []uint64     // addresses of the iocbs
	entry   sqe          // the equivalent entry of a ring
	begin   int          // of the batch, in iocbs
	end     int          // of the batch
	out     atomic.Int32 // in flight
	refused refusals
	limit   *unix.Timespec // of WaitFor

	events      []aioEvent   // that io_getevents has returned
	first, last int          // of those that were not reaped
	left        atomic.Int32 // their number
}

// refusals are completions of requests that io_submit has refused. One thread adds
// and one takes.
type refusals struct {
	all        []Completion
	head, tail atomic.Uint32
}

func (f *refusals) len() int   { return int(f.tail.Load() - f.head.Load()) }
func (f *refusals) full() bool { return f.len() == len(f.all) }

func (f *refusals) add(c Completion) {
	f.all[f.tail.Load()%uint32(len(f.all))] = c
	f.tail.Add(1)
}

func (f *refusals) take(done []Completion) (n int) {
	for ; n < len(done) && f.len() > 0; n++ {
		done[n] = f.all[f.head.Load()%uint32(len(f.all))]
		f.head.Add(1)
	}
	return n
}

// OpenAIO creates a context of libaio for Config.Entries requests in flight. It refuses
// flags of requests, and operations that libaio does not have. If the kernel refuses
// contexts, the queue is a pool of threads.
func OpenAIO(c Config) (Queue, error) {
	c = c.clamped()
	c.CQEntries = c.Entries
	q, err := openAIO(c)
	switch {
	case err == nil:
		return q, nil
	case refused(err) || errors.Is(err, unix.EAGAIN): // fs.aio-max-nr
		return c.openFallback("libaio", err)
	}
	return nil, fmt.Errorf("set up libaio: %w", err)
}

func openAIO(c Config) (*aio, error) {
	if c.Kernel == nil {
		c.Kernel = sandbox.Linux
	}
	n := c.Entries
	const head = 8 + 16 // the number of the context and a time limit
	mem, err := mapAnonymous(head + n*(64+8+32))
	if err != nil {
		return nil, err
	}
	slotMemory, slots, err := newSlots(n)
	if err != nil {
		unmap(mem)
		return nil, err
	}
	q := &aio{
		tables: tables{kernel: c.Kernel}, memory: [][]byte{mem, slotMemory}, slots: slots,
		refused: refusals{all: make([]Completion, n)},
		limit:   field[unix.Timespec](mem, 8),
		iocbs:   array[iocb](mem, head, n), list: array[uint64](mem, uint32(head+64*n), n), events: array[aioEvent](mem, uint32(head+72*n), n),
	}
	q.idle = func() bool { return true } // no request has registered files
	for i := range q.list {
		q.list[i] = uint64(address(&q.iocbs[i]))
	}
	id := field[uint64](mem, 0)
	if err := sandbox.Error(q.kernel.Call(unix.SYS_IO_SETUP, uintptr(n), address(id), 0)); err != nil {
		q.unmap()
		return nil, err
	}
	q.id = uintptr(*id)
	return q, nil
}

func (q *aio) unmap() {
	for _, mem := range q.memory {
		unmap(mem)
	}
	q.memory = nil
}

// Threads implements Queue.
func (q *aio) Threads() int { return 0 }

// InFlight implements Queue.
func (q *aio) InFlight() int { return int(q.out.Load()) }

// Prepare implements Queue.
func (q *aio) Prepare(r *Request) error {
	o := r.Op.info()
	if o == nil || o.aio == 0 || r.Flags != 0 {
		return unix.EINVAL
	}
	if q.end == len(q.iocbs) {
		return ErrFull
	}
	e := &q.entry
	if errno := q.encode(e, &q.slots[q.end], r); errno != 0 {
		return errno
	}
	b := &q.iocbs[q.end]
	*b = iocb{data: e.userData, opcode: o.aio - 1, fd: uint32(e.fd), rwFlags: e.opFlags, buf: e.addr, nbytes: uint64(e.len), offset: int64(e.off)}
	if b.opcode == aioFsync {
		if b.rwFlags&fsyncData != 0 {
			b.opcode = aioDataSync
		}
		b.rwFlags, b.buf, b.nbytes, b.offset = 0, 0, 0, 0
	}
	q.end++
	return nil
}

// Submit implements Queue. A request that io_submit refuses completes with that errno,
// as in a ring.
func (q *aio) Submit(n int) (int, error) {
	batch := q.end - q.begin
	for q.begin < q.end {
		got := q.kernel.Call(unix.SYS_IO_SUBMIT, q.id, uintptr(q.end-q.begin), address(&q.list[q.begin]))
		switch {
		case got > 0:
			q.begin += int(got)
			q.out.Add(int32(got))
		case got == -int64(unix.EINTR):
		case got == 0 || got == -int64(unix.EAGAIN) || q.refused.full():
			return batch - (q.end - q.begin), ErrBusy
		default:
			q.refused.add(Completion{User: q.iocbs[q.begin].data, Result: got})
			q.begin++
			q.out.Add(1)
		}
	}
	q.begin, q.end = 0, 0
	return batch, q.Wait(n)
}

// available returns how many completions can be reaped without a call.
func (q *aio) available() int { return q.refused.len() + int(q.left.Load()) }

// Wait implements Queue. It gets as many events as there are by one call of
// io_getevents.
func (q *aio) Wait(n int) error {
	if n <= 0 {
		return nil // another thread may reap
	}
	n = min(n, q.InFlight(), len(q.events))
	for q.available() < n {
		if got := q.fetch(n-q.available(), nil); got < 0 && got != -int64(unix.EINTR) {
			return unix.Errno(-got)
		}
	}
	return nil
}

// WaitFor implements Queue.
func (q *aio) WaitFor(nanos int64) bool {
	if q.out.Load() <= 0 || q.available() > 0 {
		return q.available() > 0
	}
	*q.limit = unix.NsecToTimespec(nanos)
	got := q.fetch(1, q.limit)
	return got >= 0 || got == -int64(unix.EINTR)
}

// Ready implements Queue.
func (q *aio) Ready() bool {
	if q.available() > 0 {
		return true
	}
	ring := q.shared()
	return ring != nil && atomic.LoadUint32(&ring.head) != atomic.LoadUint32(&ring.tail)
}

// shared returns the memory of the context that the kernel shares, nil if its layout is
// unknown: the number of the context is its address.
func (q *aio) shared() *aioRing {
	ring := *(**aioRing)(unsafe.Pointer(&q.id))
	if ring.magic != aioRingMagic || ring.incompatible != 0 {
		return nil
	}
	return ring
}

// take fills done with events from the shared memory, as io_getevents would. ok is false if
// the memory can't be read.
func (q *aio) take(done []Completion) (n int, ok bool) {
	ring := q.shared()
	if ring == nil {
		return 0, false
	}
	head, tail := atomic.LoadUint32(&ring.head), atomic.LoadUint32(&ring.tail)
	if ring.entries == 0 || head >= ring.entries {
		return 0, false
	}
	events := unsafe.Slice((*aioEvent)(unsafe.Add(unsafe.Pointer(ring), ring.headerBytes)), ring.entries)
	for ; n < len(done) && head != tail; n++ {
		done[n] = Completion{User: events[head].data, Result: events[head].res}
		if head++; head == ring.entries {
			head = 0
		}
	}
	if n > 0 {
		atomic.StoreUint32(&ring.head, head)
	}
	return n, true
}

// fetch gets at least n events, and as many as there are, within a time limit; nil
// stands for none.
func (q *aio) fetch(n int, limit *unix.Timespec) int64 {
	if q.first > 0 {
		q.last = copy(q.events, q.events[q.first:q.last])
		q.first = 0
	}
	room := len(q.events) - q.last
	if room == 0 {
		return 0
	}
	got := q.kernel(unix.SYS_IO_GETEVENTS, q.id, uintptr(min(n, room)), uintptr(room), address(&q.events[q.last]), address(limit), 0)
	if got > 0 {
		q.last += int(got)
		q.left.Add(int32(got))
	}
	return got
}

// Reap implements Queue. It makes no call, unless it can't read the shared memory.
func (q *aio) Reap(done []Completion) int {
	n := q.refused.take(done)
	if q.first == q.last && q.out.Load() > int32(n) {
		got, ok := q.take(done[n:])
		if n += got; !ok {
			q.fetch(0, nil)
		}
	}
	if q.first < q.last {
		some := q.events[q.first:min(q.last, q.first+len(done)-n)]
		for i := range some {
			done[n+i] = Completion{User: some[i].data, Result: some[i].res}
		}
		n, q.first = n+len(some), q.first+len(some)
		q.left.Add(-int32(len(some)))
	}
	q.out.Add(-int32(n))
	return n
}

// Close implements Queue.
func (q *aio) Close() error {
	if q.memory == nil {
		return nil
	}
	// It waits for requests in flight.
	if err := sandbox.Error(q.kernel.Call(unix.SYS_IO_DESTROY, q.id, 0, 0)); err != nil {
		return fmt.Errorf("wait for %d requests of libaio in flight: %w", q.out.Load(), err)
	}
	q.release()
	q.unmap()
	q.out.Store(0)
	return nil
}
