package replay

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

const enodata, e2big, erange, efault = -int(unix.ENODATA), -int(unix.E2BIG), -int(unix.ERANGE), -int(unix.EFAULT)

func TestAttributes(t *testing.T) {
	results(t, []resultTest{
		{"by path", []step{
			ev(format.OpSetxattr, 0, "l", "user.a", 0, 100, 0), ev(format.OpGetxattr, 100, "d/f", "user.a", 0, 0), ev(format.OpGetxattr, 100, "l", "user.a", 5, 1<<40),
			ev(format.OpGetxattr, 100, "l", "user.a", 0, -1), ev(format.OpGetxattr, erange, "l", "user.a", 0, 99), ev(format.OpGetxattr, enodata, "l", "user.b", 0, 99),
			ev(format.OpLgetxattr, enodata, "l", "user.a", 0, 100), ev(format.OpLgetxattr, 100, "d/f", "user.a", 0, 100),
			ev(format.OpLsetxattr, -int(unix.EPERM), "l", "user.a", 0, 1, 0), ev(format.OpLsetxattr, 0, "d/f", "user.b", 0, 0, 0),
			ev(format.OpSetxattr, eexist, "l", "user.a", 0, 1, unix.XATTR_CREATE), ev(format.OpSetxattr, enodata, "l", "user.c", 0, 1, unix.XATTR_REPLACE),
			ev(format.OpSetxattr, e2big, "l", "user.a", 0, sandbox.MaxAttribute+1, 0), ev(format.OpSetxattr, e2big, "l", "user.a", 0, -1, 0),
			ev(format.OpSetxattr, einval, "l", "user.", 0, 1, 0), ev(format.OpSetxattr, erange, "l", "user."+strings.Repeat("x", 251), 0, 1, 0),
			ev(format.OpSetxattr, efault, "l", -1, 0, 1, 0), ev(format.OpSetxattr, efault, -1, "user.a", 0, 1, 0), ev(format.OpSetxattr, enoent, "dangling", "user.a", 0, 1, 0),
			ev(format.OpListxattr, 14, "l", 0, 100), ev(format.OpLlistxattr, 14, "d/f", 0, 0), ev(format.OpListxattr, enoent, "none", 0, 0), ev(format.OpListxattr, erange, "l", 0, 3),
			ev(format.OpRemovexattr, 0, "l", "user.a"), ev(format.OpRemovexattr, enodata, "l", "user.a"), ev(format.OpLremovexattr, 0, "d/f", "user.b"),
			ev(format.OpLremovexattr, -int(unix.EPERM), "l", "user.b"), ev(format.OpRemovexattr, enoent, "none", "user.b"), ev(format.OpRemovexattr, efault, "l", -1),
		}},
		{"by descriptor", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR), ev(format.OpOpen, 4, "d/f", format.RDONLY|format.PATH),
			ev(format.OpFsetxattr, 0, 3, "user.a", 77, 100, 0), ev(format.OpFgetxattr, 100, 3, "user.a", 0, 100), ev(format.OpFlistxattr, 7, 3, 0, 100),
			ev(format.OpFremovexattr, 0, 3, "user.a"), ev(format.OpFgetxattr, enodata, 3, "user.a", 0, 100), ev(format.OpFsetxattr, ebadf, 4, "user.a", 0, 1, 0),
			ev(format.OpFsetxattr, ebadf, 9, "user.a", 0, 1, 0), ev(format.OpFgetxattr, ebadf, 9, "user.a", 0, 1), ev(format.OpFlistxattr, ebadf, 9, 0, 1), ev(format.OpFremovexattr, ebadf, 9, "user.a"),
		}},
		// Those that grant rights have the recorded results, and no effect.
		{"other name spaces", []step{
			ev(format.OpOpen, 3, "d/f", format.RDWR),
			ev(format.OpGetxattr, 33, "l", "security.selinux", 0, 255), ev(format.OpGetxattr, enodata, "l", "system.posix_acl_access", 0, 132),
			ev(format.OpSetxattr, 0, "l", "security.capability", 0, 20, 0), ev(format.OpFsetxattr, 0, 3, "trusted.a", 0, 20, 0), ev(format.OpLsetxattr, -int(unix.EOPNOTSUPP), "l", "system.posix_acl_access", 0, 44, 0),
			ev(format.OpFremovexattr, 0, 3, "trusted.a"), ev(format.OpRemovexattr, 0, "l", "security.capability"), ev(format.OpSetxattr, 0, "l", "username", 0, 1, 0),
			ev(format.OpFlistxattr, 0, 3, 0, 0),
		}},
	})
}

// Attributes are written with as many random bytes, and those that would grant
// rights not at all.
func TestAttributesOfFiles(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
		for _, name := range []string{"user.a", "security.capability", "security.x", "trusted.x", "system.posix_acl_access", "user"} {
			r.Add(1, format.OpSetxattr, 0, "f", name, 0, 20, 0)
			r.Add(1, format.OpLsetxattr, 0, "f", name, 0, 20, 0)
		}
		dir, res := p.play(t, r)
		faultless(t, r, res)
		b := make([]byte, 1000)
		n, err := unix.Listxattr(filepath.Join(dir, "f"), b)
		require.NoError(t, err)
		require.Equal(t, "user.a\x00", string(b[:n]))
		n, err = unix.Getxattr(filepath.Join(dir, "f"), "user.a", b)
		require.NoError(t, err)
		require.Equal(t, 20, n)
		require.NotEqual(t, make([]byte, 20), b[:20])
	})
}

// An access list changes the permissions that are the file's mode, and no other bits.
func TestAccessLists(t *testing.T) {
	const list, gives = "system.posix_acl_access", format.GivesMode
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		for _, name := range []string{"path", "link", "fd", "ro", "failed", "other", "old", "none"} {
			r.File(format.File{Path: name, Type: format.TypeReg, Mode: 0o600})
		}
		r.File(format.File{Path: "to", Type: format.TypeLnk, Target: "link"})
		r.File(format.File{Path: "dir", Type: format.TypeDir, Mode: 0o1700})
		r.Add(1, format.OpSetxattr, 0, "path", list, 0, 28, 0, gives|0o640)
		r.Add(1, format.OpSetxattr, 0, "to", list, 0, 28, 0, gives|0o604)
		r.Add(1, format.OpLsetxattr, 0, "dir", list, 0, 44, 0, gives|0o750)
		r.Add(1, format.OpOpen, 3, "fd", format.RDWR)
		r.Add(1, format.OpFsetxattr, 0, 3, list, 0, 28, 0, gives|0o444)
		r.Add(1, format.OpOpen, 4, "ro", format.RDONLY)
		r.Add(1, format.OpFsetxattr, 0, 4, list, 0, 28, 0, gives|0o666)
		r.Add(1, format.OpSetxattr, -int64(unix.EOPNOTSUPP), "failed", list, 0, 28, 0, gives|0o640)
		r.Add(1, format.OpSetxattr, 0, "other", "system.posix_acl_default", 0, 28, 0, gives|0o640)
		r.Add(1, format.OpSetxattr, 0, "old", list, 0, 28, 0, 0)
		r.Add(1, format.OpSetxattr, 0, "none", list, 0, 28, 0, gives)
		r.Add(1, format.OpSetxattr, 0, ".", list, 0, 28, 0, gives|0o777)
		dir, res := p.play(t, r)
		faultless(t, r, res)
		for name, want := range map[string]uint32{
			"path": 0o640, "link": 0o604, "dir": 0o1750, "fd": 0o444, "ro": 0o666, "failed": 0o600, "other": 0o600, "old": 0o600, "none": 0,
		} {
			var s unix.Stat_t
			require.NoError(t, unix.Stat(filepath.Join(dir, name), &s))
			require.Equal(t, want, s.Mode&0o7777, name)
		}
	})
}

// A string with a NUL byte would be another one to the kernel.
func TestStringsWithNUL(t *testing.T) {
	r := replaykit.New(1)
	r.Add(1, format.OpSetxattr, 0, "f", "user.a\x00b", 0, 1, 0)
	dir := filepath.Join(t.TempDir(), "root")
	_, err := Run(t.Context(), r, Options{Root: dir})
	require.ErrorContains(t, err, "NUL")
	require.NoDirExists(t, dir)
}
