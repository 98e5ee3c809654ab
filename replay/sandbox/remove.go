package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxDescent is how many levels of directories a removal descends. Each level
// takes a descriptor, and a trace can nest more directories than there are
// descriptors. Deeper directories are moved up first.
const maxDescent = 64

// lifted is the prefix of the names of directories that were moved up to the
// root. They stay there until they are removed, by the next replay if this one
// is killed.
const lifted = ".pianola-lifted-"

// Remove removes a name below the root, with all below it, for any modes that a
// trace has set on directories. It may be called concurrently.
func (r *Root) Remove(name string) error {
	dir, err := r.inside.Open(filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("remove from the root: %w", err)
	}
	defer dir.Close()
	m := removal{root: r}
	err = m.remove(dir, filepath.Base(name), 0)
	for err == nil && len(m.lifted) > 0 {
		next := m.lifted[len(m.lifted)-1]
		m.lifted = m.lifted[:len(m.lifted)-1]
		err = m.remove(r.dir, next, 0)
	}
	if err != nil {
		return fmt.Errorf("remove %q from the root: %w", name, err)
	}
	return nil
}

// removal is the removal of one name.
type removal struct {
	root   *Root
	lifted []string // names in the root, to be removed too
}

func (m *removal) remove(dir *os.File, name string, depth int) error {
	at := int(dir.Fd())
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
	child, err := openUp(at, name)
	if err != nil {
		return err
	}
	defer child.Close()
	if depth == maxDescent {
		return m.lift(at, name)
	}
	for {
		names, err := child.Readdirnames(1024)
		for _, name := range names {
			if err := m.remove(child, name, depth+1); err != nil {
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

// openUp opens a directory. If its mode forbids that, it changes the mode
// first.
func openUp(at int, name string) (*os.File, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	place, err := unix.Openat(at, name, unix.O_PATH|flags, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(place)
	// That name leads to exactly this directory. Only the owner may change its
	// mode.
	_ = unix.Chmod(ownFiles+strconv.Itoa(place), 0o700)
	fd, err := unix.Openat(place, ".", unix.O_RDONLY|flags, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// lift moves a directory up to the root.
func (m *removal) lift(at int, name string) error {
	for {
		to := lifted + strconv.FormatInt(m.root.lifts.Add(1), 10)
		err := unix.Renameat2(at, name, int(m.root.dir.Fd()), to, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if err == nil {
			m.lifted = append(m.lifted, to)
		}
		return err
	}
}
