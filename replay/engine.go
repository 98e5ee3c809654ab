package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/device"
	"pianola/format"
	"pianola/memfs"
	"pianola/ranks"
	"pianola/replay/fileset"
	"pianola/replay/sandbox"
)

// engine is the state of one trace's replay that its workers share.
type engine struct {
	*stage
	Options
	name    string       // of the trace, if there are several
	trace   format.Trace // what this process replays of it
	whole   format.Trace
	calls   *[format.NumOps]call
	places  *places         // nil without maps
	plans   []*fileset.Plan // of each place
	roots   []*sandbox.Root // the same; none if the backend needs none
	demands *device.Demands // of the trace on a fitted model; nil without one
	lacks   []bool          // of each text: it is a directory with names in another root
	files   *memfs.FS       // of Memory
	ahead   int64           // bytes of it that are populated before the start
	player  Player          // of a backend that NewBackend made
	guard   sandbox.Guard   // for each thread to copy and enter

	workers   []*worker
	processes map[int32]*process
	sharing   spinLock           // which tables processes own and use, once they run
	texts     []string           // the trace's strings, then the paths of open descriptors
	names     []sandbox.Name     // the same for the kernel
	startDirs map[startDir]int64 // descriptors of directories that paths start in
	pool      region             // what writes come from
	sink      int                // descriptor of /dev/null, the target of bytes that leave the trace's files; -1 if there is none
	regions   []region           // tables and memory of processes
	seats     seating
	queues    []*queue
	logs      []log

	mostMappings int64
	windowSize   int64        // bytes
	pools        int          // queues that threads play
	pinned       atomic.Int64 // bytes of registered buffers, and of lists of what is registered
	notesLock    sync.Mutex
	notes        []string // how queues differ from the recorded ones

	start   int64 // when the first event may be due, by the clock
	begin   chan struct{}
	ready   sync.WaitGroup
	running sync.WaitGroup

	_         [64]byte
	board     *ranks.Board // for events that threads of several processes wait for; nil in a single one
	elections []election   // of each root

	_        [64]byte
	bytes    atomic.Int64 // that may still be written
	space    freeSpace
	_        [64]byte
	kernel   kernelBudget
	_        [64]byte
	unmade   atomic.Int64 // names that may still be made
	census   census       // of those that there are
	touching atomic.Bool  // some worker touches memory
	mapped   atomic.Int64 // bytes of address space that windows take
	copied   atomic.Int64 // bytes of private mappings that were written
	mappings atomic.Int64 // in windows, and parts of them
	held     atomic.Int64 // touched pages of all processes, if memory calls are replayed
}

func newEngine(s *stage, p Part, o Options) *engine {
	o.Root = filepath.Join(o.Root, p.Name)
	e := &engine{
		stage: s, Options: o, name: p.Name, trace: p.Trace, whole: p.Trace, calls: &calls, guard: sandbox.Guard{Kernel: sandbox.Linux, Landlock: o.Landlock},
		processes: make(map[int32]*process), begin: make(chan struct{}), sink: -1, startDirs: make(map[startDir]int64),
	}
	if o.Session != nil {
		e.trace = ownPart(p.Trace, o.Session)
	}
	switch {
	case o.Backend == Null:
		e.calls = &nullCalls
	case o.Backend.opener() != nil:
		e.calls = &handedOver
	}
	return e
}

// build makes the workers and all memory that they will use. free gives it
// back.
func (e *engine) build(ctx context.Context) error {
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
		if e.Session != nil && e.Session.Rank == 0 { // it gets the logs of all
			lengths[i] = e.whole.Len(int32(i + 1))
		}
	}
	var err error
	if e.logs, err = newLogs(lengths, e.Limits.Memory/4); err != nil {
		return err
	}
	for i, th := range threads {
		e.workers = append(e.workers, e.newWorker(int32(i+1), e.processes[th.Process]))
	}
	for i, th := range threads {
		w := e.workers[i]
		if w.elsewhere {
			continue
		}
		w.recorded = max(th.Start, 0)
		if th.Ring != format.ViaCall {
			w.seat = e.newSeat()
			w.rewind(w.number)
			w.queue = newQueue(w, th.Ring)
			e.queues = append(e.queues, w.queue)
			continue
		}
		if th.Parent != 0 {
			w.setParent(e.workers[th.Parent-1])
		}
	}
	for _, th := range threads {
		if p := e.processes[th.Process]; p != nil && th.Parent == 0 {
			if err := e.furnish(p); err != nil {
				return err
			}
			p.files.Store(p.own.Load())
		}
	}
	e.separate()
	e.ownLocks()
	return e.makeWaits(ctx)
}

func (e *engine) makeNames() error {
	e.texts = append(e.texts, e.trace.Strings()...)
	for _, d := range e.trace.Header().Descriptors {
		e.texts = append(e.texts, d.Path)
	}
	e.names = make([]sandbox.Name, len(e.texts))
	for i, s := range e.texts {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("string %d of the trace, %.40q, holds a NUL byte", i, s)
		}
		e.names[i] = sandbox.NewName(s)
	}
	return nil
}

// makeProcesses makes a process for each number in the thread table.
func (e *engine) makeProcesses(threads []format.Thread) error {
	for i, th := range threads {
		if e.isForeign(int32(i + 1)) {
			continue
		}
		p := e.processes[th.Process]
		if p == nil {
			p = &process{number: th.Process}
			e.processes[th.Process] = p
		}
		if th.Ring != format.ViaCall {
			continue
		}
		p.threads.Add(1)
	}
	pool, err := newPool(e.Compressibility)
	if err != nil {
		return err
	}
	e.pool = pool
	e.sink = openSink()
	_ = canPopulate() // not while a worker is pinned
	e.windowSize = windowSize(e.trace.Header())
	e.mostMappings = mapLimit() / int64(max(e.parts, 1))
	growKernelTable()
	return nil
}

func (e *engine) newWorker(number int32, p *process) *worker {
	w := &worker{
		e: e, number: number, process: p, elsewhere: e.isForeign(number), length: e.trace.Len(number), log: &e.logs[number-1],
		touchNanos: firstTouch, asked: e.demands.Thread(number),
	}
	w.awaited.Store(unawaited)
	return w
}

// makeWaits finds the waits of events, and marks the events waited for.
func (e *engine) makeWaits(ctx context.Context) error {
	for _, w := range e.workers {
		waits, err := e.trace.Waits(w.number)
		if err != nil {
			return fmt.Errorf("read what thread %d waits for: %w", w.number, err)
		}
		before := int64(0)
		for _, v := range waits {
			k := v.For.Thread
			if v.Event < before || v.Held < 0 || v.Expired < 0 || v.For != (format.Edge{}) && !v.For.Valid(w.number, v.Event) || int(k) > len(e.workers) || k > 0 && v.For.Event >= e.whole.Len(k) {
				return fmt.Errorf("event %d of thread %d waits for event %d of thread %d: this edge is invalid", v.Event, w.number, v.For.Event, k)
			}
			before = v.Event
			w.hasEarly = w.hasEarly || v.Expired > 0
		}
		w.waits = waits
	}
	switch e.Order {
	case Thread:
		for _, w := range e.workers {
			w.waits = nil
		}
	case Total:
		if err := e.orderAll(); err != nil {
			return err
		}
	}
	if err := e.markAwaited(ctx); err != nil {
		return err
	}
	if e.Order == Resource {
		e.makeAny()
	}
	for _, w := range e.workers {
		w.waits = append(w.waits[:len(w.waits):len(w.waits)], format.Wait{Event: math.MaxInt64})
	}
	return nil
}

// markAwaited makes a list for each thread of its events that are waited for, and
// has waits lead to their places in these lists. Other processes say which events their
// threads wait for.
func (e *engine) markAwaited(ctx context.Context) error {
	for _, w := range e.workers {
		for _, v := range w.waits {
			if v.For.Thread > 0 {
				k := e.workers[v.For.Thread-1]
				k.targets = append(k.targets, v.For.Event)
			}
		}
	}
	asked, err := e.exchange(ctx)
	if err != nil {
		return err
	}
	for _, w := range e.workers {
		if a := asked[w.number]; a != nil {
			w.targets = append(w.targets, a.Events...)
		}
		w.sortTargets()
		w.targets = append(w.targets, math.MaxInt64)
		if !w.elsewhere {
			w.ends = make([]atomic.Int64, len(w.targets))
		}
	}
	for _, w := range e.workers {
		w.places = make([]int32, len(w.waits))
		for i, v := range w.waits {
			if v.For.Thread > 0 {
				place, _ := slices.BinarySearch(e.workers[v.For.Thread-1].targets, v.For.Event)
				w.places[i] = int32(place)
			}
		}
	}
	return e.wire(asked)
}

func (w *worker) sortTargets() {
	slices.Sort(w.targets)
	w.targets = slices.Compact(w.targets)
}

// free closes open descriptors, frees memory outside the Go heap, and removes
// files from the root, unless they are kept.
func (e *engine) free() (err error) {
	e.closeAll()
	e.closeStartDirs()
	e.guard.Close()
	defer func() {
		for _, r := range slices.Backward(e.roots) {
			if r != nil {
				err = errors.Join(err, r.Close())
			}
		}
		e.unmake()
	}()
	e.pool.free()
	if e.sink >= 0 {
		_ = unix.Close(e.sink)
	}
	for _, m := range e.regions {
		m.free()
	}
	switch {
	case e.player != nil:
		return e.player.Close()
	case e.files != nil:
		if e.left != nil {
			e.left(e.guard.Kernel)
		}
		return e.files.Close()
	}
	return nil
}

// noteQueue records how a queue differs from the recorded one. Workers must not be
// pinned when they call it or noteOnce.
func (e *engine) noteQueue(q *openQueue) {
	for _, note := range q.Notes() {
		e.noteOnce(note)
	}
}

func (e *engine) noteOnce(note string) {
	e.notesLock.Lock()
	defer e.notesLock.Unlock()
	if !slices.Contains(e.notes, note) {
		e.notes = append(e.notes, note)
	}
}

// fail stops the run because of an error. It is for pinned workers, so it
// doesn't print the name.
func (e *engine) fail(err error) {
	if e.name != "" {
		err = &partError{e.name, err}
	}
	e.stage.fail(err)
}

type partError struct {
	name string
	error
}

func (e *partError) Error() string { return e.name + ": " + e.error.Error() }
func (e *partError) Unwrap() error { return e.error }

// closeAll closes the descriptors of processes that did not end.
func (e *engine) closeAll() {
	for _, p := range e.processes {
		if files := p.files.Swap(nil); files != nil {
			files.release()
		}
	}
}

// openDescriptors opens the descriptors that recorded processes had at the start. If
// only is not nil, it opens those of that process, on whose thread it runs. If only is
// nil, it opens those of all processes without their own kernel table. The guard binds
// the calling thread.
func (e *engine) openDescriptors(g *sandbox.Guard, only *process) error {
	first := len(e.trace.Strings())
	opened := make(map[format.Descriptor]slot) // by all fields but the number
	for i, d := range e.trace.Header().Descriptors {
		p := e.processes[d.Process]
		if p == nil || p.files.Load() == nil {
			return fmt.Errorf("descriptor %d belongs to process %d, which does not exist at the start", d.FD, d.Process)
		}
		if p != only && (only != nil || p.private) {
			continue
		}
		if p.own.Load().get(int64(d.FD)) != 0 {
			return fmt.Errorf("duplicate descriptor %d of process %d", d.FD, d.Process)
		}
		// Two numbers with the same file and offset come from ">log 2>&1": they
		// share an offset.
		place, fd := d, int64(0)
		place.FD = 0
		if twin, ok := opened[place]; ok {
			fd = g.Kernel.Call(unix.SYS_FCNTL, twin.real(), unix.F_DUPFD_CLOEXEC, 0)
		} else {
			fd = g.Open(&e.names[first+i], openFlags(d.Flags&^(format.CREAT|format.EXCL|format.TRUNC)), 0)
		}
		if fd >= 0 && d.Offset > 0 {
			if got := g.Kernel.Call(unix.SYS_LSEEK, uintptr(fd), uintptr(d.Offset), 0); got < 0 {
				g.Kernel.Call(unix.SYS_CLOSE, uintptr(fd), 0, 0)
				fd = got
			}
		}
		if fd < 0 {
			name := e.trace.Header().AppNames().Of(d.Path)
			return fmt.Errorf("open %s as descriptor %d of process %d: %w", format.BothNames(d.Path, name), d.FD, d.Process, unix.Errno(-fd))
		}
		s := newSlot(fd, int32(first+i), openMarks(d.Flags))
		if !p.own.Load().set(int64(d.FD), s) {
			return fmt.Errorf("descriptor %d of process %d: %w", d.FD, d.Process, limitOf("descriptors"))
		}
		opened[place] = s
	}
	return nil
}
