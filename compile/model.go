package compile

import (
	"cmp"
	"fmt"
	"strings"

	"pianola/coverage"
	"pianola/format"
	"pianola/format/process"
	"pianola/mpi"
)

// model is the simulation that every pass runs: threads, descriptor tables and
// the name space.
type model struct {
	options Options
	budget  *budget
	names   *names
	learned *learned
	report  Report
	against int64    // contradictions so far
	doubts  []string // texts about some of them

	started     bool
	state       *process.State
	byPID       map[int32]*proc        // processes that were started and not yet waited for
	inodes      map[format.Inode]*node // files with more than one name
	processes   []*proc
	layouts     []*buffers // of the mapped files of processes, in the order in which they began
	table       []format.Thread
	lockedFiles int64     // that have had locks
	residents   int       // chunks of pages whose residence is followed
	sharing     int       // processes that share another's table of descriptors
	cwd         string    // working directory at the start, empty if unknown
	home        *node     // its node
	binds       bool      // the recording has bind calls, so appear does not guess sockets
	overlaps    *overlaps // nil where the events come in the order of their lines
	disordered  bool      // a result shows that calls had their effects in another order than that of their lines
	line        int64     // number of the current event in the order of the simulation

	mpis  mpiState
	rings map[ringKey]*ring
	left  [format.NumVias]coverage.Missing // I/O on files that is left out, by interface

	pipes     int32         // number of pipes so far
	pipeNames map[any]*pipe // see namedPipe
	pipeWaits []pipeWait    // found out
	pipe      pipeEvents

	descriptors []format.Descriptor
	entering    bool         // descriptors are those of processes that enter
	moved       bool         // some descriptor has another number in the trace
	hides       int64        // numbers from firstHidden on that were used
	hidden      []int32      // those of them that are free again
	costs       format.Costs // to subtract

	args  argMaps
	order order
	trail []*entry

	out      *writer      // nil in all passes but the last
	appNames *appNames    //  nil in all passes but the last, and where none are kept
	told     bool         // the recording tells who woke whom
	spanned  bool         // the recording has spans; known in the last pass
	spanning []*thread    // that have spans; in the last pass
	ties     *ties        // nil in all passes but the last
	event    simEvent     // the event being simulated
	caller   *thread      // its thread
	notes    format.Notes // its notes, where they were changed
	batch
	written int // batches so far
}

func newModel(o Options, known *learned, p *plan, out *writer) *model {
	m := &model{
		options: o, learned: known, out: out, batch: batch{events: newEvents()}, pipeNames: map[any]*pipe{},
		rings: map[ringKey]*ring{}, byPID: map[int32]*proc{}, inodes: map[format.Inode]*node{}, args: argMaps{},
		budget: &budget{limit: cmp.Or(o.Memory, DefaultMemory)},
	}
	m.budget.room = m.budget.limit
	m.order.budget, m.order.rings = m.budget, map[int32]*ring{}
	texts := 1 // the trace keeps one copy of a path
	if o.Paths == Flat || o.Key != nil {
		texts += 2 // and twice in a Substitution
	}
	m.names = newNames(known, p, texts, m.budget)
	m.names.follow = m.follow
	if p != nil && o.named() {
		m.appNames = &appNames{byPath: make(map[string]string)}
	}
	if p != nil {
		m.pipe, m.report.Unwaited = pipeEvents{p.pipes, p.pipes.waits, p.pipes.points}, p.pipes.unwaited
	}
	return m
}

// start sets up the state before the first event.
func (m *model) start(in *intake, first *format.Event) {
	h := in.first
	m.started = true
	m.home = m.names.root
	if quoted, ok := h.Value(format.MetaCwd); ok {
		if cwd, _, err := format.Unquote(nil, []byte(quoted)); err == nil {
			m.cwd = string(cwd)
			m.home = m.directory(m.names.root, m.cwd)
		}
	}
	m.addHeaderFiles(h.Files)
	switch {
	case !m.options.Compensate:
	case m.out != nil:
		m.costs = in.last.Costs() // what was measured to the end
	default:
		m.costs = h.Costs()
	}
	if m.told = h.TellsWakers(); m.out != nil {
		m.spanned = in.spanned
		m.ties = newTies()
	}
	if m.learned.first {
		m.learned.mpi.pairer = mpi.New(h, m.mpiWaited)
	}
	recording := *h
	recording.Threads = nil // its threads have the kernel's ids
	m.state = process.NewState(&recording)
	m.state.ExitsAlone = true
	m.state.Added, m.state.Closed, m.state.Dropped = m.added, m.closed, m.dropped
	m.state.Took = func(bytes int) { m.budget.take(forDescriptors, bytes) }
	m.state.Start(m.inherited)
}

// thread returns the thread of an event. A thread whose creation is not in the
// recording becomes a process of its own.
func (m *model) thread(e *format.Event) *thread { return m.state.Thread(e).Data.(*thread) }

// directory returns the node of a directory that must have existed at the
// start.
func (m *model) directory(from *node, path string) *node {
	at, _ := m.names.walk(m.names.root, from, path, linkTarget, nil)
	if at == nil {
		return m.names.root
	}
	m.names.exists(at)
	if at.node.typ == format.TypeUnknown {
		at.node.typ = format.TypeDir
	}
	return at.node
}

// inherited returns the description of a descriptor that was open at the start,
// in a process that already ran or in the first process, or that a process has open which
// enters. It is nil where that process is not known, and where enter opens the file.
func (m *model) inherited(d *format.Descriptor) *process.Description {
	if m.entering && namesFile(d) {
		return nil
	}
	num := int32(1)
	if p := m.byPID[d.Process]; p != nil {
		num = p.num
	} else if len(m.processes) > 0 {
		return nil
	}
	f := m.newFile(d.Flags)
	m.inheritPipe(f, d)
	if !namesFile(d) {
		return f.Description
	}
	at, _ := m.names.walk(m.names.root, m.names.root, d.Path, linkTarget, nil)
	if at == nil || at.node != nil && at.node.pseudo {
		return f.Description
	}
	m.names.exists(at)
	f.node = at.node
	m.names.mention(at)
	m.call(at)
	m.learn(at, d.Notes())
	// The file was open at the start, so its size was at least the offset.
	m.raise(at.node, d.Offset)
	m.descriptors = append(m.descriptors, format.Descriptor{
		Process: num, FD: d.FD, Offset: d.Offset, Path: m.names.mappedPath(at, m.options.Paths),
		Flags: d.Flags &^ (format.CREAT | format.EXCL | format.TRUNC),
	})
	return f.Description
}

// leaveOut counts an event that is not in the trace. Its duration becomes compute,
// except for time spent waiting at a pipe.
func (m *model) leaveOut(t *thread, e *format.Event, why reason, w *pipeWait, on *pipePoint) error {
	m.report.LeftOut[e.Op]++
	m.report.Reasons[why]++
	m.miss(e, why)
	t.off = t.off.Plus(e.Off)
	err := m.leavePipe(t, e, w, on)
	held, known := int64(0), false
	if m.ties != nil {
		held, known = m.tied(t, e)
	} else if e.Op == format.OpWait && e.Notes.Known(format.NotedWaker) && e.Notes.Waker != e.TID {
		m.learned.woke(spotOf(e), m.line)
	}
	rest := min(e.Dur, e.End()-t.last)
	switch {
	case e.TimedOut():
		t.off.Timer += rest
		if m.ties != nil {
			m.expire(t, spotOf(e), rest, e.End())
		}
	case known:
		t.off.Wait += held
	case rest < format.Waited:
	case waits(e):
		t.off.Wait += rest
		if m.ties != nil {
			t.untied(format.Off{Wait: rest})
		}
	default:
		t.off.Other += rest
		if m.ties != nil {
			t.untied(format.Off{Storage: rest})
		}
	}
	t.cost += t.rate.Inside + t.rate.Around(e.Op)
	return err
}

// miss adds a call that is left out to the missing I/O of the trace, if it moved bytes
// of a file or made them durable.
func (m *model) miss(e *format.Event, why reason) {
	switch class := e.Op.Info().Class; {
	case !reasonLoses[why] && !(why == reasonPseudo && e.FileType() == format.TypeBlk),
		class != format.ClassRead && class != format.ClassWrite && class != format.ClassSync, e.Ret < 0:
		return
	}
	if held, ok := coverage.Held(e); ok {
		left := &m.left[format.ViaCall]
		left.Kind, left.Calls = coverage.LeftOut, left.Calls+1
		left.Bytes += held.Bytes
		left.Nanos += held.Nanos
	}
}

// waits reports whether a call is known to have waited for another thread or for an
// unrecorded program.
func waits(e *format.Event) bool {
	switch e.FileType() {
	case format.TypeFifo, format.TypeSock, format.TypeChr:
		return true
	}
	switch e.Op.Info().Effect {
	case format.EffectWait, format.EffectBlock, format.EffectSubmit:
		return true
	}
	return false
}

// compute returns the time from the thread's last event in the trace to a time,
// minus the recorder's cost. If the cost is larger than that time, compute is 0
// and debt is the rest, to be subtracted later. This happens where an event
// costs less than the mean.
func (m *model) compute(t *thread, at int64) (compute, debt int64) {
	compute = at - t.last - t.cost
	return max(compute, 0), max(-compute, 0)
}

// clock returns a time on the recording's clock, after the thread's last event in
// the trace, on the trace's clock.
func (m *model) clock(t *thread, at int64) int64 {
	compute, _ := m.compute(t, at)
	return t.now + compute
}

// emit appends an event to the trace.
func (m *model) emit(t *thread, e, out *format.Event) error {
	compute, debt := m.compute(t, e.Start)
	out.Compute = compute
	out.Off = format.Off{}
	if !t.off.IsZero() || !e.Off.IsZero() {
		out.Off = t.off.Plus(e.Off).Within(compute)
		t.off = format.Off{}
	}
	t.last, t.cost = e.End(), debt+t.rate.Around(e.Op)
	switch info := out.Op.Info(); {
	case info.Effect == format.EffectPipeline:
		t.cost = debt // see leaveOut
	case info.Effect == format.EffectWait && m.event.joined:
		t.cost += t.rate.Inside // spent after the end of what it waited for
	case info.Class == format.ClassProcess && info.Effect != format.EffectWait:
		// A replay does not make the call, and its duration is not time spent
		// in I/O. So it becomes compute.
		t.last, t.cost = e.Start, debt+t.rate.Inside+t.rate.Around(e.Op)
		out.Dur = 0
	case out.Dur >= 0:
		out.Dur = max(out.Dur-t.rate.Inside, 0)
	}
	if m.options.Bare {
		out.Dur = format.Unknown
	}
	if m.ties != nil {
		m.tie(t, out)
	}
	if m.spanned {
		at := t.now + out.Compute
		t.moments.add(moment{e.Start, at, at + max(out.Dur, 0)}, m.budget)
	}
	t.now += out.Compute + max(out.Dur, 0)
	if t.events++; !m.order.alone && t.gaps < pastKept {
		t.gaps++
		m.budget.take(forOrder, gapBytes)
	}
	return m.put(out, t.num, t.events)
}

// put puts a finished event of the batch into the trace, with the collected edges.
// count is the number of the thread's events including it.
func (m *model) put(out *format.Event, thread int32, events int64) error {
	out.TID = thread
	for len(m.order.count) <= int(thread) {
		m.order.count = append(m.order.count, 0)
	}
	m.order.count[thread] = events
	m.report.Events++
	if m.out == nil {
		return nil
	}
	if m.event.out == out {
		m.callAll(&m.event)
	}
	n := len(m.edges)
	m.edges = append(m.edges, m.order.edges...)
	out.Edges = m.edges[n:len(m.edges):len(m.edges)]
	m.events = m.events[:len(m.events)+1] // out is already in its place
	if m.isFull(out) {
		return m.flush()
	}
	return nil
}

// isFull reports whether the batch ends after its newest event.
func (m *model) isFull(out *format.Event) bool {
	full := len(m.events) >= batchSize || len(m.edges) >= maxEdges || len(m.arena) >= maxArena || len(m.spans.Numbers) >= maxNumbers
	return full && (out.How.Flags&format.ReqLinks == 0 || len(m.events) >= batchSize+maxChain) // see relink
}

// A batch is written early once it holds more than these bounds.
const (
	maxEdges = 1 << 16
	maxArena = 1 << 20 // bytes

	maxNumbers = 1 << 16 // of spans
)

// maxChain is how many linked requests a batch may have beyond its size.
const maxChain = 128

// text copies a string into the batch's arena.
func (m *model) text(s string) []byte {
	n := len(m.arena)
	m.arena = append(m.arena, s...)
	return m.arena[n:len(m.arena):len(m.arena)]
}

// flush hands the batch to the writer.
func (m *model) flush() (err error) {
	m.written++
	if m.out != nil && len(m.batch.events) > 0 {
		m.batch, err = m.out.write(m.batch)
	}
	return err
}

// unexplained counts a recorded result that contradicts the simulation,
// such as one on a file that another program made.
func (m *model) unexplained(e *format.Event, at *entry, what string) {
	m.contradicted(m.example(e, at, what))
}

// example describes an unexplained result, "" if there are enough examples.
func (m *model) example(e *format.Event, at *entry, what string) string {
	if len(m.report.Examples) >= maxExamples {
		return ""
	}
	name := "?"
	if at != nil {
		name = m.names.original(at)
	}
	if m.overlaps != nil {
		what = m.overlaps.blames(what)
	} else if at, _, blames := strings.Cut(what, blame); blames && m.learned.lines {
		what = at + "; the search for an order of calls that overlap was given up"
	}
	return fmt.Sprintf("%s %q in thread %d at %s s: %s", e.Op, name, e.TID, format.AppendSeconds(nil, e.Start), what)
}

func (m *model) contradicted(text string) {
	m.report.Unexplained++
	if len(m.report.Examples) < maxExamples && text != "" {
		m.report.Examples = append(m.report.Examples, text)
	}
}
