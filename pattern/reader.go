package pattern

import (
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"pianola/format"
)

// The remarks of the header, as package importer has them for what is not
// Pianola's.
const (
	metaSource  = "source"
	metaUnknown = "unknown"
)

// firstFD is the first descriptor after the standard ones.
const firstFD = 3

// env is what an expression is computed with.
type env struct {
	vars []int64
	rng  *rand.Rand
	err  error // the first fault
}

func newRand(seed int64, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), stream))
}

// Reader plays a pattern. The results are those of a model of all files and
// descriptors.
type Reader struct {
	// Limit is how many calls the pattern may make. It must be set before the
	// first Read.
	Limit int64

	pattern *Pattern
	h       format.Header
	tree    *tree
	begun   bool
	err     error

	main    *thread // makes the processes, and stands for all at their barrier
	domains []*domain
	threads int // of all groups
	ready   ready
	resumed []*thread // by a barrier, not ready yet
	made    []*process
	tid     int32 // the newest
	waits   int64 // at pipes
	open    int   // descriptors of all processes
	calls   int64 // so far

	queue []format.Event // made in one go
	read  int            // of queue
	arena []byte         // strings and notes of queue
}

// process is a process of the application.
type process struct {
	pid     int32
	threads int    // that have not ended
	end     int64  // of the newest one, nanoseconds
	used    []bool // descriptors, from firstFD
	low     int    // none below is free
	open    *int   // descriptors of all processes
}

// Reader returns a reader of the events that the pattern asks for.
func (p *Pattern) Reader() *Reader {
	r := &Reader{Limit: DefaultCalls, pattern: p, tree: newTree()}
	if p.doc.Name != "" {
		r.h.Set(format.MetaCommand, string(p.doc.Name))
	}
	r.h.Set(metaSource, "pattern")
	r.h.Set(metaUnknown, "durations")
	return r
}

// Header implements format.Reader.
func (r *Reader) Header() *format.Header { return &r.h }

// Read implements format.Reader.
func (r *Reader) Read(events []format.Event) (int, error) {
	if r.read == len(r.queue) {
		r.queue, r.read, r.arena = r.queue[:0], 0, r.arena[:0]
		if !r.begun {
			r.begun, r.err = true, r.begin()
		}
		for r.err == nil && len(r.queue) < len(events) {
			r.err = r.next()
		}
		r.err = r.pattern.named(r.err)
	}
	n := copy(events, r.queue[r.read:])
	if r.read += n; n == 0 && len(events) > 0 {
		return 0, r.err
	}
	return n, nil
}

// begin makes the files and the threads.
func (r *Reader) begin() error {
	if err := r.files(); err != nil {
		return err
	}
	r.domains = make([]*domain, 1+len(r.pattern.doc.Groups))
	r.main = r.newThread(&process{open: &r.open}, -1)
	r.main.process.pid = r.main.tid
	type place struct{ processes, threads int64 }
	places := make([]place, len(r.pattern.doc.Groups))
	for i := range r.pattern.doc.Groups {
		g := &r.pattern.doc.Groups[i]
		processes, err := g.Processes.constant(1, maxThreads)
		if err != nil {
			return err
		}
		threads, err := g.Threads.constant(1, maxThreads)
		if err != nil {
			return err
		}
		places[i] = place{processes, threads}
		r.threads += int(processes * threads)
	}
	if r.threads == 1 {
		r.join(r.main, 0, 0, 0, 1, 1)
		return nil
	}
	if r.pattern.all {
		r.domains[0] = r.newDomain(r.main, r.threads)
	}
	for i, some := range r.pattern.some {
		if n := int(places[i].processes * places[i].threads); some && n > 1 {
			r.domains[1+i] = r.newDomain(nil, n)
		}
	}
	for i, at := range places {
		for process := range at.processes {
			leader := r.fork()
			if r.open > maxOpen {
				return fault(r.pattern.doc.Groups[i].Line, "%v", errOpen)
			}
			r.join(leader, i, process, 0, at.processes, at.threads)
			for thread := int64(1); thread < at.threads; thread++ {
				r.join(r.clone(leader), i, process, thread, at.processes, at.threads)
			}
		}
	}
	return nil
}

// files makes what exists before the first step.
func (r *Reader) files() error {
	v := env{vars: make([]int64, 1), rng: newRand(r.seed(), 0)}
	var name []byte
	made := 0
	for i, entries := range [][]entry{r.pattern.doc.Directories, r.pattern.doc.Files} {
		for _, e := range entries {
			count, err := e.Count.constant(1, maxFiles)
			if err != nil {
				return err
			}
			for v.vars[0] = range count {
				if made++; made > maxFiles {
					return fault(e.Line, "%v", errFiles)
				}
				if name, err = e.Path.expand(name[:0], &v); err != nil {
					return err
				}
				size, err := e.Size.within(&v, 0, maxOffset)
				if err != nil {
					return err
				}
				n := &node{dir: i == 0, size: size}
				if err = errPath(name); err == nil {
					err = r.tree.ready(name, n)
				}
				if err != nil {
					return fault(e.Line, "%.100q: %v", name, err)
				}
				if n.parent == nil {
					continue // a directory that was there already
				}
				f := format.File{Path: string(name), Type: format.TypeReg, Mode: fileMode, Size: size, Cached: -1}
				if n.dir {
					f.Type, f.Mode = format.TypeDir, dirMode
				}
				r.h.Files = append(r.h.Files, f)
			}
		}
	}
	return nil
}

func (r *Reader) seed() int64 {
	seed, _ := r.pattern.doc.Seed.constant(0, 1<<62) // checked by resolve
	return seed
}

// newThread returns a thread without steps, of a process.
func (r *Reader) newThread(p *process, group int) *thread {
	r.tid++
	p.threads++
	return &thread{reader: r, process: p, tid: r.tid, group: group, buffer: int64(r.tid) << 40}
}

// The flags of processes and threads that the C library makes.
const (
	forkFlags  = format.CloneSigchld
	cloneFlags = 0x100 | format.CloneFS | format.CloneFiles | 0x800 | format.CloneThread // CLONE_VM, CLONE_SIGHAND
)

// fork makes a process with what main has open.
func (r *Reader) fork() *thread {
	p := &process{used: slices.Clone(r.main.process.used), low: r.main.process.low, open: &r.open}
	r.open += len(p.used) // main closes nothing
	t := r.newThread(p, 0)
	p.pid = t.tid
	r.made = append(r.made, p)
	r.main.event(format.Event{Op: format.OpClone, Ret: int64(t.tid), Args: [format.MaxArgs]int64{forkFlags}})
	return t
}

// clone makes another thread of a process.
func (r *Reader) clone(parent *thread) *thread {
	t := r.newThread(parent.process, 0)
	parent.event(format.Event{Op: format.OpClone, Ret: int64(t.tid), Args: [format.MaxArgs]int64{cloneFlags}})
	return t
}

// join gives a thread its steps.
func (r *Reader) join(t *thread, group int, process, thread, processes, threads int64) {
	t.group = group
	t.rng = newRand(r.seed(), uint64(t.tid))
	t.vars = make([]int64, r.pattern.slot)
	copy(t.vars, []int64{process, thread, process*threads + thread, processes, threads, processes * threads}) // builtin
	t.handles = map[handle]*descriptor{}
	t.frames = append(t.frames, frame{steps: r.pattern.doc.Groups[group].Steps, left: 1, slot: -1})
	heap.Push(&r.ready, t)
}

// next plays on until there are more events, or none any more.
func (r *Reader) next() error {
	if len(r.ready) > 0 {
		t := r.ready[0]
		if r.calls >= r.Limit {
			return &Error{Line: t.line(), Msg: fmt.Sprintf("the pattern makes more than %d calls", r.Limit), Limit: true}
		}
		if err := t.play(); err != nil {
			return err
		}
		if t.state == playing {
			heap.Fix(&r.ready, 0)
		} else {
			heap.Pop(&r.ready)
		}
		for _, t := range r.resumed {
			heap.Push(&r.ready, t)
		}
		r.resumed = r.resumed[:0]
		return nil
	}
	for _, d := range r.domains {
		if d != nil && len(d.arrived) > 0 {
			return fault(d.line, "a barrier of %d threads is reached by only %d", d.size, len(d.arrived))
		}
	}
	if r.main.state != ended {
		r.finish()
		return nil
	}
	return io.EOF
}

// finish ends the threads of the first process.
func (r *Reader) finish() {
	for _, d := range r.domains {
		if d != nil && d.keeper != r.main {
			d.keeper.exit()
		}
	}
	for _, p := range r.made {
		end := max(p.end, r.main.clock)
		r.main.event(format.Event{Op: format.OpWait4, Ret: int64(p.pid), Dur: end - r.main.clock, Args: [format.MaxArgs]int64{int64(p.pid)}})
		r.main.clock = end
	}
	r.main.exit()
}

// text keeps a string as long as the queue.
func (r *Reader) text(s []byte) []byte {
	n := len(r.arena)
	r.arena = append(r.arena, s...)
	return r.arena[n:len(r.arena):len(r.arena)]
}

// take returns the lowest free descriptor.
func (p *process) take() int64 {
	for p.low < len(p.used) && p.used[p.low] {
		p.low++
	}
	if p.low == len(p.used) {
		p.used = append(p.used, false)
	}
	p.used[p.low] = true
	*p.open++
	return int64(firstFD + p.low)
}

// free gives a descriptor back.
func (p *process) free(fd int64) {
	i := int(fd - firstFD)
	p.used[i], p.low = false, min(p.low, i)
	*p.open--
}

// closeAll gives all descriptors back.
func (p *process) closeAll() {
	for i, used := range p.used {
		if used {
			p.free(int64(firstFD + i))
		}
	}
}

// ready are the threads that can go on: the one that is behind in time first,
// and of those at one time the one with the fewest events.
type ready []*thread

func (q ready) Len() int      { return len(q) }
func (q ready) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *ready) Push(t any)   { *q = append(*q, t.(*thread)) }
func (q ready) Less(i, j int) bool {
	a, b := q[i], q[j]
	if a.clock != b.clock {
		return a.clock < b.clock
	}
	if a.events != b.events {
		return a.events < b.events
	}
	return a.tid < b.tid
}

// Pop implements heap.Interface.
func (q *ready) Pop() any {
	n := len(*q) - 1
	t := (*q)[n]
	*q = (*q)[:n]
	return t
}
