package compile

import (
	"cmp"

	"pianola/coverage"
	"pianola/format"
	"pianola/format/process"
	"pianola/mpi"
)

// model is one pass: its concerns, and the loop over them.
type model struct {
	*pass
	concerns []concern
	pipes    *pipes
	mpis     *mpis

	started   bool
	byPID     map[int32]*proc        // processes that were started and not yet waited for
	inodes    map[format.Inode]*node // files with more than one name
	processes []*proc
	layouts   []*buffers // of the mapped files of processes, in the order in which they began
	residents int        // chunks of pages whose residence is followed
	sharing   int        // processes that share another's table of descriptors
	binds     bool       // the recording has bind calls, so appear does not guess sockets

	rings map[ringKey]*ring
	left  [format.NumVias]coverage.Missing // I/O on files that is left out, by interface

	descriptors []format.Descriptor
	entering    bool         // descriptors are those of processes that enter
	moved       bool         // some descriptor has another number in the trace
	hides       int64        // numbers from firstHidden on that were used
	hidden      []int32      // those of them that are free again
	costs       format.Costs // to subtract

	args  argMaps
	trail []*entry

	caller *thread      // its thread
	notes  format.Notes // its notes, where they were changed
}

func newModel(o Options, known *learned, p *plan, out *writer) *model {
	m := &model{
		pass: &pass{
			options: o, learned: known, trace: trace{out: out, batch: batch{events: newEvents()}},
			budget: &budget{limit: cmp.Or(o.Memory, DefaultMemory)},
		},
		rings: map[ringKey]*ring{}, byPID: map[int32]*proc{}, inodes: map[format.Inode]*node{}, args: argMaps{},
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
	m.pipes, m.mpis = newPipes(m.pass, p), &mpis{pass: m.pass, threads: map[int32]*thread{}}
	locks := &locking{pass: m.pass}
	m.concerns = []concern{m.pipes, newTies(m.pass), locks, m.mpis, &spans{pass: m.pass}}
	m.acts = [format.NumEffects]func(*simEvent){
		format.EffectNone:       m.looked,
		format.EffectChmod:      m.looked,
		format.EffectStat:       m.stat,
		format.EffectSetAttr:    m.attribute,
		format.EffectGetAttr:    m.attribute,
		format.EffectReadlink:   m.readlink,
		format.EffectList:       m.getdents,
		format.EffectMkdir:      m.mkdir,
		format.EffectMknod:      m.mknod,
		format.EffectBind:       m.bind,
		format.EffectSymlink:    m.symlink,
		format.EffectLink:       m.link,
		format.EffectRename:     m.rename,
		format.EffectUnlink:     m.removed,
		format.EffectRmdir:      m.removed,
		format.EffectRead:       m.read,
		format.EffectWrite:      m.write,
		format.EffectCopy:       m.copied,
		format.EffectRange:      m.cloned,
		format.EffectSeek:       m.lseek,
		format.EffectTruncate:   m.truncate,
		format.EffectAllocate:   m.fallocate,
		format.EffectBrk:        m.brk,
		format.EffectMap:        m.mmap,
		format.EffectRemap:      m.mremap,
		format.EffectUnmap:      m.unmapped,
		format.EffectProtect:    m.protected,
		format.EffectSyncMapped: m.onMapped,
		format.EffectFault:      m.fault,
	}
	m.acts[format.EffectLock], m.acts[format.EffectFcntl] = locks.locked, locks.locked
	return m
}

// start sets up the state before the first event.
func (m *model) start(in *intake, first *format.Event) {
	h := in.first
	m.started = true
	if quoted, ok := h.Value(format.MetaCwd); ok {
		if cwd, _, err := format.Unquote(nil, []byte(quoted)); err == nil {
			m.names.cwd = string(cwd)
			m.names.home = m.names.directory(m.names.cwd)
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
	m.told, m.spanned = h.TellsWakers(), m.out != nil && in.spanned
	if m.learned.first {
		m.learned.mpi.pairer = mpi.New(h, m.mpis.waited)
	}
	for _, c := range m.concerns {
		for _, w := range c.hears() {
			m.hear[w] = append(m.hear[w], c)
		}
	}
	recording := *h
	recording.Threads = nil // its threads have the kernel's ids
	m.state = process.NewState(&recording)
	m.state.ExitsAlone = true
	m.state.Added, m.state.Closed, m.state.Dropped = m.added, m.closed, m.dropped
	m.state.Took = func(bytes int) { m.budget.take(forDescriptors, bytes) }
	m.state.Start(m.inherited)
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
	m.tellMore(factOpened, &m.event, more{file: f, from: d})
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
// except for time spent waiting.
func (m *model) leaveOut(s *simEvent, why reason) {
	t, e := s.t, s.e
	m.report.LeftOut[e.Op]++
	m.report.Reasons[why]++
	m.miss(e, why)
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
