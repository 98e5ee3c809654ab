package posix

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/sandbox"
)

// worker plays the events of one recorded thread, or has the process of a ring.
type worker struct {
	*engine.Worker
	*seat // nil before and after the thread's life

	e          *Executor
	process    *process
	tid        int         // of its thread of the operating system
	forkedFrom *worker     // whose descriptors it fetches at its start; nil for none
	inherited  atomic.Bool // it has the descriptors of its process's start
	locking    atomic.Bool // it waits for a record lock

	exited      bool
	endsProcess bool // it was the last thread of its process, and has left the table and the memory empty

	touchNanos int64 // how long a page of memory took to touch, of late
	mostHeld   int64 // pages of all processes that were touched at a time, as seen here
}

// Player implements engine.Executor.
func (e *Executor) Player(k *engine.Worker) (engine.Player, error) {
	th := engine.ThreadsOf(e.Trace.Header())[k.Number-1]
	w := &worker{Worker: k, e: e, process: e.processes[th.Process], touchNanos: firstTouch}
	if k.Holds() != nil {
		e.rings[k.Number-1] = &ring{Ring: k.Holds(), e: e}
		w.seat = e.newSeat(k.Seat)
	}
	e.workers[k.Number-1] = w
	return w, nil
}

// Kind implements engine.Player: a seat has a table of descriptors of its own, or none.
func (w *worker) Kind() int {
	if w.process.private {
		return 1
	}
	return 0
}

// Furnish implements engine.Player.
func (w *worker) Furnish() error { return w.e.furnish(w.process) }

// Sit implements engine.Player.
func (w *worker) Sit(p engine.Place) error {
	w.seat, w.tid = p.(*seat), unix.Gettid()
	if l, ok := w.lists.(interface{ Rewind(thread int32) }); ok { // it takes no new memory
		l.Rewind(w.Number)
	} else {
		w.lists = nil
	}
	if w.process.private && w.Parent() == nil {
		return w.e.openDescriptors(&w.guard, w.process)
	}
	return nil
}

// Begin implements engine.Player.
func (w *worker) Begin() { w.inherit() }

// Ready implements engine.Player.
func (w *worker) Ready(r *format.Record) bool { return w.readyPages(r) }

// Play implements engine.Player. It is on the hot path.
func (w *worker) Play(r *format.Record) int64 { return calls[r.Op](w, r) }

// Idle implements engine.Player.
func (w *worker) Idle(now, due int64) int64 { return w.touch(now, due) }

// End implements engine.Player. The last thread of a process empties the
// process's table and memory.
func (w *worker) End() {
	w.exited = true
	if w.endsProcess = w.process.threads.Add(-1) == 0; w.endsProcess {
		w.awaitRequests()
		w.e.leave(w.process)
		w.giveUpRings(false)
		w.leaveWindow(true)
		w.closeUnmapped()
		w.giveAllBack()
	}
}

// Abandon implements engine.Player.
func (w *worker) Abandon() {
	if w.endsProcess {
		w.e.stock.reuse(w.process)
	}
}

// Explain implements engine.Player.
func (w *worker) Explain(r *format.Record, got int64) (path, reason string) {
	return w.pathOf(r), w.reason(r, got)
}

// seat is what workers need on a thread of the operating system.
type seat struct {
	of  *engine.Seat
	e   *Executor
	own bool // its thread has a kernel table of descriptors of its own

	guard     sandbox.Guard
	sys       sandbox.Kernel    // kernel for the calls of events: timed
	allowance int64             // bytes that may be written before asking for more
	ahead     int64             // bytes that the kernel may come to hold, the same
	listings  []listing         // that have begun and not ended
	lists     format.ListReader // of the thread; nil before the first list

	// Memory whose address the kernel gets.
	iov     [maxSegments]unix.Iovec
	scratch [pageSize]byte // for results that are not read: stat and the like
	stat    unix.Stat_t
	flock   unix.Flock_t
	entries []byte // of a directory; nil until a listing is compared
	offsets [2]int64
}

// Place implements engine.Executor.
func (e *Executor) Place(s *engine.Seat, kind int) engine.Place {
	k := e.newSeat(s)
	k.own = kind == 1
	return k
}

func (e *Executor) newSeat(of *engine.Seat) *seat {
	s := &seat{of: of, e: e, guard: e.guard}
	s.sys = s.timed
	return s
}

func (s *seat) scratchPointer() uintptr { return uintptr(unsafe.Pointer(&s.scratch)) }

// timed makes a system call of an event, and measures its time. The worker's own time
// before the first and after the last call is not part of the event: it is subtracted
// from the following compute. It is a third of a short call if the code is no longer in
// the processor's cache.
func (s *seat) timed(nr, a, b, c, d, e, f uintptr) (got int64) {
	s.of.CallBegins()
	if s.e.direct {
		got = sandbox.Linux(nr, a, b, c, d, e, f)
	} else {
		got = s.e.guard.Kernel(nr, a, b, c, d, e, f)
	}
	s.of.CallEnds()
	return got
}

// Enter implements engine.Place.
func (s *seat) Enter() error {
	s.guard.Kernel = s.sys
	if !s.e.InMemory {
		if err := s.guard.Enter(s.guard.Jailed()); err != nil {
			return err
		}
	}
	if s.own {
		return s.e.leaveTable()
	}
	return nil
}

// ReadyThread makes the calling thread one of a worker: it sleeps on time, and no signal
// interrupts its calls.
func ReadyThread() error {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it, sleeps end up to 50 µs late
	if err := blockSignals(); err != nil {
		return fmt.Errorf("block the signals of a thread: %w", err)
	}
	return nil
}

// blockSignals blocks the program's signals in this thread, so that none
// interrupts its calls. Faults can't be blocked.
func blockSignals() error {
	all := unix.Sigset_t{}
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	for _, s := range []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT} {
		all.Val[(s-1)/64] &^= 1 << (uint(s-1) % 64)
	}
	return unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil)
}

// furnish gives a process its table and its memory. The seats of the engine are locked, or no
// worker has started.
func (e *Executor) furnish(p *process) (err error) {
	if p.own.Load() != nil || p.arena != nil {
		return nil
	}
	s, processes := &e.stock, len(e.processes)
	if e.SeatsLater() { // then there are fewer at a time
		processes = min(processes, e.MostSeats())
	}
	s.Lock()
	defer s.Unlock()
	share := e.Limits.Memory / int64(processes)
	if n := len(s.tables); n > 0 {
		p.own.Store(s.tables[n-1])
		s.tables = s.tables[:n-1]
	} else {
		// The size of a region is a power of two, so up to twice the requested
		// size is mapped, but the rest is never touched.
		slots, err := newRegion(min(2*8*e.Limits.Descriptors, share/4))
		if err != nil {
			return err
		}
		e.regions = append(e.regions, slots)
		t := newTable(e.guard.Kernel, slots, e.Limits.descriptorsOf(processes))
		s.made = append(s.made, t)
		p.own.Store(t)
	}
	if n := len(s.spaces); n > 0 {
		p.memory = s.spaces[n-1]
		s.spaces = s.spaces[:n-1]
		return nil
	}
	p.memory, err = e.newMemory(share / 2)
	return err
}

// reuse takes what a process has left, for the next one.
func (s *stock) reuse(p *process) {
	s.Lock()
	defer s.Unlock()
	for _, t := range []*table{p.own.Swap(nil), p.left} {
		if t != nil {
			t.high.Store(0)
			t.users.Store(1)
			s.tables = append(s.tables, t)
		}
	}
	p.left = nil
	if p.arena != nil && p.forget() {
		s.spaces = append(s.spaces, p.memory)
		p.memory = memory{}
	}
}
