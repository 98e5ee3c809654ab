package ownfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	name := func(name string) string { return filepath.Join(dir, name) }
	own := name("own")
	require.NoError(t, os.WriteFile(own, []byte("text"), 0o600))
	text, err := Read(own, 4)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
	_, err = Read(own, 3)
	require.EqualError(t, err, own+" is larger than 3 bytes")

	_, err = Read(name("none"), 4)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.Symlink(own, name("link")))
	_, err = Read(name("link"), 4)
	require.ErrorIs(t, err, unix.ELOOP)
	require.NoError(t, unix.Mkfifo(name("pipe"), 0o600))
	for _, wrong := range []string{"pipe", "."} {
		_, err = Read(name(wrong), 4)
		require.ErrorIs(t, err, os.ErrPermission, wrong)
	}
	for _, mode := range []os.FileMode{0o620, 0o602} {
		require.NoError(t, os.Chmod(own, mode))
		_, err = Read(own, 4)
		require.EqualError(t, err, "others can write to "+own+": permission denied")
	}
	require.NoError(t, os.Chmod(own, 0o644))
	_, err = Read(own, 4)
	require.NoError(t, err)
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(own, 1234, 1234))
		_, err = Read(own, 4)
		require.EqualError(t, err, own+" belongs to user 1234, not to 0: permission denied")
	}
}
