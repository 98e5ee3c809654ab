package sandbox

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/roottest"
)

// A mount below a root is refused before anything is changed, also one that was made
// while the root was open. The root may itself be a mount point.
func TestMountsBelow(t *testing.T) {
	if !roottest.OwnMounts(t) {
		return
	}
	base, secret := roottest.Outside(t)
	info, err := os.Lstat(secret)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), `a root\040`)
	require.NoError(t, os.Mkdir(path, 0o700))
	for name, roots := range map[string]func() func(){
		"directory":   func() func() { return func() {} },
		"mount point": func() func() { return roottest.Bind(t, t.TempDir(), path) },
	} {
		t.Run(name, func(t *testing.T) {
			defer roots()()
			fresh, err := OpenRoot(path, nil)
			require.NoError(t, err)
			require.NoError(t, fresh.Mark("x"))
			fresh.Keep()
			require.NoError(t, os.MkdirAll(path+"/d/a b", 0o700))
			require.NoError(t, os.WriteFile(path+"/file", nil, 0o600))
			require.NoError(t, fresh.Close())
			for _, m := range [][2]string{{base, "d/a b"}, {secret, "file"}, {secret, Marker}} {
				r, err := OpenRoot(path, nil)
				require.NoError(t, err)
				unmount := roottest.Bind(t, m[0], filepath.Join(path, m[1]))
				refused := func(err error) {
					t.Helper()
					require.ErrorIs(t, err, ErrMount)
					require.ErrorContains(t, err, `"`+m[1]+`" is a mount point`)
				}
				refused(r.Empty())
				require.NoError(t, r.Close())
				_, err = OpenRoot(path, nil)
				refused(err)
				_, err = JoinRoot(path)
				refused(err)
				refused(Clear(path))
				unmount()
				require.DirExists(t, path+"/d/a b")
				require.FileExists(t, path+"/file")
				roottest.Unharmed(t, base, info)
			}
			require.NoError(t, Clear(path))
			entries, err := os.ReadDir(path)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// The same with roots of several traces: a root that is a mount point is below the
// directory that holds them.
func TestMountsBelowSeveralRoots(t *testing.T) {
	if !roottest.OwnMounts(t) {
		return
	}
	base, secret := roottest.Outside(t)
	info, err := os.Lstat(secret)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "root")
	parent, err := OpenParent(path)
	require.NoError(t, err)
	parent.Keep()
	r, err := OpenRoot(path+"/a", parent)
	require.NoError(t, err)
	require.NoError(t, r.Mark("x"))
	r.Keep()
	require.NoError(t, os.Mkdir(path+"/a/d", 0o700))
	require.NoError(t, os.WriteFile(path+"/a/file", nil, 0o600))
	require.NoError(t, r.Close())
	require.NoError(t, parent.Close())
	for _, m := range [][2]string{{t.TempDir(), "a"}, {base + "/dir", "a/d"}, {secret, "a/file"}, {secret, Marker}} {
		parent, err := OpenParent(path)
		require.NoError(t, err)
		unmount := roottest.Bind(t, m[0], filepath.Join(path, m[1]))
		_, late := OpenRoot(path+"/a", parent)
		require.NoError(t, parent.Close())
		_, early := OpenParent(path)
		for _, err := range []error{late, early} {
			require.ErrorIs(t, err, ErrMount)
			require.ErrorContains(t, err, `"`+m[1]+`" is a mount point`)
		}
		unmount()
		roottest.Unharmed(t, base, info)
		if entries, err := os.ReadDir(m[0]); err == nil {
			require.Empty(t, entries)
		}
		require.DirExists(t, path+"/a/d")
		require.FileExists(t, path+"/a/file")
	}
}

// A mount that is made while files are removed is not crossed, whether or not the root
// could be mounted alone.
func TestRemoveCrossesNoMount(t *testing.T) {
	if !roottest.OwnMounts(t) {
		return
	}
	for _, alone := range []bool{true, false} {
		base, secret := roottest.Outside(t)
		info, err := os.Lstat(secret)
		require.NoError(t, err)
		r := newRoot(t)
		require.True(t, r.ownMount)
		if r.ownMount = alone; !alone {
			require.NoError(t, r.tree.Close())
			r.tree, err = os.Open(r.path)
			require.NoError(t, err)
		}
		require.NoError(t, os.MkdirAll(r.path+"/d/m", 0o700))
		unmount := roottest.Bind(t, base, r.path+"/d/m")
		for _, name := range []string{"d/m/secret", "d/m/dir"} {
			if err := r.Remove(name); alone {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrMount)
			}
		}
		child, err := r.openUp(int(r.tree.Fd()), "d")
		require.NoError(t, err)
		if inside, err := r.openUp(int(child.Fd()), "m"); alone {
			require.NoError(t, err)
			require.NoError(t, inside.Close())
		} else {
			require.ErrorIs(t, err, ErrMount)
		}
		require.NoError(t, child.Close())
		require.ErrorIs(t, r.Remove("d"), unix.EBUSY)
		require.DirExists(t, base+"/dir")
		roottest.Unharmed(t, base, info)
		unmount()
		require.NoError(t, r.Close())
		require.NoDirExists(t, r.path)
	}
}

// A thread of a replay crosses no mount, whether that is there when it enters the root or
// is made later.
func TestGuardCrossesNoMount(t *testing.T) {
	if !roottest.OwnMounts(t) {
		return
	}
	roottest.EachBinding(t, func(t *testing.T, jail bool) {
		for _, late := range []bool{false, true} {
			base, secret := roottest.Outside(t)
			require.NoError(t, os.Symlink("secret", base+"/link"))
			info, err := os.Lstat(secret)
			require.NoError(t, err)
			path := t.TempDir()
			require.NoError(t, os.MkdirAll(path+"/d/m", 0o700))
			require.NoError(t, os.WriteFile(path+"/d/file", nil, 0o600))
			require.NoError(t, os.Symlink("d/m/secret", path+"/link"))
			dir, err := os.Open(path)
			require.NoError(t, err)
			defer dir.Close()
			mount := func() {
				done := make(chan struct{})
				go func() { // the thread of the guard sees only the root
					defer close(done)
					assert.NoError(t, unix.Mount(base, path+"/d/m", "", unix.MS_BIND, ""))
					assert.NoError(t, unix.Mount(secret, path+"/d/file", "", unix.MS_BIND, ""))
				}()
				<-done
			}
			g := Guard{Kernel: Linux, Root: dir.Fd()}
			defer g.Close()
			require.NoError(t, OnThread(func() error {
				if !late {
					mount()
				}
				if err := g.Enter(jail); err != nil {
					return err
				}
				if late {
					mount()
				}
				outside := func(fd int64) {
					var is unix.Stat_t
					if fd >= 0 && assert.NoError(t, unix.Fstat(int(fd), &is)) {
						assert.NotEqual(t, info.Sys().(*syscall.Stat_t).Ino, is.Ino)
						g.CloseFD(fd)
					}
				}
				for _, name := range []string{"d/file", "d/m/secret", "link", "d/m/link", "d/m/dir", "d/m"} {
					n := NewName(name)
					outside(g.Open(&n, unix.O_WRONLY|unix.O_TRUNC|unix.O_CLOEXEC, 0))
					outside(g.Open(&n, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0))
					for _, follow := range []bool{false, true} {
						if fd, last, flags := g.Target(&n, follow); !Unresolved(fd) {
							g.Kernel(unix.SYS_FCHOWNAT, uintptr(fd), last, ^uintptr(0), ^uintptr(0), flags, 0)
							g.Kernel(unix.SYS_UTIMENSAT, uintptr(fd), last, 0, flags, 0, 0)
							g.Release(fd)
						}
						if fd, path, _ := g.Path(&n, follow); !Unresolved(fd) {
							g.Kernel.Call(unix.SYS_FCHMODAT, CWD, path, 0o777)
							g.Release(fd)
						}
					}
					if fd, last := g.Entry(&n); !Unresolved(fd) {
						g.Kernel.Call(unix.SYS_UNLINKAT, uintptr(fd), last, 0)
						g.Kernel.Call(unix.SYS_UNLINKAT, uintptr(fd), last, unix.AT_REMOVEDIR)
						g.Release(fd)
					}
				}
				for _, root := range g.Roots() {
					d := g.OpenDir(root, CString("d"))
					assert.GreaterOrEqual(t, d, int64(0))
					if fd := g.OpenDir(uintptr(d), CString("m")); fd >= 0 {
						assert.Equal(t, -int64(unix.ENOENT), g.OpenDir(uintptr(fd), CString("dir")))
						g.CloseFD(fd)
					}
					g.CloseFD(d)
				}
				return nil
			}))
			for _, name := range []string{"/d/m", "/d/file"} {
				require.NoError(t, unix.Unmount(path+name, unix.MNT_DETACH))
			}
			require.DirExists(t, base+"/dir")
			after, err := os.Lstat(base)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o755)|os.ModeDir, after.Mode())
			roottest.Unharmed(t, base, info)
		}
	})
}
