package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxDescent is how many levels of directories a removal descends. Each level
// takes a descriptor, and a trace can nest more directories than there are
// descriptors. Deeper directories are moved up first.
const maxDescent = 64

// lifted is the prefix of the names of directories that were moved up to the
// root. They stay there until this replay removes them, or the next one if this
// one is killed.
const lifted = ".pianola-lifted-"

// Remove removes a name below the root, with all below it, for any modes that a
// trace has set on directories. It may be called concurrently.
func (r *Root) Remove(name string) error {
	if err := r.remove(name); err != nil {
		return fmt.Errorf("remove %q from the root: %w", name, err)
	}
	return nil
}

func (r *Root) remove(name string) error {
	top := int(r.tree.Fd())
	dir, err := r.descend(top, filepath.Dir(name))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	m := removal{root: r}
	err = m.remove(dir, filepath.Base(name), 0)
	for err == nil && len(m.lifted) > 0 {
		next := m.lifted[len(m.lifted)-1]
		m.lifted = m.lifted[:len(m.lifted)-1]
		err = m.remove(top, next, 0)
	}
	return err
}

// descend opens a directory by a path in another one, a name at a time.
func (r *Root) descend(top int, path string) (int, error) {
	dir := top
	for name := range strings.SplitSeq(path, "/") {
		next, err := r.open(dir, name, unix.O_PATH|unix.O_DIRECTORY, 0)
		if dir != top {
			_ = unix.Close(dir)
		}
		if err != nil {
			return -1, err
		}
		dir = next
	}
	return dir, nil
}

// removal is the removal of one name.
type removal struct {
	root   *Root
	lifted []string // names in the root, to be removed too
}

func (m *removal) remove(at int, name string, depth int) error {
	switch err := unix.Unlinkat(at, name, 0); {
	case err == nil || errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EISDIR):
		return err
	}
	switch err := unix.Unlinkat(at, name, unix.AT_REMOVEDIR); {
	case err == nil || errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST):
		return err
	}
	child, err := m.root.openUp(at, name)
	if err != nil {
		return err
	}
	defer child.Close()
	if depth == maxDescent {
		return m.moveToRoot(at, name)
	}
	for {
		names, err := child.Readdirnames(1024)
		for _, name := range names {
			if err := m.remove(int(child.Fd()), name, depth+1); err != nil {
				return err
			}
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		return unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
	}
}

// openUp opens a directory to list it. If its mode forbids that, it changes the mode
// first.
func (r *Root) openUp(at int, name string) (*os.File, error) {
	place, err := r.open(at, name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(place)
	// That name leads to exactly this directory. Only the owner may change its
	// mode.
	_ = unix.Chmod(ownFiles+strconv.Itoa(place), 0o700)
	fd, err := r.open(place, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// moveToRoot moves a directory up to the root.
func (m *removal) moveToRoot(at int, name string) error {
	for {
		to := lifted + strconv.FormatInt(m.root.moved.Add(1), 10)
		err := unix.Renameat2(at, name, int(m.root.tree.Fd()), to, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if err == nil {
			m.lifted = append(m.lifted, to)
		}
		return err
	}
}
