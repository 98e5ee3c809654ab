package posix

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/roottest"
	"pianola/replay/sandbox"
)

// A directory that another process moves out of the root leads nowhere from
// there, though a replay's paths start in it.
func TestMovedOut(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		base, secret := roottest.Outside(t)
		info, err := os.Lstat(secret)
		require.NoError(t, err)
		path := filepath.Join(base, "outer/root")
		require.NoError(t, os.MkdirAll(filepath.Join(path, "d/below"), 0o755))
		dir, err := os.Open(path)
		require.NoError(t, err)
		defer dir.Close()
		e := bare(Options{})
		e.guard.Root = dir.Fd()
		defer e.guard.Close()
		for _, text := range []string{"d//../../secret", "d//../secret", "d//../../new", "d/below//../../../secret", "d//below"} {
			e.texts = append(e.texts, text)
			e.names = append(e.names, sandbox.NewName(text))
		}
		var got []int64
		require.NoError(t, sandbox.OnThread(func() error {
			if err := bind(&e.guard); err != nil {
				return err
			}
			e.openStartDirs()
			if err := moved(filepath.Join(path, "d"), filepath.Join(base, "outer/d2")); err != nil {
				return err
			}
			for i := range e.names {
				fd := e.guard.Open(&e.names[i], unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC, 0o600)
				if got = append(got, fd); fd >= 0 {
					e.guard.CloseFD(fd)
				}
			}
			e.closeStartDirs()
			return nil
		}))
		for i, fd := range got[:4] {
			require.Equal(t, -int64(unix.ENOENT), fd, e.texts[i])
		}
		roottest.Unharmed(t, base, info)
		require.NoFileExists(t, filepath.Join(base, "new"))
	})
}

// moved renames as another thread does, which sees all directories.
func moved(from, to string) error {
	done := make(chan error)
	go func() { done <- os.Rename(from, to) }()
	return <-done
}
