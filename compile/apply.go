package compile

import (
	"bytes"

	"pianola/format"
)

// The errors that say something about what exists.
const (
	enoent       = -2
	eintr        = -4
	ebadf        = -9
	efault       = -14
	ebusy        = -16
	eexist       = -17
	inUse        = -98 // EADDRINUSE, a bind's EEXIST
	enotdir      = -20
	eisdir       = -21
	einval       = -22
	enametoolong = -36
	enosys       = -38
	enotempty    = -39
	notSock      = -88  // ENOTSOCK
	restarted    = -512 // and below: the kernel's own, shown to tracers only
)

// step is the event in hand with what its arguments lead to.
type step struct {
	e, out *format.Event
	t      *thread
	d      *openFile // of the argument fd, nil where it is none
	other  *openFile // of the argument outfd, where it is a file
	made   *openFile // what an open made
	at     [format.MaxStrings]*entry
	from   [format.MaxStrings]*entry // the directory that a relative path begins in
	slash  [format.MaxStrings]bool   // the path ends with a slash: it demands a directory
	deep   bool                      // a path is too long from the root
	joined bool                      // it waited, and only that long, for a process that has ended
}

// handlers say what a call's result means for files and names, by its effect.
// They run for calls on files of the trace only.
var handlers [format.NumEffects]func(*model, *step)

func init() {
	handlers = [format.NumEffects]func(*model, *step){
		format.EffectNone: (*model).looked, format.EffectChmod: (*model).looked, format.EffectStat: (*model).stat,
		format.EffectSetAttr: (*model).attribute, format.EffectGetAttr: (*model).attribute,
		format.EffectReadlink: (*model).readlink, format.EffectList: (*model).getdents,
		format.EffectMkdir: (*model).mkdir, format.EffectMknod: (*model).mknod, format.EffectBind: (*model).bind, format.EffectSymlink: (*model).symlink,
		format.EffectLink: (*model).link, format.EffectRename: (*model).rename,
		format.EffectUnlink: (*model).removed, format.EffectRmdir: (*model).removed,
		format.EffectRead: (*model).read, format.EffectWrite: (*model).write,
		format.EffectCopy: (*model).copied, format.EffectRange: (*model).cloned,
		format.EffectSeek: (*model).lseek, format.EffectTruncate: (*model).truncate, format.EffectAllocate: (*model).fallocate,
		format.EffectBrk: (*model).brk, format.EffectMap: (*model).mmap, format.EffectRemap: (*model).mremap, format.EffectUnmap: (*model).unmapped,
	}
}

// apply takes one event through the simulation and, in the last pass, into the
// trace.
func (m *model) apply(e *format.Event) error {
	t := m.thread(e)
	t.cost = min(max(t.cost+min(max(e.Cut, -maxCut), maxCut), -maxCut), maxCut)
	if err := m.repair(t, e); err != nil {
		return err
	}
	if err := m.appear(t, e); err != nil {
		return err
	}
	wait, on, err := m.awaited()
	if err != nil {
		return err
	}
	// The event is made in its place in the batch, which the next one takes
	// if this one is left out.
	out := &m.events[:len(m.events)+1][len(m.events)]
	m.args.canonical(e, out)
	m.step = step{e: e, out: out, t: t}
	used := len(m.arena)
	s := &m.step
	m.order.begin(t, len(m.table) == 1)
	m.order.after(t.born)
	m.trail = m.trail[:0]

	why := m.resolve(s)
	if out.Op.Info().Effect == format.EffectSyncMapped {
		why = reasonMapped
	}
	if why == reasonNone && (unrepeatable(e) || dotted(s)) {
		why = reasonResult
	}
	if why == reasonNone && impossible(s, m.trail) {
		why = reasonResult
		m.unexplained(e, s.at[0], "not possible")
	}
	if why == reasonLong && e.Ret >= 0 {
		m.unexplained(e, nil, "succeeded on a name that is too long")
	}
	wanted := m.wants(s, why)
	if why == reasonNone {
		m.order.named(m.trail)
		if e.Ret >= 0 {
			m.passed(s)
		}
		if h := handlers[out.Op.Info().Effect]; h != nil {
			h(m, s)
		}
	}
	for i, at := range s.at {
		if s.slash[i] && e.Ret >= 0 && at.node != nil && at.node.typ == format.TypeUnknown {
			at.node.typ = format.TypeDir
		}
	}
	m.piped(s)
	why = m.effect(s, why)
	if why == reasonNone && s.deep {
		why = reasonDeep
	}
	if why == reasonNone && out.Op.Info().Dropped {
		why = reasonTable
	}
	if why == reasonNone && !wanted && !m.needed(s) {
		why = reasonFilter
	}
	if why == reasonNone && on != nil {
		m.order.after(on.at)
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
	if err == nil {
		err = m.afford(e)
	}
	return err
}

// unrepeatable reports whether a replay can't bring about the event's result.
func unrepeatable(e *format.Event) bool {
	switch info := e.Op.Info(); {
	case info.Class == format.ClassProcess:
		return false
	case info.Effect == format.EffectBind && (e.Ret == einval || e.Ret == ebadf || e.Ret == notSock):
		return true // it is about the socket, which a replay has not
	}
	return e.Ret == format.NoResult || e.Ret == eintr || e.Ret == efault || e.Ret == enosys || e.Ret <= restarted && e.Ret >= -format.MaxErrno
}

// dotted reports whether a call failed because of what no name below the root
// shows: that a path to be removed or renamed ended in "." or "..", or led to a
// mount point.
func dotted(s *step) bool {
	switch s.out.Op.Info().Effect {
	case format.EffectRename:
		to := s.e.Path(1)
		last := to[bytes.LastIndexByte(to, '/')+1:]
		return s.e.Ret == ebusy || s.e.Ret == eexist && (string(last) == "." || string(last) == "..")
	case format.EffectUnlink:
		return s.e.Ret == ebusy
	case format.EffectRmdir:
		return s.e.Ret == ebusy || s.e.Ret == einval
	}
	return false
}

// impossible reports whether no file system can have behaved like that: found
// something in a file, changed its root, made a second name of a directory, or
// put one into itself. The simulation would not survive it.
func impossible(s *step, trail []*entry) bool {
	if s.e.Ret < 0 || s.at[0] == nil {
		return false // it made nothing, or passed no names
	}
	for _, way := range [][]*entry{s.from[:], trail} {
		for _, e := range way {
			if e != nil && e.node != nil && e.node.isLeaf() {
				return true
			}
		}
	}
	for n, at := range s.at {
		if (s.out.Creates(n) || s.out.Removes(n)) && at.dir == nil && s.out.OpenFlags()&format.TMPFILE == 0 {
			return true
		}
	}
	switch s.out.Op.Info().Effect {
	case format.EffectLink:
		old := s.at[0]
		return old.dir == nil || old.node != nil && old.node.kind() == format.TypeDir || within(s.at[1], old.node)
	case format.EffectRename:
		return within(s.at[1], s.at[0].node) || s.out.Exchanges() && within(s.at[0], s.at[1].node)
	}
	return false
}

// within reports whether an entry lies below a directory.
func within(e *entry, dir *node) bool {
	for ; e.dir != nil; e = e.dir.at {
		if e.dir == dir {
			return true
		}
	}
	return false
}
