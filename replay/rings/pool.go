package rings

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pool plays requests by system calls that wait, on as many threads as requests
// are in flight. It keeps the order of links and drains.
//
// The submitter fills places, and hands them over in order. A thread takes the
// next one with all that are linked to it, and executes these in turn. A drained
// one is taken when no request is being executed, and blocks all others until it
// has ended.
type pool struct {
	tables
	memory  []byte
	places  []place
	batch   []uint32 // places; the submitter's
	entries int
	out     atomic.Int32 // requests in flight
	threads []*thread

	lock sync.Mutex // over what follows
	free []uint32   // places
	todo fifo       // places that were submitted and not taken
	done fifo       // places that have ended but are not reaped

	running  int  // chains that are being executed
	draining bool // one of them is drained
	closing  bool
	awaited  int  // completions that a worker sleeps for; 0 if it does not
	late     bool // the time limit of WaitFor has passed
	sleeping int  // threads that sleep
	alive    int  // threads

	work  sync.Cond // a request may be in todo
	ended sync.Cond // awaited completions are there or late, or the last thread ends
	timer *time.Timer
}

// scheduled is the kernel of a pool. The Go scheduler sees its calls, so so a long
// one does not delay a stop of all goroutines. Otherwise it could block for good, because
// it may wait for a thread that is stopped.
func scheduled(nr, a, b, c, d, e, f uintptr) int64 {
	r, _, errno := syscall.Syscall6(nr, a, b, c, d, e, f)
	if errno != 0 {
		return -int64(errno)
	}
	return int64(r)
}

// place is a request between Prepare and Reap.
type place struct {
	sqe    sqe
	slot   *slot
	result int64
}

// fifo is a queue of places. It has room for all of them.
type fifo struct {
	places     []uint32
	head, tail uint32
}

func (f *fifo) len() int           { return int(f.tail - f.head) }
func (f *fifo) at(i int) uint32    { return f.places[(f.head+uint32(i))%uint32(len(f.places))] }
func (f *fifo) push(place uint32)  { f.places[f.tail%uint32(len(f.places))] = place; f.tail++ }
func (f *fifo) pop() (head uint32) { head = f.at(0); f.head++; return head }

// thread is a thread of a pool, with memory for the chain that it executes.
type thread struct {
	p     *pool
	chain []uint32
}

// openPool starts a pool, for a ring or a context that the kernel refuses.
func openPool(c Config) (*pool, error) {
	if c.Kernel == nil {
		c.Kernel = scheduled
	}
	n := max(c.CQEntries, 2*c.Entries, c.Depth)
	n = 1 << bits.Len(uint(n-1)) // a power of two: the counters of a fifo wrap around
	memory, slots, err := newSlots(n)
	if err != nil {
		return nil, err
	}
	p := &pool{
		tables:  tables{kernel: c.Kernel},
		memory:  memory,
		places:  make([]place, n),
		entries: c.Entries,
		free:    make([]uint32, n),
		batch:   make([]uint32, 0, c.Entries),
		todo:    fifo{places: make([]uint32, n)},
		done:    fifo{places: make([]uint32, n)},
	}
	p.work.L, p.ended.L = &p.lock, &p.lock
	p.timer = time.AfterFunc(time.Hour, p.timeOut)
	p.timer.Stop()
	p.idle = func() bool { return p.out.Load() == 0 && len(p.batch) == 0 }
	for i := range p.places {
		p.places[i].slot, p.free[i] = &slots[i], uint32(n-1-i)
	}
	count := c.PoolThreads()
	if count < c.Depth {
		p.notef("threads: %d for %d requests in flight", count, c.Depth)
	}
	bound := make(chan error)
	for range count {
		t := &thread{p: p, chain: make([]uint32, 0, c.Entries)}
		p.threads = append(p.threads, t)
		p.alive++
		go t.run(c.Enter, bound)
	}
	for range count {
		if got := <-bound; got != nil {
			err = got
		}
	}
	if err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("start a thread of a pool: %w", err)
	}
	return p, nil
}

// run is the body of a thread. The thread ends with it, because it may be bound to a root.
func (t *thread) run(enter func() error, bound chan<- error) {
	runtime.LockOSThread()
	var err error
	if enter != nil {
		err = enter()
	}
	bound <- err
	p := t.p
	p.lock.Lock()
	for t.take() {
		p.lock.Unlock()
		t.execute()
		p.lock.Lock()
		p.running--
		p.draining = false // if it was, then by this one
		if p.todo.len() > 0 {
			p.wake(1)
		}
	}
	if p.alive--; p.alive == 0 {
		p.ended.Signal()
	}
	p.lock.Unlock()
}

// wake wakes up to n threads. The lock is held.
func (p *pool) wake(n int) {
	for range min(n, p.sleeping) {
		p.work.Signal()
	}
}

// take waits for a chain, and returns false at the end of the pool. The lock is
// held.
func (t *thread) take() bool {
	p := t.p
	for {
		if n, ok := p.next(); ok {
			t.chain = t.chain[:0]
			for range n {
				t.chain = append(t.chain, p.todo.pop())
			}
			p.running++
			if p.todo.len() > 0 {
				p.wake(1)
			}
			return true
		}
		if p.closing && p.todo.len() == 0 {
			return false
		}
		p.sleeping++
		p.work.Wait()
		p.sleeping--
	}
}

// next returns the length of the next chain, and whether it may be taken. If the chain
// may be taken and is drained, all others wait for it from then on.
func (p *pool) next() (n int, ok bool) {
	if p.todo.len() == 0 || p.draining {
		return 0, false
	}
	drained := false
	for more := true; more; n++ {
		flags := Flags(p.places[p.todo.at(n)].sqe.flags)
		drained = drained || flags&Drain != 0
		more = flags&links != 0 // Submit ends chains
	}
	if drained && p.running > 0 {
		return 0, false
	}
	p.draining = drained
	return n, true
}

// execute executes a chain. Its completions become available one by one.
func (t *thread) execute() {
	p, cut := t.p, false
	for _, i := range t.chain {
		e := &p.places[i].sqe
		result := -int64(unix.ECANCELED)
		if !cut {
			var short bool
			result, short = p.play(&p.places[i])
			cut = (result < 0 || short) && Flags(e.flags)&HardLink == 0
		}
		p.lock.Lock()
		p.places[i].result = result
		p.done.push(i)
		if p.awaited > 0 && p.done.len() >= p.awaited {
			p.awaited = 0
			p.ended.Signal()
		}
		p.lock.Unlock()
	}
}

// play executes a request, and reports whether it moved fewer bytes than requested.
func (p *pool) play(at *place) (result int64, short bool) {
	e, op := &at.sqe, Op(at.sqe.opcode)
	o := op.info()
	result = o.call(p, e, at.slot)
	if !o.moves || result < 0 {
		return result, false
	}
	asked := uint64(e.len)
	if op == OpReadv || op == OpWritev {
		asked = 0
		for _, v := range at.slot.vector[:e.len] {
			asked += v.len
		}
	}
	return result, uint64(result) < asked
}

// Threads implements Queue.
func (p *pool) Threads() int { return len(p.threads) }

// InFlight implements Queue.
func (p *pool) InFlight() int { return int(p.out.Load()) }

// Prepare implements Queue.
func (p *pool) Prepare(r *Request) error {
	if len(p.batch) == p.entries {
		return ErrFull
	}
	p.lock.Lock()
	free := len(p.free)
	if free == 0 {
		p.lock.Unlock()
		return ErrBusy
	}
	i := p.free[free-1]
	p.free = p.free[:free-1]
	p.lock.Unlock()
	if errno := p.encode(&p.places[i].sqe, p.places[i].slot, r); errno != 0 {
		p.lock.Lock()
		p.free = append(p.free, i)
		p.lock.Unlock()
		return errno
	}
	p.batch = append(p.batch, i)
	return nil
}

// Submit implements Queue.
func (p *pool) Submit(n int) (int, error) {
	batch := len(p.batch)
	if batch > 0 {
		p.places[p.batch[batch-1]].sqe.flags &^= uint8(links) // a chain ends with its batch
		p.lock.Lock()
		for _, i := range p.batch {
			p.todo.push(i)
		}
		p.wake(1) // a thread that takes a chain wakes the next one
		p.out.Add(int32(batch))
		p.lock.Unlock()
		p.batch = p.batch[:0]
	}
	return batch, p.Wait(n)
}

// Wait implements Queue.
func (p *pool) Wait(n int) error {
	if n <= 0 {
		return nil // another thread may reap
	}
	n = min(n, p.InFlight())
	p.lock.Lock()
	for p.done.len() < n {
		p.awaited = n
		p.ended.Wait()
	}
	p.awaited = 0
	p.lock.Unlock()
	return nil
}

// WaitFor implements Queue.
func (p *pool) WaitFor(nanos int64) bool {
	if p.InFlight() == 0 {
		return false
	}
	p.lock.Lock()
	if p.late = false; p.done.len() == 0 {
		p.timer.Reset(time.Duration(nanos))
		for p.done.len() == 0 && !p.late {
			p.awaited = 1
			p.ended.Wait()
		}
		p.awaited = 0
		p.timer.Stop()
	}
	p.lock.Unlock()
	return true
}

// timeOut ends a wait whose time limit has passed.
func (p *pool) timeOut() {
	p.lock.Lock()
	p.late = true
	p.ended.Signal()
	p.lock.Unlock()
}

// Ready implements Queue.
func (p *pool) Ready() bool { return false }

// Reap implements Queue.
func (p *pool) Reap(done []Completion) int {
	p.lock.Lock()
	n := min(len(done), p.done.len())
	for k := range n {
		i := p.done.pop()
		done[k] = Completion{User: p.places[i].sqe.userData, Result: p.places[i].result}
		p.free = append(p.free, i)
	}
	p.lock.Unlock()
	p.out.Add(-int32(n))
	return n
}

// Close implements Queue.
func (p *pool) Close() error {
	if p.memory == nil {
		return nil
	}
	p.lock.Lock()
	p.todo.head = p.todo.tail // requests that have not begun are cancelled
	p.closing = true
	p.wake(len(p.threads))
	for p.alive > 0 {
		p.ended.Wait()
	}
	p.lock.Unlock()
	p.release()
	unmap(p.memory)
	p.memory = nil
	p.out.Store(0)
	return nil
}

// The calls. Each returns the result of its system call.

// vectored executes a call of one buffer as one of a vector, which has flags.
func (p *pool) vectored(nr uintptr, e *sqe, s *slot) int64 {
	s.vector[0] = iovec{e.addr, uint64(e.len)}
	return p.kernel(nr, uintptr(e.fd), address(&s.vector[0]), 1, uintptr(e.off), 0, uintptr(e.opFlags))
}

func (p *pool) read(e *sqe, s *slot) int64 {
	return p.move(e, s, unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_PREADV2)
}

func (p *pool) write(e *sqe, s *slot) int64 {
	return p.move(e, s, unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_PWRITEV2)
}

// move makes the call for the offset and the flags of a request: at the file's own offset,
// at one of its own, or with flags.
func (p *pool) move(e *sqe, s *slot, plain, at, flagged uintptr) int64 {
	switch {
	case e.opFlags != 0:
		return p.vectored(flagged, e, s)
	case int64(e.off) == -1:
		return p.kernel.Call(plain, uintptr(e.fd), uintptr(e.addr), uintptr(e.len))
	}
	return p.kernel(at, uintptr(e.fd), uintptr(e.addr), uintptr(e.len), uintptr(e.off), 0, 0)
}

func (p *pool) readv(e *sqe, _ *slot) int64 {
	return p.kernel(unix.SYS_PREADV2, uintptr(e.fd), uintptr(e.addr), uintptr(e.len), uintptr(e.off), 0, uintptr(e.opFlags))
}

func (p *pool) writev(e *sqe, _ *slot) int64 {
	return p.kernel(unix.SYS_PWRITEV2, uintptr(e.fd), uintptr(e.addr), uintptr(e.len), uintptr(e.off), 0, uintptr(e.opFlags))
}

func (p *pool) fsync(e *sqe, _ *slot) int64 {
	if e.opFlags&fsyncData != 0 {
		return p.kernel.Call(unix.SYS_FDATASYNC, uintptr(e.fd), 0, 0)
	}
	return p.kernel.Call(unix.SYS_FSYNC, uintptr(e.fd), 0, 0)
}

func (p *pool) syncFileRange(e *sqe, _ *slot) int64 {
	return p.kernel(unix.SYS_SYNC_FILE_RANGE, uintptr(e.fd), uintptr(e.off), uintptr(e.len), uintptr(e.opFlags), 0, 0)
}

func (p *pool) fadvise(e *sqe, _ *slot) int64 {
	return p.kernel(unix.SYS_FADVISE64, uintptr(e.fd), uintptr(e.off), uintptr(e.addr+uint64(e.len)), uintptr(e.opFlags), 0, 0)
}
