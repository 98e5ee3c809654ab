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
	now   int64        // end of the newest emitted event, on the trace's clock
	last  int64        // start of the next compute, on the recording's clock
	cost  int64        // to subtract since last: the recorder's cost, and what transforms cut
	ready int64        // how long it waited for a processor before the newest event, if the recording tells
	rate  *format.Cost // of recording the thread
	off   format.Off   // since last
	idle  int64        // end of the newest event, in the trace or left out, on the recording's clock

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
	killer   cause        // its exit_group
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

// processes is the concern of threads and processes.
type processes struct {
	*pass
	byPID   map[int32]*proc // that were started and not yet waited for
	list    []*proc
	sharing int          // that share another's table of descriptors
	costs   format.Costs // to subtract

	entering bool // descriptors are those of processes that enter
}

func (pr *processes) enlist() {
	pr.holdings = append(pr.holdings, pr.holds)
	pr.when(factOver, func(fact) {
		pr.learned.buffers = nil
		for _, p := range pr.list {
			pr.learned.buffers = append(pr.learned.buffers, p.buffers)
		}
		settled(pr.learned.buffers)
	})
	pr.always(pr.fork, format.Starts)
	pr.always(pr.exec, format.Execs)
	pr.always(pr.ended, format.Ends)
	pr.always(pr.waited, format.Awaits)
	pr.always(func(s *simEvent) { pr.state.Apply(s.t.Thread, s.e) }, format.Unshares, format.Masks)
}

func (pr *processes) holds(add func(purpose, int)) {
	add(forThreads, len(pr.list)*processBytes)
	for _, p := range pr.list {
		add(forBuffers, len(p.buffers.regions)*regionBytes)
		if p.locked != nil {
			add(forOrder, newMap+len(p.locked)*inMap)
		}
	}
}

// closed is called for each number that the current event closes.
func (pr *processes) closed(t *process.Thread, fd int32, d process.Descriptor) {
	pr.tellMore(factClosed, &pr.event, more{t: t.Data.(*thread), file: fileOf(&d), fd: fd, d: &d})
}

// dropped is called for each description after its last descriptor was closed.
func (pr *processes) dropped(d *process.Description) {
	pr.tellMore(factDropped, &pr.event, more{file: d.Data.(*openFile)})
}

// added adds a thread to the model and to the trace's thread table.
func (pr *processes) added(at, parent *process.Thread) {
	t := &thread{Thread: at, num: int32(len(pr.table) + 1), rate: pr.costs.Of(at.TID)}
	at.Data = t
	maker := (*thread)(nil)
	if parent != nil {
		maker = parent.Data.(*thread)
	}
	var known bool
	if t.proc, known = at.Process.Data.(*proc); !known {
		t.proc = pr.newProcess(at.Process)
		if maker != nil {
			t.proc.program, t.proc.maker = maker.proc.program, maker.proc
			maker.proc.children++
		}
	}
	row := format.Thread{Process: t.proc.num, Start: at.Created}
	if maker == nil {
		t.last, t.idle = at.Created, at.Created
		if at.Dir.Data == nil {
			at.Dir.Data = pr.workingDir(at.Dir)
		}
	} else {
		// The child starts at some moment during the call.
		e := pr.event.e
		row.Parent, row.Start = maker.num, maker.onTrace(e.Start)
		t.last, t.idle = e.Start, e.Start
		t.seen = append(t.seen, maker.seen...)
		pr.budget.take(forOrder, 8*cap(t.seen))
		t.born = place{maker.num, maker.events}
		if at.Table == parent.Table && at.Process != parent.Process {
			pr.sharing++
		}
	}
	t.now = row.Start
	pr.tellMore(factBegan, &pr.event, more{t: t, maker: maker})
	pr.table = append(pr.table, row.OfRank(at.Process.Rank))
	pr.budget.take(forThreads, threadRowBytes+threadBytes)
}

func (pr *processes) newProcess(of *process.Process) *proc {
	p := &proc{Process: of, num: int32(len(pr.list) + 1)}
	of.Data = p
	if pr.out != nil {
		p.buffers = pr.learned.buffers[p.num-1]
	} else {
		p.buffers = &buffers{budget: pr.budget}
	}
	pr.list = append(pr.list, p)
	pr.budget.take(forThreads, processBytes)
	pr.byPID[of.ID] = p
	return p
}

// workingDir returns the nodes of directories that must have existed at the
// start.
func (pr *processes) workingDir(d *process.Dir) *workingDir {
	w := &workingDir{pr.names.root, pr.names.root}
	if d.Root != "" {
		w.root = pr.names.directory(d.Root)
	}
	switch d.Path {
	case "":
	case pr.names.cwd:
		w.node = pr.names.home
	default:
		w.node = pr.names.directory(d.Path)
	}
	return w
}

// fork handles a call that creates a thread.
func (pr *processes) fork(s *simEvent) {
	if s.e.Ret <= 0 {
		return
	}
	pr.state.Apply(s.t.Thread, s.e)
	child := (*process.Thread)(nil)
	if s.e.Ret == int64(int32(s.e.Ret)) {
		child = pr.state.Living(int32(s.e.Ret))
	}
	if child == nil || child == s.t.Thread {
		s.why = reasonTable // there is none
		return
	}
	s.out.Ret = int64(child.Data.(*thread).num)
}

// exec handles a call that executes another program.
func (pr *processes) exec(s *simEvent) {
	if s.e.Ret >= 0 {
		pr.state.Apply(s.t.Thread, s.e)
		s.t.proc.program = s.at[0]
		pr.tell(factExec, s)
	}
	s.why = reasonNone
}

// ended records the end of a thread.
func (pr *processes) ended(s *simEvent) {
	t, p := s.t, s.t.proc
	pr.order.end(t.num, len(pr.table))
	p.ended, p.endTime, p.endNow = place{t.num, t.events}, s.e.Start, t.onTrace(s.e.Start)
	pr.rankEnded(p, s.e)
	pr.tell(factEnds, s)
	pr.state.Apply(t.Thread, s.e)
}

// waited orders a wait after the end of the awaited process. The rest of the call's
// duration becomes part of the compute that follows.
func (pr *processes) waited(s *simEvent) {
	// The arguments and the result name processes by their numbers.
	number := func(pid int64) int64 {
		if p := pr.byPID[int32(pid)]; pid > 0 && p != nil {
			return int64(p.num)
		}
		return min(pid, 0)
	}
	child, any := s.e.Child(), s.out.Args[0] < 0
	s.out.Args[0] = number(s.out.Args[0])
	p := pr.byPID[int32(child)]
	if child <= 0 || p == nil {
		return
	}
	if any && s.t.proc.children > 1 {
		pr.order.afterAny(p.ended)
	} else {
		pr.order.after(p.ended, format.EdgeExit)
	}
	s.joins = p
	s.out.Ret = int64(p.num)
	if s.e.Dur >= 0 {
		s.e.Dur = min(s.e.Dur, max(p.endTime-s.e.Start, 0))
		// The duration does not include what recording cost the process.
		s.out.Dur, s.joined = max(p.endNow-s.t.onTrace(s.e.Start), 0), true
	}
	if p.Alive() == 0 && s.out.Word(format.WaitOptions)&format.WaitNowait == 0 {
		delete(pr.byPID, p.ID)
		if p.maker != nil {
			p.maker.children--
		}
	}
}
