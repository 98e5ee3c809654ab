package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A file that someone else put in the place of that of rank 0 is refused at once.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	name := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(name("own"), []byte("text"), 0o600))
	text, err := readFile(name("own"))
	require.NoError(t, err)
	require.Equal(t, "text", string(text))

	require.NoError(t, unix.Mkfifo(name("pipe"), 0o600))
	require.NoError(t, os.Symlink(name("own"), name("link")))
	for _, wrong := range []string{"pipe", "link", "."} {
		_, err = readFile(name(wrong))
		require.Error(t, err, wrong)
	}
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(name("own"), 1234, 1234))
		_, err = readFile(name("own"))
		require.ErrorIs(t, err, os.ErrPermission)
	}

	require.NoError(t, os.WriteFile(name("long"), []byte(strings.Repeat("x", maxPlace+1)), 0o600))
	text, err = readFile(name("long"))
	require.NoError(t, err)
	require.Len(t, text, maxPlace)
}
