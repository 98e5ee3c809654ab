package sandbox

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/roottest"
)

// A thread that may not have a root directory of its own is told so, and gets
// the other Guard.
func TestProbe(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	g := Guard{Kernel: Linux, Root: dir.Fd()}
	require.NoError(t, OnThread(g.Probe))
	require.Equal(t, os.Geteuid() == 0, g.jailed)
	defer g.Close()

	before := roottest.OpenFiles(t)
	require.NoError(t, OnThread(func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			return err
		}
		return g.Probe()
	}))
	require.False(t, g.jailed)
	require.Equal(t, before, roottest.OpenFiles(t))
}

// If a container's filter refuses a call, with either error, the guard does without it
// if possible, and otherwise returns an error.
func TestProbeFiltered(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	n := NewName("..")
	for _, answer := range []unix.Errno{unix.EPERM, unix.ENOSYS} {
		for _, test := range []struct {
			name   string
			denied []uint32
			works  bool
		}{
			{"chroot", []uint32{unix.SYS_CHROOT}, true},
			{"unshare", []uint32{unix.SYS_UNSHARE}, true},
			{"open_tree", []uint32{unix.SYS_OPEN_TREE}, true},
			{"unshare and chroot", []uint32{unix.SYS_UNSHARE, unix.SYS_CHROOT}, true},
			{"chroot and openat2", []uint32{unix.SYS_CHROOT, unix.SYS_OPENAT2}, false},
			{"unshare and openat2", []uint32{unix.SYS_UNSHARE, unix.SYS_OPENAT2}, false},
		} {
			t.Run(test.name+" "+unix.ErrnoName(answer), func(t *testing.T) {
				defer unix.Umask(Umask())
				g := Guard{Kernel: Linux, Root: dir.Fd()}
				err := OnThread(func() error {
					if err := roottest.Deny(answer, test.denied); err != nil {
						return err
					}
					if err := g.Probe(); err != nil {
						return err
					}
					var st unix.Stat_t
					fd := g.Open(&n, unix.O_PATH|unix.O_CLOEXEC, 0)
					if fd < 0 {
						return unix.Errno(-fd)
					}
					defer g.CloseFD(fd)
					if err := unix.Fstat(int(fd), &st); err != nil || !g.IsRoot(&st) {
						return errors.Join(err, errors.New("out of the root"))
					}
					return nil
				})
				if !test.works {
					require.ErrorIs(t, err, answer)
					require.ErrorContains(t, err, "its replacement openat2 (Linux 5.6) fails")
					return
				}
				require.NoError(t, err)
				require.False(t, g.jailed)
			})
		}
	}
}

func TestName(t *testing.T) {
	for _, test := range []struct{ path, parent, last string }{
		{"a", ".", "a"}, {"a/b", "a/", "b"}, {"a/b//", "a/b/", "."}, {"/a", "/", "a"}, {"/", "/", "."}, {"///", "/", "."}, {".", ".", "."},
		{"..", "..", "."}, {"a/..", "a/..", "."}, {"a/.", "a/.", "."}, {"", "", "."}, {"a/b/c", "a/b/", "c"}, {"a//b", "a//", "b"}, {"a/a", "a/", "a"},
	} {
		n := NewName(test.path)
		require.Equal(t, strings.Replace(test.path, "//", "/", 1), n.String(), "a mark makes no path too long")
		require.Equal(t, test.parent, unix.BytePtrToString(n.parent), test.path)
		require.Equal(t, test.last, unix.BytePtrToString(n.last), test.path)
	}
	n := NewName("a/b/")
	require.Equal(t, []string{"a/", "b/"}, []string{unix.BytePtrToString(n.holder), unix.BytePtrToString(n.entry)}, "what makes or removes a name keeps it")
}
