package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/cmd/cli"
	"pianola/record/ebpf"
	"pianola/record/recordkit"
)

// inconclusive is the status of a comparison that can't tell. On a machine that is busy with
// something else that is the right answer, whatever the page has.
var inconclusive = fmt.Sprintln(cli.ExitInconclusive)

// Every command of the README, the tutorial and the recipes works, and prints something
// where the page says so. The outputs depend on the machine, except for statuses that the
// page prints. The files that a page is about are those that it shows by cat. With
// UPDATE_RECIPES the pages get what is printed. A page may leave out lines of an output: it
// has "…" in their place. In no output is there a row of a table that stands for no run.
func TestRecipes(t *testing.T) {
	if testing.Short() {
		t.Skip("short: they record and replay whole programs")
	}
	pages, err := filepath.Glob("../../docs/recipes/*.md")
	require.NoError(t, err)
	require.Len(t, pages, recipes)
	linkWorkloads(t)
	for _, page := range append(pages, "../../docs/tutorial.md", "../../README.md") {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			r, update := recipeOf(t, string(text)), os.Getenv("UPDATE_RECIPES") != ""
			for _, command := range r.commands {
				if !update {
					require.Empty(t, withoutRuns(command.output), "$ %s", command.line)
				}
			}
			recordkit.RequireEBPF(t, ebpf.MeasureCost)
			for _, program := range needs.FindAllString(string(text), -1) {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("%s is not installed", program)
				}
			}
			got := r.run(t)
			for i, command := range r.commands {
				require.Empty(t, withoutRuns(got[i]), "$ %s", command.line)
			}
			if update {
				require.NoError(t, os.WriteFile(page, []byte(r.with(got)), 0o644))
				return
			}
			for i, command := range r.commands {
				if command.line == "echo $?" && got[i] != inconclusive {
					require.Equal(t, command.output, got[i])
				}
				require.Equal(t, command.output == "", got[i] == "", "$ %s\n%s", command.line, got[i])
			}
		})
	}
}

// Rows without runs are found in tables of any number of columns.
func TestWithoutRuns(t *testing.T) {
	require.Equal(t, []string{"split        –         –      –       0     0       0"}, withoutRuns(`run time     seconds   ratio  gain    runs  failed  differed
application  0.644131  1.697  –       –     –       –
same         0.379676  –      –       6     0       0
split        –         –      –       0     0       0

0 runs
`))
	require.Equal(t, []string{"split: left out: exit status 1"}, withoutRuns("a  runs\nb  10\n\nsplit: left out: exit status 1\n"))
	require.Empty(t, withoutRuns("the runs  of a\nb  0\n\nruns  seconds\n\n0     0.1\n"))
}

// withoutRuns returns the lines of an output that say that something was not run: rows of
// a table with 0 in its column of runs, and what was left out.
func withoutRuns(output string) (lines []string) {
	column := -1
	for line := range strings.Lines(output) {
		line = strings.TrimSuffix(line, "\n")
		cells := between.Split(strings.TrimSpace(line), -1)
		switch {
		case strings.Contains(line, ": left out: "):
			lines = append(lines, line)
		case line == "":
			column = -1
		case column < 0:
			column = slices.Index(cells, "runs")
		case column < len(cells) && cells[column] == "0":
			lines = append(lines, line)
		}
	}
	return lines
}

// between matches what separates the cells of a table.
var between = regexp.MustCompile(` {2,}`)

// recipes is how many pages docs/recipes has.
const recipes = 12

// linkWorkloads lets the command find the workloads of the repository. One that is
// installed has its own.
func linkWorkloads(t *testing.T) {
	if os.Getenv("PIANOLA_INSTALLED") != "" {
		return
	}
	program, err := exec.LookPath("pianola")
	require.NoError(t, err)
	library, err := filepath.Abs("../../workloads")
	require.NoError(t, err)
	link := filepath.Join(filepath.Dir(filepath.Dir(program)), "workloads")
	require.NoError(t, os.Symlink(library, link))
	t.Cleanup(func() { require.NoError(t, os.Remove(link)) })
}

// needs matches programs that a page uses and a machine may lack.
var needs = regexp.MustCompile(`\b(sqlite3|pgbench|h5cc|h5repack|mpicc|mpiexec|column|python3|mkfs\.xfs|mkfs\.ext4)\b`)

// recipe is a page: its text up to each command's output, and the rest.
type recipe struct {
	before   []string
	commands []recipeCommand
	files    map[string]string
	rest     string
}

type recipeCommand struct{ line, output string }

// recipeOf cuts a page. A command begins with "$ " in a console block, and with "# " one
// that needs root; lines that end in a backslash go on.
func recipeOf(t *testing.T, text string) *recipe {
	r := &recipe{files: map[string]string{}}
	var kept, output strings.Builder
	inside, open := false, false // in a console block; after a command in it
	end := func() {
		if !open {
			return
		}
		last := &r.commands[len(r.commands)-1]
		last.output = output.String()
		if name, shown := strings.CutPrefix(last.line, "cat "); shown {
			r.files[name] = last.output
		}
		output.Reset()
		open = false
	}
	goesOn := false
	for line := range strings.Lines(text) {
		command, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ ")
		switch {
		case goesOn:
			last := &r.commands[len(r.commands)-1]
			last.line += "\n" + strings.TrimSuffix(line, "\n")
			r.before[len(r.before)-1] += line
			goesOn = strings.HasSuffix(last.line, `\`)
		case strings.HasPrefix(line, "```"):
			end()
			inside = strings.HasPrefix(line, "```console")
			kept.WriteString(line)
		case inside && is && !runnable(command):
			end()
			kept.WriteString(line)
		case inside && is:
			end()
			kept.WriteString(line)
			r.before = append(r.before, kept.String())
			kept.Reset()
			r.commands = append(r.commands, recipeCommand{line: command})
			open, goesOn = true, strings.HasSuffix(command, `\`)
		case open:
			output.WriteString(line)
		default:
			kept.WriteString(line)
		}
	}
	require.False(t, inside, "a console block has no end")
	require.NotEmpty(t, r.commands)
	r.rest = kept.String()
	return r
}

// with returns the page with other outputs.
func (r *recipe) with(outputs []string) string {
	var b strings.Builder
	for i, before := range r.before {
		b.WriteString(before + shortened(outputs[i], r.commands[i].output))
	}
	return b.String() + r.rest
}

// shortened leaves as many lines of an output, from its start and its end, as the page has
// before and behind a line "…".
func shortened(output, shown string) string {
	head, tail, short := strings.Cut(shown, "…\n")
	first, last := strings.Count(head, "\n"), strings.Count(tail, "\n")
	lines := slices.Collect(strings.Lines(output))
	if !short || first+last >= len(lines) {
		return output
	}
	return strings.Join(lines[:first], "") + "…\n" + strings.Join(lines[len(lines)-last:], "")
}

// runnable reports whether the test runs a command of a page. Targets of make run this
// test themselves, or take minutes.
func runnable(line string) bool { return !strings.HasPrefix(line, "make ") }

// run runs all commands in one shell and one directory, in a private mount namespace, and
// returns the output of each. A command may fail if the next one prints its status.
func (r *recipe) run(t *testing.T) (outputs []string) {
	dir, home := t.TempDir(), recipeDir(t)
	files := filepath.Join(dir, "files")
	require.NoError(t, os.Mkdir(files, 0o755))
	for name, text := range r.files {
		require.NoError(t, os.WriteFile(filepath.Join(files, name), []byte(text), 0o644))
	}
	var script strings.Builder
	shell := exec.CommandContext(t.Context(), "sh", "-s")
	if os.Geteuid() == 0 {
		// A disk in memory is the only one that is as fast tomorrow.
		shell = exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "private", "sh", "-s")
		fmt.Fprintf(&script, `set -e
image=$(mktemp -p /dev/shm)
truncate -s 2G "$image"
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$image"
mount -o loop "$image" '%s'
rm "$image"
set +e
`, home)
	}
	fmt.Fprintf(&script, "cp -r '%s/.' '%s'\ncd '%s'\nrm -rf lost+found\n", files, home, home)
	for i, command := range r.commands {
		fmt.Fprintf(&script, "{ (exit $status)\n%s\n} >'%s/out%d' 2>&1 </dev/null; status=$?\n", command.line, dir, i)
		if i+1 == len(r.commands) || r.commands[i+1].line != "echo $?" {
			good := "0"
			if strings.HasPrefix(command.line, "pianola compare ") {
				good = "[013]" // a verdict, which depends on the machine
			}
			fmt.Fprintf(&script, "case $status in %s) ;; *) echo command %d ended with $status; exit 1 ;; esac\n", good, i+1)
		}
	}
	if os.Geteuid() != 0 && strings.Contains(script.String(), "mount ") {
		t.Skip("only root can mount")
	}
	shell.Env = append(os.Environ(), "HOME="+home, "LC_ALL=C.UTF-8")
	shell.Stdin = strings.NewReader(script.String())
	said, failed := shell.CombinedOutput()
	for i := range r.commands {
		out, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("out", i)))
		if failed == nil {
			require.NoError(t, err)
		}
		outputs = append(outputs, strings.ReplaceAll(string(out), home, recipeHome))
	}
	require.NoError(t, failed, "%s%s", said, outputs)
	require.Empty(t, string(said))
	return outputs
}

// recipeHome is what pages have for the directory in which their commands run. That has
// a longer name, always as long, since some outputs are broken into lines.
const recipeHome = "/home/me"

// recipeDir makes a directory for the commands of a page.
func recipeDir(t *testing.T) string {
	for n := os.Getpid(); ; n++ {
		dir := fmt.Sprintf("/tmp/me-%08d", n%1e8)
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		return dir
	}
}
