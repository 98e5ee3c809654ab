package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"pianola/internal/testkit/recordkit"
	"pianola/record/ebpf"
)

// Every "$ command" of a console block of the README is run, in order and in
// one directory, and must succeed.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it records a whole program")
	}
	recordkit.RequireEBPF(t, ebpf.MeasureCost)
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	script, commands := "[!sqlite3] skip 'sqlite3 is not installed'\n", 0
	for _, block := range strings.Split(string(text), "```console\n")[1:] {
		block, _, closed := strings.Cut(block, "```")
		require.True(t, closed, "a console block has no end")
		for line := range strings.Lines(block) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
			if !ok || strings.HasPrefix(command, "make ") {
				continue // make calls this test
			}
			if strings.HasPrefix(command, "pianola compare ") {
				command += " || case $? in 1|3) ;; *) exit 1;; esac" // a verdict, which depends on the machine
			}
			script += fmt.Sprintf("exec sh -c '%s'\n", strings.ReplaceAll(command, "'", "''"))
			commands++
		}
	}
	require.NotZero(t, commands)
	name := filepath.Join(t.TempDir(), "readme.txtar")
	require.NoError(t, os.WriteFile(name, []byte(script), 0o644))
	testscript.Run(t, testscript.Params{Files: []string{name}, Condition: condition})
}
