package sandbox

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Guard resolves the file names of a thread. No name reaches a file outside the
// root: not by "..", an absolute path, a symbolic link, one of the kernel's magic
// links, or a mount below the root that was made at any time.
//
// If the thread is allowed to, it makes the root its own root directory (a jail), so
// that a call costs as much as in the application. That root directory is a mount of
// its own (a detached clone, open_tree(2)), without the mounts below it; the kernel
// propagates none into it. Otherwise a directory that another process
// moves out of the root would lead up to the whole file system, because ".." stops at
// the root directory only from below it. Outside of a mount, the kernel resolves no
// ".." at all (path_connected in fs/namei.c). Without a jail, openat2 resolves every
// path as if the root were the root directory: first it opens the directory of the
// path, or the file if the call follows links. Then the call is made relative to that
// descriptor, with a last component without a slash. Both treat "..", a leading slash
// and an absolute link alike, so a trace has the same results in both.
//
// A Guard is used by one thread. The guards of several threads are copies of
// one that was bound (Probe, Enter); each copy then binds its own thread. Close
// is called once for all copies. Only these three methods allocate or wait in
// Go.
type Guard struct {
	Kernel        Kernel    // executes the calls
	Root          uintptr   // descriptor of the root; the caller's
	SelfContained bool      // Kernel has only the files below the root, so it needs no jail
	Landlock      bool      // confine the thread by Landlock in a jail, too
	Branches      []*Branch // the other roots of the replay, which all copies share

	// Internal state.
	jailed   bool         // the root is the thread's root and working directory
	mount    int          // descriptor of a mount of the root that only replays see; 0 until it is made
	proc     int          // descriptor of /proc, for the threads' own files; 0 if it is missing
	identity identity     // of the root
	rules    int          // for Landlock, a descriptor; 0 until they are made, and if there are none
	how      unix.OpenHow // memory for openat2
	stat     unix.Stat_t  // and for fstat
	link     [len(ownFiles) + 20]byte
	inBranch bool // the working directory is a branch, until Release
}

// ownFiles is the directory of a thread's descriptors (proc(5)).
const (
	procFS   = "/proc/"
	ownFiles = procFS + "thread-self/fd/"
)

// Jailed reports whether the root is the thread's root directory: paths from
// "/" are then those of the root.
func (g *Guard) Jailed() bool { return g.jailed }

// LacksProc reports whether Path fails for all files, because there is no jail
// and /proc is not mounted.
func (g *Guard) LacksProc() bool { return !g.jailed && g.proc == 0 }

// LacksFiles reports whether Reopen and Link fail for all files, because /proc is
// not mounted.
func (g *Guard) LacksFiles() bool { return !g.SelfContained && g.proc == 0 }

// Enter binds the calling thread, in a jail or by openat2. The thread must be
// locked to its goroutine and must not be used for anything else later. Its
// umask becomes 0: the modes of a trace are those after the application's umask.
func (g *Guard) Enter(jail bool) error {
	if g.SelfContained {
		g.jailed = true
		return g.readIdentity()
	}
	// Only a jail needs it: without, the umask is 0 for all threads until the end
	// of the run. Containers forbid unshare altogether.
	if err := unix.Unshare(unix.CLONE_FS); err != nil && (jail || !refused(err)) {
		return fmt.Errorf("separate the working directory of a thread: %w", err)
	}
	unix.Umask(0)
	g.jailed = jail
	if g.proc == 0 && unix.Access(ownFiles, unix.F_OK) == nil {
		if fd, err := unix.Open(procFS, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			g.proc = fd
		}
	}
	if err := g.readIdentity(); err != nil {
		return err
	}
	if jail {
		if err := g.detach(); err != nil {
			return err
		}
		if err := unix.Fchdir(g.mount); err != nil {
			return fmt.Errorf("change to the root: %w", err)
		}
		if err := unix.Chroot("."); err != nil {
			return fmt.Errorf("change the root directory of a thread: %w", err)
		}
	}
	return g.confine()
}

// detach makes the mounts of the root and of branches. All threads of a replay
// use the same ones: the kernel renames and links nothing from one mount to
// another.
func (g *Guard) detach() (err error) {
	if g.mount == 0 {
		if g.mount, err = detached(g.Root); err != nil {
			return err
		}
	}
	for _, b := range g.Branches {
		if b.mount == 0 { // the first guard makes it; the others, of other threads, only read
			if b.mount, err = detached(b.Root); err != nil {
				return err
			}
		}
	}
	return nil
}

// detached returns a mount of a directory that only the replay sees, without the mounts
// below that directory.
func detached(root uintptr) (int, error) {
	fd, err := unix.OpenTree(int(root), "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("mount the root in a private namespace: %w", err)
	}
	return fd, nil
}

// Close releases what a guard and its copies share. The threads that they bind
// stay bound.
func (g *Guard) Close() {
	own := []int{g.mount, g.rules, g.proc}
	for _, b := range g.Branches {
		own = append(own, b.mount)
	}
	for _, fd := range own {
		if fd > 0 {
			_ = unix.Close(fd)
		}
	}
}

// readIdentity reads the identity and the mode of the root, and of branches, which don't
// change. Only the first bound copy writes to the shared memory.
func (g *Guard) readIdentity() (err error) {
	if g.identity, err = g.identify(g.Root); err != nil {
		return err
	}
	for _, b := range g.Branches {
		if b.own != (identity{}) {
			continue
		}
		if b.own, err = g.identify(b.Root); err != nil {
			return err
		}
	}
	return nil
}

func (g *Guard) identify(root uintptr) (identity, error) {
	if err := Error(g.Kernel.Call(unix.SYS_FSTAT, root, uintptr(unsafe.Pointer(&g.stat)), 0)); err != nil {
		return identity{}, fmt.Errorf("stat the root: %w", err)
	}
	return identity{uint64(g.stat.Dev), g.stat.Ino, g.stat.Mode}, nil
}

// confine adds Landlock. In a jail it does so only on request, because a jail
// is sufficient, and an open costs 0.7 µs more, a third.
func (g *Guard) confine() (err error) {
	if g.jailed && !g.Landlock {
		return nil
	}
	if g.rules == 0 {
		g.rules, err = newRules(g.Roots())
		if errors.Is(err, errors.ErrUnsupported) && !g.Landlock {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return restrict(g.rules)
}

// Probe is Enter in a jail if that works, else by openat2.
func (g *Guard) Probe() error {
	err := g.Enter(true)
	if !refused(err) {
		return err
	}
	g.jailed = false
	n := NewName(".")
	fd := g.Open(&n, unix.O_PATH|unix.O_CLOEXEC, 0)
	if fd < 0 {
		return fmt.Errorf("a thread cannot have its own root directory (%w), and its replacement openat2 (Linux 5.6) fails: %w", err, syscall.Errno(-fd))
	}
	g.CloseFD(fd)
	return g.Enter(false)
}

// refused reports whether the kernel forbids an operation: because of missing
// privileges, a filter, which can also return ENOSYS, or a mount that can't be
// cloned (EINVAL, MS_UNBINDABLE).
func refused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL)
}

// Open opens a path with native flags. It returns a descriptor, which CloseFD
// closes, or -errno.
func (g *Guard) Open(n *Name, flags, mode uintptr) int64 {
	if flags&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) == 0 {
		mode = 0
	}
	if g.jailed {
		return g.Kernel(unix.SYS_OPENAT, n.dir, Pointer(n.rest), flags, mode, 0, 0)
	}
	return g.resolve(n, n.full, flags, mode)
}

// resolve opens a path of a name by openat2. The kernel asks to try again if a
// directory on the way was renamed.
func (g *Guard) resolve(n *Name, p *byte, flags, mode uintptr) (fd int64) {
	root := g.Root
	if n.branch != nil {
		root = n.branch.Root
	}
	g.how = unix.OpenHow{Flags: uint64(flags), Mode: uint64(mode), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}
	for range 16 {
		fd = g.Kernel(unix.SYS_OPENAT2, root, Pointer(p), uintptr(unsafe.Pointer(&g.how)), unix.SizeofOpenHow, 0, 0)
		if fd != -int64(unix.EAGAIN) {
			break
		}
	}
	return fd
}

// Parent returns the arguments of a call that makes or reads a name, and doesn't follow
// a link there: a directory, which Release closes, and a name in it. The directory is
// -errno if it can't be reached. A path that ends in a slash leads to a directory,
// through a link too. The name may be a mount point, so a call that changes its file
// takes Target.
func (g *Guard) Parent(n *Name) (dir int64, last uintptr) { return g.within(n, n.parent, n.last) }

// within returns the arguments of a call on a name in a directory.
func (g *Guard) within(n *Name, parent, last *byte) (dir int64, name uintptr) {
	if g.jailed {
		return int64(n.dir), Pointer(n.rest)
	}
	return g.resolve(n, parent, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0), Pointer(last)
}

// Entry is like Parent for a call that makes, removes or moves the name itself:
// mkdirat, mknodat, symlinkat, unlinkat, renameat2, and the new name of linkat. The
// name keeps a slash at its end, which these calls don't follow a link for, but
// report as an error.
func (g *Guard) Entry(n *Name) (dir int64, entry uintptr) { return g.within(n, n.holder, n.entry) }

// Target is like Parent for a call on the file of a name, and follows a link at the end
// if follow is set. The call gets the flags. Without a jail the descriptor is the file's
// own, and the flags are AT_EMPTY_PATH.
func (g *Guard) Target(n *Name, follow bool) (fd int64, last, flags uintptr) {
	switch {
	case g.jailed && follow:
		return int64(n.dir), Pointer(n.rest), 0
	case g.jailed:
		return int64(n.dir), Pointer(n.rest), unix.AT_SYMLINK_NOFOLLOW
	}
	how := uintptr(unix.O_PATH | unix.O_CLOEXEC)
	if !follow {
		how |= unix.O_NOFOLLOW
	}
	return g.resolve(n, n.full, how, 0), Pointer(Empty), unix.AT_EMPTY_PATH
}

// OpenDir opens a directory that is a name in another one, below a root of Roots, to
// list it. It follows no link. It returns a descriptor, which CloseFD closes, or -errno.
func (g *Guard) OpenDir(dir uintptr, name *byte) int64 {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if g.jailed {
		return g.Kernel(unix.SYS_OPENAT, dir, Pointer(name), flags, 0, 0, 0)
	}
	g.how = unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_XDEV}
	return g.Kernel(unix.SYS_OPENAT2, dir, Pointer(name), uintptr(unsafe.Pointer(&g.how)), unix.SizeofOpenHow, 0, 0)
}

// Path is like Target for a call that takes neither a directory nor flags, and
// reports whether the call must follow a link at the end of the path. Without a
// jail the path is that of a descriptor in /proc, valid until the next call of
// Path: the kernel follows it to exactly this file, also if it is a link. In
// a jail, a path in a branch starts at the working directory, which is the
// branch's until Release.
func (g *Guard) Path(n *Name, follow bool) (fd int64, path uintptr, follows bool) {
	if g.jailed && n.branch != nil {
		if got := g.Kernel.Call(unix.SYS_FCHDIR, uintptr(n.branch.mount), 0, 0); got < 0 {
			return got, 0, follow
		}
		g.inBranch = true
		return unix.AT_FDCWD, Pointer(n.below), follow
	}
	if g.jailed {
		return unix.AT_FDCWD, n.Full(), follow
	}
	flags := uintptr(unix.O_PATH | unix.O_CLOEXEC)
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd = g.resolve(n, n.full, flags, 0)
	if fd < 0 {
		return fd, 0, true
	}
	return fd, Pointer(g.ownFile(fd)), true
}

// ownFile returns the path of a descriptor of the thread, valid until the next
// call.
func (g *Guard) ownFile(fd int64) *byte {
	return unsafe.SliceData(append(strconv.AppendInt(append(g.link[:0], ownFiles...), fd, 10), 0))
}

// inProc is ownFile for a call that starts from g.proc, which works in a jail,
// too. The kernel follows it to exactly the file of the descriptor.
func (g *Guard) inProc(fd uintptr) uintptr {
	return Pointer(g.ownFile(int64(fd))) + uintptr(len(procFS))
}

// Reopen opens the file of a descriptor once more, with native flags, under
// any names. It returns a descriptor, which CloseFD closes, or -errno. Linux has
// no call for that but an open in /proc; another Kernel takes a NULL path.
func (g *Guard) Reopen(fd, flags uintptr) int64 {
	if g.SelfContained {
		return g.Kernel(unix.SYS_OPENAT, fd, 0, flags, 0, 0, 0)
	}
	return g.Kernel(unix.SYS_OPENAT, uintptr(g.proc), g.inProc(fd), flags, 0, 0, 0)
}

// Link gives a name to the file of a descriptor. The name is that of Parent.
// AT_EMPTY_PATH alone would take CAP_DAC_READ_SEARCH.
func (g *Guard) Link(fd uintptr, dir int64, last uintptr) int64 {
	if g.SelfContained {
		return g.Kernel(unix.SYS_LINKAT, fd, Pointer(Empty), uintptr(dir), last, unix.AT_EMPTY_PATH, 0)
	}
	return g.Kernel(unix.SYS_LINKAT, uintptr(g.proc), g.inProc(fd), uintptr(dir), last, unix.AT_SYMLINK_FOLLOW, 0)
}

// IsRoot reports whether a file is the root itself, or a branch. A trace may not
// change its mode, which keeps other users out, because the trace's files can
// have any mode.
func (g *Guard) IsRoot(s *unix.Stat_t) bool {
	for _, b := range g.Branches {
		if b.own.is(s) {
			return true
		}
	}
	return g.identity.is(s)
}

// KeepMode restores the mode of the root and of branches. A thread can change it
// although IsRoot returned false, because another thread can make a link to the
// root between IsRoot and the call. Without a jail this can't happen, because
// both use the same descriptor.
func (g *Guard) KeepMode() {
	if !g.jailed {
		return
	}
	g.keepMode(g.Root, g.identity.mode)
	for _, b := range g.Branches {
		g.keepMode(b.Root, b.own.mode)
	}
}

func (g *Guard) keepMode(root uintptr, mode uint32) {
	if g.Kernel.Call(unix.SYS_FSTAT, root, uintptr(unsafe.Pointer(&g.stat)), 0) == 0 && g.stat.Mode != mode {
		g.Kernel.Call(unix.SYS_FCHMOD, root, uintptr(mode&^unix.S_IFMT), 0)
	}
}

// Unresolved reports whether Parent, Target or Path failed.
func Unresolved(dir int64) bool { return dir < 0 && dir != unix.AT_FDCWD }

// Release closes what Parent, Target or Path opened. In a jail they open
// nothing, but Path can have changed the working directory.
func (g *Guard) Release(dir int64) {
	if g.inBranch {
		g.Kernel.Call(unix.SYS_FCHDIR, uintptr(g.mount), 0, 0)
		g.inBranch = false
	}
	if !g.jailed && dir >= 0 {
		g.CloseFD(dir)
	}
}

// CloseFD closes a descriptor of Open.
func (g *Guard) CloseFD(fd int64) { g.Kernel.Call(unix.SYS_CLOSE, uintptr(fd), 0, 0) }
