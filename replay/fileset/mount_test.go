package fileset

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/sandbox"
)

// outsideRoot returns a function that calls f once, on a thread that no guard has bound.
func outsideRoot(f func()) func() {
	return sync.OnceFunc(func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	})
}

// A mount that is made while files are prepared is not crossed: neither where files are
// restored nor where they are made.
func TestPreparationCrossesNoMount(t *testing.T) {
	if !roottest.OwnMounts(t) {
		return
	}
	files := []format.File{
		{Path: "d", Type: format.TypeDir, Mode: 0o755},
		{Path: "d/m", Type: format.TypeDir, Mode: 0o711},
		{Path: "d/m/secret", Type: format.TypeReg, Mode: 0o600, Size: 100, Cached: -1},
		{Path: "d/m/new", Type: format.TypeReg, Mode: 0o600, Size: 1},
		{Path: "d/file", Type: format.TypeReg, Mode: 0o640, Size: 100, Cached: -1},
		{Path: "d/m/hard", Type: format.TypeReg, Link: "d/file"},
	}
	for _, when := range []string{"before entering", "after entering", "while files are made"} {
		t.Run(when, func(t *testing.T) {
			roottest.EachBinding(t, func(t *testing.T, jail bool) {
				base, secret := roottest.Outside(t)
				info, err := os.Lstat(secret)
				require.NoError(t, err)
				dir := filepath.Join(t.TempDir(), "root")
				if when != "while files are made" {
					_, err := prepare(t.Context(), dir, files, Options{})
					require.NoError(t, err)
				}
				mount := outsideRoot(func() {
					assert.NoError(t, unix.Mount(base, dir+"/d/m", "", unix.MS_BIND, ""))
					if when != "while files are made" {
						assert.NoError(t, unix.Mount(secret, dir+"/d/file", "", unix.MS_BIND, ""))
					}
				})
				o := Options{Bind: func(g *sandbox.Guard) error {
					if when == "before entering" {
						mount()
					}
					err := g.Enter(jail)
					if when == "after entering" {
						mount()
					}
					return err
				}, Progress: func(p Progress) {
					if when == "while files are made" && p.Files >= 2 { // the directories
						mount()
					}
				}}
				if _, err = prepare(t.Context(), dir, files, o); jail {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, sandbox.ErrMount)
					require.ErrorContains(t, err, `"d/`)
				}
				_, err = prepare(t.Context(), dir, files, Options{})
				require.ErrorIs(t, err, sandbox.ErrMount)
				require.NoError(t, unix.Unmount(dir+"/d/m", unix.MNT_DETACH))
				_ = unix.Unmount(dir+"/d/file", unix.MNT_DETACH)
				after, err := os.Lstat(base)
				require.NoError(t, err)
				require.Equal(t, os.ModeDir|0o755, after.Mode())
				names, err := filepath.Glob(base + "/*")
				require.NoError(t, err)
				require.Equal(t, []string{base + "/dir", secret}, names)
				roottest.Unharmed(t, base, info)
			})
		})
	}
}

// The mode of a file is not set through a mount on it that was made later, also where
// there is neither a jail nor /proc, nor fchmodat2.
func TestModeCrossesNoMount(t *testing.T) {
	if !roottest.OwnMounts(t) {
		return
	}
	base, secret := roottest.Outside(t)
	info, err := os.Lstat(secret)
	require.NoError(t, err)
	path := t.TempDir()
	require.NoError(t, os.WriteFile(path+"/mounted", nil, 0o600))
	require.NoError(t, os.Mkdir(path+"/d", 0o700))
	root, err := os.Open(path)
	require.NoError(t, err)
	defer root.Close()
	unmount := roottest.Bind(t, secret, path+"/mounted")
	for _, lacks := range []uintptr{0, unix.SYS_FCHMODAT2} {
		for _, proc := range []bool{true, false} {
			if !proc {
				require.NoError(t, unix.Mount("tmpfs", "/proc", "tmpfs", 0, ""))
			}
			require.NoError(t, os.WriteFile(path+"/file", nil, 0o600))
			require.NoError(t, sandbox.OnThread(func() error {
				g := sandbox.Guard{Root: root.Fd(), Kernel: func(trap, a, b, c, d, e, f uintptr) int64 {
					if trap == lacks {
						return -int64(unix.ENOSYS)
					}
					return sandbox.Linux(trap, a, b, c, d, e, f)
				}}
				defer g.Close()
				if err := g.Enter(false); err != nil {
					return err
				}
				assert.Equal(t, !proc, g.LacksProc())
				w := &worker{guard: g}
				assert.ErrorIs(t, w.chmod("mounted", 0o640), sandbox.ErrMount)
				assert.NoError(t, w.chmod("d", 0o711))
				return w.chmod("file", 0o640)
			}))
			if !proc {
				require.NoError(t, unix.Unmount("/proc", unix.MNT_DETACH))
			}
			for name, mode := range map[string]os.FileMode{"/file": 0o640, "/d": os.ModeDir | 0o711} {
				got, err := os.Lstat(path + name)
				require.NoError(t, err)
				require.Equal(t, mode, got.Mode())
				require.NoError(t, os.Chmod(path+name, 0o700))
			}
		}
	}
	unmount()
	roottest.Unharmed(t, base, info)
}
