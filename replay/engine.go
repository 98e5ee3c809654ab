package replay

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// engine is what the workers of a run share.
type engine struct {
	*clock
	trace   format.Trace
	backend Backend
	timing  Timing
	speed   float64
	wait    Wait
	order   Order
	strict  bool
	memory  bool
	limits  Limits
	calls   *[format.NumOps]call
	guard   guard // for each thread to copy and enter

	workers         []*worker
	processes       map[int32]*process
	texts           []string // the trace's strings, then the paths of open descriptors
	names           []name   // the same for the kernel
	pool            region   // what writes come from
	compressibility int      // of the pool, in per cent
	sink            int      // descriptor of /dev/null, where bytes go that leave the trace's files
	tables          []region
	logs            []log

	start    int64 // when the first event may be due, by the clock
	begin    chan struct{}
	ready    sync.WaitGroup
	running  sync.WaitGroup
	spinners int32 // processors that waiting may keep busy

	_        [64]byte
	stopped  atomic.Bool
	err      atomic.Pointer[error] // why, if it was no cancellation
	_        [64]byte
	spinning atomic.Int32
	_        [64]byte
	bytes    atomic.Int64 // that may still be written
	_        [64]byte
	touching atomic.Bool  // some worker touches memory
	held     atomic.Int64 // pages of all processes that are touched, if memory is played
}

func newEngine(t format.Trace, o *Options) *engine {
	e := &engine{
		clock: newClock(), trace: t, backend: o.Backend, timing: o.Timing, speed: o.Speed, wait: o.Wait, order: o.Order, strict: o.Strict,
		memory: o.Memory, limits: o.Limits, calls: &calls, guard: guard{sys: linux, strict: o.Landlock}, compressibility: o.Compressibility,
		processes: make(map[int32]*process), begin: make(chan struct{}), sink: -1,
	}
	if o.Backend == Null {
		e.calls = &nullCalls
	}
	return e
}

// build makes the workers and all memory that they will use, which free gives
// back.
func (e *engine) build() error {
	if err := e.makeNames(); err != nil {
		return err
	}
	threads := e.trace.Header().Threads
	if len(threads) == 0 {
		threads = []format.Thread{{Process: 1}}
	}
	if err := e.makeProcesses(threads); err != nil {
		return err
	}
	lengths := make([]int64, len(threads))
	for i := range threads {
		lengths[i] = e.trace.Len(int32(i + 1))
	}
	var err error
	if e.logs, err = newLogs(lengths, e.limits.Memory/4); err != nil {
		return err
	}
	for i, th := range threads {
		e.workers = append(e.workers, e.newWorker(int32(i+1), e.processes[th.Process]))
	}
	for i, th := range threads {
		w := e.workers[i]
		w.recorded = max(th.Start, 0)
		if th.Parent != 0 {
			w.parent = e.workers[th.Parent-1]
		}
	}
	return e.makeWaits()
}

func (e *engine) makeNames() error {
	e.texts = append(e.texts, e.trace.Strings()...)
	for _, d := range e.trace.Header().Descriptors {
		e.texts = append(e.texts, d.Path)
	}
	e.names = make([]name, len(e.texts))
	for i, s := range e.texts {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("string %d of the trace, %q, holds a NUL byte", i, s)
		}
		e.names[i] = newName(s)
	}
	return nil
}

// makeProcesses makes a process for each number in the thread table. Of the
// memory that may be used, a quarter is for tables, a half for arenas.
func (e *engine) makeProcesses(threads []format.Thread) error {
	for _, th := range threads {
		p := e.processes[th.Process]
		if p == nil {
			p = &process{number: th.Process}
			e.processes[th.Process] = p
		}
		p.threads.Add(1)
	}
	share := e.limits.Memory / int64(len(e.processes))
	pool, err := newPool(e.compressibility)
	if err != nil {
		return err
	}
	e.pool = pool
	if e.sink, err = unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open /dev/null: %w", err)
	}
	makeRoom(e.sink)
	for _, p := range e.processes {
		// A region is a power of two, so twice what is wanted may be mapped,
		// but no more than that is ever touched.
		slots, err := newRegion(min(2*8*e.limits.Descriptors, share/4))
		if err != nil {
			return err
		}
		e.tables = append(e.tables, slots)
		p.own.Store(newTable(e.guard.sys, slots, e.limits.Descriptors))
		if err := e.makeSpace(p, share/2); err != nil {
			return err
		}
	}
	for _, th := range threads {
		if th.Parent == 0 {
			p := e.processes[th.Process]
			p.files.Store(p.own.Load())
		}
	}
	return nil
}

func (e *engine) newWorker(number int32, p *process) *worker {
	w := &worker{
		e: e, number: number, process: p, length: e.trace.Len(number), log: &e.logs[number-1],
		sys: e.guard.sys, batch: make([]format.Record, batchRecords), records: e.trace.Records(number),
		differences: make([]Difference, 0, maxDifferences), touchNanos: firstTouch,
	}
	if e.timing == Schedule {
		w.nanos = make([]int64, batchRecords)
		w.durations = e.trace.Durations(number)
	}
	w.awaited.Store(nobody)
	return w
}

// makeWaits finds what events wait for, and marks the threads waited for.
func (e *engine) makeWaits() error {
	for _, w := range e.workers {
		waits, err := e.trace.Waits(w.number)
		if err != nil {
			return fmt.Errorf("read what thread %d waits for: %w", w.number, err)
		}
		before := int64(0)
		for _, v := range waits {
			k := v.For.Thread
			if v.Event < before || k < 1 || int(k) > len(e.workers) || v.For.Event < 0 || v.For.Event >= e.workers[k-1].length {
				return fmt.Errorf("event %d of thread %d waits for event %d of thread %d, which makes no sense", v.Event, w.number, v.For.Event, k)
			}
			before = v.Event
		}
		w.waits = waits
	}
	switch e.order {
	case Thread:
		for _, w := range e.workers {
			w.waits = nil
		}
	case Total:
		if err := e.orderAll(); err != nil {
			return err
		}
	}
	for _, w := range e.workers {
		for _, v := range w.waits {
			e.workers[v.For.Thread-1].watched = true
		}
		w.waits = append(w.waits[:len(w.waits):len(w.waits)], format.Wait{Event: math.MaxInt64})
	}
	return nil
}

// free gives memory back that the collector doesn't know of.
func (e *engine) free() {
	if e.guard.rules > 0 {
		_ = unix.Close(e.guard.rules)
	}
	e.pool.free()
	if e.sink >= 0 {
		_ = unix.Close(e.sink)
	}
	for _, m := range e.tables {
		m.free()
	}
	for _, p := range e.processes {
		p.space.free()
	}
}

// fail stops the run because of an error, the first of which counts.
func (e *engine) fail(err error) {
	e.err.CompareAndSwap(nil, &err)
	e.stop()
}

// stop ends the run: no worker begins another event, and all wake up.
func (e *engine) stop() {
	e.stopped.Store(true)
	for _, w := range e.workers {
		w.bell.ring()
	}
}

// run lets the workers play and returns when all have ended.
func (e *engine) run(ctx context.Context) error {
	defer e.closeAll()
	n := len(e.workers)

	// Raw calls hold on to their processor slot, so that each worker needs
	// one, and whoever stops them another.
	slots := runtime.GOMAXPROCS(n + 4)
	defer runtime.GOMAXPROCS(slots)
	runtime.GC() // for there is none until the end
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))

	e.spinners = mayWaitAwake(e.wait, n, runtime.NumCPU())
	e.ready.Add(n)
	e.running.Add(n)
	for _, w := range e.workers {
		w.guard = e.guard
		go w.run()
	}
	e.ready.Wait()
	release := context.AfterFunc(ctx, e.stop)
	defer release()
	if e.start = e.now(); e.timing != AFAP {
		// Time for the threads to wake up, so that their first events are
		// not late.
		e.start += 200_000 + int64(n)*20_000
	}
	close(e.begin)
	e.running.Wait()
	if err := e.err.Load(); err != nil {
		return *err
	}
	if e.stopped.Load() {
		return context.Cause(ctx)
	}
	return nil
}

// mayWaitAwake returns how many workers may wait awake at a time. With more
// workers than processors one processor is left to those that have work.
func mayWaitAwake(wait Wait, workers, processors int) int32 {
	switch {
	case wait == Spin:
		return math.MaxInt32
	case wait == Sleep:
		return 0
	case workers > processors:
		return int32(processors - 1)
	}
	return int32(processors)
}

// closeAll closes the descriptors of processes that did not end.
func (e *engine) closeAll() {
	for _, p := range e.processes {
		if files := p.files.Swap(nil); files != nil {
			files.release()
		}
	}
}

// openDescriptors opens what the recorded processes had open at the start. The
// calling thread is bound by the guard.
func (e *engine) openDescriptors() error {
	first := len(e.trace.Strings())
	descriptors := e.trace.Header().Descriptors
	for i, d := range descriptors {
		p := e.processes[d.Process]
		if p == nil || p.files.Load() == nil {
			return fmt.Errorf("descriptor %d is of process %d, which is not there at the start", d.FD, d.Process)
		}
		flags := openFlags(d.Flags &^ (format.CREAT | format.EXCL | format.TRUNC))
		open := func() int64 { return e.guard.open(&e.names[first+i], flags, 0) }
		// The same place in the same file under two numbers is what ">log
		// 2>&1" looks like: they move together.
		for _, twin := range descriptors[:i] {
			if s := p.own.Load().get(int64(twin.FD)); s != 0 && twin.Process == d.Process && twin.Path == d.Path && twin.Flags == d.Flags && twin.Offset == d.Offset {
				open = func() int64 { return e.guard.sys.call(unix.SYS_FCNTL, s.real(), unix.F_DUPFD_CLOEXEC, 0) }
				break
			}
		}
		fd := open()
		if fd >= 0 && d.Offset > 0 {
			e.guard.sys.call(unix.SYS_LSEEK, uintptr(fd), uintptr(d.Offset), 0)
		}
		if fd < 0 {
			return fmt.Errorf("open %q as descriptor %d of process %d: %w", d.Path, d.FD, d.Process, unix.Errno(-fd))
		}
		if !p.own.Load().set(int64(d.FD), newSlot(fd, int32(first+i), openMarks(d.Flags))) {
			return fmt.Errorf("descriptor %d of process %d: %w", d.FD, d.Process, ErrLimit)
		}
	}
	return nil
}
