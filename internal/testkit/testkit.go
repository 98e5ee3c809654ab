// Package testkit holds what the tests of several packages share: goldens, and
// readers of made-up events.
package testkit

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// Golden requires that got is what stands in the file of that name in testdata;
// with -update it writes it there.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// Broken is a writer that fails with os.ErrClosed.
type Broken struct{}

func (Broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

// JSON returns a document as the commands print it.
func JSON(t *testing.T, document any) []byte {
	t.Helper()
	text, err := json.MarshalIndent(document, "", "  ")
	require.NoError(t, err)
	return append(text, '\n')
}
