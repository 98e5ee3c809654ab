package output

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/files"
)

// The oldest scripts of a flight recorder are removed when a new one is complete, and one that can't
// be completed is removed itself.
func TestWindows(t *testing.T) {
	dir := t.TempDir()
	s := (&Options{Scripts: 2, Files: new(files.Set)}).series(filepath.Join(dir, "t.txt"))
	there := func() (names []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	write := func(fails bool) {
		script, err := s.window()
		require.NoError(t, err)
		require.NoError(t, script.WriteHeader(&format.Header{Meta: []format.Meta{{Key: format.MetaCommand, Value: "x"}}}))
		if fails {
			of := script.(*window).file
			require.NoError(t, of.File.Close())
			of.File, err = os.Open(script.Name()) // which takes no writes
			require.NoError(t, err)
			require.Error(t, script.WriteHeader(&format.Header{Meta: []format.Meta{{Key: format.MetaLost, Value: "0"}}}))
		}
		require.NoError(t, script.Close())
	}
	write(false)
	write(false)
	written := s.written
	require.Positive(t, written)
	require.Equal(t, []string{"t.000001.txt", "t.000002.txt"}, there())
	script, err := s.window()
	require.NoError(t, err)
	require.Len(t, there(), 3, "until it is complete")
	require.NoError(t, script.Close())
	require.Equal(t, []string{"t.000002.txt", "t.000003.txt"}, there())
	require.Equal(t, 3, s.opened)
	write(true)
	require.Equal(t, 3, s.opened)
	require.Len(t, s.names, 2)
	require.Equal(t, []string{"t.000002.txt", "t.000003.txt"}, there())
	require.Equal(t, written, s.written)
}
