package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeBuild is a build whose program is a script of the shell.
func fakeBuild(t *testing.T, dir, name, program string) *build {
	b := &build{name: name, pianola: filepath.Join(dir, name, "pianola")}
	require.NoError(t, os.Mkdir(filepath.Dir(b.pianola), 0o755))
	require.NoError(t, os.WriteFile(b.pianola, []byte("#!/bin/sh\n"+program), 0o755))
	return b
}

// The guard names what is worse in the tree, and what can't be compared, and no more.
func TestGuard(t *testing.T) {
	top, err := filepath.Abs("../..")
	require.NoError(t, err)
	t.Setenv("TOP", top)
	t.Setenv("LC_ALL", "C")
	const program = "case $1 in new) exit 1 ;; slow) echo 1 ;; added) echo 1.25 ;; *) echo 1 ;; esac"
	figure := `note "$("$PIANOLA" $1) run time, s"`
	of := func(name string, sides ...side) study {
		return study{name: name, home: "xfs", rows: []row{{name: "row", words: name}}, sides: sides}
	}
	guarded := side{name: "a", guard: true, do: figure}
	studies := map[string]study{
		"equal":  of("equal", guarded),
		"slow":   of("slow", side{name: "not guarded", do: "exit 1"}, guarded),
		"new":    of("new", guarded),
		"seeded": {name: "seeded", home: "here", rows: []row{{name: "row", words: "new"}}, once: figure, sides: []side{guarded}},
		"lacks":  of("lacks", side{name: "a", guard: true, do: "needs nosuch-program"}),
		"added":  of("added", side{name: "plain", do: "note 1 run time, s"}, side{name: "a", of: "plain", guard: true, added: true, do: figure}),
		"input":  {name: "input", home: "here", rows: []row{{name: "row", input: "races.txt"}}, sides: []side{{name: "a", guard: true, do: `note "$(grep -c mkdir "$OUT/races.txt") bytes"`}}},
		"broken": of("broken", side{name: "a", guard: true, do: "case $PIANOLA in */tree/*) exit 7 ;; esac"}),
	}
	tests := []struct {
		only string
		err  error
		out  []string
	}{
		{"equal input", nil, []string{"equal/row/a .* 1.000 ", "input/row/a .* 2e\\+05 ", "nothing that was compared is worse than base"}},
		{"slow equal", errWorse, []string{"once more", `worse than base by more than 5 %:\n  slow/row/a: run time, s: 2 instead of 1, 2.00 times`}},
		{"new equal", errLeft, []string{"base can't: .*", "not compared: new/row/a\n"}},
		{"seeded", errLeft, []string{"not compared: seeded/row/a\n"}},
		{"lacks", errLeft, []string{"nosuch-program is not here", "not compared: lacks/row/a\n"}},
		{"added", errWorse, []string{"added, %: 50 instead of 25, 2.00 times"}},
	}
	for _, tt := range tests {
		t.Run(tt.only, func(t *testing.T) {
			dir := t.TempDir()
			base := fakeBuild(t, dir, "base", program)
			tree := fakeBuild(t, dir, "tree", "case $1 in slow) echo 2 ;; added) echo 1.5 ;; *) echo 1 ;; esac")
			var all []study
			for _, name := range []string{"equal", "slow", "new", "seeded", "lacks", "added", "input"} {
				all = append(all, studies[name])
			}
			g := guard{base: "base", only: tt.only, rounds: 1}
			var got error
			said := printedBy(t, func() { got = g.compare(t.Context(), all, &workshop{tree: tree, dir: dir}, base, tree) })
			require.ErrorIs(t, got, tt.err)
			for _, line := range tt.out {
				require.Regexp(t, line, said)
			}
			left, err := filepath.Glob(filepath.Join(dir, "*", "row"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
	dir := t.TempDir()
	base, tree := fakeBuild(t, dir, "base", program), fakeBuild(t, dir, "tree", program)
	g := guard{base: "base", rounds: 1}
	printedBy(t, func() {
		err = g.compare(t.Context(), []study{studies["broken"]}, &workshop{tree: tree, dir: dir}, base, tree)
	})
	require.ErrorContains(t, err, "a: ended early, with status 7", "the tree itself fails")
	g.only = "nosuch"
	printedBy(t, func() { err = g.compare(t.Context(), []study{studies["equal"]}, &workshop{dir: dir}, base, tree) })
	require.ErrorContains(t, err, "nosuch")
}

// printedBy returns what a function prints.
func printedBy(t *testing.T, f func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	require.NoError(t, err)
	defer file.Close()
	stdout := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = stdout }()
	f()
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	return string(text)
}
