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

// Golden requires that got equals the file of that name in testdata. With -update it
// writes the file.
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

// Goldens requires that make turns each .txt file in testdata into the .golden file of
// the same name, as Golden does.
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

// JSON returns a document in the form that the commands print.
func JSON(t *testing.T, document any) []byte {
	t.Helper()
	text, err := json.MarshalIndent(document, "", "  ")
	require.NoError(t, err)
	return append(text, '\n')
}
