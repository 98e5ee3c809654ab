package replay

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
	"pianola/stats"
)

const (
	batchRecords = 1024             // that a seat holds
	lowRecords   = batchRecords / 2 // below which its worker uses a long gap to read more
)

// seat is what a worker needs while its thread lives: a thread of the operating system,
// and memory. When the thread ends, the seat goes to a thread that is created later. A
// ring has a seat without a thread.
type seat struct {
	e    *engine
	own  bool         // its thread has a kernel table of descriptors of its own
	next chan *worker // what an idle seat gets

	guard     sandbox.Guard
	sys       sandbox.Kernel // kernel for the calls of events: timed
	firstCall int64          // when the event made its first system call, 0 for none yet
	lastCall  int64          // when its last one returned, 0 for none yet
	ran       int64          // nanoseconds of it that are in the compute before the next event (callFault)
	allowance int64          // bytes that may be written before asking for more
	ahead     int64          // bytes that the kernel may come to hold, the same
	listings  []listing      // that have begun and not ended

	// The current batch of records, with their recorded durations for a
	// schedule, or where calls take them.
	batch     []format.Record
	nanos     []int64
	at        int // the next one
	filled    int
	records   format.RecordReader
	durations format.DurationReader
	lists     format.ListReader // nil before the first list

	// Results of all threads that had the seat.
	late        stats.Histogram
	byOp        [format.NumOps]OpResult
	differences []Difference

	// Memory whose address the kernel gets.
	iov     [maxSegments]unix.Iovec
	scratch [pageSize]byte // for results that are not read: stat and the like
	stat    unix.Stat_t
	flock   unix.Flock_t
	entries []byte // of a directory; nil until a listing is compared
	offsets [2]int64
}

func (s *seat) scratchPointer() uintptr { return uintptr(unsafe.Pointer(&s.scratch)) }

// newSeat makes a seat without a thread.
func (e *engine) newSeat() *seat {
	s := &seat{e: e, guard: e.guard, batch: make([]format.Record, batchRecords), differences: make([]Difference, 0, maxDifferences), late: stats.Histogram{Digits: latenessDigits}}
	if e.Timing == Schedule || e.usesRecordedDurations() {
		s.nanos = make([]int64, batchRecords)
	}
	s.sys = s.timed
	e.seats.all = append(e.seats.all, s)
	return s
}

// rewinder is a reader of a trace that can begin again with another thread, so that it
// takes no new memory.
type rewinder interface{ Rewind(thread int32) }

// rewind has the seat read the records of a thread from the start.
func (s *seat) rewind(thread int32) {
	s.at, s.filled = 0, 0
	if r, ok := s.records.(rewinder); ok {
		r.Rewind(thread)
	} else {
		s.records = s.e.trace.Records(thread)
	}
	if l, ok := s.lists.(rewinder); ok {
		l.Rewind(thread)
	} else {
		s.lists = nil
	}
	if s.nanos == nil {
		return
	}
	if d, ok := s.durations.(rewinder); ok {
		d.Rewind(thread)
	} else {
		s.durations = s.e.trace.Durations(thread)
	}
}

// timed makes a system call of an event, and measures its time. The worker's own time
// before the first and after the last call is not part of the event: it is subtracted
// from the following compute. It is a third of a short call if the code is no longer in
// the processor's cache.
func (s *seat) timed(nr, a, b, c, d, e, f uintptr) (got int64) {
	s.callBegins()
	if s.e.Backend == Posix {
		got = sandbox.Linux(nr, a, b, c, d, e, f)
	} else {
		got = s.e.guard.Kernel(nr, a, b, c, d, e, f)
	}
	s.callEnds()
	return got
}

// callBegins and callEnds enclose each call or wait of an event.
func (s *seat) callBegins() {
	if s.firstCall == 0 {
		s.firstCall = s.e.now()
	}
}

func (s *seat) callEnds() { s.lastCall = s.e.now() }

// enter makes the seat's thread ready for workers.
func (s *seat) enter() error {
	blockSignals()
	fineTimers()
	s.guard.Kernel = s.sys
	if s.e.Backend.Has().Roots {
		if err := s.guard.Enter(s.guard.Jailed()); err != nil {
			return err
		}
	}
	if s.own {
		return s.e.leaveTable()
	}
	return nil
}

// blockSignals blocks the program's signals in this thread, so that none
// interrupts its calls. Faults can't be blocked.
func blockSignals() {
	all := unix.Sigset_t{}
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	for _, s := range []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT} {
		all.Val[(s-1)/64] &^= 1 << (uint(s-1) % 64)
	}
	_ = unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil)
}

// run is the body of the goroutine of a seat. Its thread ends with it, because it
// can't leave its jail. Ready is called when the first worker is ready.
func (s *seat) run(w *worker, ready func()) {
	runtime.LockOSThread()
	err := s.enter()
	for ; w != nil; w = s.vacate(w) {
		w.seat, w.tid = s, unix.Gettid()
		if err == nil {
			err = w.prepare()
		}
		if err != nil {
			s.e.fail(fmt.Errorf("thread %d: %w", w.number, err))
		}
		if ready != nil {
			ready()
			ready = nil
		}
		<-s.e.begin
		pin()
		w.play()
		w.exit()
		w.finish()
		unpin()
	}
}

// seating gives seats to workers. Each thread that is there from the start has one at
// the start, and so have the next ones to be created, in the order of the recording,
// because a seat takes longer to make ready than a thread takes to be created. A
// thread that is created before its turn gets an idle seat or a new one.
type seating struct {
	sync.Mutex
	all     []*seat
	idle    [2][]*seat   // without and with a table of their own
	unborn  [2][]*worker // those for each, in the order of their creation
	window  int32        // how many unborn threads have a seat at most
	waiting atomic.Int32 // how many have one
	alive   atomic.Int32 // threads
	kept    []uintptr    // descriptors that a table of a seat's own keeps, in order, and one above all; nil: all
	made    []*table     // all that were made
	tables  []*table     // that ended processes leave, empty
	spaces  []memory     // the same, untouched
}

const (
	// fewThreads is of how many threads each has a seat from the start.
	fewThreads = 1024

	// readySeats is how many threads of more have a seat before they are created.
	readySeats = 128
)

// window returns how many of a number of threads have a seat before they are created.
func window(threads int) int32 {
	if threads <= fewThreads {
		return int32(threads)
	}
	return readySeats
}

// mostSeats returns how many threads of the trace have seats at a time, at most.
func (e *engine) mostSeats() int {
	n := -len(e.queues)
	for _, w := range e.workers {
		if !w.elsewhere {
			n++
		}
	}
	return min(n, e.Limits.Threads+int(window(n)))
}

func (w *worker) kind() int {
	if w.process.private {
		return 1
	}
	return 0
}

// startWorkers gives the first seats to workers, which are ready when it returns.
func (e *engine) startWorkers() {
	s := &e.seats
	var born, unborn []*worker
	for _, w := range e.workers {
		switch {
		case w.elsewhere:
		case w.queue != nil: // others play it
			_ = w.refill() // an error comes again
			w.lateReads = 0
		case w.parent == nil:
			born = append(born, w)
		default:
			unborn = append(unborn, w)
		}
	}
	slices.SortStableFunc(unborn, func(a, b *worker) int { return cmp.Compare(a.recorded, b.recorded) })
	s.window = window(len(born) + len(unborn))
	first := min(len(unborn), int(s.window))
	s.alive.Store(int32(len(born)))
	s.keepDescriptors(e, first < len(unborn))
	s.Lock()
	for i, w := range slices.Concat(born, unborn) {
		if i >= len(born)+first {
			s.unborn[w.kind()] = append(s.unborn[w.kind()], w)
			continue
		}
		e.ready.Add(1)
		if err := e.seatFor(w, e.ready.Done); err != nil {
			e.ready.Done()
			e.fail(err)
			break
		}
	}
	s.Unlock()
	e.ready.Wait()
}

// seatFor gives an idle seat or a new one to a worker. The seats are locked.
func (e *engine) seatFor(w *worker, ready func()) error {
	if err := e.furnish(w.process); err != nil {
		return err
	}
	w.seated.Store(true)
	if w.parent != nil {
		e.seats.waiting.Add(1)
	}
	e.running.Add(1)
	idle := &e.seats.idle[w.kind()]
	if n := len(*idle); n > 0 {
		s := (*idle)[n-1]
		*idle = (*idle)[:n-1]
		s.next <- w
		return nil
	}
	s := e.newSeat()
	s.own, s.next = w.process.private, make(chan *worker, 1)
	go s.run(w, ready)
	return nil
}

// giveSeat gives a seat to a thread that the worker creates, unless it has one.
func (w *worker) giveSeat(child *worker) {
	if child.seated.Load() {
		return
	}
	w.unpin()
	s := &w.e.seats
	s.Lock()
	if !child.seated.Load() && !w.e.stopped.Load() {
		if err := w.e.seatFor(child, nil); err != nil {
			w.e.fail(fmt.Errorf("thread %d: %w", child.number, err))
		}
	}
	s.Unlock()
	w.pin()
}

// live notes that the thread has been created, and reports whether the run may go on.
func (w *worker) live() bool {
	w.e.seats.waiting.Add(-1)
	if n := int(w.e.seats.alive.Add(1)); n > w.e.Limits.Threads {
		w.failf("thread %d: %d threads at a time exceed the limit of %d: %w", w.number, n, w.e.Limits.Threads, limitOf("threads"))
	}
	return !w.e.stopped.Load()
}

// vacate ends the use of the seat by a worker, and returns the next one, nil if there
// is none.
func (s *seat) vacate(w *worker) (next *worker) {
	e, all := s.e, &s.e.seats
	w.seat = nil
	all.Lock()
	if e.stopped.Load() {
		all.Unlock()
		e.running.Done()
		return nil
	}
	if w.endsProcess && len(all.unborn[0])+len(all.unborn[1]) > 0 {
		all.reuse(w.process)
	}
	all.idle[w.kind()] = append(all.idle[w.kind()], s)
	for kind := range all.idle {
		for len(all.idle[kind]) > 0 && all.waiting.Load() < all.window {
			child := all.nextUnborn(kind)
			if child == nil {
				break
			}
			if err := e.seatFor(child, nil); err != nil {
				e.fail(fmt.Errorf("thread %d: %w", child.number, err))
			}
		}
	}
	all.Unlock()
	e.running.Done()
	return <-s.next
}

// nextUnborn removes and returns the next thread to be created, nil if there is none.
func (s *seating) nextUnborn(kind int) *worker {
	for len(s.unborn[kind]) > 0 {
		w := s.unborn[kind][0]
		s.unborn[kind] = s.unborn[kind][1:]
		if !w.seated.Load() {
			return w
		}
	}
	return nil
}

// dismiss ends the threads of idle seats.
func (s *seating) dismiss() {
	s.Lock()
	defer s.Unlock()
	for _, idle := range s.idle {
		for _, seat := range idle {
			close(seat.next)
		}
	}
}

// furnish gives a process its table and its memory. The seats are locked, or no worker
// has started.
func (e *engine) furnish(p *process) (err error) {
	if p.own.Load() != nil || p.arena != nil {
		return nil
	}
	s, processes := &e.seats, len(e.processes)
	if processes > fewThreads { // then there are fewer at a time
		processes = min(processes, e.mostSeats())
	}
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
func (s *seating) reuse(p *process) {
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
