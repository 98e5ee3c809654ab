package replay

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

// marker is the file by which a root is known to be Pianola's own. Only what
// lies in such a directory is ever removed.
const marker = ".pianola-root"

// ErrRoot is wrapped by the error of a replay in a directory that holds files
// which are not Pianola's.
var ErrRoot = errors.New("not empty and not made by pianola")

// root is the directory of a replay.
type root struct {
	path    string
	dir     *os.File     // locked, so that no other replay uses it
	inside  *os.Root     // the same, for operations that don't leave it
	created bool         // by this run
	fresh   bool         // there is nothing in it but the marker
	keep    bool         // what is in it at the end
	lifts   atomic.Int64 // directories that were moved up to be removed
}

// openRoot makes the root, or takes one that is empty, or one that an earlier
// replay has left, which is emptied if nothing of it is to be used, and kept in
// any case. The root of one of several traces lies in a directory that an
// earlier trace may have had for itself, so it is never what a link leads to.
func openRoot(o *Options, within bool) (*root, error) {
	path := o.Root
	r := &root{path: path, keep: o.Keep || o.Prepare == PrepareOnly}
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
	if within {
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
	if err := r.claim(o); err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

func (r *root) release() {
	_ = r.inside.Close()
	_ = r.dir.Close()
}

// same verifies that dir and inside are one directory: between the two opens the
// path may have become another's, or a link where none may be followed. The
// kernel's name for a descriptor would lead to it as well, but takes /proc.
func (r *root) same() error {
	dir, err := r.dir.Stat()
	if err != nil {
		return fmt.Errorf("stat the root: %w", err)
	}
	inside, err := r.inside.Stat(".")
	if err != nil {
		return fmt.Errorf("stat the root: %w", err)
	}
	if !os.SameFile(dir, inside) {
		return fmt.Errorf("open the root: %s is another directory by now", r.path)
	}
	return nil
}

func (r *root) claim(o *Options) error {
	if err := unix.Flock(int(r.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("lock the root %s, which another replay may use: %w", r.path, err)
	}
	names, err := r.dir.Readdirnames(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("list the root: %w", err)
	}
	// What is in the root may be kept only if it can be compressed as well as
	// what would be written: the marker says how well.
	mark := fmt.Sprintf("compressibility %d\n", o.Compressibility)
	r.fresh = len(names) == 0
	if !r.fresh {
		if info, err := r.inside.Lstat(marker); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("root %s: %w", r.path, ErrRoot)
		}
		r.keep = true
		switch same := r.marked(mark); {
		case same && o.Prepare != PrepareAlways:
			return nil
		case o.Prepare == PrepareNever:
			mark = "compressibility mixed\n" // as soon as something is written
		default:
			if err := r.empty(); err != nil {
				return err
			}
			r.fresh = true
		}
	}
	if err := r.inside.WriteFile(marker, []byte(mark), 0o600); err != nil {
		return fmt.Errorf("mark the root: %w", err)
	}
	return nil
}

// marked reports whether the marker, in which a replay may have written too,
// says just that.
func (r *root) marked(mark string) bool {
	f, err := r.inside.Open(marker)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(mark)+1)
	n, err := io.ReadFull(f, b)
	return errors.Is(err, io.ErrUnexpectedEOF) && string(b[:n]) == mark
}

// empty removes all that lies in the root, the marker last: a root that was
// emptied by half is still known.
func (r *root) empty() error {
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
		if name == marker {
			continue
		}
		if err := r.remove(name); err != nil {
			return err
		}
	}
	return r.remove(marker)
}

// close gives the root back, without what was made in it unless it is kept.
func (r *root) close() error {
	defer r.release()
	if r.keep {
		return nil
	}
	if err := r.empty(); err != nil {
		return err
	}
	if r.created {
		if err := r.leave(); err != nil {
			return fmt.Errorf("remove the root: %w", err)
		}
	}
	return nil
}

// Clear removes what replays have left in a root, of which the directory stays.
func Clear(path string) error {
	r, err := openRoot(&Options{Root: path}, false)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	r.keep = false
	return r.close()
}

// leave removes the empty root, unless something else stands at its path by
// now.
func (r *root) leave() error {
	here, err := os.Lstat(r.path)
	if err != nil {
		return err
	}
	if own, err := r.dir.Stat(); err != nil || !os.SameFile(here, own) {
		return fmt.Errorf("%s is another file by now", r.path)
	}
	return unix.Rmdir(r.path)
}
