package compile

import (
	"maps"
	"slices"

	"pianola/format"
)

// thread is a recorded thread that is alive at this point.
type thread struct {
	num     int32 // in the trace
	process *process
	files   *fileTable
	dir     *workingDir
	events  int64 // emitted so far

	// Time, compensated for the recorder's cost, in nanoseconds.
	now  int64 // on the trace's clock: when the newest emitted event ended
	last int64 // on the recording's clock: from when compute counts
	cost int64 // the recorder's cost since last, to be taken off, and what transforms cut
	off  int64 // time off the processor since last
	idle int64 // on the recording's clock: when the newest event ended, in the trace or not

	seen []int64       // see order
	owed []format.Edge // of events that were left out
	born place         // the event that created it, until its first event
}

// process is a recorded process. Threads can outlive it in the table by the
// order of their exit lines.
type process struct {
	num     int32
	pid     int32
	threads int
	buffers *buffers
	brk     int64  // address of its break, 0 if not known
	command string // base name of its program
	ended   place  // exit of its newest thread
	endTime int64  // on the recording's clock
	endNow  int64  // the same on the trace's clock
}

// workingDir is shared by threads that were cloned with CLONE_FS, and so is
// the root directory.
type workingDir struct{ node, root *node }

// fileTable is a table of descriptors, shared by threads that were cloned with
// CLONE_FILES. Descriptors lie in pages, which a table and the copies of it that
// forks make share until one changes something in them.
type fileTable struct {
	*pages
	// late holds descriptors that were given out anew before the line of the
	// close that freed them: close frees its number before it returns.
	late map[int32]*descriptor
	// freed holds the newest event of the trace that closed each number: an
	// open that was given the number must come after it.
	freed map[int32]place
	// closes counts how often each number was closed.
	closes map[int32]int

	budget *budget
}

// pages finds pages.
type pages struct {
	low    *page           // the first, which is enough for most tables
	of     map[int32]*page // the others by number / pageFDs
	shared bool            // by several tables, so that nothing in it may change
}

// page returns the page of a number, nil for none.
func (ps *pages) page(fd int32) *page {
	if uint32(fd) < pageFDs {
		return ps.low
	}
	return ps.of[fd/pageFDs]
}

// all yields the pages in their order.
func (ps *pages) all(yield func(first int32, p *page) bool) {
	if ps.low != nil && !yield(0, ps.low) {
		return
	}
	for _, n := range slices.Sorted(maps.Keys(ps.of)) {
		if !yield(n*pageFDs, ps.of[n]) {
			return
		}
	}
}

// pageFDs is how many numbers a page holds.
const pageFDs = 32

// page is the descriptors of consecutive numbers.
type page struct {
	table  *fileTable // that made it, and whose uses the descriptors hold
	shared bool       // by another table, so that nothing in it may change
	fds    [pageFDs]*descriptor
}

// descriptor is one number in a table.
type descriptor struct {
	file    *openFile
	cloexec bool
	opened  place
	used    []place
}

// openFile is an open file description. Its node is nil for what is no file.
type openFile struct {
	id     int // in the order of opening, the same in every pass
	node   *node
	append bool
	offset int64
	moved  place // newest event that moved the offset
	pipe   *pipe // nil for what is none
	feeds  bool  // an end of the pipe to write to
	deep   bool  // opened by a name by which a replay can't get there
}

// isFile reports whether the description leads to a file of the trace.
func (f *openFile) isFile() bool { return f.node != nil && !f.node.pseudo && !f.deep }

func newFileTable(b *budget) *fileTable {
	b.take(forDescriptors, tableBytes)
	return &fileTable{
		pages: &pages{of: map[int32]*page{}}, late: map[int32]*descriptor{}, freed: map[int32]place{}, closes: map[int32]int{},
		budget: b,
	}
}

// at returns the descriptor of a number, which is not to be changed, nil for
// none.
func (t *fileTable) at(fd int32) *descriptor {
	if p := t.pages.page(fd); p != nil && fd >= 0 {
		return p.fds[fd%pageFDs]
	}
	return nil
}

// own returns the descriptor of a number, to be changed; nil for none.
func (t *fileTable) own(fd int32) *descriptor {
	if t.at(fd) == nil {
		return nil
	}
	return t.toChange(fd).fds[fd%pageFDs]
}

// toChange returns the page of a number, to be changed.
func (t *fileTable) toChange(fd int32) *page {
	p := t.pages.page(fd)
	if p != nil && p.table == t && !p.shared {
		return p
	}
	if t.shared {
		t.pages = &pages{low: t.low, of: maps.Clone(t.of)}
		t.budget.take(forDescriptors, len(t.of)*inMap)
	}
	c := &page{table: t}
	t.budget.take(forDescriptors, pageBytes)
	if p == nil {
		t.budget.take(forDescriptors, inMap)
	}
	if p != nil {
		for i, d := range p.fds {
			if d == nil {
				continue
			}
			own := *d
			if p.table != t {
				own.used = nil // by the threads of the other table
			}
			c.fds[i] = &own
			t.budget.take(forDescriptors, descriptorBytes)
		}
	}
	if fd < pageFDs {
		t.low = c
	} else {
		t.of[fd/pageFDs] = c
	}
	return c
}

// all yields the descriptors in the order of their numbers. They are not to be
// changed.
func (t *fileTable) all(yield func(int32, *descriptor) bool) {
	for first, p := range t.pages.all {
		for i, d := range p.fds {
			if d != nil && !yield(first+int32(i), d) {
				return
			}
		}
	}
}

// put makes a number lead to a descriptor, nil for none.
func (t *fileTable) put(fd int32, d *descriptor) {
	if fd < 0 || d == nil && t.at(fd) == nil {
		return
	}
	if d != nil {
		t.budget.take(forDescriptors, descriptorBytes)
	}
	t.toChange(fd).fds[fd%pageFDs] = d
}

// set puts a new descriptor in the table. It returns which event freed the
// number.
func (t *fileTable) set(fd int32, d *descriptor) place {
	if old := t.own(fd); old != nil {
		t.budget.take(forDescriptors, inMap)
		t.late[fd] = old
	}
	t.put(fd, d)
	return t.freed[fd]
}

// close takes the descriptor out of the table that a close line means. It
// returns nil where there is none.
func (t *fileTable) close(fd int32) *descriptor {
	if d, ok := t.late[fd]; ok {
		delete(t.late, fd)
		return d
	}
	d := t.own(fd)
	if _, before := t.closes[fd]; !before {
		t.budget.take(forDescriptors, inMap)
	}
	t.closes[fd]++
	t.put(fd, nil)
	return d
}

// free notes that the event at a place closed a number.
func (t *fileTable) free(fd int32, at place) {
	if _, before := t.freed[fd]; !before {
		t.budget.take(forDescriptors, inMap)
	}
	t.freed[fd] = at
}

// fork returns a copy of the table for a child. Descriptions are shared, and so
// are the pages.
func (t *fileTable) fork() *fileTable {
	c := newFileTable(t.budget)
	if !t.shared { // otherwise all pages are already
		for _, p := range t.pages.all {
			p.shared = true
		}
	}
	t.shared = true
	c.pages = t.pages
	return c
}

// exec closes what is marked close-on-exec.
func (t *fileTable) exec() {
	for fd, d := range t.all {
		if d.cloexec {
			t.put(fd, nil)
		}
	}
	clear(t.late)
}

// holdsFile reports whether a number from first to last leads to a file.
func (t *fileTable) holdsFile(first, last int64) bool {
	for fd, d := range t.all {
		if int64(fd) >= first && int64(fd) <= last && d.file.isFile() {
			return true
		}
	}
	return false
}

func (d *workingDir) fork() *workingDir { return &workingDir{node: d.node, root: d.root} }

// newThread adds a thread to the model and to the trace's thread table.
func (m *model) newThread(tid int32, parent *thread, proc *process, at int64) *thread {
	t := &thread{num: int32(len(m.table) + 1), process: proc, now: at}
	row := format.Thread{Process: proc.num, Start: at}
	if parent != nil {
		row.Parent = parent.num
	}
	m.table = append(m.table, row)
	m.threads[tid] = t
	m.budget.take(forThreads, threadRowBytes+threadBytes)
	proc.threads++
	return t
}

func (m *model) newProcess(pid int32) *process {
	p := &process{num: int32(len(m.processes) + 1), pid: pid}
	if m.names.plan != nil {
		p.buffers = m.names.plan.buffers[p.num-1]
	} else {
		p.buffers = &buffers{}
	}
	m.processes = append(m.processes, p)
	m.budget.take(forThreads, processBytes)
	m.byPID[pid] = p
	return p
}

// fork adds the thread that a successful clone made.
func (m *model) fork(t *thread, e, out *format.Event) {
	flags, tid := out.Args[0], int32(e.Ret)
	proc := t.process
	if flags&format.CloneThread == 0 {
		proc = m.newProcess(tid)
		proc.command, proc.brk = t.process.command, t.process.brk
	}
	// The child runs from some moment during the call on.
	child := m.newThread(tid, t, proc, m.clock(t, e))
	child.last, child.idle = e.Start, e.Start
	child.files, child.dir = t.files, t.dir
	switch {
	case flags&format.CloneFiles == 0:
		child.files = t.files.fork()
	case flags&format.CloneThread == 0:
		m.sharing++
	}
	if flags&format.CloneFS == 0 {
		child.dir = t.dir.fork()
	}
	child.seen = append(child.seen, t.seen...)
	m.budget.take(forOrder, 8*cap(child.seen))
	child.born = place{t.num, t.events}
	out.Ret = int64(child.num)
}

// ended notes the end of a thread.
func (m *model) ended(t *thread, e *format.Event) {
	p := t.process
	p.threads--
	p.ended, p.endTime, p.endNow = place{t.num, t.events}, e.Start, m.clock(t, e)
	delete(m.threads, e.TID)
}
