package compile

import (
	"fmt"
	"strconv"

	"pianola/format"
)

// A magic link of /proc leads to a file by a descriptor or a directory of a
// process, not by a name (proc_pid_fd(5)). The simulation knows the file, so a
// call through such a link gets the name that the file has now. A file without a
// name is reached by the descriptor: byFD has the operations for that.

// shortcuts are links that exist on every system, with what they hold.
var shortcuts = map[string]string{
	"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "fd": "/proc/self/fd",
}

// target is where a magic link leads to.
type target struct {
	node *node     // nil if it is not a file
	of   *openFile // nil for a directory of a process
	fd   int64     // descriptor of the calling process for it, -1 for none
}

// isMagic reports whether an entry of /proc has the place of a magic link:
// /proc/PID/fd/N, /proc/PID/cwd or /proc/PID/root, the same of a task, or exe.
func isMagic(at *entry) bool {
	if at.node == nil || !at.node.pseudo || at.dir == nil || at.dir.at.dir == nil {
		return false
	}
	switch at.comp {
	case "cwd", "root", "exe":
		return true
	}
	return at.dir.at.comp == "fd"
}

// follow returns where a magic link leads to for the thread of the current event,
// nil if that is not known.
func (nm *naming) follow(at *entry) *target {
	if nm.caller == nil || !isMagic(at) {
		return nil
	}
	link, of := at.comp, at.dir.at
	if of.comp == "fd" {
		link, of = "fd", of.dir.at
	}
	t := nm.threadOf(of)
	if t == nil {
		return nil
	}
	switch link {
	case "cwd":
		return &target{node: t.dir().node, fd: -1}
	case "root":
		return &target{node: t.dir().root, fd: -1}
	case "exe":
		at := t.proc.program
		if at == nil {
			return nil
		}
		nm.names.exists(at)
		return &target{node: at.node, fd: -1}
	}
	fd, err := strconv.ParseInt(at.comp, 10, 32)
	f := fileOf(t.Table.Find(fd))
	if err != nil || f == nil {
		return nil
	}
	if t.Table != nm.caller.Table {
		fd = -1
	}
	return &target{f.node, f, fd}
}

// threadOf returns a thread of the process or task that a directory of /proc is
// about, nil if it is not known.
func (nm *naming) threadOf(dir *entry) *thread {
	above := dir.dir
	if above == nil {
		return nil
	}
	task := above.at.comp == "task" && above.at.dir != nil
	if inProc := above.at.comp == "proc" && above.at.dir == nm.names.root; !inProc && !task {
		return nil
	}
	if dir.comp == "self" || dir.comp == "thread-self" {
		return nm.caller
	}
	id, err := strconv.ParseInt(dir.comp, 10, 32)
	if err != nil {
		return nil
	}
	t := nm.state.Living(int32(id))
	if t == nil {
		return nil
	}
	return t.Data.(*thread)
}

// named reports whether the file has the name that it was last put at.
func (nd *node) named() bool {
	for e := nd.at; ; e = nd.at {
		if e == nil || e.node != nd || e.state == absent {
			return false
		}
		if e.dir == nil {
			return true
		}
		nd = e.dir
	}
}

// byFD are the operations on a descriptor that do what others do with a path.
var byFD = [format.NumOps]format.Op{
	format.OpOpen: format.OpReopen, format.OpOpenm: format.OpReopen,
	format.OpStat: format.OpFstat, format.OpStatx: format.OpFstatx, format.OpStatfs: format.OpFstatfs, format.OpAccess: format.OpFaccess,
	format.OpTruncate: format.OpFtruncate, format.OpChmod: format.OpFchmod, format.OpChown: format.OpFchown, format.OpUtimens: format.OpFutimens,
	format.OpSetxattr: format.OpFsetxattr, format.OpGetxattr: format.OpFgetxattr, format.OpListxattr: format.OpFlistxattr, format.OpRemovexattr: format.OpFremovexattr,
}

// allows reports whether a descriptor that was opened with flags can be the
// subject of an operation, other than for the kind of its file.
func allows(flags int64, op format.Op) bool {
	switch op {
	case format.OpReopen, format.OpFstat, format.OpFstatx, format.OpFstatfs, format.OpFaccess:
		return true
	case format.OpFtruncate:
		return flags&(format.WRONLY|format.RDWR) != 0 && flags&format.PATH == 0
	}
	return flags&format.PATH == 0
}

// suited returns a descriptor of the calling process that can be the subject of an
// operation on a file: the one in the path if it can, or the lowest; -1 for none. The
// path reaches the file with the rights of its mode, however the descriptor was opened.
func (nm *naming) suited(to *target, op format.Op) int64 {
	if to.fd >= 0 && allows(to.of.Flags, op) {
		return to.fd
	}
	lowest := int64(-1)
	for fd, d := range nm.caller.Table.All {
		if f := fileOf(d); f.node == to.node && allows(f.Flags, op) && (lowest < 0 || int64(fd) < lowest) {
			lowest = int64(fd)
		}
	}
	return lowest
}

// byDescriptor makes the event a call on a descriptor of a file that has no name.
// It returns why that can't be.
func (nm *naming) byDescriptor(s *simEvent, to *target) reason {
	op := byFD[s.out.Op]
	if op == format.OpNone {
		return reasonNameless
	}
	fd := nm.suited(to, op)
	if fd < 0 {
		return reasonNameless
	}
	from, args := s.out.Op.Info(), s.out.Args
	s.out.Op, s.out.Args = op, [format.MaxArgs]int64{}
	for i, arg := range op.Info().Args {
		if k := from.ArgIndex(arg.Name); k >= 0 {
			s.out.Args[i] = args[k]
		}
	}
	s.out.Args[op.Info().At.FD] = fd
	if op == format.OpReopen {
		s.out.Args[1] &^= format.CREAT | format.EXCL
	}
	return nm.resolveFDs(s)
}

// linked makes the event a linkat that gives a name to the file of a descriptor.
// It returns why that can't be.
func (nm *naming) linked(s *simEvent, fd int64) (why reason) {
	if fd < 0 {
		return reasonNameless
	}
	s.out.Op, s.out.Args = format.OpLinkat, [format.MaxArgs]int64{fd, 0, format.AtFDCWD, 0, format.AtEmptyPath}
	s.d, why = nm.descriptor(s, fd)
	return why
}

// through resolves path n of an event, which ends in a magic link. It returns the entry
// that the call is about, nil for none, and why the event cannot be in the trace.
func (nm *naming) through(s *simEvent, n int, at *entry, to *target) (*entry, reason) {
	nd := to.node
	switch {
	case s.e.Ret == eloop:
		return nil, reasonResult // the call follows no such links
	case nd == nil:
		s.through = to.of
		return nil, reasonNoFile
	case nd.pseudo:
		return nd.at, reasonNone
	case nd.typ == format.TypeLnk:
		return at, reasonNone // a link is the end here, and a name would lead on
	case nd.named():
		if !nm.order.alone {
			for up := nd.at.dir; up != nil && up.at.dir != nil; up = up.at.dir {
				nm.trail = append(nm.trail, up.at)
			}
		}
		return nd.at, reasonNone
	case s.out.Op == format.OpLink && n == 0:
		return nil, nm.linked(s, to.fd)
	}
	return nil, nm.byDescriptor(s, to)
}

// entryByInode returns the entry of a file that an open reached through a magic link which
// only the recorder's note describes, nil if it is not a file.
func (nm *naming) entryByInode(e *format.Event) *entry {
	n := noted(e)
	if n.Type != format.TypeReg && n.Type != format.TypeDir || !n.Known(format.NotedDev|format.NotedIno) ||
		e.Ret < 0 || !e.Op.Info().Acts.Any(format.Opens) || n.Dev.Major == 0 && n.Size == 0 {
		return nil // files of /proc itself have no size, and no device with a driver
	}
	if nd := nm.inodes[n.Inode()]; nd != nil && nd.named() {
		return nd.at
	}
	at, _ := nm.names.walk(nm.names.root, nm.names.root, fmt.Sprintf("/pianola_inode_%d_%d_%d", n.Dev.Major, n.Dev.Minor, n.Ino), linkItself, nil)
	return at
}
