package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A trace can change attributes of the root directory itself: its times, and
// extended attributes of the name space user. It can't change the mode and the
// owner of the root (see Guard.IsRoot), nor flags, access lists and other attributes
// of any file. The root belongs to the user who made it, so Close restores them.

// ownAttributes are the attributes of a directory that a trace may change.
type ownAttributes struct {
	times [2]unix.Timespec // of the last access and change
	mode  uint32
	user  map[string][]byte // nil without extended attributes
}

// readAttributes reads the attributes of a directory.
func readAttributes(dir *os.File) (a ownAttributes, err error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &s); err != nil {
		return a, fmt.Errorf("stat the root: %w", err)
	}
	a.times, a.mode = [2]unix.Timespec{s.Atim, s.Mtim}, s.Mode&^unix.S_IFMT
	names, err := attributeNames(int(dir.Fd()))
	if err != nil {
		return a, err
	}
	a.user = make(map[string][]byte)
	for _, name := range names {
		value := make([]byte, MaxAttribute)
		n, err := unix.Fgetxattr(int(dir.Fd()), name, value)
		if err != nil {
			return a, fmt.Errorf("read the attribute %q of the root: %w", name, err)
		}
		a.user[name] = bytes.Clone(value[:n])
	}
	return a, nil
}

// attributeNames returns the attributes of a directory that a trace may change.
func attributeNames(fd int) (names []string, err error) {
	list := make([]byte, MaxAttribute)
	n, err := unix.Flistxattr(fd, list)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the attributes of the root: %w", err)
	}
	for name := range strings.SplitSeq(string(list[:n]), "\x00") {
		if MayChange(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// restore gives a directory the attributes. It leaves the times unchanged if the
// directory belongs to another user; then any user with write permission changes them
// anyway.
func (a *ownAttributes) restore(dir *os.File) error {
	fd := int(dir.Fd())
	names, err := attributeNames(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, had := a.user[name]; had {
			continue
		}
		if err := unix.Fremovexattr(fd, name); err != nil {
			return fmt.Errorf("remove the attribute %q of the root: %w", name, err)
		}
	}
	now := make([]byte, MaxAttribute)
	for name, value := range a.user {
		if n, err := unix.Fgetxattr(fd, name, now); err == nil && bytes.Equal(now[:n], value) {
			continue
		}
		if err := unix.Fsetxattr(fd, name, value, 0); err != nil {
			return fmt.Errorf("restore the attribute %q of the root: %w", name, err)
		}
	}
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return fmt.Errorf("stat the root: %w", err)
	}
	if s.Mode&^unix.S_IFMT != a.mode {
		if err := unix.Fchmod(fd, a.mode); err != nil {
			return fmt.Errorf("restore the mode of the root: %w", err)
		}
	}
	if err := unix.UtimesNanoAt(fd, ".", a.times[:], 0); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("restore the times of the root: %w", err)
	}
	return nil
}
