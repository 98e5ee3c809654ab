package sandbox

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Guard is a thread's way to name files, and the reason why none outside the
// root is ever reached: not by "..", not by an absolute path, not by a
// symbolic link, nor by one of the kernel's magic links.
//
// Where the thread may, it makes the root its own root directory (a jail), so
// that a plain call costs what it cost the application. That root directory is a
// mount of its own (a detached clone, open_tree(2)): a directory that another
// process moves out of the root would otherwise lead up to the whole file system,
// for ".." ends at the root directory only for what lies below it. From outside
// of its mount the kernel finds no way up at all (path_connected in fs/namei.c).
// Elsewhere every path is resolved by openat2 as if the root were the root
// directory: at first the directory of the path, or the file if the call follows
// links, then the call is made relative to that descriptor with a last component
// that holds no slash. Both mean the same by "..", by a leading slash and by an
// absolute link, so a trace has the same results in both.
//
// A Guard is used by one thread. The guards of several threads are copies of one
// that was bound (Probe, Enter); each copy then binds its own thread. What is
// copied is given back once, by Close. No method but these three allocates or
// waits in Go.
type Guard struct {
	Kernel   Kernel  // what answers the calls
	Root     uintptr // descriptor of the root; the caller's
	Alone    bool    // Kernel has nothing but what lies below the root: it is a jail of itself
	Landlock bool    // the thread is to obey Landlock in a jail, too

	// Internal state.
	jailed bool         // the root is the thread's root and working directory
	mount  int          // descriptor of a mount of the root that only replays see; 0 until it is made
	proc   bool         // ownFiles was there at first
	dev    uint64       // of the root
	ino    uint64       // of the root
	mode   uint32       // of the root
	rules  int          // for Landlock, a descriptor; 0 until they are made, and where there are none
	how    unix.OpenHow // memory for openat2
	stat   unix.Stat_t  // and for fstat
	link   [len(ownFiles) + 20]byte
}

// ownFiles is where the kernel shows a thread its descriptors (proc(5)).
const ownFiles = "/proc/thread-self/fd/"

// Jailed reports whether the root is the thread's root directory: paths from
// "/" are then those of the root.
func (g *Guard) Jailed() bool { return g.jailed }

// LacksProc reports whether Whole can name no file, since it takes /proc
// without a jail and /proc is not mounted.
func (g *Guard) LacksProc() bool { return !g.jailed && !g.proc }

// Enter binds the calling thread, in a jail or by openat2. The thread must be
// locked to its goroutine and must not be used for anything else later. Its umask
// becomes 0: that of the application is not recorded, and the root is closed to
// others anyway.
func (g *Guard) Enter(jail bool) error {
	if g.Alone {
		g.jailed = true
		return g.know()
	}
	// Only a jail needs it: without, the umask is 0 for all threads until the end
	// of the run. Containers forbid unshare altogether.
	if err := unix.Unshare(unix.CLONE_FS); err != nil && (jail || !refused(err)) {
		return fmt.Errorf("separate the working directory of a thread: %w", err)
	}
	unix.Umask(0)
	g.jailed = jail
	g.proc = unix.Access(ownFiles, unix.F_OK) == nil
	if err := g.know(); err != nil {
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
			return fmt.Errorf("make the root a thread's root directory: %w", err)
		}
	}
	return g.confine()
}

// detach makes the mount. All threads of a replay enter the same one: the kernel
// renames and links nothing from one mount to another.
func (g *Guard) detach() error {
	if g.mount != 0 {
		return nil
	}
	fd, err := unix.OpenTree(int(g.Root), "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("mount the root for the replay alone: %w", err)
	}
	g.mount = fd
	return nil
}

// Close gives back what a guard and its copies share. The threads that they
// bind stay bound.
func (g *Guard) Close() {
	for _, fd := range []int{g.mount, g.rules} {
		if fd > 0 {
			_ = unix.Close(fd)
		}
	}
}

// know finds out which file the root is.
func (g *Guard) know() error {
	if err := Error(g.Kernel.Call(unix.SYS_FSTAT, g.Root, uintptr(unsafe.Pointer(&g.stat)), 0)); err != nil {
		return fmt.Errorf("stat the root: %w", err)
	}
	g.dev, g.ino, g.mode = uint64(g.stat.Dev), g.stat.Ino, g.stat.Mode
	return nil
}

// confine has Landlock on top of what keeps paths below the root. In a jail it
// has to be asked for: there is no way out, and an open would cost 0.7 µs more,
// a third.
func (g *Guard) confine() (err error) {
	if g.jailed && !g.Landlock {
		return nil
	}
	if g.rules == 0 {
		g.rules, err = newRules(g.Root)
		if errors.Is(err, errors.ErrUnsupported) && !g.Landlock {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return obey(g.rules)
}

// Probe is Enter in the better of the two ways that works.
func (g *Guard) Probe() error {
	err := g.Enter(true)
	if !refused(err) {
		return err
	}
	g.jailed = false
	n := NewName(".")
	fd := g.Open(&n, unix.O_PATH|unix.O_CLOEXEC, 0)
	if fd < 0 {
		return fmt.Errorf("a thread can have no root directory of its own (%w), and openat2 (Linux 5.6), which keeps a replay in its root without, fails: %w", err, syscall.Errno(-fd))
	}
	g.Shut(fd)
	return g.Enter(false)
}

// refused reports whether the kernel doesn't let the caller do something: by
// its rights, by a filter, which can answer ENOSYS as well, or since the mount
// that the root lies in may not be cloned (EINVAL, MS_UNBINDABLE).
func refused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL)
}

// Open opens a path; flags are native. It returns a descriptor, to be given to
// Shut, or -errno.
func (g *Guard) Open(n *Name, flags, mode uintptr) int64 {
	if flags&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) == 0 {
		mode = 0
	}
	if g.jailed {
		return g.Kernel(unix.SYS_OPENAT, n.dir, Pointer(n.rest), flags, mode, 0, 0)
	}
	return g.resolve(n.full, flags, mode)
}

// resolve opens a path by openat2. The kernel asks to try again if a
// directory on the way was renamed.
func (g *Guard) resolve(p *byte, flags, mode uintptr) (fd int64) {
	g.how = unix.OpenHow{Flags: uint64(flags), Mode: uint64(mode), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	for range 16 {
		fd = g.Kernel(unix.SYS_OPENAT2, g.Root, Pointer(p), uintptr(unsafe.Pointer(&g.how)), unix.SizeofOpenHow, 0, 0)
		if fd != -int64(unix.EAGAIN) {
			break
		}
	}
	return fd
}

// Parent returns what a call that doesn't follow a link at the end of the path
// takes: a directory, to be given to Leave, and a name in it. The directory is
// -errno if it can't be reached.
func (g *Guard) Parent(n *Name) (dir int64, last uintptr) {
	if g.jailed {
		return int64(n.dir), Pointer(n.rest)
	}
	return g.resolve(n.parent, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0), Pointer(n.last)
}

// Target is like Parent for a call that follows a link at the end; without a
// jail the descriptor is the file's own, and the call gets AT_EMPTY_PATH.
func (g *Guard) Target(n *Name) (fd int64, last, flags uintptr) {
	if g.jailed {
		return int64(n.dir), Pointer(n.rest), 0
	}
	return g.resolve(n.full, unix.O_PATH|unix.O_CLOEXEC, 0), Pointer(Empty), unix.AT_EMPTY_PATH
}

// Whole is like Target for a call that takes neither a directory nor flags, and
// tells whether the call must follow a link at the end of the path. Without a
// jail the path is that of a descriptor in /proc, valid until the next call of
// Whole: the kernel follows it to the very file, a link too, and to no other.
func (g *Guard) Whole(n *Name, follow bool) (fd int64, path uintptr, follows bool) {
	if g.jailed {
		return unix.AT_FDCWD, n.Full(), follow
	}
	flags := uintptr(unix.O_PATH | unix.O_CLOEXEC)
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd = g.resolve(n.full, flags, 0)
	if fd < 0 {
		return fd, 0, true
	}
	link := append(strconv.AppendInt(append(g.link[:0], ownFiles...), fd, 10), 0)
	return fd, Pointer(unsafe.SliceData(link)), true
}

// IsRoot reports whether a file is the root itself, whose mode no trace may
// change: it keeps others out while the trace's files have any mode.
func (g *Guard) IsRoot(s *unix.Stat_t) bool { return s.Ino == g.ino && uint64(s.Dev) == g.dev }

// KeepMode gives the root its mode back where a thread has changed it: between
// IsRoot and the call that the answer was for, another can have led a link
// to the root. Without a jail both were about one descriptor.
func (g *Guard) KeepMode() {
	if g.jailed && g.Kernel.Call(unix.SYS_FSTAT, g.Root, uintptr(unsafe.Pointer(&g.stat)), 0) == 0 && g.stat.Mode != g.mode {
		g.Kernel.Call(unix.SYS_FCHMOD, g.Root, uintptr(g.mode&^unix.S_IFMT), 0)
	}
}

// Lost reports whether Parent, Target or Whole failed.
func Lost(dir int64) bool { return dir < 0 && dir != unix.AT_FDCWD }

// Leave closes what Parent, Target or Whole have opened: in a jail nothing.
func (g *Guard) Leave(dir int64) {
	if !g.jailed && dir >= 0 {
		g.Shut(dir)
	}
}

// Shut closes what Open has opened.
func (g *Guard) Shut(fd int64) { g.Kernel.Call(unix.SYS_CLOSE, uintptr(fd), 0, 0) }
