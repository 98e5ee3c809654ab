package compile

import (
	"cmp"

	"pianola/compile/mpi"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/format/process"
)

// model is one pass: its concerns, and the loop over them.
type model struct {
	*pass
	concerns  []concern
	naming    *naming
	processes *processes
	memory    *memory
	pipes     *pipes
	mpis      *mpis
	rings     *rings

	started bool
	notes   format.Notes // of the current event, where they were changed
}

func newModel(o Options, known *learned, out *writer) *model {
	p := &pass{
		options: o, learned: known, args: argMaps{}, trace: trace{out: out, batch: batch{events: newEvents()}},
		budget: &budget{limit: cmp.Or(o.Memory, DefaultMemory)},
	}
	p.budget.room = p.budget.limit
	p.order.budget, p.order.rings = p.budget, map[int32]*ring{}
	texts := 1 // the trace keeps one copy of a path
	if o.Paths == Flat || o.Key != nil {
		texts += 2 // and twice in a Substitution
	}
	p.names = newNames(known, texts, p.budget)
	if out != nil && o.named() {
		p.appNames = &appNames{byPath: make(map[string]string)}
	}
	m := &model{pass: p}
	p.loop = m
	p.fds = &numbering{pass: p}
	m.naming = &naming{pass: p, inodes: map[format.Inode]*node{}}
	p.names.follow = m.naming.follow
	m.processes = &processes{pass: p, byPID: map[int32]*proc{}}
	m.memory = &memory{pass: p}
	m.pipes = &pipes{pass: p, named: map[any]*pipe{}}
	m.mpis = &mpis{pass: p, threads: map[int32]*thread{}}
	m.rings = &rings{pass: p, all: map[ringKey]*ring{}}
	m.concerns = []concern{
		m.rings, &descriptors{pass: p}, m.naming, m.memory, &contents{pass: p}, m.processes, m.pipes, newTies(p), &locking{pass: p}, m.mpis, &spans{pass: p},
	}
	return m
}

// start sets up the state before the first event.
func (m *model) start(in *intake, first *format.Event) {
	h := in.first
	m.started = true
	if cwd := h.Cwd(); cwd != "" {
		m.names.cwd, m.names.home = cwd, m.names.directory(cwd)
	}
	m.naming.addHeaderFiles(h.Files)
	switch {
	case !m.options.Compensate:
	case m.out != nil:
		m.processes.costs = in.last.Costs() // what was measured to the end
	default:
		m.processes.costs = h.Costs()
	}
	if m.out != nil {
		for key, share := range map[string]*float64{format.MetaStolen: &m.stolen, format.MetaDelayed: &m.delayed} {
			text, _ := in.last.Value(key)
			*share = coverage.ParseShare(text)
		}
	}
	m.told, m.spanned = h.TellsWakers(), m.out != nil && in.spanned
	m.report.Attached = m.told && len(h.Running()) > 0
	if m.learned.first {
		m.learned.mpi.pairer = mpi.New(h, m.mpis.waited)
	}
	for _, c := range m.concerns {
		c.enlist()
	}
	m.changing.enter(func(s *simEvent) {
		if s.why == reasonNone && !s.deep {
			s.why = reasonTable
		}
	}, leavesOut)
	recording := *h
	recording.Threads = nil // its threads have the kernel's ids
	m.state = process.NewState(&recording)
	m.state.ExitsAlone = true
	m.state.Added, m.state.Closed, m.state.Dropped = m.processes.added, m.processes.closed, m.processes.dropped
	m.state.Took = func(bytes int) { m.budget.take(forDescriptors, bytes) }
	m.state.Start(m.processes.inherited)
}

// leaveOut counts an event that is not in the trace. Its duration becomes compute,
// except for time spent waiting.
func (m *model) leaveOut(s *simEvent) {
	t, e := s.t, s.e
	m.report.LeftOut[e.Op]++
	m.report.Reasons[s.why]++
	m.miss(e, s.why)
	t.off = t.off.Plus(e.Off)
	m.tell(factLeft, s)
	t.cost += t.rate.Inside + t.rate.Around(e.Op)
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
