package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Clear empties a root that a replay has left, and nothing else.
func TestClear(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorIs(t, Clear(dir), ErrRoot)
	require.FileExists(t, file)

	require.NoError(t, os.WriteFile(filepath.Join(dir, marker), nil, 0o600))
	require.NoError(t, Clear(dir))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, Clear(dir), "an empty one")
	require.NoError(t, Clear(filepath.Join(dir, "none")))
	require.NoDirExists(t, filepath.Join(dir, "none"))
}
