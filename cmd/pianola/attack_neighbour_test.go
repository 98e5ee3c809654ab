package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
)

// swap exchanges what two names lead to, again and again until it is told to stop,
// and returns how often it could.
func swap(stop <-chan struct{}, pairs [][2]string) (swapped int) {
	for {
		for _, p := range pairs {
			if unix.Renameat2(unix.AT_FDCWD, p[0], unix.AT_FDCWD, p[1], unix.RENAME_EXCHANGE) == nil {
				swapped++
			}
		}
		select {
		case <-stop:
			return swapped
		default:
		}
	}
}

// TestAttackNeighbour has another process, which may write to the root, exchange
// directories of the root with links that lead out of it, and move others out of
// the root, from before the preparation until after the removal.
func TestAttackNeighbour(t *testing.T) {
	eachUser(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		outside := filepath.Join(filepath.Dir(c.base), "neighbour")
		for _, dir := range []string{outside, outside + "/empty", outside + "/other"} {
			require.NoError(t, os.Mkdir(dir, 0o755))
			require.NoError(t, os.Lchown(dir, u.id, u.id))
		}
		for _, link := range []string{"/link", "/link2", "/link3"} {
			require.NoError(t, os.Symlink(c.base+"/dir", outside+link))
		}
		require.NoError(t, os.Symlink(c.base, outside+"/base"))
		make := func() *hostile {
			h := newHostile(2)
			for _, d := range []string{"way", "way/dir", "in", "in/deep"} {
				h.file(format.File{Path: d, Type: format.TypeDir, Mode: 0o755})
			}
			for _, f := range []string{"way/secret", "way/dir/secret", "in/deep/secret"} {
				h.file(format.File{Path: f, Type: format.TypeReg, Mode: 0o644, Size: 6})
			}
			for thread := range int32(2) {
				for i := range 300 {
					p := []string{"way/secret", "way/dir/secret", "in/deep/../../secret", "in/deep/secret"}[i%4]
					fd := 10 + int(thread)
					h.create(thread+1, p, fd)
					h.add(thread+1, format.OpWrite, 7, fd, 0, 7)
					h.add(thread+1, format.OpClose, 0, fd)
					h.add(thread+1, format.OpTruncate, 0, p, 3)
					h.add(thread+1, format.OpChmod, 0, p, 0o777)
					h.add(thread+1, format.OpSetxattr, 0, p, "user.canary", 0, 3, 0)
					h.add(thread+1, format.OpUtimens, 0, p, 0, 0)
					h.add(thread+1, format.OpMkdir, 0, p+"2", 0o777)
					h.add(thread+1, format.OpRmdir, 0, p+"2")
					h.add(thread+1, format.OpRename, 0, p, p+"3")
					h.add(thread+1, format.OpLink, 0, p+"3", p)
					h.add(thread+1, format.OpUnlink, 0, p+"3")
				}
			}
			return h
		}
		c.trace(t, "a.bin", make())
		c.trace(t, "b.bin", make())
		alone := [][2]string{
			{c.root + "/way", outside + "/link"}, {c.root + "/in/deep", outside + "/empty"}, {c.root + "/in", outside + "/link2"}, {c.root + "/way/dir", outside + "/link3"},
		}
		for _, test := range []struct {
			traces []string
			pairs  [][2]string
		}{
			{[]string{"a.bin"}, alone},
			{[]string{"a.bin", "b.bin"}, [][2]string{
				{c.root + "/a/way", outside + "/link"}, {c.root + "/b/in/deep", outside + "/empty"}, {c.root + "/b/in", outside + "/link2"},
				{c.root + "/a", outside + "/base"}, {c.root + "/b", c.root + "/a/way"},
			}},
		} {
			swaps := 0
			for range 2 {
				require.NoError(t, os.RemoveAll(c.root))
				require.NoError(t, os.Mkdir(c.root, 0o700))
				require.NoError(t, os.Lchown(c.root, u.id, u.id))
				c.forget(t)
				stop, swapped := newSwap(test.pairs)
				c.replay(t, append([]string{"--root", c.root}, test.traces...)...) // it may fail
				close(stop)
				swaps += <-swapped
				c.unharmed(t)
			}
			require.Positive(t, swaps)
		}
	})
}

// newSwap begins to swap.
func newSwap(pairs [][2]string) (stop chan struct{}, swapped chan int) {
	stop, swapped = make(chan struct{}), make(chan int, 1)
	go func() { swapped <- swap(stop, pairs) }()
	return stop, swapped
}

// TestAttackRootAttributes changes all attributes of the root
// directory itself.
func TestAttackRootAttributes(t *testing.T) {
	eachUser(t, func(t *testing.T, u attacker) {
		c := newCage(t, u)
		acl := []byte("\x02\x00\x00\x00\x01\x00\x07\x00\xff\xff\xff\xff\x02\x00\x07\x00\x09\x03\x00\x00\x04\x00\x00\x00\xff\xff\xff\xff\x10\x00\x00\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff")
		require.NoError(t, unix.Setxattr(c.root, "user.kept", []byte("kept"), 0))
		require.NoError(t, unix.Setxattr(c.root, "user.changed", []byte("before"), 0))
		hasACL := unix.Setxattr(c.root, "system.posix_acl_access", acl, 0) == nil
		then := []unix.Timespec{{Sec: 1e9, Nsec: 123}, {Sec: 1e9 + 1, Nsec: 456}}
		look := func() string {
			var s unix.Stat_t
			require.NoError(t, unix.Stat(c.root, &s))
			dir, err := os.Open(c.root)
			require.NoError(t, err)
			defer dir.Close()
			flags, _ := unix.IoctlGetInt(int(dir.Fd()), unix.FS_IOC_GETFLAGS)
			return describe(t, c.root, s, flags)
		}
		h := newHostile(1)
		for _, root := range []string{".", "/", "", "..", "d/..", "l"} {
			if root == "l" {
				h.add(1, format.OpSymlink, 0, "/", "l")
			}
			h.add(1, format.OpOpen, 5, root, format.DIRECTORY)
			h.add(1, format.OpSetxattr, 0, root, "user.changed", 0, 100, 0)
			h.add(1, format.OpSetxattr, 0, root, "user.new", 0, 100, 0)
			h.add(1, format.OpFsetxattr, 0, 5, "user.new2", 0, 0, 0)
			h.add(1, format.OpSetxattr, 0, root, "system.posix_acl_default", 0, 44, 0)
			h.add(1, format.OpRemovexattr, 0, root, "system.posix_acl_access")
			h.add(1, format.OpFremovexattr, 0, 5, "user.kept")
			h.add(1, format.OpChmod, 0, root, 0o777)
			h.add(1, format.OpFchmod, 0, 5, 0o777)
			h.add(1, format.OpChown, 0, root, 4711, 4711)
			h.add(1, format.OpUtimens, 0, root, 0, 0)
			h.add(1, format.OpFutimens, 0, 5, 0)
			h.add(1, format.OpIoctl, 0, 5, unix.FS_IOC_SETFLAGS, 0x10)
			h.add(1, format.OpMkdir, 0, "d", 0o777)
		}
		c.trace(t, "a.bin", h)
		require.NoError(t, unix.UtimesNanoAt(unix.AT_FDCWD, c.root, then, 0))
		before := look()
		for _, args := range [][]string{{"--root", c.root}, {"--backend", "memory"}, {"--root", c.root, "--keep"}, {"--root", c.root}} {
			o := c.replay(t, append(args, "a.bin")...)
			require.Zero(t, o.status, o.said)
			require.Equal(t, before, look(), "%v", args)
		}
		require.Equal(t, hasACL, hasAttribute(c.root, "system.posix_acl_access"))
	})
}

func hasAttribute(name, attribute string) bool {
	_, err := unix.Getxattr(name, attribute, nil)
	return err == nil
}

// describe describes what of a directory a replay leaves as it is.
func describe(t *testing.T, name string, s unix.Stat_t, flags int) string {
	t.Helper()
	said := fmt.Sprintf("mode %o owner %d:%d times %v %v flags %x", s.Mode, s.Uid, s.Gid, s.Atim, s.Mtim, flags)
	list := make([]byte, 4096)
	n, err := unix.Listxattr(name, list)
	require.NoError(t, err)
	names := strings.Split(string(list[:n]), "\x00")
	slices.Sort(names)
	for _, a := range names {
		value := make([]byte, 4096)
		n, _ := unix.Getxattr(name, a, value)
		said += fmt.Sprintf(" %s=%q", a, value[:max(n, 0)])
	}
	return said
}
