package compile

import (
	"pianola/format"
	"pianola/format/process"
)

// thread is what is kept of a recorded thread that is alive at this point.
type thread struct {
	*process.Thread
	num    int32 // in the trace
	proc   *proc
	events int64 // emitted so far

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

// proc is what is kept of a recorded process. Threads can outlive it by the
// order of their exit lines.
type proc struct {
	*process.Process
	num     int32
	buffers *buffers
	brk     int64  // address of its break, 0 if not known
	command string // base name of its program
	ended   place  // exit of its newest thread
	endTime int64  // on the recording's clock
	endNow  int64  // the same on the trace's clock
}

// workingDir is what a working directory and a root directory lead to. It does not
// change.
type workingDir struct{ node, root *node }

// dir returns the directories of a thread.
func (t *thread) dir() *workingDir { return t.Dir.Data.(*workingDir) }

// openFile is what is kept of an open file description. Its node is nil for what is
// no file.
type openFile struct {
	*process.Description
	node  *node
	moved place // newest event that moved the offset
	pipe  *pipe // nil for what is none
	feeds bool  // an end of the pipe to write to
	deep  bool  // opened by a name by which a replay can't get there
	uses  uses  // of the number that it was opened as
}

// isFile reports whether the description leads to a file of the trace.
func (f *openFile) isFile() bool { return f.node != nil && !f.node.pseudo && !f.deep }

// fileOf returns the description that a descriptor leads to, nil for none.
func fileOf(d *process.Descriptor) *openFile {
	if d == nil {
		return nil
	}
	return d.Description.Data.(*openFile)
}

// newFile returns the next description.
func (m *model) newFile(flags int64) *openFile {
	m.budget.take(forDescriptors, descriptorBytes)
	f := &openFile{Description: m.state.Open(nil, flags)}
	f.Data = f
	return f
}

// uses is what threads did with a descriptor. That of a number in a copy of its
// table is the same until one of the copy's threads uses it.
type uses struct {
	by     *process.Table
	opened place   // the event that opened it, in the table that it was opened in
	newest []place // of each thread
}

// used returns the uses of a descriptor to which the threads of a table can add.
func (m *model) used(t *process.Table, fd int64) *uses {
	d := t.Find(fd)
	of, _ := d.Data.(*uses)
	if of != nil && of.by == t {
		return of
	}
	own := &uses{by: t}
	if of != nil {
		own.opened = of.opened
	}
	m.budget.take(forDescriptors, usesBytes)
	m.state.Own(t, fd).Data = own
	return own
}

// numbers is what is kept of the numbers of a table.
type numbers struct {
	freed  map[int32]place // newest event of the trace that closed each: an open that was given it must come after
	closes map[int32]int   // how often each was closed
}

// numbersOf returns what is kept of a table's numbers, which must not be changed.
func numbersOf(t *process.Table) *numbers {
	if n, ok := t.Data.(*numbers); ok {
		return n
	}
	return &noNumbers
}

var noNumbers numbers

// ownNumbers returns what is kept of a table's numbers, to be changed.
func (m *model) ownNumbers(t *process.Table) *numbers {
	if n, ok := t.Data.(*numbers); ok {
		return n
	}
	n := &numbers{map[int32]place{}, map[int32]int{}}
	m.budget.take(forDescriptors, numbersBytes)
	t.Data = n
	return n
}

// free notes that the event in hand closed a number.
func (m *model) free(t *process.Table, fd int32) {
	n := m.ownNumbers(t)
	if _, before := n.freed[fd]; !before {
		m.budget.take(forDescriptors, inMap)
	}
	n.freed[fd] = m.order.here
}

// countClose counts a close of what a number leads to now.
func (m *model) countClose(t *process.Table, fd int32) {
	n := m.ownNumbers(t)
	if _, before := n.closes[fd]; !before {
		m.budget.take(forDescriptors, inMap)
	}
	n.closes[fd]++
}

// closed is called for each number that the event in hand closes.
func (m *model) closed(t *process.Thread, fd int32, d process.Descriptor) {
	f := fileOf(&d)
	m.unfed(&m.step, f)
	effect := m.step.out.Op.Info().Effect
	if effect == format.EffectExec {
		return // no other thread is left that could use it
	}
	if of, ok := d.Data.(*uses); ok {
		m.order.after(of.opened)
		if of.by == t.Table {
			m.order.afterAll(of.newest)
		}
	}
	if effect == format.EffectCloseRange && f.isFile() {
		m.free(t.Table, fd)
	}
}

// holdsFile reports whether a number from first to last leads to a file.
func holdsFile(t *process.Table, first, last uint32) bool {
	for fd, d := range t.All {
		if uint32(fd) >= first && uint32(fd) <= last && fileOf(d).isFile() {
			return true
		}
	}
	return false
}

// added adds a thread to the model and to the trace's thread table.
func (m *model) added(at, parent *process.Thread) {
	t := &thread{Thread: at, num: int32(len(m.table) + 1)}
	at.Data = t
	maker := (*thread)(nil)
	if parent != nil {
		maker = parent.Data.(*thread)
	}
	var known bool
	if t.proc, known = at.Process.Data.(*proc); !known {
		t.proc = m.newProcess(at.Process)
		if maker != nil {
			t.proc.command, t.proc.brk = maker.proc.command, maker.proc.brk
		}
	}
	row := format.Thread{Process: t.proc.num, Start: at.Created}
	if maker == nil {
		t.last, t.idle = at.Created, at.Created
		if at.Dir.Data == nil {
			at.Dir.Data = m.workingDir(at.Dir)
		}
	} else {
		// The child runs from some moment during the call on.
		e := m.step.e
		row.Parent, row.Start = maker.num, m.clock(maker, e)
		t.last, t.idle = e.Start, e.Start
		t.seen = append(t.seen, maker.seen...)
		m.budget.take(forOrder, 8*cap(t.seen))
		t.born = place{maker.num, maker.events}
		if at.Table == parent.Table && at.Process != parent.Process {
			m.sharing++
		}
	}
	t.now = row.Start
	m.table = append(m.table, row)
	m.budget.take(forThreads, threadRowBytes+threadBytes)
}

func (m *model) newProcess(of *process.Process) *proc {
	p := &proc{Process: of, num: int32(len(m.processes) + 1), command: baseName(of.Command)}
	of.Data = p
	if m.names.plan != nil {
		p.buffers = m.names.plan.buffers[p.num-1]
	} else {
		p.buffers = &buffers{}
	}
	m.processes = append(m.processes, p)
	m.budget.take(forThreads, processBytes)
	m.byPID[of.ID] = p
	return p
}

// workingDir returns what directories lead to that must have been there.
func (m *model) workingDir(d *process.Dir) *workingDir {
	w := &workingDir{m.names.root, m.names.root}
	if d.Root != "" {
		w.root = m.directory(m.names.root, d.Root)
	}
	switch d.Path {
	case "":
	case m.cwd:
		w.node = m.home
	default:
		w.node = m.directory(m.names.root, d.Path)
	}
	return w
}

// fork adds the thread that a successful clone made, and reports whether it did.
func (m *model) fork(s *step) bool {
	m.state.Apply(s.t.Thread, s.e)
	child := (*process.Thread)(nil)
	if s.e.Ret == int64(int32(s.e.Ret)) {
		child = m.state.Living(int32(s.e.Ret))
	}
	if child == nil || child == s.t.Thread {
		return false
	}
	s.out.Ret = int64(child.Data.(*thread).num)
	return true
}

// ended notes the end of a thread.
func (m *model) ended(s *step) {
	t, p := s.t, s.t.proc
	p.ended, p.endTime, p.endNow = place{t.num, t.events}, s.e.Start, m.clock(t, s.e)
	if s.out.Op.Info().Effect == format.EffectExitGroup || p.Alive() == 1 {
		for _, d := range t.Table.All {
			m.unfed(s, fileOf(d))
		}
	}
	m.state.Apply(t.Thread, s.e)
}
