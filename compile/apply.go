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
	file    *mapped                   // that the event maps, nil for none
	deep    bool                      // a path is too long when it starts at the root
	joined  bool                      // its duration is only the wait for a process that has ended
}

// handlers update files and names by the result of a call, for each effect.
// They run only for calls on files of the trace.
var handlers [format.NumEffects]func(*model, *simEvent)

func init() {
	handlers = [format.NumEffects]func(*model, *simEvent){
		format.EffectNone: (*model).looked, format.EffectChmod: (*model).looked, format.EffectStat: (*model).stat,
		format.EffectSetAttr: (*model).attribute, format.EffectGetAttr: (*model).attribute,
		format.EffectReadlink: (*model).readlink, format.EffectList: (*model).getdents,
		format.EffectMkdir: (*model).mkdir, format.EffectMknod: (*model).mknod, format.EffectBind: (*model).bind, format.EffectSymlink: (*model).symlink,
		format.EffectLink: (*model).link, format.EffectRename: (*model).rename,
		format.EffectUnlink: (*model).removed, format.EffectRmdir: (*model).removed,
		format.EffectRead: (*model).read, format.EffectWrite: (*model).write,
		format.EffectCopy: (*model).copied, format.EffectRange: (*model).cloned,
		format.EffectLock: (*model).locked, format.EffectFcntl: (*model).locked,
		format.EffectSeek: (*model).lseek, format.EffectTruncate: (*model).truncate, format.EffectAllocate: (*model).fallocate,
		format.EffectBrk: (*model).brk, format.EffectMap: (*model).mmap, format.EffectRemap: (*model).mremap, format.EffectUnmap: (*model).unmapped,
		format.EffectProtect: (*model).protected, format.EffectSyncMapped: (*model).onMapped, format.EffectFault: (*model).fault,
	}
}

// apply simulates one event and, in the last pass, writes it to the trace.
func (m *model) apply(e *format.Event) error {
	if e.Span != nil {
		return m.span(e)
	}
	if e.Enters != nil {
		return m.enter(e)
	}
	t := m.thread(e)
	if e.Via != format.ViaCall { // the call that submits it comes next
		t.requests = append(t.requests, e.Clone())
		return nil
	}
	m.caller = t
	for len(t.closes) > 0 {
		fd := t.closes[len(t.closes)-1]
		t.closes = t.closes[:len(t.closes)-1]
		if err := m.applyMade(t, &format.Event{Op: format.OpClose, TID: e.TID, Start: t.last, Args: [format.MaxArgs]int64{int64(fd)}}); err != nil {
			return err
		}
	}
	seemed := int64(0)
	if len(t.gapSpans.all) > 0 {
		seemed = m.clock(t, e.Start)
	}
	before, cut := t.cost, min(max(e.Cut, -maxCut), maxCut)
	t.cost = min(max(t.cost+t.rate.Before(e)+cut, -maxCut), maxCut)
	behind := int64(0)
	if m.told {
		behind = m.subtractReady(e)
		if !e.Off.IsZero() {
			e.Off = e.Off.Within(max(e.Start-t.idle-cut, 0)) // a recording can be wrong
			m.crowded(t, e)
		}
	}
	if len(t.gapSpans.all) > 0 {
		if err := m.placeSpans(t, seemed, m.clock(t, e.Start)); err != nil {
			return err
		}
	}
	if m.ties != nil {
		if t.cost != before {
			t.mark(mark{at: e.Start, own: t.clock(e.Start)})
		}
		off := e.Off
		if off.Timer > 0 && t.attempt.at.tid != 0 {
			m.expire(t, t.attempt.at, off.Timer, e.Start)
			off.Timer = 0
		}
		t.untied(off)
		m.ties.sent, m.ties.arrived, m.ties.join = message{}, false, format.Floor{}
	}
	for i := range t.requests {
		if err := m.request(t, &t.requests[i]); err != nil {
			return err
		}
	}
	t.requests = t.requests[:0]
	m.order.now = e.Start
	if err := m.repair(t, e); err != nil {
		return err
	}
	if err := m.appear(t, e); err != nil {
		return err
	}
	if err := m.mapProgram(t, e); err != nil {
		return err
	}
	wait, on, err := m.awaited()
	if err != nil {
		return err
	}
	// The event is built in its place in the batch. If it is left out, the next
	// event takes that place.
	out := &m.events[:len(m.events)+1][len(m.events)]
	m.args.canonical(e, out)
	m.event = simEvent{e: e, out: out, t: t}
	used := len(m.arena)
	s := &m.event
	m.order.begin(t, len(m.table) == 1)
	m.order.after(t.born, format.EdgeBirth)
	m.trail = m.trail[:0]

	why := reasonTable
	if e.Op.Info().Class == format.ClassSubmit {
		why = m.queued(s)
	} else {
		why = m.simulate(s)
	}
	m.piped(s)
	if e.Notes.Known(format.NotedMessage) && m.told {
		m.messaged(t, e)
	}
	why = m.effect(s, why)
	if why == reasonNone && s.deep {
		why = reasonDeep
	}
	if why == reasonNone && out.Op.Info().Dropped {
		why = reasonTable
	}
	if why == reasonNone && on != nil {
		m.order.after(on.at, format.EdgeMessage)
	}
	t.seen, t.owed = m.order.seen, t.owed[:0]
	if why != reasonNone {
		m.arena = m.arena[:used]
		room := cap(t.owed)
		t.owed = append(t.owed, m.order.edges...)
		m.budget.take(forOrder, edgeBytes*(cap(t.owed)-room))
		err = m.leaveOut(t, e, why, wait, on)
	} else {
		at := m.order.here
		err = m.emit(t, e, out)
		if p := m.pipe.points.of(m.line); p != nil {
			p.at, p.now = at, t.now-max(out.Dur, 0)
		}
	}
	t.idle = e.End()
	t.off.Own += behind
	if err == nil {
		err = m.afford(e)
	}
	return err
}

// simulate resolves what an event is about, and updates files and names by its
// result. It returns why the event can't be in the trace.
func (m *model) simulate(s *simEvent) reason {
	e, out := s.e, s.out
	m.reserves(s)
	m.masked(s)
	why := m.resolve(s)
	switch out.Op.Info().Effect {
	case format.EffectSyncMapped, format.EffectFault:
		if !m.isMapped(s) {
			why = reasonMapped
		}
	}
	switch {
	case why != reasonNone:
	case opaqueSeek(s):
		why = reasonResult
	case e.Ret >= 0: // nothing has failed
	case refusedFreeLock(s):
		why = reasonResult
		m.disordered = true
	case unrepeatable(e) || dotted(s, m.trail) || refusedCall(s):
		why = reasonResult
	case m.refused(s):
		why = reasonRefused
	}
	if why == reasonNone && impossible(s, m.trail) {
		why = reasonResult
		m.unexplained(e, s.at[0], "not possible")
	}
	if why == reasonLong && e.Ret >= 0 {
		m.unexplained(e, nil, "succeeded on a name that is too long")
	}
	if why == reasonNone {
		m.order.named(m.trail)
		if e.Ret >= 0 {
			m.passed(s)
		}
		if h := handlers[out.Op.Info().Effect]; h != nil {
			h(m, s)
		}
	}
	for i := range s.slash {
		if s.slash[i] && e.Ret >= 0 && s.at[i].node != nil && s.at[i].node.typ == format.TypeUnknown {
			s.at[i].node.typ = format.TypeDir
		}
	}
	return why
}

// subtractReady removes, from the duration of a call, the time in which the thread was ready
// to run but another recorded thread had the processor. The time follows the call as
// compute. It returns that time.
func (m *model) subtractReady(e *format.Event) int64 {
	behind := min(e.Behind, e.Dur)
	if behind <= 0 {
		return 0
	}
	e.Dur -= behind
	if e.Notes.Known(format.NotedWaker) {
		m.notes = *e.Notes
		m.notes.Woken = max(m.notes.Woken-behind, 0)
		e.Notes = &m.notes
	}
	return behind
}

// unrepeatable reports whether a replay can't reproduce the event's result.
func unrepeatable(e *format.Event) bool {
	switch info := e.Op.Info(); {
	case info.Class == format.ClassProcess:
		return false
	case info.Effect == format.EffectFault:
		return e.Ret < 0 && e.Ret != efault
	case info.Effect == format.EffectBind && (e.Ret == einval || e.Ret == ebadf || e.Ret == notSock):
		return true // the error is about the socket, and a replay has no sockets
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

// refused reports whether a call failed for a reason that does not exist in a replay:
// the user, or the file system. If such a call would change names, contents or
// attributes, it must not be in the trace: it would succeed in the replay and change
// later results. Calls between two file systems would change nothing that the recorded
// one did not.
func (m *model) refused(s *simEvent) bool {
	switch s.e.Ret {
	case exdev:
		return true
	case enxio, einval: // of a device, which is a file in a replay
		at, effect := s.at[0], s.out.Op.Info().Effect
		return (effect == format.EffectOpen || effect == format.EffectTruncate) && at != nil && at.node != nil && at.node.typ == format.TypeChr
	case eperm, eacces, erofs, enospc, edquot, eio, etxtbsy:
	default:
		return false
	}
	switch effect := s.out.Op.Info().Effect; effect {
	case format.EffectLink:
		// No user can make a second name for a directory.
		return s.e.Ret != eperm || s.at[0] == nil || s.at[0].node == nil || s.at[0].node.kind() != format.TypeDir
	case format.EffectOpen:
		return s.out.OpenFlags()&(format.CREAT|format.TRUNC|format.TMPFILE) != 0
	case format.EffectTruncate:
		return true
	case format.EffectChmod:
		return s.out.Op.Info().At.Mode >= 0 // a replay changes no owner
	case format.EffectSetAttr:
		return s.e.Ret != enospc && s.e.Ret != edquot // the attributes alone can be too many
	default:
		return effect.ChangesNames()
	}
}

// dotted reports whether a call failed for a reason that the mapped path does not keep:
// the path to create, remove or rename ended in "." or "..", or led to a mount point.
func dotted(s *simEvent, trail []*entry) bool {
	switch s.out.Op.Info().Effect {
	case format.EffectOpen: // a parent is missing, and the open could create a file
		return s.e.Ret == enoent && s.out.Creates(0) && dots(string(s.e.Path(0)))
	case format.EffectLink: // which is missing, the file's last name or what the path enters and leaves?
		return s.e.Ret == enoent && s.out.Op == format.OpLinkat && !s.d.node.named() &&
			slices.ContainsFunc(trail, func(e *entry) bool { return e.state == unknown })
	case format.EffectRename:
		return s.e.Ret == ebusy || s.e.Ret == eexist && dots(string(s.e.Path(1)))
	case format.EffectUnlink:
		return s.e.Ret == ebusy
	case format.EffectRmdir:
		return s.e.Ret == ebusy || s.e.Ret == einval
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
	switch s.out.Op.Info().Effect {
	case format.EffectLink:
		old := s.at[0]
		if old == nil {
			return s.d == nil || s.d.node.kind() == format.TypeDir
		}
		return old.dir == nil || old.node != nil && old.node.kind() == format.TypeDir || within(s.at[1], old.node)
	case format.EffectRename:
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
