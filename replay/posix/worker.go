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
	*slotState // nil before and after the thread's life

	e          *Executor
	process    *process
	tid        int         // of its thread of the operating system
	forkedFrom *worker     // whose descriptors it fetches at its start; nil for none
	inherited  atomic.Bool // it has the descriptors of its process's start
	locking    atomic.Bool // it waits for a record lock

	exited      bool
	endsProcess bool // it was the last thread of its process, and has left the table and the memory empty

	touchNanos int64 // recent time to touch a page of memory
	maxTouched int64 // pages of all processes that were touched at a time, as seen here
}

// Player implements engine.Executor.
func (e *Executor) Player(k *engine.Worker) (engine.Player, error) {
	th := engine.ThreadsOf(e.Trace.Header())[k.Number-1]
	w := &worker{Worker: k, e: e, process: e.processes[th.Process], touchNanos: firstTouch}
	if k.OwnRing() != nil {
		e.rings[k.Number-1] = &ring{Ring: k.OwnRing(), e: e}
		w.slotState = e.newSlotState(k.Slot)
	}
	e.workers[k.Number-1] = w
	return w, nil
}

// Kind implements engine.Player: a slot has a table of descriptors of its own, or none.
func (w *worker) Kind() int {
	if w.process.private {
		return 1
	}
	return 0
}

// Allocate implements engine.Player.
func (w *worker) Allocate() error { return w.e.allocate(w.process) }

// Attach implements engine.Player.
func (w *worker) Attach(p engine.SlotState) error {
	w.slotState, w.tid = p.(*slotState), unix.Gettid()
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

// Prepare implements engine.Player.
func (w *worker) Prepare(r *format.Record) bool { return w.readyPages(r) }

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
		w.releaseRings(false)
		w.releaseWindow(true)
		w.closeUnmapped()
		w.releaseAllPages()
	}
}

// Recycle implements engine.Player.
func (w *worker) Recycle() {
	if w.endsProcess {
		w.e.spares.put(w.process)
	}
}

// Explain implements engine.Player.
func (w *worker) Explain(r *format.Record, got int64) (path, reason string) {
	return w.pathOf(r), w.reason(r, got)
}

// slotState is the state of workers on a thread of the operating system.
type slotState struct {
	slot *engine.Slot
	e    *Executor
	own  bool // its thread has a kernel table of descriptors of its own

	guard           sandbox.Guard
	sys             sandbox.Kernel    // kernel for the calls of events: timed
	allowance       int64             // bytes that may be written before asking for more
	kernelAllowance int64             // bytes that the kernel may come to hold, the same
	listings        []listing         // that have begun and not ended
	lists           format.ListReader // of the thread; nil before the first list

	// Memory whose address the kernel gets.
	iov     [maxSegments]unix.Iovec
	scratch [pageSize]byte // for results that are not read: stat and the like
	stat    unix.Stat_t
	flock   unix.Flock_t
	entries []byte // of a directory; nil until a listing is compared
	offsets [2]int64
}

// NewSlotState implements engine.Executor.
func (e *Executor) NewSlotState(s *engine.Slot, kind int) engine.SlotState {
	k := e.newSlotState(s)
	k.own = kind == 1
	return k
}

func (e *Executor) newSlotState(of *engine.Slot) *slotState {
	s := &slotState{slot: of, e: e, guard: e.guard}
	s.sys = s.timed
	return s
}

func (s *slotState) scratchPointer() uintptr { return uintptr(unsafe.Pointer(&s.scratch)) }

// timed makes a system call of an event, and measures its time. The worker's own time
// before the first and after the last call is not part of the event: it is subtracted
// from the following compute. It is a third of a short call if the code is no longer in
// the processor's cache.
func (s *slotState) timed(nr, a, b, c, d, e, f uintptr) (got int64) {
	s.slot.CallBegins()
	if s.e.direct {
		got = sandbox.Linux(nr, a, b, c, d, e, f)
	} else {
		got = s.e.guard.Kernel(nr, a, b, c, d, e, f)
	}
	s.slot.CallEnds()
	return got
}

// Enter implements engine.SlotState.
func (s *slotState) Enter() error {
	s.guard.Kernel = s.sys
	if !s.e.InMemory {
		if err := s.guard.Enter(s.guard.Jailed()); err != nil {
			return err
		}
	}
	if s.own {
		return s.e.unshareTable()
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

// allocate gives a process its table and its memory. The slot pool of the engine is locked, or no
// worker has started.
func (e *Executor) allocate(p *process) (err error) {
	if p.own.Load() != nil || p.arena != nil {
		return nil
	}
	s, processes := &e.spares, len(e.processes)
	if e.ReusesSlots() { // then there are fewer at a time
		processes = min(processes, e.MaxSlots())
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
		s.all = append(s.all, t)
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

// put stores the tables and the memory of an ended process for the next one.
func (s *spares) put(p *process) {
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
	if p.arena != nil && p.reset() {
		s.spaces = append(s.spaces, p.memory)
		p.memory = memory{}
	}
}
