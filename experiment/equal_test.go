package experiment

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two traces are the same only if every byte is.
func TestEqual(t *testing.T) {
	file := func(size int, last byte) *os.File {
		name := filepath.Join(t.TempDir(), "trace")
		require.NoError(t, os.WriteFile(name, append(make([]byte, size), last), 0o600))
		f, err := os.Open(name)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	for _, size := range []int{0, 10, 1<<16 - 1, 1 << 16, 3<<16 + 5} {
		for _, c := range []struct {
			b    *os.File
			want bool
		}{{file(size, 1), true}, {file(size, 2), false}, {file(size+1, 1), false}} {
			same, err := equal(file(size, 1), c.b)
			require.NoError(t, err)
			require.Equal(t, c.want, same, size)
		}
	}
	closed := file(3, 1)
	closed.Close()
	_, err := equal(file(3, 1), closed)
	require.Error(t, err)
}
