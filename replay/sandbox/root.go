package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Marker is the file by which a root is known to be Pianola's own. Only what
// lies in such a directory is ever removed.
const Marker = ".pianola-root"

// several is what the marker of a directory says that holds the roots of several
// traces. In any other root it says what the files hold.
const several = "several traces\n"

// The errors of a directory that can't be a root.
var (
	// ErrRoot is wrapped where it holds files which are not Pianola's.
	ErrRoot = errors.New("not empty and not made by pianola")

	// ErrShared is wrapped where another replay has a part in it: a trace that
	// moves directories about must not meet another trace's files.
	ErrShared = errors.New("replays share no directory")
)

// Root is the directory of a replay. It is used by one goroutine at a time, but
// for Remove.
type Root struct {
	path    string
	dir     *os.File     // locked, so that no other replay uses it
	above   []*os.File   // the directories that it lies in, locked against use as a root
	inside  *os.Root     // the same as dir, for operations that don't leave it
	created bool         // by this run
	fresh   bool         // there is nothing in it but the marker
	own     bool         // it has had the marker: what is in it is Pianola's
	keep    bool         // what is in it at the end
	parent  bool         // it holds the roots of several traces
	lifts   atomic.Int64 // directories that were moved up to be removed
}

// OpenRoot makes a root, or takes one that is empty, or one that an earlier
// replay has left. Where the root is one of several that are used at a time it
// lies in parent, which holds the lock on what is above; else parent is nil. The
// root must be closed. Close keeps what an earlier replay has left, and a
// directory that OpenRoot has not made.
func OpenRoot(path string, parent *Root) (*Root, error) {
	r, err := lockRoot(path, parent)
	if err != nil {
		return nil, err
	}
	if err = r.look(); err == nil && !r.fresh && r.Marked(several) {
		err = fmt.Errorf("root %s holds what several traces left: %w", r.path, ErrShared)
	}
	if err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// OpenParent is OpenRoot for the directory that holds several roots. They must
// be closed before it.
func OpenParent(path string) (*Root, error) {
	r, err := lockRoot(path, nil)
	if err != nil {
		return nil, err
	}
	switch err = r.look(); {
	case err != nil:
	case r.fresh:
		err = r.Mark(several)
	case !r.Marked(several):
		err = fmt.Errorf("root %s holds what a single trace left: %w", r.path, ErrShared)
	}
	if err != nil {
		r.release()
		return nil, err
	}
	r.parent = true
	return r, nil
}

// lockRoot makes or opens a root, and locks it and the directories above it. The
// root of one of several traces is never what a link leads to.
func lockRoot(path string, parent *Root) (*Root, error) {
	r := &Root{path: path}
	// Modes are as the trace has them, so the root itself is closed to others.
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.Mkdir(path, 0o700)
		}
	}
	r.created = err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the root: %w", err)
	}
	flags := os.O_RDONLY | unix.O_DIRECTORY
	if parent != nil {
		flags |= unix.O_NOFOLLOW
	}
	if r.dir, err = os.OpenFile(path, flags, 0); err != nil {
		return nil, fmt.Errorf("open the root: %w", err)
	}
	if r.inside, err = os.OpenRoot(path); err != nil {
		_ = r.dir.Close()
		return nil, fmt.Errorf("open the root: %w", err)
	}
	if err := r.same(); err != nil {
		r.release()
		return nil, err
	}
	if err := r.lock(parent); err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// lock takes the root for this replay alone, and sees to it that no directory
// above it is, or becomes, the root of another. Each of those gets a shared lock,
// which keeps replays out and lets other replays lie beside this one; a marker
// tells of a root that was kept. A trace can remove the marker, but not the lock.
func (r *Root) lock(parent *Root) error {
	if err := unix.Flock(int(r.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("root %s is in use by another replay, or holds a root that is: %w", r.path, ErrShared)
		}
		return fmt.Errorf("lock the root %s: %w", r.path, err)
	}
	here := r.dir
	for {
		up, err := openAbove(here)
		if errors.Is(err, unix.EACCES) {
			return nil // what this user can't pass is no root of this user's
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
		r.above = append(r.above, up)
		if parent != nil {
			if same, err := sameFile(up, parent.dir); err != nil || !same {
				return fmt.Errorf("open the root: %s is another directory by now", r.path)
			}
			return nil
		}
		// Where flock is refused for another reason, no replay could have its root.
		if err := unix.Flock(int(up.Fd()), unix.LOCK_SH|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("root %s lies in the root of a running replay, or in a directory that another program has locked: %w", r.path, ErrShared)
		}
		var st unix.Stat_t
		if err := unix.Fstatat(int(up.Fd()), Marker, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
			return fmt.Errorf("root %s lies in the root of another replay: %w", r.path, ErrShared)
		}
		here = up
	}
}

// openAbove opens the directory that a directory lies in. One that may be passed
// but not read can have no lock; it is no root of this user's.
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

// release gives up the root. Locks are undone, for to close is not enough: threads
// of the replay that had descriptor tables of their own can hold copies for a
// moment longer.
func (r *Root) release() {
	for _, dir := range append(r.above, r.dir) {
		_ = unix.Flock(int(dir.Fd()), unix.LOCK_UN)
		_ = dir.Close()
	}
	_ = r.inside.Close()
}

// same verifies that dir and inside are one directory: between the two opens the
// path may have become another's, or a link where none may be followed. The
// kernel's name for a descriptor would lead to it as well, but takes /proc.
func (r *Root) same() error {
	inside, err := r.inside.Open(".")
	if err != nil {
		return fmt.Errorf("stat the root: %w", err)
	}
	defer inside.Close()
	if same, err := sameFile(r.dir, inside); err != nil || !same {
		return fmt.Errorf("open the root: %s is another directory by now", r.path)
	}
	return nil
}

// look finds out whether the root is empty or has the marker.
func (r *Root) look() error {
	names, err := r.dir.Readdirnames(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("list the root: %w", err)
	}
	if r.fresh = len(names) == 0; r.fresh {
		return nil
	}
	if info, err := r.inside.Lstat(Marker); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("root %s: %w", r.path, ErrRoot)
	}
	r.own, r.keep = true, true
	return nil
}

// FD returns the descriptor of the root, which Close closes.
func (r *Root) FD() uintptr { return r.dir.Fd() }

// Fresh reports whether nothing but the marker was in the root when it was
// opened, or last emptied.
func (r *Root) Fresh() bool { return r.fresh }

// Keep lets what is in the root stay when it is closed.
func (r *Root) Keep() { r.keep = true }

// Mark marks the root as one of Pianola's, with a text that says what its files
// hold. Nothing may be made in the root before.
func (r *Root) Mark(text string) error {
	if err := r.inside.WriteFile(Marker, []byte(text), 0o600); err != nil {
		return fmt.Errorf("mark the root: %w", err)
	}
	r.own = true
	return nil
}

// Marked reports whether the marker, in which a replay may have written too,
// says just that.
func (r *Root) Marked(mark string) bool {
	f, err := r.inside.Open(Marker)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(mark)+1)
	n, err := io.ReadFull(f, b)
	return errors.Is(err, io.ErrUnexpectedEOF) && string(b[:n]) == mark
}

// Empty removes all that lies in the root, the marker last: a root that was
// emptied by half is still known. To be used it must be marked again.
func (r *Root) Empty() error {
	dir, err := r.inside.Open(".")
	if err != nil {
		return fmt.Errorf("list the root: %w", err)
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

// Close gives the root back, without what was made in it unless it is kept.
func (r *Root) Close() error {
	defer r.release()
	if r.parent {
		if err := r.keepRest(); err != nil {
			return err
		}
	}
	if r.keep {
		return nil
	}
	if r.own { // even if a trace has removed the marker
		if err := r.Empty(); err != nil {
			return err
		}
	}
	if r.created {
		if err := r.rmdir(); err != nil {
			return fmt.Errorf("remove the root: %w", err)
		}
	}
	return nil
}

// keepRest keeps a directory of several roots that holds more than the marker: a
// root that could not be removed, or whatever was put there.
func (r *Root) keepRest() error {
	dir, err := r.inside.Open(".")
	if err != nil {
		return fmt.Errorf("list the root: %w", err)
	}
	defer dir.Close()
	if names, err := dir.Readdirnames(2); err == nil && len(names) > 1 {
		r.keep = true
	}
	return nil
}

// Clear removes what replays have left in a root, of which the directory stays.
func Clear(path string) error {
	r, err := lockRoot(path, nil)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if err := r.look(); err != nil {
		r.release()
		return fmt.Errorf("replay: %w", err)
	}
	r.keep = false
	return r.Close()
}

// rmdir removes the empty root, unless something else stands at its path by
// now.
func (r *Root) rmdir() error {
	here, err := os.Lstat(r.path)
	if err != nil {
		return err
	}
	if own, err := r.dir.Stat(); err != nil || !os.SameFile(here, own) {
		return fmt.Errorf("%s is another file by now", r.path)
	}
	return unix.Rmdir(r.path)
}
