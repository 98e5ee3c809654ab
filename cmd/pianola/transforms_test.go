package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// Every command of the page about transforms prints what the page shows below it. The
// files that it is about are those that the page shows by cat.
func TestTransformsPage(t *testing.T) {
	if raceDetector() {
		t.Skip("under the race detector: it is about text")
	}
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/transforms.md")
	require.NoError(t, err)
	commands, files := "", ""
	for i, block := range strings.Split(string(page), "```console\n$ ")[1:] {
		block, _, closed := strings.Cut(block, "```")
		require.True(t, closed, "a console block has no end")
		command, output, _ := strings.Cut(block, "\n")
		if name, shown := strings.CutPrefix(command, "cat "); shown {
			files += fmt.Sprintf("-- %s --\n%s", name, output)
			continue
		}
		commands += fmt.Sprintf("exec sh -c '%s'\ncmp stdout want%d\n", strings.ReplaceAll(command, "'", "''"), i)
		files += fmt.Sprintf("-- want%d --\n%s", i, output)
	}
	require.NotEmpty(t, commands)
	script := filepath.Join(t.TempDir(), "transforms.txtar")
	require.NoError(t, os.WriteFile(script, []byte(commands+files), 0o644))
	testscript.Run(t, testscript.Params{Files: []string{script}, Condition: condition})
}
