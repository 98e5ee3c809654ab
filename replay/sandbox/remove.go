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

// maxDescent is how many directories deep a removal goes. Each has a descriptor
// open, of which there are fewer than a trace can put directories within one
// another. What lies deeper is moved up first.
const maxDescent = 64

// lifted is how the names begin that directories are moved up to. They lie in
// the root until they are removed, by the next replay if this one is killed.
const lifted = ".pianola-lifted-"

// Remove removes what stands under a name below the root, with all below it,
// whatever modes a trace has given to the directories. It may be called
// concurrently.
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

// openUp opens a directory, and lets its owner into it if a trace has not.
func openUp(at int, name string) (*os.File, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	place, err := unix.Openat(at, name, unix.O_PATH|flags, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(place)
	// That name leads to the very directory; only the owner may change it.
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
