package replay

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guard is a thread's way to name files, and the reason why none outside the
// root is ever reached: not by "..", not by an absolute path, not by a
// symbolic link, nor by one of the kernel's magic links.
//
// Where the thread may, it makes the root its own root directory, so that a
// plain call costs what it cost the application. That root directory is a mount
// of its own (a detached clone, open_tree(2)): a directory that another process
// moves out of the root would otherwise lead up to the whole file system, for
// ".." ends at the root directory only for what lies below it. From outside of
// its mount the kernel finds no way up at all (path_connected in fs/namei.c).
// Elsewhere every path is resolved by openat2 as if the root were the root
// directory: at first the directory of the path, or the file if the call follows
// links, then the call is made relative to that descriptor with a last component
// that holds no slash. Both mean the same by "..", by a leading slash and by an absolute
// link, so a trace has the same results in both. A backend that has nothing but
// the root is a jail of itself.
type guard struct {
	sys    kernel       // what answers the calls
	memory bool         // it has nothing but what lies below the root
	root   uintptr      // descriptor of the root
	mount  int          // and of a mount of it that only replays see; 0 until it is made
	jailed bool         // the root is the thread's root and working directory
	proc   bool         // ownFiles was there at first
	dev    uint64       // of the root
	ino    uint64       // of the root
	mode   uint32       // of the root
	rules  int          // for Landlock, a descriptor; 0 until they are made, and where there are none
	strict bool         // the thread is to obey them in a jail, too
	how    unix.OpenHow // memory for openat2
	stat   unix.Stat_t  // and for fstat
	link   [len(ownFiles) + 20]byte
}

// ownFiles is where the kernel shows a thread its descriptors (proc(5)).
const ownFiles = "/proc/thread-self/fd/"

// name is a path, ready for the kernel.
type name struct {
	full, parent, last *byte

	// A jail's way to it: from a directory that is open, as the application's
	// path began in its working directory, or with the whole path from the root.
	dir  uintptr
	rest *byte
}

// newName makes a name of a path. The path must hold no NUL byte.
func newName(p string) name {
	clean := strings.TrimRight(p, "/")
	if clean == "" && p != "" {
		clean = "/"
	}
	// A last component of this kind leads elsewhere by itself, so it must be
	// resolved with the rest.
	parent, last := clean, "."
	if base := path.Base(clean); base != "." && base != ".." && base != "/" {
		parent, last = strings.TrimSuffix(clean, base), base
		if parent == "" {
			parent = "."
		}
	}
	if p == "" {
		parent = ""
	}
	full := cString(p)
	return name{full: full, parent: cString(parent), last: cString(last), dir: cwd, rest: full}
}

// cString makes a string for the kernel. It is not to be inlined: that would
// let it lie in the goroutine's stack, which moves when a backend within Go
// needs more of it.
//
//go:noinline
func cString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

func (n *name) String() string { return unix.BytePtrToString(n.full) }

var (
	cwd   = ^uintptr(99) // AT_FDCWD
	empty = cString("")
)

// enter binds the calling thread, which must be locked to its goroutine and
// must not be used for anything else later. Its umask becomes 0: that of the
// application is not recorded, and the root is closed to others anyway.
func (g *guard) enter(jail bool) error {
	if g.memory {
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
func (g *guard) detach() error {
	if g.mount != 0 {
		return nil
	}
	fd, err := unix.OpenTree(int(g.root), "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("mount the root for the replay alone: %w", err)
	}
	g.mount = fd
	return nil
}

// close gives back what the guards of a replay share.
func (g *guard) close() {
	for _, fd := range []int{g.mount, g.rules} {
		if fd > 0 {
			_ = unix.Close(fd)
		}
	}
}

// know finds out which file the root is.
func (g *guard) know() error {
	if err := failure(g.sys.call(unix.SYS_FSTAT, g.root, uintptr(unsafe.Pointer(&g.stat)), 0)); err != nil {
		return fmt.Errorf("stat the root: %w", err)
	}
	g.dev, g.ino, g.mode = uint64(g.stat.Dev), g.stat.Ino, g.stat.Mode
	return nil
}

// confine has Landlock on top of what keeps paths below the root. In a jail it
// has to be asked for: there is no way out, and an open would cost 0.7 µs more,
// a third.
func (g *guard) confine() (err error) {
	if g.jailed && !g.strict {
		return nil
	}
	if g.rules == 0 {
		g.rules, err = newRules(g.root)
		if errors.Is(err, errors.ErrUnsupported) && !g.strict {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return obey(g.rules)
}

// probe binds the calling thread in the better of the two ways that works.
func (g *guard) probe() error {
	err := g.enter(true)
	if !refused(err) {
		return err
	}
	g.jailed = false
	n := newName(".")
	fd := g.open(&n, unix.O_PATH|unix.O_CLOEXEC, 0)
	if fd < 0 {
		return fmt.Errorf("a thread can have no root directory of its own (%w), and openat2 (Linux 5.6), which keeps a replay in its root without, fails: %w", err, syscall.Errno(-fd))
	}
	g.shut(fd)
	return g.enter(false)
}

// refused reports whether the kernel doesn't let the caller do something: by
// its rights, by a filter, which can answer ENOSYS as well, or since the mount
// that the root lies in may not be cloned (EINVAL, MS_UNBINDABLE).
func refused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL)
}

// open opens a path; flags are native. It returns a descriptor or -errno.
func (g *guard) open(n *name, flags, mode uintptr) int64 {
	if flags&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) == 0 {
		mode = 0
	}
	if g.jailed {
		return g.sys(unix.SYS_OPENAT, n.dir, pointer(n.rest), flags, mode, 0, 0)
	}
	return g.resolve(n.full, flags, mode)
}

// resolve opens a path by openat2. The kernel asks to try again if somebody
// renamed a directory on the way.
func (g *guard) resolve(p *byte, flags, mode uintptr) (fd int64) {
	g.how = unix.OpenHow{Flags: uint64(flags), Mode: uint64(mode), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	for range 16 {
		fd = g.sys(unix.SYS_OPENAT2, g.root, pointer(p), uintptr(unsafe.Pointer(&g.how)), unix.SizeofOpenHow, 0, 0)
		if fd != -int64(unix.EAGAIN) {
			break
		}
	}
	return fd
}

// parent returns what a call that doesn't follow a link at the end of the path
// takes: a directory, to be given to leave, and a name in it. The directory is
// -errno if it can't be reached.
func (g *guard) parent(n *name) (dir int64, last uintptr) {
	if g.jailed {
		return int64(n.dir), pointer(n.rest)
	}
	return g.resolve(n.parent, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0), pointer(n.last)
}

// target is like parent for a call that follows a link at the end; without a
// jail the descriptor is the file's own, and the call gets AT_EMPTY_PATH.
func (g *guard) target(n *name) (fd int64, last, flags uintptr) {
	if g.jailed {
		return int64(n.dir), pointer(n.rest), 0
	}
	return g.resolve(n.full, unix.O_PATH|unix.O_CLOEXEC, 0), pointer(empty), unix.AT_EMPTY_PATH
}

// whole is like target for a call that takes neither a directory nor flags.
// Without a jail its path is that of a descriptor in ownFiles, which the
// kernel follows to the very file, a link too, and to no other.
func (g *guard) whole(n *name, h how) file {
	if g.jailed {
		return file{arg: pointer(n.full), how: h, opened: unix.AT_FDCWD}
	}
	flags := uintptr(unix.O_PATH | unix.O_CLOEXEC)
	if h == noFollow {
		flags |= unix.O_NOFOLLOW
	}
	fd := g.resolve(n.full, flags, 0)
	if fd < 0 {
		return file{opened: fd}
	}
	path := strconv.AppendInt(append(g.link[:0], ownFiles...), fd, 10)
	return file{arg: pointer(unsafe.SliceData(append(path, 0))), how: follow, opened: fd}
}

// isRoot reports whether a file is the root itself, whose mode no trace may
// change: it keeps others out while the trace's files have any mode.
func (g *guard) isRoot(s *unix.Stat_t) bool { return s.Ino == g.ino && uint64(s.Dev) == g.dev }

// keepMode gives the root its mode back where a thread has changed it: between
// isRoot and the call that the answer was for, another can have led a link
// to the root. Without a jail both were about one descriptor.
func (g *guard) keepMode() {
	if g.jailed && g.sys.call(unix.SYS_FSTAT, g.root, uintptr(unsafe.Pointer(&g.stat)), 0) == 0 && g.stat.Mode != g.mode {
		g.sys.call(unix.SYS_FCHMOD, g.root, uintptr(g.mode&^unix.S_IFMT), 0)
	}
}

// lost reports whether parent, target or whole failed.
func lost(dir int64) bool { return dir < 0 && dir != unix.AT_FDCWD }

// leave closes what parent, target or whole have opened: in a jail nothing.
func (g *guard) leave(dir int64) {
	if !g.jailed && dir >= 0 {
		g.shut(dir)
	}
}

// shut closes what open has opened.
func (g *guard) shut(fd int64) { g.sys.call(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

func pointer(p *byte) uintptr { return uintptr(unsafe.Pointer(p)) }
