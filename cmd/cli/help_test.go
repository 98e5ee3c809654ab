package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// manuals returns the manuals of pianola and of all its commands.
func manuals() (all []*manual) {
	a := newApp()
	all = append(all, manualOfAll(a))
	for _, c := range allCommands(a.Commands) {
		all = append(all, manualOf(c))
	}
	return all
}

// -h fits on a screen, with an example before all else, and no help is wider than a
// terminal.
func TestHelpFits(t *testing.T) {
	const lines = 40
	for _, m := range manuals() {
		var short, long bytes.Buffer
		require.NoError(t, m.writeShort(&short))
		require.NoError(t, m.writeLong(&long))
		require.LessOrEqual(t, strings.Count(short.String(), "\n"), lines, "%s -h: options that few need are in long, not short", m.name)
		require.NotEmpty(t, m.examples, m.name)
		require.NotEmpty(t, m.text, m.name)
		require.Contains(t, strings.Join(strings.Split(short.String(), "\n")[:4], "\n"), "Examples:\n", m.name)
		for line := range strings.Lines(short.String() + long.String()) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), helpWidth, line)
			require.NotContains(t, line, "`", m.name)
		}
		for _, g := range m.options {
			for i := range g.options {
				require.Contains(t, long.String(), "  "+g.options[i].head())
				require.NotEmpty(t, g.options[i].does, "%s %s", m.name, g.options[i].names)
			}
		}
	}
}

func TestWrapped(t *testing.T) {
	word := strings.Repeat("x", helpWidth)
	require.Equal(t, "  a b", wrapped("a  b\n", 2))
	require.Equal(t, "a\n"+word+"\nb", wrapped("a "+word+" b", 0))
	require.Empty(t, wrapped("", 4))
}

// There is a page for each command, and mandoc, where it is installed, finds nothing
// wrong with them.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, WriteManPages(dir, "v0.1.0", time.Unix(1795000000, 0)))
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	require.NoError(t, err)
	require.Len(t, pages, len(manuals()))
	text, err := os.ReadFile(filepath.Join(dir, "pianola-record.1"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), ".TH PIANOLA\\-RECORD 1 \"2026-11-18\" \"pianola v0.1.0\" \"Pianola\"\n.SH NAME\npianola\\-record \\- record the I/O"), "%s", text)
	require.Contains(t, string(text), ".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\nwrite the recording to FILE")
	require.Contains(t, string(text), `sqlite3 app.db \(aq.read load.sql\(aq`)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, ".") {
			require.Contains(t, []string{"TH", "SH", "SS", "TP", "PP", "nf", "fi"}, strings.Fields(line[1:])[0], line)
		}
	}
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Skip("mandoc is not installed")
	}
	out, err := exec.Command("mandoc", slices.Concat([]string{"-T", "lint", "-W", "warning"}, pages)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
