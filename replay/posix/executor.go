// Package posix plays the events of traces by system calls, below one directory, the root.
//
// One table has a function for each operation (calls.go). Descriptors are those of the
// recording, mapped to real ones by a table per recorded process (table.go). Paths never lead out
// of the root, for any trace (package sandbox). The files that exist before the first event are
// built from the trace's fileset (package fileset). Rings have rings of the kernel
// (package rings). Limits bound what a trace may take.
package posix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/limit"
	"pianola/internal/spin"
	"pianola/replay/engine"
	"pianola/replay/fileset"
	"pianola/replay/memfs"
	"pianola/replay/rings"
	"pianola/replay/sandbox"
)

// Executor plays the events of one trace by calls of a kernel, Linux or a file system in
// memory. It is the state that its workers share.
type Executor struct {
	*engine.Engine
	Options
	rootMap *rootMap        // nil without maps
	plans   []*fileset.Plan // of each root
	roots   []*sandbox.Root // the same; none if the backend needs none
	split   []bool          // of each text: it is a directory with names in another root
	files   *memfs.FS       // of Memory
	ahead   int64           // bytes of it that are populated before the start
	guard   sandbox.Guard   // for each thread to copy and enter
	direct  bool            // its kernel is Linux

	workers   []*worker // by the number of the thread, from 0; nil for those of other processes
	rings     []*ring
	processes map[int32]*process
	sharing   spin.Lock          // which tables processes own and use, once they run
	texts     []string           // the trace's strings, then the paths of open descriptors
	names     []sandbox.Name     // the same for the kernel
	startDirs map[startDir]int64 // descriptors of directories that paths start in
	pool      region             // what writes come from
	sink      int                // descriptor of /dev/null, the target of bytes that leave the trace's files; -1 if there is none
	regions   []region           // tables and memory of processes
	spares    spares

	maxMappings int64
	populates   bool         // the kernel can populate memory
	windowSize  int64        // bytes
	pools       int          // rings that threads play
	pinned      atomic.Int64 // bytes of registered buffers, and of lists of what is registered

	elections []election // of each root

	_            [64]byte
	bytes        atomic.Int64 // that may still be written
	space        freeSpace
	_            [64]byte
	kernel       kernelBudget
	_            [64]byte
	namesLeft    atomic.Int64 // names that may still be made
	census       census       // of the existing names
	touching     atomic.Bool  // some worker touches memory
	mapped       atomic.Int64 // bytes of address space that windows take
	copied       atomic.Int64 // bytes of private mappings that were written
	mappings     atomic.Int64 // in windows, and parts of them
	touchedPages atomic.Int64 // touched pages of all processes, if memory calls are replayed
}

// spares is the tables and the memory of ended processes, for those that are created later.
type spares struct {
	sync.Mutex
	kept   []uintptr // descriptors that a table of a slot's own keeps, in order, and one above all; nil: all
	all    []*table  // all that were made
	tables []*table  // that ended processes leave, empty
	spaces []memory  // the same, untouched
}

// New returns an executor for an engine. Its methods are called in the order Plan,
// SetUp, Ready, and Free at any time before or after the run.
func New(e *engine.Engine, o Options) *Executor {
	x := &Executor{
		Engine: e, Options: o, guard: sandbox.Guard{Kernel: sandbox.Linux, Landlock: o.Landlock},
		processes: make(map[int32]*process), sink: -1, startDirs: make(map[startDir]int64),
		direct: !o.InMemory && o.Faulty == nil,
	}
	if o.Faulty != nil {
		x.guard.Kernel = o.Faulty
	}
	return x
}

// operations says which calls the table has, and which read into memory that is made
// ready.
var operations = func() (all [format.NumOps]engine.Operation) {
	for op := range all {
		all[op] = engine.Operation{Plays: calls[op] != nil, Prepares: op < len(intoArena) && intoArena[op]}
	}
	return all
}()

// Operations implements engine.Executor.
func (e *Executor) Operations() *[format.NumOps]engine.Operation { return &operations }

// build makes the processes, and all memory that workers use. Free gives it back.
func (e *Executor) build(ctx context.Context) error {
	if err := e.makeNames(); err != nil {
		return err
	}
	if err := e.makeProcesses(); err != nil {
		return err
	}
	e.workers = make([]*worker, len(engine.ThreadsOf(e.Trace.Header())))
	e.rings = make([]*ring, len(e.workers))
	if err := e.Build(ctx, e); err != nil {
		return err
	}
	for _, w := range e.workers {
		if w != nil && w.Parent() == nil && w.OwnRing() == nil {
			if err := e.allocate(w.process); err != nil {
				return err
			}
			w.process.files.Store(w.process.own.Load())
		}
	}
	e.choosePrivateTables()
	e.ownLocks()
	return nil
}

func (e *Executor) makeNames() error {
	e.texts = append(e.texts, e.Trace.Strings()...)
	for _, d := range e.Trace.Header().Descriptors {
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
func (e *Executor) makeProcesses() error {
	for i, th := range engine.ThreadsOf(e.Trace.Header()) {
		if e.Peers != nil && e.Peers.Plays(int32(i+1)) {
			continue
		}
		p := e.processes[th.Process]
		if p == nil {
			p = &process{number: th.Process}
			e.processes[th.Process] = p
		}
		if th.Ring == format.ViaCall {
			p.threads.Add(1)
		}
	}
	pool, err := newPool(e.Compressibility)
	if err != nil {
		return err
	}
	e.pool = pool
	e.sink = openSink()
	kernel := sandbox.Kernel(sandbox.Linux) // has the memory, also of files in memory
	if e.Faulty != nil {
		kernel = e.Faulty
	}
	e.populates = canPopulate(kernel)
	e.windowSize = windowSize(e.Trace.Header())
	e.maxMappings = mapLimit() / int64(max(e.Parts, 1))
	if err := growKernelTable(); err != nil {
		e.Note(fmt.Sprintf("opens and dups can take longer, because the descriptor table grows while events run: %v", err))
	}
	return nil
}

// Free closes open descriptors, frees memory outside the Go heap, and removes
// files from the root, unless they are kept.
func (e *Executor) Free() (err error) {
	e.closeAll()
	e.closeStartDirs()
	e.guard.Close()
	defer func() {
		for _, r := range slices.Backward(e.roots) {
			if r != nil {
				err = errors.Join(err, r.Close())
			}
		}
		e.removeCreated()
	}()
	e.pool.free()
	if e.sink >= 0 {
		_ = unix.Close(e.sink)
	}
	for _, m := range e.regions {
		m.free()
	}
	if e.files == nil {
		return nil
	}
	if e.Left != nil {
		e.Left(e.guard.Kernel)
	}
	return e.files.Close()
}

// noteRing notes how a ring differs from the recorded one. The worker is not pinned.
func (e *Executor) noteRing(q rings.Queue) {
	for _, note := range q.Notes() {
		e.Note(note)
	}
}

// closeAll closes the descriptors of processes that did not end.
func (e *Executor) closeAll() {
	e.closeRings()
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
func (e *Executor) openDescriptors(g *sandbox.Guard, only *process) error {
	first := len(e.Trace.Strings())
	opened := make(map[format.Descriptor]fdEntry) // by all fields but the number
	for i, d := range e.Trace.Header().Descriptors {
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
			name := e.Trace.Header().AppNames().Of(d.Path)
			return fmt.Errorf("open %s as descriptor %d of process %d: %w", format.BothNames(d.Path, name), d.FD, d.Process, unix.Errno(-fd))
		}
		s := newEntry(fd, int32(first+i), openMarks(d.Flags))
		if !p.own.Load().set(int64(d.FD), s) {
			return fmt.Errorf("descriptor %d of process %d: %w", d.FD, d.Process, limit.Of("descriptors"))
		}
		opened[place] = s
	}
	return nil
}
