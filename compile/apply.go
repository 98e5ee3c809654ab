package compile

import (
	"bytes"

	"pianola/format"
)

// The errors that say something about what exists.
const (
	enoent    = -2
	eintr     = -4
	ebadf     = -9
	efault    = -14
	ebusy     = -16
	eexist    = -17
	enotdir   = -20
	eisdir    = -21
	einval    = -22
	enosys    = -38
	enotempty = -39
	restarted = -512 // and below: the kernel's own, shown to tracers only
)

// step is the event in hand with what its arguments lead to.
type step struct {
	e, out *format.Event
	t      *thread
	d      *descriptor // of the argument fd, nil where it is none
	other  *descriptor // of the argument outfd, where it is a file
	made   *openFile   // what an open made
	at     [format.MaxStrings]*entry
	from   [format.MaxStrings]*entry // the directory that a relative path begins in
	slash  [format.MaxStrings]bool   // the path ends with a slash: it demands a directory
	joined bool                      // it waited, and only that long, for a process that has ended
}

// handlers say what a call's result means for files and names. They run for
// calls on files of the trace only.
var handlers [format.NumOps]func(*model, *step)

func init() {
	for op, h := range map[format.Op]func(*model, *step){
		format.OpStat: (*model).looked, format.OpLstat: (*model).looked, format.OpStatx: (*model).looked, format.OpAccess: (*model).looked,
		format.OpStatfs: (*model).looked, format.OpChmod: (*model).looked, format.OpChown: (*model).looked, format.OpLchown: (*model).looked,
		format.OpUtimens: (*model).looked, format.OpNameToHandleAt: (*model).looked,
		format.OpListxattr: (*model).looked, format.OpLlistxattr: (*model).looked,
		format.OpSetxattr: (*model).attribute, format.OpLsetxattr: (*model).attribute, format.OpFsetxattr: (*model).attribute,
		format.OpGetxattr: (*model).attribute, format.OpLgetxattr: (*model).attribute, format.OpFgetxattr: (*model).attribute,
		format.OpRemovexattr: (*model).attribute, format.OpLremovexattr: (*model).attribute, format.OpFremovexattr: (*model).attribute,
		format.OpMknod:         (*model).mknod,
		format.OpCopyFileRange: (*model).copied, format.OpSendfile: (*model).copied, format.OpSplice: (*model).copied, format.OpIoctl: (*model).cloned,
		format.OpFstat: (*model).fstat, format.OpFstatx: (*model).fstat,
		format.OpReadlink: (*model).readlink,
		format.OpMkdir:    (*model).mkdir,
		format.OpRmdir:    (*model).removed, format.OpUnlink: (*model).removed,
		format.OpRename: (*model).rename, format.OpRenameat2: (*model).rename,
		format.OpLink: (*model).link, format.OpSymlink: (*model).symlink,
		format.OpTruncate: (*model).truncate, format.OpFtruncate: (*model).truncate,
		format.OpFallocate: (*model).fallocate, format.OpLseek: (*model).lseek, format.OpGetdents64: (*model).getdents,
		format.OpRead: (*model).read, format.OpReadv: (*model).read, format.OpPread64: (*model).read,
		format.OpPreadv: (*model).read, format.OpPreadv2: (*model).read,
		format.OpWrite: (*model).write, format.OpWritev: (*model).write, format.OpPwrite64: (*model).write,
		format.OpPwritev: (*model).write, format.OpPwritev2: (*model).write,
		format.OpBrk: (*model).brk, format.OpMmap: (*model).mmap, format.OpMunmap: (*model).unmapped,
		format.OpMremap: (*model).mremap, format.OpMadvise: (*model).unmapped,
	} {
		handlers[op] = h
	}
}

// apply takes one event through the simulation and, in the last pass, into the
// trace.
func (m *model) apply(e *format.Event) error {
	if was := e.Renamed(); m.threads[was] != nil {
		m.threads[e.TID] = m.threads[was]
		delete(m.threads, was)
	}
	t := m.threads[e.TID]
	if t == nil {
		t = m.orphan(e.TID, max(e.Start, 0))
	}
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
	out := &m.batch[:len(m.batch)+1][len(m.batch)]
	m.args.canonical(e, out)
	m.step = step{e: e, out: out, t: t}
	s := &m.step
	m.order.begin(t, len(m.table) == 1)
	m.order.after(t.born)
	m.trail = m.trail[:0]

	why := m.resolve(s)
	if out.Op == format.OpMsync {
		why = reasonMapped
	}
	if why == reasonNone && (unrepeatable(e) || dotted(s)) {
		why = reasonResult
	}
	if why == reasonNone && impossible(s, m.trail) {
		why = reasonResult
		m.unexplained(e, s.at[0], "not possible")
	}
	wanted := m.wants(s, why)
	if why == reasonNone {
		m.order.named(m.trail)
		if e.Ret >= 0 {
			m.passed(s)
		}
		if h := handlers[out.Op]; h != nil {
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
		t.owed = append(t.owed, m.order.edges...)
		err = m.leaveOut(t, e, why, wait, on)
	} else {
		at := m.order.here
		err = m.emit(t, e, out)
		if p := m.pipe.points.of(m.line); p != nil {
			p.at, p.now = at, t.now-max(out.Dur, 0)
		}
	}
	t.idle = e.End()
	return err
}

// unrepeatable reports whether a replay can't bring about the event's result.
func unrepeatable(e *format.Event) bool {
	if e.Op.Info().Class == format.ClassProcess {
		return false
	}
	return e.Ret == format.NoResult || e.Ret == eintr || e.Ret == efault || e.Ret == enosys || e.Ret <= restarted && e.Ret >= -format.MaxErrno
}

// dotted reports whether a call failed because of what no name below the root
// shows: that a path to be removed or renamed ended in "." or "..", or led to a
// mount point.
func dotted(s *step) bool {
	switch s.out.Op {
	case format.OpRename, format.OpRenameat2:
		to := s.e.Str[1]
		last := to[bytes.LastIndexByte(to, '/')+1:]
		return s.e.Ret == ebusy || s.e.Ret == eexist && (string(last) == "." || string(last) == "..")
	case format.OpUnlink:
		return s.e.Ret == ebusy
	case format.OpRmdir:
		return s.e.Ret == ebusy || s.e.Ret == einval
	}
	return false
}

// impossible reports whether no file system can have behaved like that: found
// something in a file, changed its root, made a second name of a directory, or
// put one into itself. The simulation would not survive it.
func impossible(s *step, trail []*entry) bool {
	if s.e.Ret < 0 {
		return false
	}
	for _, way := range [][]*entry{s.from[:], trail} {
		for _, e := range way {
			if e != nil && e.node != nil && e.node.isLeaf() {
				return true
			}
		}
	}
	switch s.out.Op {
	case format.OpOpenm:
		return s.at[0].dir == nil && s.out.Args[1]&format.TMPFILE == 0
	case format.OpRename, format.OpRenameat2, format.OpLink:
		if s.out.Op == format.OpLink && s.at[0].node != nil && s.at[0].node.kind() == format.TypeDir {
			return true
		}
		for _, at := range s.at {
			if at.dir == nil {
				return true
			}
		}
		return within(s.at[1], s.at[0].node) || s.out.Op == format.OpRenameat2 && within(s.at[0], s.at[1].node)
	case format.OpRmdir, format.OpUnlink, format.OpMkdir, format.OpSymlink, format.OpMknod:
		return s.at[0].dir == nil
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
