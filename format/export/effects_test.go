package export

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlain(t *testing.T) {
	for path, want := range map[string]string{"a/b": "a/b", "a//b/c": "a/b/c", "": "", "a//b/": "a/b/"} {
		given := []byte(path)
		require.Equal(t, want, string(plain(given)))
		require.Equal(t, path, string(given), "what was given is not touched")
	}
}
