package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/replaykit"
)

// No path leads out of the root: each one names no file, or a file inside.
func TestGuard(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		base, secret := roottest.Outside(t)
		r := replaykit.New(1)
		r.File(format.File{Path: "in", Type: format.TypeDir, Mode: 0o755})
		for name, target := range map[string]string{
			"absolute": secret, "up": "../secret", "far": "../../../../../../../.." + secret,
			"outer": base, "magic": "/proc/self/root" + secret, "fd": "/proc/self/fd/0",
		} {
			r.File(format.File{Path: "in/" + name, Type: format.TypeLnk, Target: target})
		}
		paths := []string{
			secret, "../secret", "in/../../secret", "/../secret", "in/absolute", "in/up", "in/far", "in/outer/secret", "in/outer/./secret",
			"in/magic", "in/fd", "in/outer/", "in/outer/..//secret", "/proc/self/root" + secret, "//" + secret, "in/absolute/", "in/up/",
		}
		const enoent = -int64(unix.ENOENT)
		for _, p := range paths {
			r.Add(1, format.OpOpen, enoent, p, format.RDONLY)
			r.Add(1, format.OpOpen, enoent, p, format.WRONLY|format.TRUNC)
			r.Add(1, format.OpOpen, enoent, p, format.RDONLY|format.PATH)
			r.Add(1, format.OpStat, enoent, p, 0)
			r.Add(1, format.OpStatx, enoent, format.AtFDCWD, p, 0, 0xfff, 0)
			r.Add(1, format.OpAccess, enoent, p, 0)
			r.Add(1, format.OpTruncate, enoent, p, 0)
			r.Add(1, format.OpChmod, enoent, p, 0o777)
			r.Add(1, format.OpChown, enoent, p, 4711, 4711)
			r.Add(1, format.OpUtimens, enoent, p, 0, 0)
			r.Add(1, format.OpStatfs, enoent, p, 0)
			r.Add(1, format.OpSetxattr, enoent, p, "user.a", 0, 10, 0)
			r.Add(1, format.OpGetxattr, enoent, p, "user.a", 0, 10)
			r.Add(1, format.OpListxattr, enoent, p, 0, 10)
			r.Add(1, format.OpRemovexattr, enoent, p, "user.a")
			r.Add(1, format.OpSetxattr, 0, p, "trusted.a", 0, 10, 0)
		}
		for _, p := range []string{secret, "../secret", "in/../../secret", "/../secret", "in/outer/secret", "in/outer/../secret", "//" + secret} {
			r.Add(1, format.OpLstat, enoent, p, 0)
			r.Add(1, format.OpUnlink, enoent, p)
			r.Add(1, format.OpRmdir, enoent, p)
			r.Add(1, format.OpReadlink, enoent, p, 0, 100)
			r.Add(1, format.OpLchown, enoent, p, 4711, 4711)
			r.Add(1, format.OpUtimens, enoent, p, 0, format.AtSymlinkNofollow)
			r.Add(1, format.OpLsetxattr, enoent, p, "user.a", 0, 10, 0)
			r.Add(1, format.OpLgetxattr, enoent, p, "user.a", 0, 10)
			r.Add(1, format.OpLlistxattr, enoent, p, 0, 10)
			r.Add(1, format.OpLremovexattr, enoent, p, "user.a")
			r.Add(1, format.OpRename, enoent, p, "in/taken")
			r.Add(1, format.OpLink, enoent, p, "in/taken")
			r.Add(1, format.OpRenameat2, enoent, format.AtFDCWD, "in/up", format.AtFDCWD, p, format.RenameExchange)
		}
		// Calls that create a file create it inside the root, or fail.
		for i, p := range []string{"../new", "in/../../new", "/new", "..", "."} {
			ret := -int64(unix.EEXIST)
			if i == 0 {
				ret = 0
			}
			r.Add(1, format.OpMkdir, ret, p, 0o755)
		}
		r.Add(1, format.OpOpenm, 5, "../made", format.RDWR|format.CREAT, 0o644)
		r.Add(1, format.OpWrite, 4, 5, 0, 4)
		r.Add(1, format.OpMknod, 0, "../node", unix.S_IFREG|0o644, 0)
		r.Add(1, format.OpBind, 0, 3, "../socket", 110)
		r.Add(1, format.OpRmdir, 0, "new")
		info, err := os.Lstat(secret)
		require.NoError(t, err)

		root := filepath.Join(base, "root")
		res, err := p.run(t.Context(), t, r, Options{Root: root, Timing: AFAP, Keep: true})
		require.NoError(t, err)
		faultless(t, r, res)
		roottest.Unharmed(t, base, info)
		names, err := filepath.Glob(base + "/*")
		require.NoError(t, err)
		require.Equal(t, []string{base + "/dir", root, secret}, names)
		require.FileExists(t, filepath.Join(root, "made"))
		require.FileExists(t, filepath.Join(root, "node"))
	})
}

// A fileset is as untrusted as events: it can't be built outside.
func TestGuardedPreparation(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		base, secret := roottest.Outside(t)
		info, err := os.Lstat(secret)
		require.NoError(t, err)
		for _, f := range []format.File{
			{Path: "out/new", Type: format.TypeReg, Size: 1}, {Path: "out/new", Type: format.TypeDir, Mode: 0o777}, {Path: "out/new", Type: format.TypeLnk, Target: "x"},
			{Path: "own", Type: format.TypeReg, Link: "out/secret"}, {Path: "out/dir", Type: format.TypeDir, Mode: 0o777},
		} {
			r := replaykit.New(1)
			r.File(format.File{Path: "out", Type: format.TypeLnk, Target: base})
			r.File(f)
			_, err := p.run(t.Context(), t, r, Options{Root: filepath.Join(base, "root")})
			require.ErrorIs(t, err, unix.ENOENT)
			require.NoDirExists(t, filepath.Join(base, "root"))
		}
		roottest.Unharmed(t, base, info)
		names, err := filepath.Glob(base + "/*")
		require.NoError(t, err)
		require.Equal(t, []string{base + "/dir", secret}, names)
	})
}
