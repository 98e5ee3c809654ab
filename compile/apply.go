package compile

import (
	"slices"

	"pianola/format"
)

// The errors that tell the simulation what exists, or why a replay could return another
// result.
const (
	eperm        = -1
	enoent       = -2
	eintr        = -4
	eio          = -5
	enxio        = -6
	e2big        = -7
	ebadf        = -9
	eagain       = -11
	eacces       = -13
	efault       = -14
	ebusy        = -16
	eexist       = -17
	exdev        = -18
	enotdir      = -20
	eisdir       = -21
	einval       = -22
	enfile       = -23
	emfile       = -24
	etxtbsy      = -26
	efbig        = -27
	enospc       = -28
	erofs        = -30
	erange       = -34
	edeadlk      = -35
	enametoolong = -36
	enosys       = -38
	enotempty    = -39
	eloop        = -40
	notSock      = -88 // ENOTSOCK
	notsupp      = -95 // EOPNOTSUPP
	inUse        = -98 // EADDRINUSE, what bind returns instead of EEXIST
	edquot       = -122
	canceled     = -125 // ECANCELED
	restarted    = -512 // and below: errors inside the kernel, visible to tracers only
)

// simEvent is the event being simulated, with what its arguments resolve to.
type simEvent struct {
	e, out  *format.Event
	t       *thread
	d       *openFile // of the argument fd, nil for none
	other   *openFile // of the argument outfd, nil if it is not a file
	at      [format.MaxStrings]*entry
	from    [format.MaxStrings]*entry // the directory where a relative path begins
	slash   [format.MaxStrings]bool   // the path ends with a slash, so it must lead to a directory
	through *openFile                 // the path leads to a descriptor that is not a file
	mapped  *mapped                   // that the event maps, or touches; nil for none
	why     reason                    // it is not in the trace
	kept    bool                      // a ring keeps the descriptor that it closes
	deep    bool                      // a path is too long when it starts at the root
	joins   *proc                     // whose end it waited for
	pipedBy *pipeCall                 // that sent what it received through a pipe
	sent    message                   // the same through a socket
	arrived bool                      // it received data from an unrecorded program
	joined  bool                      // its duration is only the wait for a process that has ended
}

// beside takes an event that takes no time of its thread.
func (m *model) beside(t *thread, e *format.Event, kind format.EventKind) {
	switch kind {
	case format.RequestKind: // the call that submits it comes next
		t.requests = append(t.requests, e.Clone())
	case format.SpanKind: // its cost is that of the thread's next compute
		t.cost = min(t.cost+t.rate.Span, maxCut)
		m.tell(factSpan, m.rowOf(t, e, nil))
	default:
		m.report.LeftOut[e.Op]++
		m.report.Reasons[reasonTable]++
	}
}

// apply simulates one event and, in the last pass, writes it to the trace.
func (m *model) apply(e *format.Event) {
	kind := e.Kind()
	if kind == format.EntryKind {
		m.processes.enter(e)
		return
	}
	t := m.thread(e)
	if kind != format.CallKind && format.EventKinds[kind].Beside {
		m.beside(t, e, kind)
		return
	}
	m.caller = t
	s := &m.coming
	s.t, s.e = t, e
	if len(t.closes) > 0 {
		m.tell(factComes, s)
	}
	seemed := t.onTrace(e.Start)
	before, cut := t.cost, min(max(e.Cut, -maxCut), maxCut)
	t.cost = min(max(t.cost+t.rate.Before(e)+cut, -maxCut), maxCut)
	behind := int64(0)
	if m.told {
		behind = m.subtractReady(e)
		m.crowded(t, e, max(e.Start-t.idle-cut, 0))
	}
	m.cost, m.seemed = before, seemed
	m.tell(factTimed, s)
	if len(t.requests) > 0 {
		m.tell(factAsks, s)
	}
	m.order.now = e.Start
	m.making.call(e.Op, s)
	used := len(m.arena)
	s = m.begin(t, e)
	m.order.after(t.born, format.EdgeBirth)
	if e.Op.Info().Class == format.ClassSubmit {
		s.why = m.rings.queued(s)
	} else {
		m.about(s)
	}
	m.tell(factActs, s)
	m.change(s)
	if s.why != reasonNone {
		m.arena = m.arena[:used]
		t.seen, t.owed = m.order.seen, grow(m.budget, forOrder, t.owed[:0], m.order.edges...)
		m.leaveOut(s)
	} else {
		m.emit(s)
	}
	if e.Notes.Known(format.NotedMessage) {
		m.tell(factMoved, s)
	}
	t.idle = e.End()
	m.displaced(t, behind)
	m.afford(e)
}

// about resolves what an event is about, and updates files and names by its
// result. It notes why the event can't be in the trace.
func (m *model) about(s *simEvent) {
	e := s.e
	reserves(s)
	m.naming.masked(s)
	s.why = m.naming.resolve(s)
	if acts := s.acts(); acts.Any(format.Faults|format.Syncs) && acts.Any(format.InMemory) && !s.isMapped() {
		s.why = reasonMapped
	}
	switch {
	case s.why != reasonNone:
	case opaqueSeek(s):
		s.why = reasonResult
	case e.Ret >= 0: // nothing has failed
	case refusedFreeLock(s):
		s.why = reasonResult
		m.disordered = true
	case unrepeatable(e) || dotted(s, m.trail) || refusedCall(s):
		s.why = reasonResult
	case refusedChange(s):
		s.why = reasonRefused
	}
	if s.why == reasonNone && impossible(s, m.trail) {
		s.why = reasonResult
		m.unexplained(e, s.at[0], "not possible")
	}
	if s.why == reasonLong && e.Ret >= 0 {
		m.unexplained(e, nil, "succeeded on a name that is too long")
	}
	if s.why == reasonNone {
		m.order.named(m.trail)
		if e.Ret >= 0 {
			m.naming.passed(s)
		}
		m.acting.call(s.out.Op, s)
	}
	for i := range s.slash {
		if s.slash[i] && e.Ret >= 0 && s.at[i].node != nil && s.at[i].node.typ == format.TypeUnknown {
			s.at[i].node.typ = format.TypeDir
		}
	}
}

// leavesOut reports whether compile resolves what events of an operation do, or makes them itself.
func leavesOut(i *format.Info) bool {
	return i.Dropped || i.Kind == format.MadeKind && i.Class == format.ClassProcess
}

// change applies an event to descriptors, threads and directories, whether or not it is in the
// trace.
func (m *model) change(s *simEvent) {
	m.fds.renumber(s)
	m.changing.call(s.out.Op, s)
	if s.why == reasonNone && s.deep {
		s.why = reasonDeep
	}
}

// reserves turns an ioctl that is equivalent to fallocate into fallocate.
func reserves(s *simEvent) {
	if s.out.Op != format.OpIoctl {
		return
	}
	request := s.out.Word(format.IoctlRequest)
	modes := [...]struct{ request, mode int64 }{
		{format.FsIocResvsp64, format.FallocKeepSize},
		{format.FsIocUnresvsp64, format.FallocKeepSize | format.FallocPunchHole},
		{format.FsIocZeroRange, format.FallocKeepSize | format.FallocZeroRange},
	}
	for _, to := range modes {
		if to.request != request {
			continue
		}
		fd, whence, from, size := s.e.Args[0], s.e.Args[2], s.e.Args[3], s.e.Args[4]
		if f := fileOf(s.t.Table.Find(fd)); f != nil && f.node != nil {
			switch whence {
			case format.SeekCur:
				from += f.Offset
			case format.SeekEnd:
				from += f.node.now
			}
		}
		s.out.Op, s.out.Args = format.OpFallocate, [format.MaxArgs]int64{fd, to.mode, from, size}
	}
}

// unrepeatable reports whether a replay can't reproduce the event's result.
func unrepeatable(e *format.Event) bool {
	switch info := e.Op.Info(); {
	case info.Class == format.ClassProcess:
		return false
	case info.Acts.Any(format.Faults):
		return e.Ret < 0 && e.Ret != efault
	case e.Op == format.OpFileGetattr || e.Op == format.OpFileSetattr:
		switch e.Ret {
		case enoent, enotdir, eloop, enametoolong, ebadf: // also errors of the stat that replaces it
		default:
			return e.Ret < 0
		}
	}
	return e.Ret == format.NoResult || e.Ret == eintr || e.Ret == efault || e.Ret == enosys || e.Ret <= restarted && e.Ret >= -format.MaxErrno
}

// opaqueSeek reports whether a call seeks in a directory to a position that only its file
// system knows: the end, data, or a position of a listing.
func opaqueSeek(s *simEvent) bool {
	return s.out.Op == format.OpLseek && s.d != nil && s.d.node != nil && s.d.node.typ == format.TypeDir && s.e.Ret != 0 &&
		(s.e.Ret < 0 || s.out.Word(format.Whence) != format.SeekSet)
}

// refusedChange reports whether a call failed for a reason that does not exist in a replay:
// the user, or the file system. If such a call would change names, contents or
// attributes, it must not be in the trace: it would succeed in the replay and change
// later results. Calls between two file systems would change nothing that the recorded
// one did not.
func refusedChange(s *simEvent) bool {
	switch s.e.Ret {
	case exdev:
		return true
	case enxio, einval: // of a device, which is a file in a replay
		at := s.at[0]
		return s.acts().Any(format.Opens|format.Cuts) && at != nil && at.node != nil && at.node.typ == format.TypeChr
	case eperm, eacces, erofs, enospc, edquot, eio, etxtbsy:
	default:
		return false
	}
	switch acts := s.acts(); {
	case acts.Any(format.Links):
		// No user can make a second name for a directory.
		return s.e.Ret != eperm || s.at[0] == nil || s.at[0].node == nil || s.at[0].node.kind() != format.TypeDir
	case acts.Any(format.Opens):
		return s.out.OpenFlags()&(format.CREAT|format.TRUNC|format.TMPFILE) != 0
	case acts.Any(format.Permits):
		return s.out.Op.Info().At.Mode >= 0 // a replay changes no owner
	case acts.Any(format.Amends):
		return s.e.Ret != enospc && s.e.Ret != edquot // the attributes alone can be too many
	default:
		return acts.Any(format.ChangesNames | format.Cuts)
	}
}

// dotted reports whether a call failed for a reason that the mapped path does not keep:
// the path to create, remove or rename ended in "." or "..", or led to a mount point.
func dotted(s *simEvent, trail []*entry) bool {
	switch acts := s.acts(); {
	case acts.Any(format.Opens): // a parent is missing, and the open could create a file
		return s.e.Ret == enoent && s.out.Creates(0) && dots(string(s.e.Path(0)))
	case acts.Any(format.Links): // which is missing, the file's last name or what the path enters and leaves?
		return s.e.Ret == enoent && s.out.Op == format.OpLinkat && !s.d.node.named() &&
			slices.ContainsFunc(trail, func(e *entry) bool { return e.state == unknown })
	case acts.Any(format.Renames):
		return s.e.Ret == eexist && dots(string(s.e.Path(1)))
	}
	return false
}

// impossible reports whether no file system can behave like this: the call found
// something below a file, changed the root, created a second name for a directory, or
// moved a directory into itself. The simulation cannot handle such results.
func impossible(s *simEvent, trail []*entry) bool {
	if s.e.Ret < 0 || s.at[0] == nil && s.at[1] == nil {
		return false // it created nothing, or has no path
	}
	for _, way := range [][]*entry{s.from[:], trail} {
		for _, e := range way {
			if e != nil && e.node != nil && e.node.isLeaf() {
				return true
			}
		}
	}
	for n, at := range s.at {
		if at != nil && (s.out.Creates(n) || s.out.Removes(n)) && at.dir == nil {
			return true
		}
	}
	switch acts := s.acts(); {
	case acts.Any(format.Links):
		old := s.at[0]
		if old == nil {
			return s.d == nil || s.d.node.kind() == format.TypeDir
		}
		return old.dir == nil || old.node != nil && old.node.kind() == format.TypeDir || within(s.at[1], old.node)
	case acts.Any(format.Renames):
		return within(s.at[1], s.at[0].node) || s.out.Exchanges() && within(s.at[0], s.at[1].node)
	}
	return false
}

// within reports whether an entry is below a directory.
func within(e *entry, dir *node) bool {
	for ; e.dir != nil; e = e.dir.at {
		if e.dir == dir {
			return true
		}
	}
	return false
}
