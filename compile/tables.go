package compile

import (
	"pianola/format"
	"pianola/format/process"
)

// thread is the state of a recorded thread that is alive.
type thread struct {
	*process.Thread
	num    int32 // number in the trace
	proc   *proc
	events int64 // emitted so far

	// Time, compensated for the recorder's cost, in nanoseconds.
	now  int64        // end of the newest emitted event, on the trace's clock
	last int64        // start of the next compute, on the recording's clock
	cost int64        // to subtract since last: the recorder's cost, and what transforms cut
	rate *format.Cost // of recording the thread
	off  format.Off   // since last
	idle int64        // end of the newest event, in the trace or left out, on the recording's clock

	waiting           // in the last pass
	gapSpans gapSpans // the same
	moments  moments  // in the last pass, of a recording with spans

	seen     []int64        // see order.seen
	requests []format.Event // that its next call submits
	closes   []int32        // hidden descriptors to be closed before its next event

	owed []format.Edge // edges of events that were left out
	born place         // the event that created the thread
}

// proc is the state of a recorded process. Its threads can outlive it, because
// of the order of exit lines.
type proc struct {
	*process.Process
	num      int32
	buffers  *buffers
	program  *entry       // what it executes, nil if unknown
	layout   *buffers     // of its mapped files
	brk      int64        // address of its break, 0 if unknown
	remapped place        // the newest event that changed what files it has mapped
	ended    place        // exit of its newest thread
	endTime  int64        // time of that, on the recording's clock
	endNow   int64        // the same, on the trace's clock
	floor    format.Floor // the same with calls of no duration

	maker    *proc // nil if that is not recorded
	children int   // that it has made and not waited for

	rankEnded bool // its failure is reported

	locked map[*locks]bool // where it has locks of fcntl; nil for nowhere
}

// workingDir is the nodes of a working directory and a root directory. It is
// immutable.
type workingDir struct{ node, root *node }

// dir returns the directories of a thread.
func (t *thread) dir() *workingDir { return t.Dir.Data.(*workingDir) }

// openFile is the state of an open file description. node is nil if it is no
// file.
type openFile struct {
	*process.Description
	node  *node
	moved place // the newest event that moved the offset
	pipe  *pipe // nil if it is not a pipe
	feeds bool  // it is a write end of the pipe
	deep  bool  // its path is too long for a replay
	locks bool  // it has had locks
	slots int   // places of rings where it is registered
	uses  uses  // of the descriptor that it was opened as
	list  list  // of a directory

	reached int64 // where the last read ended
	missed  bool  // it waited for storage, or continued one that did
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

// uses is which events used a descriptor. Copies of a table share it until a
// thread of the copy uses the descriptor.
type uses struct {
	by     *process.Table
	number int32   // in the trace, if that is not the recorded one; else 0
	opened place   // the event that opened it, in its first table
	newest []place // the newest use of each thread
}

// used returns the uses of a descriptor, for the threads of a table to add to.
func (m *model) used(t *process.Table, fd int64) *uses {
	d := t.Find(fd)
	of, _ := d.Data.(*uses)
	if of != nil && of.by == t {
		return of
	}
	own := &uses{by: t}
	if of != nil {
		own.opened, own.number = of.opened, of.number
	}
	m.budget.take(forDescriptors, usesBytes)
	m.state.Own(t, fd).Data = own
	return own
}

// afterUses orders the current event after the open and the uses of a
// descriptor of a table.
func (m *model) afterUses(t *process.Table, d *process.Descriptor) {
	if of, ok := d.Data.(*uses); ok {
		m.order.after(of.opened, format.EdgeDescriptor)
		if of.by == t {
			m.order.afterAll(of.newest, format.EdgeDescriptor)
		}
	}
}

// closed is called for each number that the current event closes.
func (m *model) closed(t *process.Thread, fd int32, d process.Descriptor) {
	f := fileOf(&d)
	m.tellMore(factClosed, &m.event, more{t: t.Data.(*thread), file: f})
	v := numberOf(fd, &d)
	if n, ok := t.Table.Data.(*numbers); ok && v != fd {
		delete(n.taken, v)
	}
	effect := m.event.out.Op.Info().Effect
	if effect == format.EffectExec {
		return // no other thread is left
	}
	m.afterUses(t.Table, &d)
	if effect == format.EffectCloseRange && f.isFile() {
		m.free(t.Table, v)
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

// dropped is called for each description after its last descriptor was closed.
func (m *model) dropped(d *process.Description) {
	m.tellMore(factDropped, &m.event, more{file: d.Data.(*openFile)})
}

// added adds a thread to the model and to the trace's thread table.
func (m *model) added(at, parent *process.Thread) {
	t := &thread{Thread: at, num: int32(len(m.table) + 1), rate: m.costs.Of(at.TID)}
	at.Data = t
	maker := (*thread)(nil)
	if parent != nil {
		maker = parent.Data.(*thread)
	}
	var known bool
	if t.proc, known = at.Process.Data.(*proc); !known {
		t.proc = m.newProcess(at.Process)
		if maker != nil {
			t.proc.brk, t.proc.program, t.proc.maker = maker.proc.brk, maker.proc.program, maker.proc
			maker.proc.children++
			t.proc.layout, t.proc.remapped = maker.proc.layout, maker.proc.remapped
		} else {
			t.proc.layout = m.newLayout()
		}
	}
	row := format.Thread{Process: t.proc.num, Start: at.Created}
	if maker == nil {
		t.last, t.idle = at.Created, at.Created
		if at.Dir.Data == nil {
			at.Dir.Data = m.workingDir(at.Dir)
		}
	} else {
		// The child starts at some moment during the call.
		e := m.event.e
		row.Parent, row.Start = maker.num, maker.onTrace(e.Start)
		t.last, t.idle = e.Start, e.Start
		t.seen = append(t.seen, maker.seen...)
		m.budget.take(forOrder, 8*cap(t.seen))
		t.born = place{maker.num, maker.events}
		if at.Table == parent.Table && at.Process != parent.Process {
			m.sharing++
		}
	}
	t.now = row.Start
	m.tellMore(factBegan, &m.event, more{t: t, maker: maker})
	m.table = append(m.table, row.OfRank(at.Process.Rank))
	m.budget.take(forThreads, threadRowBytes+threadBytes)
}

func (m *model) newProcess(of *process.Process) *proc {
	p := &proc{Process: of, num: int32(len(m.processes) + 1)}
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

// workingDir returns the nodes of directories that must have existed at the
// start.
func (m *model) workingDir(d *process.Dir) *workingDir {
	w := &workingDir{m.names.root, m.names.root}
	if d.Root != "" {
		w.root = m.names.directory(d.Root)
	}
	switch d.Path {
	case "":
	case m.names.cwd:
		w.node = m.names.home
	default:
		w.node = m.names.directory(d.Path)
	}
	return w
}

// fork adds the thread that a successful clone created. It returns false if
// there is none to add.
func (m *model) fork(s *simEvent) bool {
	table := s.t.Table
	m.state.Apply(s.t.Thread, s.e)
	child := (*process.Thread)(nil)
	if s.e.Ret == int64(int32(s.e.Ret)) {
		child = m.state.Living(int32(s.e.Ret))
	}
	if child == nil || child == s.t.Thread {
		return false
	}
	if child.Table != table {
		m.copies(table)
	}
	s.out.Ret = int64(child.Data.(*thread).num)
	return true
}

// ended records the end of a thread.
func (m *model) ended(s *simEvent) {
	t, p := s.t, s.t.proc
	m.order.end(t.num, len(m.table))
	p.ended, p.endTime, p.endNow = place{t.num, t.events}, s.e.Start, t.onTrace(s.e.Start)
	m.rankEnded(p, s.e)
	m.tell(factEnds, s)
	m.state.Apply(t.Thread, s.e)
}
