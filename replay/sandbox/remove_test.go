package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/roottest"
)

// newRoot makes a root for a test to fill.
func newRoot(t *testing.T) *Root {
	t.Helper()
	r, err := OpenRoot(filepath.Join(t.TempDir(), "root"), nil)
	require.NoError(t, err)
	require.NoError(t, r.Mark("x"))
	t.Cleanup(r.release)
	return r
}

// No depth is too deep to be removed, and none takes more descriptors.
func TestRemoveWhatLiesDeep(t *testing.T) {
	r := newRoot(t)
	roottest.Bury(t, r.path+"/d", 1500)
	require.NoError(t, os.WriteFile(r.path+"/"+lifted+"2", nil, 0o600))
	open, err := os.ReadDir(ownFiles)
	require.NoError(t, err)
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	few := unix.Rlimit{Cur: uint64(len(open)) + 2*maxDescent, Max: old.Max}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	t.Cleanup(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old)) })
	require.NoError(t, r.Remove("d"))
	names, err := os.ReadDir(r.path)
	require.NoError(t, err)
	require.Len(t, names, 2) // the marker, and what only has such a name
	require.NoError(t, r.Remove("d"))
	require.NoError(t, r.Close())
	require.NoDirExists(t, r.path)
}

// A removal follows no link, and changes no mode beyond one.
func TestRemoveFollowsNothing(t *testing.T) {
	base, secret := roottest.Outside(t)
	info, err := os.Lstat(secret)
	require.NoError(t, err)
	r := newRoot(t)
	require.NoError(t, os.Mkdir(r.path+"/d", 0o700))
	require.NoError(t, os.Symlink(base, r.path+"/d/out"))
	require.NoError(t, os.Chmod(r.path+"/d", 0))
	require.NoError(t, r.Remove("d"))
	require.NoDirExists(t, r.path+"/d")
	_, err = r.openUp(int(r.tree.Fd()), "none")
	require.ErrorIs(t, err, unix.ENOENT)
	require.NoError(t, os.Symlink(base, r.path+"/out"))
	_, err = r.openUp(int(r.tree.Fd()), "out")
	require.ErrorIs(t, err, unix.ENOTDIR)
	roottest.Unharmed(t, base, info)
}

// A root that has become another file's path is left to that.
func TestRootIsReplaced(t *testing.T) {
	for name, replace := range map[string]func(path, other string) error{
		"link": func(path, other string) error { return os.Symlink(other, path) },
		"dir":  func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"file": func(path, _ string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			base, secret := roottest.Outside(t)
			info, err := os.Lstat(secret)
			require.NoError(t, err)
			r := newRoot(t)
			require.NoError(t, os.WriteFile(r.path+"/f", nil, 0o600))
			require.NoError(t, os.Rename(r.path, r.path+"2"))
			require.NoError(t, replace(r.path, base))
			require.ErrorContains(t, r.Close(), "another file")
			_, err = os.Lstat(r.path)
			require.NoError(t, err)
			left, err := os.ReadDir(r.path + "2")
			require.NoError(t, err)
			require.Empty(t, left)
			roottest.Unharmed(t, base, info)
		})
	}
}

// A root is removed with all that is in it, but not with what is mounted there.
func TestRemoveDirectory(t *testing.T) {
	if !roottest.OwnMounts(t) {
		return
	}
	base, secret := roottest.Outside(t)
	info, err := os.Lstat(secret)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "root")
	require.NoError(t, os.MkdirAll(dir+"/d/m", 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, Marker), nil, 0o600))
	unmount := roottest.Bind(t, base, dir+"/d/m")
	Remove(dir)
	require.DirExists(t, base+"/dir")
	roottest.Unharmed(t, base, info)
	unmount()
	Remove(dir)
	require.NoDirExists(t, dir)
}
