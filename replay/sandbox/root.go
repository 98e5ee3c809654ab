package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/internal/mounts"
)

// Marker is the file that marks a root as Pianola's own. Only files in such a
// directory are ever removed.
const Marker = ".pianola-root"

// marking is the name of a new marker until it replaces the marker.
const marking = Marker + "-new"

// several is the text in the marker of a directory that holds the roots of
// several traces. In any other root the text says how compressible the files
// are.
const several = "several traces\n"

// The errors of a directory that can't be a root.
var (
	// ErrRoot is wrapped if the directory has files that are not Pianola's.
	ErrRoot = errors.New("not empty and not made by pianola")

	// ErrShared is wrapped if another replay uses the directory, because a
	// trace that moves directories must not affect another trace's files.
	ErrShared = errors.New("another replay uses this directory")

	// ErrMount is wrapped if something is mounted below the directory.
	ErrMount = errors.New("a replay crosses no mount below its root")
)

// Root is the directory of a replay. It is used by one goroutine at a time, but
// for Remove.
type Root struct {
	path       string
	dir        *os.File   // locked, so that no other replay uses it
	parents    []*os.File // its parent directories, locked against use as a root
	tree       *os.File   // the same as dir, for operations on its files
	ownMount   bool       // tree is a mount of its own, without the mounts below dir
	created    bool       // by this run
	joined     bool       // another process removes what was made
	fresh      bool       // there is nothing in it but the marker
	marked     bool       // it has had the marker: the files in it are Pianola's
	keep       bool       // the files at the end
	holdsRoots bool       // it holds the roots of several traces
	linked     bool       // the marker has had other hard links
	before     ownAttributes
	moved      atomic.Int64 // directories that were moved up to be removed
}

// OpenRoot creates a root, or opens one that is empty or from an earlier replay. If it is one of
// several roots of a run, it is in parent, which holds the locks on the directories above; else
// parent is nil. The caller closes the root. Close restores the attributes of the directory itself.
// It keeps the files of an earlier replay, and a directory that OpenRoot did not create. A mount
// below the root is an error; the root itself may be one if it has no parent.
func OpenRoot(path string, parent *Root) (*Root, error) {
	r, err := lockRoot(path, parent)
	if err != nil {
		return nil, err
	}
	if parent != nil {
		err = parent.checkMounts() // the root, now open, may have become one
	}
	if err == nil {
		err = r.checkMounts()
	}
	if err == nil {
		err = r.inspect()
	}
	if err == nil && !r.fresh && r.Marked(several) {
		err = fmt.Errorf("root %s holds the files of several traces: %w", r.path, ErrShared)
	}
	if err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// JoinRoot opens a root that another process of the same replay has opened and prepared.
// It holds no locks, and Close leaves the root as it is.
func JoinRoot(path string) (*Root, error) {
	r := &Root{path: path, joined: true}
	var err error
	if r.dir, err = os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0); err != nil {
		return nil, fmt.Errorf("open the root: %w", err)
	}
	if err = r.enter(); err == nil {
		err = r.checkMounts()
	}
	if err == nil {
		err = r.inspect()
	}
	if err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// OpenParent is OpenRoot for a directory that holds several roots. They must be
// closed before it. A mount below it is an error, also one in place of a root.
func OpenParent(path string) (*Root, error) {
	r, err := lockRoot(path, nil)
	if err != nil {
		return nil, err
	}
	if err = r.checkMounts(); err == nil {
		err = r.inspect()
	}
	switch {
	case err != nil:
	case r.fresh:
		err = r.Mark(several)
	case !r.Marked(several):
		err = fmt.Errorf("root %s holds the files of a single trace: %w", r.path, ErrShared)
	}
	if err != nil {
		r.release()
		return nil, err
	}
	r.holdsRoots = true
	return r, nil
}

// lockRoot makes or opens a root, and locks it and the directories above it. The
// root of one of several traces can't be a link.
func lockRoot(path string, parent *Root) (*Root, error) {
	r := &Root{path: path}
	// Files have the modes of the trace, so the root itself is closed to other
	// users.
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.Mkdir(path, 0o700)
		}
	}
	r.created = err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create the root: %w", err)
	}
	flags := os.O_RDONLY | unix.O_DIRECTORY
	if parent != nil {
		flags |= unix.O_NOFOLLOW
	}
	if r.dir, err = os.OpenFile(path, flags, 0); err != nil {
		return nil, fmt.Errorf("open the root: %w", err)
	}
	if err = r.enter(); err == nil {
		err = r.lock(parent)
	}
	if err == nil {
		r.before, err = readAttributes(r.dir)
	}
	if err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// lock locks the root for this replay, and makes sure that no directory above
// it is, or becomes, the root of another. Each directory above gets a shared
// lock, which excludes its use as a root but allows other roots beside this
// one. The marker of a directory above shows a root that was kept. A trace can
// remove the marker, but not the lock.
func (r *Root) lock(parent *Root) error {
	if err := unix.Flock(int(r.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("root %s, or a root below it, is in use by another replay: %w", r.path, ErrShared)
		}
		return fmt.Errorf("lock the root %s: %w", r.path, err)
	}
	here := r.dir
	for {
		up, err := openAbove(here)
		if errors.Is(err, unix.EACCES) {
			return nil // this user cannot have a root below a directory that it cannot pass
		}
		if err != nil {
			return fmt.Errorf("open a directory above the root: %w", err)
		}
		switch same, err := sameFile(here, up); {
		case err != nil:
			up.Close()
			return fmt.Errorf("stat a directory above the root: %w", err)
		case same:
			return up.Close()
		}
		r.parents = append(r.parents, up)
		if parent != nil {
			if same, err := sameFile(up, parent.dir); err != nil || !same {
				return fmt.Errorf("open the root: %s was replaced by another directory", r.path)
			}
			return nil
		}
		// If flock fails for another reason, no replay could lock its root
		// there either.
		if err := unix.Flock(int(up.Fd()), unix.LOCK_SH|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("root %s is inside the root of a running replay, or inside a directory that another program has locked: %w", r.path, ErrShared)
		}
		var st unix.Stat_t
		if err := unix.Fstatat(int(up.Fd()), Marker, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			return fmt.Errorf("root %s is inside the root of another replay: %w", r.path, ErrShared)
		}
		here = up
	}
}

// openAbove opens the parent of a directory. A parent that can be passed but not read
// cannot be locked; it is not a root of this user.
func openAbove(dir *os.File) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) {
		fd, err = unix.Openat(int(dir.Fd()), "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), ".."), nil
}

func sameFile(a, b *os.File) (bool, error) {
	one, err := a.Stat()
	if err != nil {
		return false, err
	}
	other, err := b.Stat()
	return err == nil && os.SameFile(one, other), err
}

// release unlocks the root and closes it. Closing alone does not unlock it at
// once, because threads of the replay with their own descriptor tables can hold
// copies for a moment longer.
func (r *Root) release() {
	for _, dir := range append(r.parents, r.dir) {
		_ = unix.Flock(int(dir.Fd()), unix.LOCK_UN)
		_ = dir.Close()
	}
	if r.tree != nil {
		_ = r.tree.Close()
	}
}

// enter opens the root for operations on its files: as a mount of its own if the kernel
// allows that, or as it is.
func (r *Root) enter() error {
	fd, err := detached(r.dir.Fd())
	r.ownMount = err == nil
	if refused(err) {
		fd, err = unix.Openat(int(r.dir.Fd()), ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return fmt.Errorf("open the root: %w", err)
	}
	r.tree = os.NewFile(uintptr(fd), r.path)
	return nil
}

// open opens a name in a directory of tree. It follows no link and crosses no mount:
// there is none in a mount of its own, and openat2 refuses others.
func (r *Root) open(dir int, name string, flags, mode int) (int, error) {
	flags |= unix.O_NOFOLLOW | unix.O_CLOEXEC
	if r.ownMount {
		return unix.Openat(dir, name, flags, uint32(mode))
	}
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{Flags: uint64(flags), Mode: uint64(mode), Resolve: unix.RESOLVE_NO_XDEV})
	if errors.Is(err, unix.EXDEV) {
		err = ErrMount
	}
	return fd, err
}

// list opens the root to list it.
func (r *Root) list() (*os.File, error) {
	fd, err := r.open(int(r.tree.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("list the root: %w", err)
	}
	return os.NewFile(uintptr(fd), r.path), nil
}

// checkMounts returns an error that names a mount below the root. Without /proc it finds
// none, but no mount is ever crossed.
func (r *Root) checkMounts() error {
	own := strconv.Itoa(int(r.dir.Fd()))
	info, err := os.ReadFile(procFS + "thread-self/fdinfo/" + own)
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(info), "mnt_id:")
	rest, _, _ = strings.Cut(rest, "\n")
	id, err := strconv.Atoi(strings.TrimSpace(rest))
	if err != nil {
		return nil
	}
	path, err := os.Readlink(ownFiles + own)
	if err != nil {
		return nil
	}
	text, err := os.ReadFile(procFS + "thread-self/mountinfo")
	if err != nil {
		return nil
	}
	for _, m := range mounts.Parse(string(text)) {
		if name, below := strings.CutPrefix(m.Point, strings.TrimSuffix(path, "/")+"/"); below && m.Parent == id {
			return fmt.Errorf("root %s: %q is a mount point: %w", r.path, name, ErrMount)
		}
	}
	return nil
}

// inspect finds out whether the root is empty or has the marker.
func (r *Root) inspect() error {
	names, err := r.dir.Readdirnames(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("list the root: %w", err)
	}
	if r.fresh = len(names) == 0; r.fresh {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstatat(int(r.tree.Fd()), Marker, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("root %s: %w", r.path, ErrRoot)
	}
	r.marked, r.keep, r.linked = true, true, st.Nlink > 1
	return nil
}

// FD returns the descriptor of the root, which Close closes.
func (r *Root) FD() uintptr { return r.dir.Fd() }

// Fresh reports whether nothing but the marker was in the root when it was
// opened, or last emptied.
func (r *Root) Fresh() bool { return r.fresh }

// SetCreated makes Close remove the directory too: this run has made it.
func (r *Root) SetCreated() { r.created = true }

// Keep makes Close leave the files in the root.
func (r *Root) Keep() { r.keep = true }

// Linked reports whether the marker had other hard links when the root was opened. Then
// it must be marked again, because a trace could write to the marker.
func (r *Root) Linked() bool { return r.linked }

// Joined reports whether another process prepares the root.
func (r *Root) Joined() bool { return r.joined }

// Mark writes the marker, with a text about the contents of files. It must come
// before any other change in the root. An existing marker is replaced by another
// file, because it can have hard links outside the root.
func (r *Root) Mark(text string) error {
	err := r.write(Marker, text)
	if errors.Is(err, unix.EEXIST) {
		if err = r.Remove(marking); err == nil {
			err = r.write(marking, text)
		}
		if err == nil {
			err = unix.Renameat(int(r.tree.Fd()), marking, int(r.tree.Fd()), Marker)
		}
	}
	if err != nil {
		return fmt.Errorf("mark the root: %w", err)
	}
	r.marked = true
	return nil
}

// write makes a file in the root.
func (r *Root) write(name, text string) error {
	fd, err := r.open(int(r.tree.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Marked reports whether the marker holds exactly the text. A replay may have
// changed it.
func (r *Root) Marked(mark string) bool {
	fd, err := r.open(int(r.tree.Fd()), Marker, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), Marker)
	defer f.Close()
	b := make([]byte, len(mark)+1)
	n, err := io.ReadFull(f, b)
	return errors.Is(err, io.ErrUnexpectedEOF) && string(b[:n]) == mark
}

// Empty removes everything in the root, the marker last, so that a partly
// emptied root is still marked. The root must be marked again before use. A mount below
// the root is an error, and nothing is removed.
func (r *Root) Empty() error {
	if err := r.checkMounts(); err != nil {
		return err
	}
	dir, err := r.list()
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("list the root: %w", err)
	}
	for _, name := range names {
		if name == Marker {
			continue
		}
		if err := r.Remove(name); err != nil {
			return err
		}
	}
	r.fresh = true
	return r.Remove(Marker)
}

// Close removes what was made in the root, unless it is kept, and releases the
// root.
func (r *Root) Close() error {
	defer r.release()
	if r.joined {
		return nil
	}
	if r.holdsRoots {
		if err := r.keepIfUsed(); err != nil {
			return err
		}
	}
	if !r.keep && r.marked { // even if a trace has removed the marker
		if err := r.Empty(); err != nil {
			return errors.Join(err, r.before.restore(r.dir))
		}
	}
	if !r.keep && r.created {
		if err := r.rmdir(); err != nil {
			return fmt.Errorf("remove the root: %w", err)
		}
		return nil
	}
	return r.before.restore(r.dir)
}

// keepIfUsed keeps a directory of several roots if it holds more than the marker:
// a root that could not be removed, or other files.
func (r *Root) keepIfUsed() error {
	dir, err := r.list()
	if err != nil {
		return err
	}
	defer dir.Close()
	if names, err := dir.Readdirnames(2); err == nil && len(names) > 1 {
		r.keep = true
	}
	return nil
}

// Clear removes the files of replays from a root, but not the directory.
func Clear(path string) error {
	r, err := lockRoot(path, nil)
	if err != nil {
		return err
	}
	if err := r.inspect(); err != nil {
		r.release()
		return err
	}
	r.keep = false
	return r.Close()
}

// Remove is Clear, and then removes the directory if it is empty and not a mount.
func Remove(path string) {
	_ = Clear(path)
	_ = os.Remove(path) // fails unless the directory is empty
}

// rmdir removes the empty root, unless its path now leads to something else.
func (r *Root) rmdir() error {
	here, err := os.Lstat(r.path)
	if err != nil {
		return err
	}
	if own, err := r.dir.Stat(); err != nil || !os.SameFile(here, own) {
		return fmt.Errorf("%s was replaced by another file", r.path)
	}
	return unix.Rmdir(r.path)
}
