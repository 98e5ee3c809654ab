// Package testkit holds what the tests of several packages share: goldens, readers of
// made-up events, and spools in memory.
package testkit

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
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
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "go test -update writes %s", path)
}

// Goldens requires of each .txt file in testdata that make turns its text into
// what stands in the .golden file of the same name, as Golden has it.
func Goldens(t *testing.T, make func(t *testing.T, input []byte) []byte) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			input, err := os.ReadFile(file)
			require.NoError(t, err)
			Golden(t, name+".golden", make(t, input))
		})
	}
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
