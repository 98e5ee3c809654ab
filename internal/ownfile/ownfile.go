// Package ownfile reads files by which the processes of a user find one another, from directories
// in which others may write, too.
package ownfile

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// squashed is the user to whom files of root can belong on a network file system.
const squashed = 65534

// Read reads a regular file of at most so many bytes that belongs to this user, and that no other
// user can write to. Others may have put something else in its place, such as a pipe, at which a
// reader waits forever, or the address of their own server. The error is os.ErrPermission for a
// file that the user has not written.
func Read(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	own := uint32(os.Geteuid())
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%s is not a regular file: %w", name, os.ErrPermission)
	case st.Uid != own && !(own == 0 && st.Uid == squashed):
		return nil, fmt.Errorf("%s belongs to user %d, not to %d: %w", name, st.Uid, own, os.ErrPermission)
	case st.Mode&0o022 != 0:
		return nil, fmt.Errorf("others can write to %s: %w", name, os.ErrPermission)
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return text, err
}
