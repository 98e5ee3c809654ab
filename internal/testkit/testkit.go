// Package testkit holds what the tests of several packages share: goldens, readers of
// made-up events, and spools in memory.
package testkit

import (
	"encoding/json"
	"flag"
	"fmt"
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

// Table requires that the first table of a page after a heading has these rows, of which the
// first one has the titles of the columns. With -update it writes the table.
func Table(t *testing.T, page, heading string, rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var want strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&want, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&want, "|%s\n", strings.Repeat(" --- |", len(row)))
		}
	}
	before, after, ok := strings.Cut(string(text), heading+"\n")
	require.True(t, ok, "%s has no heading %q", page, heading)
	start := strings.Index(after, "\n|") + 1
	require.Positive(t, start, "no table after %q", heading)
	end := start
	for strings.HasPrefix(after[end:], "|") {
		end += strings.IndexByte(after[end:], '\n') + 1
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+heading+"\n"+after[:start]+want.String()+after[end:]), 0o644))
		return
	}
	require.Equal(t, want.String(), after[start:end], "go test -update writes the table of %s in %s", heading, page)
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
