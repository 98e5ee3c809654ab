// Prose checks the language of the files that it is given, or of all files of
// the repository: documents, comments in Go and C, and the texts in Go that
// people read, such as help and messages. Vale does the work, with the rules in
// .vale. Prose ends with 1 if an error was found. It runs in the root of the
// repository.
//
//	go run ./scripts/prose [-level error|warning|suggestion] [FILE…]
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	level := flag.String("level", "error", "least severe alerts to print: error, warning or suggestion")
	list := flag.Bool("texts", false, "print the texts of the Go files, and check nothing")
	flag.Parse()
	found, err := run(*level, *list, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(2)
	}
	if found {
		os.Exit(1)
	}
}

// run reports whether Vale found an error.
func run(level string, list bool, files []string) (bool, error) {
	if len(files) == 0 {
		out, err := exec.Command("git", "-c", "safe.directory=*", "ls-files", "*.md", "*.go", "*.c", "*.h").Output()
		if err != nil {
			return false, fmt.Errorf("list files: %w", err)
		}
		files = strings.Fields(string(out))
	}
	var t texts
	for _, name := range files {
		if filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			if err := t.add(name); err != nil {
				return false, err
			}
		}
	}
	if list {
		t.print(os.Stdout)
		return false, nil
	}
	alerts, err := vale(level, &t, files)
	if err != nil {
		return false, err
	}
	bad := false
	for _, a := range alerts {
		bad = bad || a.Severity == "error"
		fmt.Printf("%s:%d: %s: %s: %s\n", a.file, a.Line, a.Severity, a.Check, a.Message)
	}
	return bad, nil
}

// alert is one finding, as Vale prints it.
type alert struct {
	file     string
	Line     int
	Check    string
	Message  string
	Severity string
}

// vale returns what Vale finds in the files and in the texts, by file and line.
func vale(level string, t *texts, files []string) ([]alert, error) {
	dir, err := os.MkdirTemp("", "prose")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	document := filepath.Join(dir, "texts.md")
	if err := os.WriteFile(document, t.document.Bytes(), 0o600); err != nil {
		return nil, err
	}
	args := []string{"tool", "-modfile=.vale/go.mod", "vale", "--config=.vale/vale.ini", "--output=JSON", "--minAlertLevel=" + level, document}
	cmd := exec.Command("go", append(args, files...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS=-O1 -w", "CGO_CXXFLAGS=-O1 -w") // of the parsers in Vale
	cmd.Stderr = os.Stderr
	out, err := cmd.Output() // fails if there is an error among the alerts, too
	var found map[string][]alert
	if json.Unmarshal(out, &found) != nil {
		return nil, fmt.Errorf("vale: %w: %s", err, bytes.TrimSpace(out))
	}
	var all []alert
	for file, alerts := range found {
		for _, a := range alerts {
			if a.file = file; file == document {
				a.file, a.Line = t.origin(a.Line)
			}
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b alert) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Check, b.Check))
	})
	return slices.Compact(all), nil
}
