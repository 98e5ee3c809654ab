// Package internal holds the tests of the rules by which the rooms import one
// another, and helpers for tests.
package internal

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rows returns the rows of the table in a page whose first column has a title, as
// cells without backticks.
func rows(t *testing.T, page, title string) (rows [][]string) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n| "+title+" |")
	require.True(t, found, title)
	for n, line := range strings.Split(table, "\n")[2:] {
		if !strings.HasPrefix(line, "|") {
			require.NotZero(t, n, title)
			break
		}
		rows = append(rows, strings.Split(strings.Trim(strings.ReplaceAll(line, "`", ""), "| "), " | "))
	}
	return rows
}

// within reports whether a package is one of several or below one.
func within(imported string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return imported == part || strings.HasPrefix(imported, part+"/") })
}

// TestRooms holds the rules for imports in ARCHITECTURE.md.
func TestRooms(t *testing.T) {
	const page = "../ARCHITECTURE.md"
	rooms, modules, narrower := make(map[string][]string), make(map[string][]string), make(map[string][]string)
	for _, row := range rows(t, page, "room | may import") {
		for room := range strings.SplitSeq(row[0], ", ") {
			rooms[room] = append(strings.Split(row[1], ", "), room, "internal")
		}
	}
	for _, row := range rows(t, page, "module | imported by") {
		for module := range strings.SplitSeq(row[0], ", ") {
			modules[module] = strings.Split(row[1], ", ")
		}
	}
	for _, row := range rows(t, page, "package | must not import") {
		narrower[row[0]] = strings.Split(strings.ReplaceAll(row[1], "/...", ""), ", ")
	}
	listed := rows(t, page, "package | purpose")
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	packages := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Greater(t, len(packages), 50)
	for _, line := range packages {
		words := strings.Fields(line)
		name := strings.TrimPrefix(words[0], "pianola/")
		room, _, _ := strings.Cut(name, "/")
		may, known := rooms[room]
		require.True(t, known, "%s: %s is no room of ARCHITECTURE.md", name, room)
		require.True(t, slices.ContainsFunc(listed, func(row []string) bool { return within(name, strings.Split(row[0], ", ")) }) || may[0] == "everything", "%s is not in the table of packages", name)
		for _, imported := range words[1:] {
			first, _, _ := strings.Cut(imported, "/")
			switch ours, is := strings.CutPrefix(imported, "pianola/"); {
			case is:
				require.True(t, may[0] == "everything" || within(ours, may), "%s must not import %s", name, ours)
			case strings.Contains(first, "."):
				users := modules[moduleOf(imported, modules)]
				require.True(t, within(name, users), "%s must not import %s", name, imported)
			}
			require.False(t, within(imported, narrower[name]), "%s must not import %s", name, imported)
		}
	}
}

// moduleOf returns the row of modules that an imported package belongs to.
func moduleOf(imported string, modules map[string][]string) string {
	for module := range modules {
		if within(imported, []string{module}) {
			return module
		}
	}
	return ""
}

// TestLean holds that the program does not grow by libraries that a command line
// never needs, and that it stays below 30 MB with what the writer of Parquet brings along.
func TestLean(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/pianola")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	linked := strings.Fields(string(out))
	require.Contains(t, linked, "pianola/format")
	for _, heavy := range []string{"encoding/gob", "github.com/nats-io/nats.go", "github.com/chromedp/chromedp"} {
		require.NotContains(t, linked, heavy)
	}
	program := filepath.Join(t.TempDir(), "pianola")
	cmd = exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", program, "./cmd/pianola")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	info, err := os.Stat(program)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(30e6))
}

// Package format/process tells what an event does. Consumers of events ask for that: few of
// them name an operation, and none an effect.
func TestWhoInterpretsEvents(t *testing.T) {
	effects, operations := regexp.MustCompile(`format\.Effect[A-Z]`), regexp.MustCompile(`case format\.Op[A-Z]`)
	ofEffects, ofOperations, facts := 0, 0, 0
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if path == "../format" || strings.HasPrefix(d.Name(), ".") && path != ".." {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		ofEffects += len(effects.FindAll(text, -1))
		ofOperations += len(operations.FindAll(text, -1))
		facts += bytes.Count(text, []byte(".Any(format."))
		return err
	}))
	require.LessOrEqual(t, ofEffects, 0, "effects that code outside of format names")
	require.LessOrEqual(t, ofOperations, 20, "cases of single operations outside of format")
	require.Greater(t, facts, 50, "the facts that are asked for instead")
}
