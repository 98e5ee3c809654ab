package posix

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
)

// The calls that change the metadata of an inode, and those that query its file
// system.

// how is the way in which a call names its file.
type how uint8

const (
	follow   how = iota // by a path, through a link at its end
	noFollow            // by a path, which may end in a link
	byFD                // by a descriptor
)

// file is the argument of a call that names its file by a path or a descriptor.
type file struct {
	arg    uintptr // the path or the descriptor
	how    how     // in which variant of the call
	opened int64   // for release; -errno if there is no such file
}

// file returns the file of an argument, for a call that has no variant with a
// directory.
func (w *worker) file(arg int64, h how) file {
	if h == byFD {
		s := w.lookup(arg)
		if s == 0 {
			return file{opened: errBadFD}
		}
		return file{arg: s.real(), how: byFD, opened: unix.AT_FDCWD}
	}
	n := w.path(arg)
	if n == nil {
		return file{opened: errFault}
	}
	f := file{how: noFollow}
	var follows bool
	if f.opened, f.arg, follows = w.guard.Path(n, h == follow); follows {
		f.how = follow
	}
	if !sandbox.Unresolved(f.opened) && w.guard.LacksProc() {
		w.Failf("event %d of thread %d names a file in a way that needs /proc, because threads cannot have their own root directory: mount /proc, or replay as root", w.Event, w.Number)
	}
	return f
}

// change is what a call does to the mode of a file: it sets bits, and keeps some of
// those that are set.
type change struct{ set, kept uint32 }

func setMode(mode int64) change { return change{set: uint32(mode)} }

func (c change) of(s *unix.Stat_t) uintptr {
	return uintptr((s.Mode&c.kept | c.set) & sandbox.ModeMask)
}

func callChmod(w *worker, r *format.Record) int64 { return w.chmod(r.Args[0], setMode(r.Args[1])) }

func callFchmodat2(w *worker, r *format.Record) int64 {
	return w.chmodName(r.Args[1], setMode(r.Args[2]))
}

func callFchmod(w *worker, s fdEntry, r *format.Record) int64 {
	return w.chmodOpened(s, setMode(r.Args[1]))
}

// chmod changes the mode of a path's target.
func (w *worker) chmod(path int64, c change) int64 {
	f := w.file(path, follow)
	if sandbox.Unresolved(f.opened) {
		return f.opened
	}
	var got int64
	if f.opened >= 0 {
		got = w.sys.Call(unix.SYS_FSTAT, uintptr(f.opened), w.statPointer(), 0)
	} else {
		got = w.sys(sysStat, sandbox.CWD, f.arg, w.statPointer(), 0, 0, 0)
	}
	if got == 0 && !w.guard.IsRoot(&w.stat) {
		got = w.sys.Call(unix.SYS_FCHMODAT, sandbox.CWD, f.arg, c.of(&w.stat))
		w.guard.KeepMode()
	}
	w.guard.Release(f.opened)
	return got
}

// chmodName changes the mode of a path's target, unless that is a link.
func (w *worker) chmodName(path int64, c change) int64 {
	fd, last, flags := w.targetOf(path, false)
	if sandbox.Unresolved(fd) {
		return fd
	}
	got := w.sys(sysStat, uintptr(fd), last, w.statPointer(), flags, 0, 0)
	if got == 0 && !w.guard.IsRoot(&w.stat) {
		got = w.sys(unix.SYS_FCHMODAT2, uintptr(fd), last, c.of(&w.stat), flags, 0, 0)
		w.guard.KeepMode()
	}
	return w.release(fd, got)
}

// chmodOpened changes the mode of a descriptor's file. The root itself is never open
// for writing.
func (w *worker) chmodOpened(s fdEntry, c change) int64 {
	if c.kept != 0 || s.marks()&entryWrite == 0 {
		if got := w.sys.Call(unix.SYS_FSTAT, s.real(), w.statPointer(), 0); got < 0 || w.guard.IsRoot(&w.stat) {
			return got
		}
	}
	return w.sys.Call(unix.SYS_FCHMOD, s.real(), c.of(&w.stat), 0)
}

func (w *worker) statPointer() uintptr { return uintptr(unsafe.Pointer(&w.stat)) }

// sameOwner makes chown leave the user and the group as they are. No other
// value is ever used, because an untrusted trace must not give files away.
const sameOwner = ^uintptr(0)

// owned returns the result of a call that leaves the owner as it is. If the
// application was not allowed to change it, the result is the recorded EPERM.
func owned(r *format.Record, got int64) int64 {
	if got == 0 && r.Ret == -int64(unix.EPERM) {
		return r.Ret
	}
	return got
}

func callChown(w *worker, r *format.Record) int64 { return w.chown(r, true) }

func callLchown(w *worker, r *format.Record) int64 { return w.chown(r, false) }

func (w *worker) chown(r *format.Record, follow bool) int64 {
	fd, last, flags := w.targetOf(r.Args[0], follow)
	if sandbox.Unresolved(fd) {
		return fd
	}
	return owned(r, w.release(fd, w.sys(unix.SYS_FCHOWNAT, uintptr(fd), last, sameOwner, sameOwner, flags, 0)))
}

func callFchown(w *worker, s fdEntry, r *format.Record) int64 {
	return owned(r, w.sys.Call(unix.SYS_FCHOWN, s.real(), sameOwner, sameOwner))
}

// callUtimens sets both times to now, instead of the recorded ones.
func callUtimens(w *worker, r *format.Record) int64 {
	fd, last, flags := w.targetOf(r.Args[0], r.Args[2]&unix.AT_SYMLINK_NOFOLLOW == 0)
	if sandbox.Unresolved(fd) {
		return fd
	}
	return w.release(fd, w.sys(unix.SYS_UTIMENSAT, uintptr(fd), last, 0, flags, 0, 0))
}

func callFutimens(w *worker, s fdEntry, r *format.Record) int64 {
	return w.sys(unix.SYS_UTIMENSAT, s.real(), 0, 0, 0, 0, 0)
}

// callMknod creates an empty regular file instead of a device or a pipe: a device
// reaches beyond the root, and opening a pipe can block forever. If the application was
// not allowed to create a device, the result is the recorded EPERM.
func callMknod(w *worker, r *format.Record) int64 {
	kind := r.Args[1] & unix.S_IFMT
	switch kind {
	case unix.S_IFCHR, unix.S_IFBLK:
		if r.Ret == -int64(unix.EPERM) {
			return r.Ret
		}
		kind = unix.S_IFREG
	case unix.S_IFIFO:
		kind = unix.S_IFREG
	}
	return w.countCreated(w.byEntry(unix.SYS_MKNODAT, r.Args[0], uintptr(kind|r.Args[1]&sandbox.ModeMask)), 0)
}

// callBind creates the name that a socket was bound to, by mknod. No process can
// connect to it, and the length limit of socket paths does not apply. If the name
// exists, the result is EADDRINUSE.
func callBind(w *worker, r *format.Record) int64 {
	got := w.countCreated(w.byEntry(unix.SYS_MKNODAT, r.Args[1], unix.S_IFSOCK|0o755), 0)
	if got == errExists {
		return -int64(unix.EADDRINUSE)
	}
	return got
}

func callStatfs(w *worker, r *format.Record) int64 {
	n := w.path(r.Args[0])
	if n == nil {
		return errFault
	}
	if w.guard.Jailed() && n.Branch() == nil {
		return w.sys.Call(unix.SYS_STATFS, n.Full(), w.scratchPointer(), 0)
	}
	fd := w.guard.Open(n, unix.O_PATH|unix.O_CLOEXEC, 0)
	if fd < 0 {
		return fd
	}
	got := w.sys.Call(unix.SYS_FSTATFS, uintptr(fd), w.scratchPointer(), 0)
	w.guard.CloseFD(fd)
	return got
}
