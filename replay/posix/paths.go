package posix

import (
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
)

// The calls that name files by path. A compiled trace has no directory
// descriptors, so the calls ignore those of the *at rows.

const statxFlags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_FORCE_SYNC | unix.AT_STATX_DONT_SYNC

// sysStat is the number of newfstatat, which has another name on arm64.
var sysStat = uintptr(format.OpNewfstatat.Info().Sys[format.HostArch])

// nativeOpen translates canonical flags of open in two tables of ten bits each,
// because FlagSet is too slow for the hot path.
var nativeOpen = func() (t [2][1 << 10]uintptr) {
	for half := range t {
		for bits := range t[half] {
			native, _ := format.OpenFlags.ToNative(format.HostArch, int64(bits)<<(10*half))
			t[half][bits] = uintptr(native)
		}
	}
	return t
}()

// openFlags returns native flags of open, without O_ASYNC, which sends signals,
// and without flags that have no canonical form.
func openFlags(canon int64) uintptr {
	canon &^= format.ASYNC
	native := nativeOpen[0][canon&(1<<10-1)] | nativeOpen[1][canon>>10&(1<<10-1)]
	if native&unix.O_PATH != 0 {
		// openat ignores flags that make no sense with O_PATH, openat2 refuses
		// them.
		native &= unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW
	}
	return native | unix.O_CLOEXEC
}

// path returns the name of an argument, nil for a NULL pointer.
func (w *worker) path(arg int64) *sandbox.Name {
	if uint64(arg) >= uint64(len(w.e.names)) {
		return nil
	}
	return &w.e.names[arg]
}

func callOpen(w *worker, r *format.Record) int64 {
	n := w.path(r.Args[0])
	if n == nil {
		return errFault
	}
	fd := w.guard.Open(n, openFlags(r.Args[1]), uintptr(r.Args[2])&sandbox.ModeMask)
	if r.Args[1]&format.CREAT != 0 {
		w.countCreated(fd, 0)
	}
	return w.opened(r, fd, int32(r.Args[0]), openMarks(r.Args[1]))
}

// callReopen opens the file of a descriptor once more.
func callReopen(w *worker, s fdEntry, r *format.Record) int64 {
	w.requireProc()
	const byName = format.CREAT | format.EXCL | format.TMPFILE | format.NOFOLLOW // what is only about a path
	fd := w.guard.Reopen(s.real(), openFlags(r.Args[1]&^byName))
	return w.opened(r, fd, s.name(), openMarks(r.Args[1]))
}

// targetOf is Guard.Target of the name of an argument, parentOf Guard.Parent, entryOf
// Guard.Entry.
func (w *worker) targetOf(arg int64, follow bool) (fd int64, last, flags uintptr) {
	n := w.path(arg)
	if n == nil {
		return errFault, 0, 0
	}
	return w.guard.Target(n, follow)
}

func (w *worker) entryOf(arg int64) (dir int64, entry uintptr) {
	n := w.path(arg)
	if n == nil {
		return errFault, 0
	}
	return w.guard.Entry(n)
}

func (w *worker) parentOf(arg int64) (dir int64, last uintptr) {
	n := w.path(arg)
	if n == nil {
		return errFault, 0
	}
	return w.guard.Parent(n)
}

// release releases what Guard opened for a call, and returns the call's result.
func (w *worker) release(opened, got int64) int64 {
	w.guard.Release(opened)
	return got
}

// byEntry makes a call of a directory and a last component, which makes or removes that
// name.
func (w *worker) byEntry(nr uintptr, arg int64, a uintptr) int64 {
	dir, last := w.entryOf(arg)
	if sandbox.Unresolved(dir) {
		return dir
	}
	return w.release(dir, w.sys(nr, uintptr(dir), last, a, 0, 0, 0))
}

// renamed makes a call of renameat2.
func (w *worker) renamed(from, to, flags int64) int64 {
	dir, last := w.entryOf(from)
	if sandbox.Unresolved(dir) {
		return dir
	}
	defer w.guard.Release(dir)
	dir2, last2 := w.entryOf(to)
	if sandbox.Unresolved(dir2) {
		return dir2
	}
	defer w.guard.Release(dir2)
	return w.sys(unix.SYS_RENAMEAT2, uintptr(dir), last, uintptr(dir2), last2, uintptr(flags), 0)
}

func callStat(w *worker, r *format.Record) int64 { return w.status(r, true) }

func callLstat(w *worker, r *format.Record) int64 { return w.status(r, false) }

func (w *worker) status(r *format.Record, follow bool) int64 {
	fd, last, flags := w.targetOf(r.Args[0], follow)
	if sandbox.Unresolved(fd) {
		return fd
	}
	return w.release(fd, w.sys(sysStat, uintptr(fd), last, w.scratchPointer(), flags, 0, 0))
}

func callStatx(w *worker, r *format.Record) int64 {
	flags := uintptr(r.Args[2]) & statxFlags
	fd, last, extra := w.targetOf(r.Args[1], flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	if sandbox.Unresolved(fd) {
		return fd
	}
	return w.release(fd, w.sys(unix.SYS_STATX, uintptr(fd), last, flags|extra, uintptr(r.Args[3]), w.scratchPointer(), 0))
}

func callAccess(w *worker, r *format.Record) int64 {
	fd, last, flags := w.targetOf(r.Args[0], true)
	if sandbox.Unresolved(fd) {
		return fd
	}
	if flags == 0 {
		return w.release(fd, w.sys.Call(unix.SYS_FACCESSAT, uintptr(fd), last, uintptr(r.Args[1])))
	}
	return w.release(fd, w.sys(unix.SYS_FACCESSAT2, uintptr(fd), last, uintptr(r.Args[1]), flags, 0, 0))
}

func callFaccessat2(w *worker, r *format.Record) int64 {
	const known = unix.AT_SYMLINK_NOFOLLOW | unix.AT_EACCESS
	flags := uintptr(r.Args[3]) & known
	fd, last, extra := w.targetOf(r.Args[1], flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	if sandbox.Unresolved(fd) {
		return fd
	}
	return w.release(fd, w.sys(unix.SYS_FACCESSAT2, uintptr(fd), last, uintptr(r.Args[2]), flags|extra, 0, 0))
}

func callFaccess(w *worker, s fdEntry, r *format.Record) int64 {
	return w.sys(unix.SYS_FACCESSAT2, s.real(), sandbox.Pointer(sandbox.Empty), uintptr(r.Args[1]), unix.AT_EMPTY_PATH, 0, 0)
}

func callTruncate(w *worker, r *format.Record) int64 {
	n := w.path(r.Args[0])
	if n == nil {
		return errFault
	}
	if !w.allowLength(r.Args[1]) || !w.spendMove() {
		return errNoSpace
	}
	if w.guard.Jailed() && n.Branch() == nil {
		return w.sys.Call(unix.SYS_TRUNCATE, n.Full(), uintptr(r.Args[1]), 0)
	}
	fd := w.guard.Open(n, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	switch {
	case fd == -int64(unix.ENXIO):
		return errInvalid // a socket, which truncate does not open
	case fd < 0:
		return fd
	}
	got := w.sys.Call(unix.SYS_FTRUNCATE, uintptr(fd), uintptr(r.Args[1]), 0)
	w.guard.CloseFD(fd)
	return got
}

func callMkdir(w *worker, r *format.Record) int64 {
	return w.countCreated(w.byEntry(unix.SYS_MKDIRAT, r.Args[0], uintptr(r.Args[1])&sandbox.ModeMask), spaceDirectory)
}

func callRmdir(w *worker, r *format.Record) int64 {
	return w.countRemoved(w.byEntry(unix.SYS_UNLINKAT, r.Args[0], unix.AT_REMOVEDIR))
}

func callUnlink(w *worker, r *format.Record) int64 {
	return w.countRemoved(w.byEntry(unix.SYS_UNLINKAT, r.Args[0], 0))
}

func callRename(w *worker, r *format.Record) int64 {
	return w.chargeRename(w.renamed(r.Args[0], r.Args[1], 0))
}

func callRenameat2(w *worker, r *format.Record) int64 {
	const allowed = unix.RENAME_NOREPLACE | unix.RENAME_EXCHANGE
	flags := r.Args[4]
	// A whiteout is a device node, which no other operation creates. An empty file
	// replaces it, with the permissions under which its owner may read it as root may
	// read the node.
	whiteout := flags&(unix.RENAME_WHITEOUT|unix.RENAME_EXCHANGE) == unix.RENAME_WHITEOUT
	if whiteout {
		flags &^= unix.RENAME_WHITEOUT
	}
	if flags&^allowed != 0 {
		return errInvalid
	}
	got := w.chargeRename(w.renamed(r.Args[1], r.Args[3], flags))
	if whiteout && got == 0 {
		got = w.countCreated(w.byEntry(unix.SYS_MKNODAT, r.Args[1], unix.S_IFREG|0o600), 0)
	}
	if whiteout && got == errExists {
		return 0 // both were names of one file, and rename(2) leaves them as they are
	}
	return got
}

func callLink(w *worker, r *format.Record) int64 {
	dir, last := w.parentOf(r.Args[0])
	if sandbox.Unresolved(dir) {
		return dir
	}
	defer w.guard.Release(dir)
	dir2, last2 := w.entryOf(r.Args[1])
	if sandbox.Unresolved(dir2) {
		// The kernel looks for the file before it looks for the new name.
		if got := w.sys(sysStat, uintptr(dir), last, w.scratchPointer(), unix.AT_SYMLINK_NOFOLLOW, 0, 0); got < 0 {
			return got
		}
		return dir2
	}
	defer w.guard.Release(dir2)
	return w.countCreated(w.sys(unix.SYS_LINKAT, uintptr(dir), last, uintptr(dir2), last2, 0, 0), 0)
}

// callLinkat gives a name to the file of a descriptor.
func callLinkat(w *worker, r *format.Record) int64 {
	s := w.lookup(r.Args[0])
	if s == 0 {
		return errBadFD
	}
	dir, last := w.entryOf(r.Args[3])
	if sandbox.Unresolved(dir) {
		return dir
	}
	w.requireProc()
	return w.countCreated(w.release(dir, w.guard.Link(s.real(), dir, last)), 0)
}

// requireProc ends the run if the thread cannot name its own descriptors.
func (w *worker) requireProc() {
	if w.guard.LacksFiles() {
		w.Failf("event %d of thread %d opens or names the file of a descriptor, which needs /proc: mount /proc", w.Event, w.Number)
	}
}

func callSymlink(w *worker, r *format.Record) int64 {
	target := w.path(r.Args[0])
	if target == nil {
		return errFault
	}
	dir, last := w.entryOf(r.Args[1])
	if sandbox.Unresolved(dir) {
		return dir
	}
	return w.countCreated(w.release(dir, w.sys.Call(unix.SYS_SYMLINKAT, target.Full(), uintptr(dir), last)), targetSpace(w.e.texts[r.Args[0]]))
}

func callReadlink(w *worker, r *format.Record) int64 {
	size := min(r.Args[2], int64(len(w.scratch)))
	if size <= 0 {
		return errInvalid
	}
	dir, last := w.parentOf(r.Args[0])
	if sandbox.Unresolved(dir) {
		return dir
	}
	return w.release(dir, w.sys(unix.SYS_READLINKAT, uintptr(dir), last, w.scratchPointer(), uintptr(size), 0, 0))
}
