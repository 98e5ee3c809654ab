package replay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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
	dir     *os.File // locked, so that no other replay uses it
	created bool     // by this run
	keep    bool
}

// openRoot makes the root, or takes one that is empty, or empties one that an
// earlier replay has left.
func openRoot(path string, keep bool) (*root, error) {
	r := &root{path: path, keep: keep}
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
	if r.dir, err = os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0); err != nil {
		return nil, fmt.Errorf("open the root: %w", err)
	}
	if err := r.claim(); err != nil {
		_ = r.dir.Close()
		return nil, err
	}
	return r, nil
}

func (r *root) claim() error {
	if err := unix.Flock(int(r.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("lock the root %s, which another replay may use: %w", r.path, err)
	}
	names, err := r.dir.Readdirnames(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("list the root: %w", err)
	}
	inside, err := r.inside()
	if err != nil {
		return err
	}
	defer inside.Close()
	if len(names) > 0 {
		if info, err := inside.Lstat(marker); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("root %s: %w", r.path, ErrRoot)
		}
		if err := r.empty(); err != nil {
			return err
		}
	}
	if err := inside.WriteFile(marker, nil, 0o600); err != nil {
		return fmt.Errorf("mark the root: %w", err)
	}
	return nil
}

// inside opens the root for operations that don't leave it.
func (r *root) inside() (*os.Root, error) {
	// By the descriptor, for the path may be another directory's by now.
	inside, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", r.dir.Fd()))
	if err != nil {
		return nil, fmt.Errorf("open the root: %w", err)
	}
	return inside, nil
}

// empty removes all that lies in the root, the marker last: a root that was
// emptied by half is still known.
func (r *root) empty() error {
	inside, err := r.inside()
	if err != nil {
		return err
	}
	defer inside.Close()
	dir, err := inside.Open(".")
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
		err := inside.RemoveAll(name)
		if errors.Is(err, fs.ErrPermission) {
			openUp(inside, name)
			err = inside.RemoveAll(name)
		}
		if err != nil {
			return fmt.Errorf("empty the root: %w", err)
		}
	}
	if err := inside.RemoveAll(marker); err != nil {
		return fmt.Errorf("empty the root: %w", err)
	}
	return nil
}

// openUp lets the owner into directories that a trace has closed to him.
func openUp(inside *os.Root, name string) {
	_ = fs.WalkDir(inside.FS(), name, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = inside.Chmod(path, 0o700)
		}
		return nil
	})
}

// close gives the root back, without what was made in it unless it is kept.
func (r *root) close() error {
	defer r.dir.Close()
	if r.keep {
		return nil
	}
	if err := r.empty(); err != nil {
		return err
	}
	if r.created {
		if err := os.Remove(r.path); err != nil {
			return fmt.Errorf("remove the root: %w", err)
		}
	}
	return nil
}
