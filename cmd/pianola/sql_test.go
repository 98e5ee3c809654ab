package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/internal/testkit"
)

// duckDB returns the directory in which DuckDB is installed for Node.js (make deps-sql).
// Without it the test is skipped, or fails where PIANOLA_REQUIRE_DUCKDB=1 says that it
// must be there.
func duckDB(t *testing.T) string {
	dir := os.Getenv("DUCKDB")
	if dir == "" {
		dir = filepath.Join("..", "..", "demo", "duckdb")
	}
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(dir, "node_modules", "@duckdb", "node-api"))
	if err == nil {
		_, err = exec.LookPath("node")
	}
	if err != nil {
		require.NotEqual(t, "1", os.Getenv("PIANOLA_REQUIRE_DUCKDB"), "no DuckDB: make deps-sql installs it")
		t.Skip("no DuckDB for Node.js: make deps-sql installs it")
	}
	return dir
}

// answer is a line of scripts/sql.mjs.
type answer struct {
	File    string
	Columns []string
	Rows    [][]any
}

// ask runs the questions of docs/sql in a dataset.
func ask(t *testing.T, duckdb, dataset string) (answers []answer) {
	questions, err := filepath.Glob("../../docs/sql/*.sql")
	require.NoError(t, err)
	require.Greater(t, len(questions), 12)
	args := []string{"../../scripts/sql.mjs", "../../docs/sql/views.sql"}
	for _, q := range questions {
		if filepath.Base(q) != "views.sql" {
			args = append(args, q)
		}
	}
	for i := range args {
		args[i], err = filepath.Abs(args[i])
		require.NoError(t, err)
	}
	c := exec.CommandContext(t.Context(), "node", args...)
	c.Dir, c.Env = dataset, append(os.Environ(), "DUCKDB="+duckdb)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	require.NoError(t, err, stderr.String())
	for line := range bytes.Lines(out) {
		var a answer
		require.NoError(t, json.Unmarshal(line, &a))
		answers = append(answers, a)
	}
	require.Len(t, answers, len(args)-1)
	return answers[1:]
}

// The questions of docs/sql have the right answers about a recording and its trace, and
// all can be asked about the log of a replay.
func TestSQL(t *testing.T) {
	t.Parallel()
	duckdb := duckDB(t)
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "pianola", args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	recording, err := os.ReadFile("testdata/sql/app.txt")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.txt"), recording, 0o600))
	run("compile", "-o", "app.bin", "app.txt")
	run("convert", "--format", "parquet", "-o", "dataset", "app.txt", "app.bin")
	var text strings.Builder
	for _, a := range ask(t, duckdb, filepath.Join(dir, "dataset")) {
		fmt.Fprintf(&text, "%s\n  %s\n", filepath.Base(a.File), strings.Join(a.Columns, "  "))
		for _, row := range a.Rows {
			for _, v := range row {
				fmt.Fprintf(&text, "  %v", v)
			}
			text.WriteByte('\n')
		}
		text.WriteByte('\n')
	}
	testkit.Golden(t, "sql/answers.golden", []byte(text.String()))

	run("replay", "--backend", "memory", "--log", "replay.log", "app.bin")
	run("convert", "--format", "parquet", "-o", "dataset", "replay.log")
	for _, a := range ask(t, duckdb, filepath.Join(dir, "dataset")) {
		if filepath.Base(a.File) == "compare.sql" {
			require.Contains(t, fmt.Sprint(a.Rows), "replay.log")
		}
	}
}
