package internal

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// These patterns find names in the pages for contributors. Files, directories and tests
// are in backticks, functions also have parentheses: name() or Type.name(). NAME and
// PACKAGE are placeholders.
var (
	span       = regexp.MustCompile("`([^`]+)`")
	fileSpan   = regexp.MustCompile(`^[\w./*-]+$`)
	funcSpan   = regexp.MustCompile(`^(?:(\w+)\.)?(\w+)\(\)$`)
	testSpan   = regexp.MustCompile(`^(?:Test|Fuzz)\w+$`)
	makeTarget = regexp.MustCompile("(?:^|`|sudo )make ([a-z]+)")
	runFlag    = regexp.MustCompile(`go test \./([\w/]+) -run (Test\w+)`)
)

// TestPages holds that everything that the pages for contributors name exists. The
// functions and tests of a line are declared in the files of that line.
func TestPages(t *testing.T) {
	top := os.DirFS("..")
	makefile, err := fs.ReadFile(top, "Makefile")
	require.NoError(t, err)
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md"} {
		text, err := fs.ReadFile(top, page)
		require.NoError(t, err)
		files, functions := 0, 0
		for n, line := range strings.Split(string(text), "\n") {
			var declared strings.Builder // what the files of the line hold
			var wanted []string
			for _, s := range span.FindAllStringSubmatch(line, -1) {
				name := s[1]
				switch {
				case funcSpan.MatchString(name), testSpan.MatchString(name):
					wanted = append(wanted, name)
				case fileSpan.MatchString(name) && isFile(name):
					if strings.Contains(name, "NAME") || strings.Contains(name, "*") {
						name = path.Dir(name)
					}
					info, err := fs.Stat(top, name)
					require.NoError(t, err, "%s:%d", page, n+1)
					files++
					if info.Mode().IsRegular() {
						content, err := fs.ReadFile(top, name)
						require.NoError(t, err)
						declared.Write(content)
					}
				}
			}
			for _, name := range wanted {
				require.True(t, declaration(name).MatchString(declared.String()), "%s:%d: %s is not in the files of the line", page, n+1, name)
				functions++
			}
			for _, m := range runFlag.FindAllStringSubmatch(line, -1) {
				require.True(t, declaredIn(t, m[1], m[2]), "%s:%d: %s", page, n+1, m[2])
			}
			for _, m := range makeTarget.FindAllStringSubmatch(line, -1) {
				require.True(t, strings.Contains(string(makefile), "\n"+m[1]+":"), "%s:%d: make %s", page, n+1, m[1])
			}
		}
		require.Greater(t, files, 20, page)
		require.Greater(t, functions, 10, page)
	}
}

// isFile tells files and directories from other words.
func isFile(name string) bool {
	if first, _, _ := strings.Cut(name, "/"); first == "testdata" || strings.Contains(first, ".") { // or a module
		return false
	}
	switch path.Ext(name) {
	case ".go", ".c", ".h", ".js", ".md", ".sh", ".txt", ".txtar":
		return strings.Contains(name, "/")
	case "":
		return strings.Contains(name, "/") && !strings.HasPrefix(name, "/")
	}
	return false
}

// declaration returns a pattern of the line that declares a function, in Go, C or JavaScript.
func declaration(name string) *regexp.Regexp {
	m := funcSpan.FindStringSubmatch(name)
	switch {
	case m == nil:
		return regexp.MustCompile(`(?m)^func ` + name + `\(`)
	case m[1] == "":
		return regexp.MustCompile(`(?m)^(func|function|int|INLINE \w+) ` + m[2] + `\(`)
	}
	return regexp.MustCompile(`(?m)^func \(\w+ \*?` + m[1] + `\) ` + m[2] + `\(`)
}

// declaredIn reports whether a package has a test.
func declaredIn(t *testing.T, dir, name string) bool {
	files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(content), "func "+name+"(") {
			return true
		}
	}
	return false
}
