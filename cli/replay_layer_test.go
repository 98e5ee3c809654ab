package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/internal/roottest"
	"pianola/replay/sandbox"
)

// A root is removed with all that is in it, but not with what is mounted there.
func TestRemoveRoot(t *testing.T) {
	if !roottest.OwnMounts(t) {
		return
	}
	base, secret := roottest.Outside(t)
	info, err := os.Lstat(secret)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "root")
	require.NoError(t, os.MkdirAll(dir+"/d/m", 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, sandbox.Marker), nil, 0o600))
	unmount := roottest.Bind(t, base, dir+"/d/m")
	removeRoot(dir)
	require.DirExists(t, base+"/dir")
	roottest.Unharmed(t, base, info)
	unmount()
	removeRoot(dir)
	require.NoDirExists(t, dir)
}
