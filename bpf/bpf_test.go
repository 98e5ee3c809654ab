package bpf

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plain is a name of C or Go without what the two write differently.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// exported returns the names of constants that headers/layout.h defines, and of its enums.
func exported(t *testing.T) (constants map[string]string, enums []string) {
	text, err := os.ReadFile("headers/layout.h")
	require.NoError(t, err)
	constants = map[string]string{}
	comments := regexp.MustCompile(`(?s)/\*.*?\*/`)
	for _, enum := range regexp.MustCompile(`(?s)enum (\w+)(?: : \w+)? \{(.*?)\}`).FindAllStringSubmatch(comments.ReplaceAllString(string(text), ""), -1) {
		enums = append(enums, enum[1])
		for entry := range strings.SplitSeq(enum[2], ",") {
			if name, _, _ := strings.Cut(entry, "="); strings.TrimSpace(name) != "" {
				constants[plain(strings.TrimSpace(name))] = enum[1]
			}
		}
	}
	require.Greater(t, len(constants), 100)
	return constants, enums
}

// Go has all enums of the header, with all their constants.
func TestEnumsAreExported(t *testing.T) {
	constants, enums := exported(t)
	for _, arch := range []string{"x86", "arm64"} {
		text, err := os.ReadFile("recorder_" + arch + "_bpfel.go")
		require.NoError(t, err)
		generated := plain(string(text))
		for _, enum := range enums {
			require.True(t, strings.Contains(generated, "\ntype c"+plain(enum)+" "), "%s: enum %s is none of the types that doc.go names", arch, enum)
		}
		for name, enum := range constants {
			require.True(t, strings.Contains(generated, "\tc"+plain(enum)+name+" "), "%s: %s of enum %s", arch, name, enum)
		}
	}
}

// The recorders take constants of the header from here: no constant or variable of theirs has the
// name of one.
func TestConstantsAreNotWrittenAgain(t *testing.T) {
	constants, _ := exported(t)
	files := 0
	require.NoError(t, filepath.WalkDir("../record", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			values, ok := decl.(*ast.GenDecl)
			if !ok || values.Tok != token.CONST && values.Tok != token.VAR {
				continue
			}
			for _, spec := range values.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					require.Empty(t, constants[plain(name.Name)], "%s: %s is in this enum of headers/layout.h", path, name.Name)
				}
			}
		}
		return nil
	}))
	require.Greater(t, files, 50)
}
