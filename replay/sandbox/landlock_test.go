package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A thread that obeys the rules reaches nothing outside of the root, by any
// path and without any other guard, and can do all that a trace needs in it.
func TestLandlock(t *testing.T) {
	base := t.TempDir()
	dir, err := os.Open(base)
	require.NoError(t, err)
	defer dir.Close()
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("x"), 0o600))
	require.NoError(t, os.MkdirAll(base+"/a/b", 0o700))
	require.NoError(t, os.Mkdir(base+"/c", 0o700))

	rules, err := newRules([]uintptr{dir.Fd()})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer unix.Close(rules)
	require.NoError(t, OnThread(func() error {
		if err := restrict(rules); err != nil {
			return err
		}
		_, err := unix.Open(outside, unix.O_RDONLY, 0)
		assert.Equal(t, unix.EACCES, err)
		assert.Equal(t, unix.EACCES, unix.Truncate(outside, 0))
		assert.Error(t, unix.Unlink(outside))
		assert.Error(t, unix.Mkdir(filepath.Dir(outside)+"/new", 0o700))
		assert.Error(t, unix.Link(outside, base+"/link"))
		assert.Error(t, unix.Mknod(base+"/device", unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
		assert.Equal(t, unix.EACCES, syscall.Exec("/bin/true", []string{"true"}, nil))

		fd, err := unix.Open(base+"/a/b/f", unix.O_RDWR|unix.O_CREAT, 0o600)
		assert.NoError(t, err)
		assert.NoError(t, unix.Ftruncate(fd, 10))
		assert.NoError(t, unix.Close(fd))
		assert.NoError(t, unix.Rename(base+"/a/b/f", base+"/c/f"), "into another directory")
		assert.NoError(t, unix.Symlink("f", base+"/c/s"))
		assert.NoError(t, unix.Unlink(base+"/c/f"))
		return nil
	}))
}
