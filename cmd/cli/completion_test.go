package cli

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/replay"
)

func TestComplete(t *testing.T) {
	a := newApp()
	for _, test := range []struct {
		line string // the last word, to be completed, follows the last space
		kind string
		some []string
	}{
		{"", "words", []string{"record", "lab", "version"}},
		{"re", "words", []string{"record", "replay"}},
		{"--v", "words", []string{"--version"}},
		{"frob ", "words", nil},
		{"__complete ", "words", nil},
		{"replay --t", "words", []string{"--timing"}},
		{"compile -", "words", []string{"-o", "--output", "--with", "-q", "--quiet"}},
		{"replay --timing ", "words", []string{"compute", "schedule", "afap"}},
		{"replay --timing=s", "words", []string{"--timing=schedule"}},
		{"replay --timing", "words", []string{"--timing"}},
		{"replay ", "files .bin", nil},
		{"replay --log ", "files .log .txt", nil},
		{"replay --keep ", "files .bin", nil}, // a switch has no value
		{"replay -- --t", "files .bin", nil},
		{"compare a.txt b.log --fo", "words", []string{"--format"}},
		{"compare --format j", "words", []string{"json", "junit"}},
		{"convert --format f", "words", []string{"fio", "fio2", "fiofiles"}},
		{"profile --format o", "words", []string{"openmetrics"}},
		{"compile --output ", "files .bin", nil}, // as -o
		{"bench -o ", "dirs", nil},
		{"record --user ", "users", nil},
		{"record -o x ", "command 4", nil},
		{"record -o x -- gi", "command 5", nil},
		{"record -o x -- git -", "command 5", nil},
		{"record git -o ", "command 2", nil},
		{"bench --runs 3 g", "command 4", nil},
		{"compile --limit ", "part", []string{"memory=", "text="}},
		{"bench --nice", "words", []string{"--nice"}}, // only named in its help
		{"bench --map *.db=", "dirs", nil},
		{"record --layer ", "words", []string{"hdf5"}},
		{"replay --limit f", "part", []string{"files="}},
		{"replay --latency m", "part", []string{"metadata:"}},
		{"compile --with pre", "part", []string{"prefetch"}},
		{"compile --with cac", "part", nil}, // an option of replay, which is only a candidate
		{"lab --try cac", "part", []string{"cache="}},
		{"lab --try cache=c", "words", []string{"cache=cold"}},
		{"lab --try=cache=c", "words", []string{"--try=cache=cold"}},
		{"lab --try sync=none+ba", "part", []string{"sync=none+backend="}},
		{"lab --try sync=none+backend=m", "words", []string{"sync=none+backend=memory"}},
		{"lab --try sync=n", "words", []string{"sync=none"}},
		{"lab --try frob=", "words", nil},
		{"help comp", "words", []string{"compile", "compare", "completion"}},
		{"completion z", "words", []string{"zsh"}},
		{"layer ", "words", []string{"list", "check"}},
		{"model ", "words", []string{"fit", "check"}},
		{"model fit --fi", "words", []string{"--fio"}},
		{"model fit --fio ", "files .json", nil},
		{"model check disk.json ", "files .txt .zst .bin", nil},
		{"workload ", "words", []string{"list", "show"}},
		{"workload --library ", "dirs", nil},
		{"workload list ", "words", nil},
		{"bench --root nvme=", "dirs", nil},
		{"layer check ", "words", []string{"hdf5", "sqlite3"}},
		{"layer --json check sq", "words", []string{"sqlite3"}},
		{"layer check hdf5 ", "files", nil},
		{"layer list ", "words", nil},
	} {
		got := complete(a, strings.Split(test.line, " "))
		require.Equal(t, test.kind, got.kind, test.line)
		var words []string
		for _, w := range got.words {
			words = append(words, w.word)
			require.NotContains(t, w.means, "\n")
		}
		if test.some == nil {
			require.Empty(t, words, test.line)
		} else {
			require.Subset(t, words, test.some, test.line)
		}
	}
	require.Equal(t, "words", complete(a, nil).kind)
}

func TestCompleteProcesses(t *testing.T) {
	var found []string
	for _, p := range ofProcesses("", "--pid=").words {
		found = append(found, p.word)
	}
	require.Contains(t, found, "--pid=1")
}

// The table names existing commands.
func TestOperandFiles(t *testing.T) {
	for name := range operandFiles {
		require.Contains(t, commandNames(), name)
	}
}

// The values that completion offers are those that there are: what refuses another one
// lists them.
func TestCompletedValues(t *testing.T) {
	offered := func(command, name string) (all []string) {
		for _, w := range optionOf(command, name).offer("", "").words {
			all = append(all, w.word)
		}
		return all
	}
	for _, name := range []string{"prepare", "backend", "cache", "timing", "wait", "order", "outside"} {
		t.Run(name, func(t *testing.T) {
			set := settingOf(name).set
			err := set(&replay.Options{}, "frob")
			require.Error(t, err)
			_, list, ok := strings.Cut(err.Error(), "want ")
			require.True(t, ok, err)
			require.ElementsMatch(t, strings.Split(list, ", "), offered("replay", name))
			for _, word := range offered("replay", name) {
				require.NoError(t, set(&replay.Options{}, word))
			}
		})
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(recorders)), offered("record", "tracer"))
}

// The scripts work in the shells.
func TestShells(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it builds the command")
	}
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "bin", "pianola"), "pianola/cmd/pianola").CombinedOutput()
	require.NoError(t, err, "%s", out)
	work := filepath.Join(dir, "work")
	require.NoError(t, os.Mkdir(work, 0o755))
	for _, name := range []string{"a.bin", "a.txt", "b b.bin", "other"} {
		require.NoError(t, os.WriteFile(filepath.Join(work, name), nil, 0o644))
	}
	require.NoError(t, os.Mkdir(filepath.Join(work, "disk"), 0o755))
	for _, shell := range []struct {
		name string
		args []string // complete $LINE and print a candidate on each line
	}{
		{"bash", []string{"--norc", "-c", `
source <(pianola completion bash)
COMP_LINE=$LINE COMP_POINT=${#LINE}
# As readline: the words are cut at spaces and before and after = and :.
mapfile -t COMP_WORDS < <(sed 's/[=:]/\n&\n/g; s/ /\n/g' <<<"$LINE" | sed '/^$/d')
[[ $LINE == *' ' ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_pianola
for word in "${COMPREPLY[@]}"; do echo "${word%/}"; done`}},
		// zsh completes only on a terminal, so what the script calls is replaced.
		{"zsh", []string{"-f", "-c", `
compdef() { :; }
compset() { :; }
_describe() { print -l -- "${(@)values%%:*}"; }
_files() {
    local -a all=(*(/N))
    [[ $1 == -g ]] && all+=($~2(.N))
    all=("${(@M)all:#$PREFIX*}")
    (( $#all )) || all=("$PREFIX"*(N))
    print -l -- "${(@)all}"
}
source <(pianola completion zsh)
words=("${(@s: :)LINE}") CURRENT=$#words PREFIX=$words[-1]
_pianola`}},
		{"fish", []string{"--no-config", "-c", `
pianola completion fish | source
complete -C "$LINE" | string replace -r '\t.*' '' | string trim -r -c /
true`}},
	} {
		t.Run(shell.name, func(t *testing.T) {
			if _, err := exec.LookPath(shell.name); err != nil {
				t.Skipf("%s is not installed", shell.name)
			}
			for _, test := range []struct {
				line string
				want []string
			}{
				{"pianola re", []string{"record", "replay"}},
				{"pianola replay --ti", []string{"--timing"}},
				{"pianola replay --timing ", []string{"afap", "compute", "schedule"}},
				{"pianola replay ", []string{"a.bin", "b b.bin", "disk"}},
				{"pianola compare oth", []string{"other"}},
				{"pianola replay --root ", []string{"disk"}},
				{"pianola completion ", []string{"bash", "fish", "zsh"}},
			} {
				c := exec.Command(shell.name, shell.args...)
				c.Dir = work
				c.Env = append(os.Environ(), "LINE="+test.line, "HOME="+dir, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
				out, err := c.CombinedOutput()
				require.NoError(t, err, "%s", out)
				got := strings.Split(strings.TrimSpace(string(out)), "\n")
				slices.Sort(got)
				if shell.name == "fish" { // offers other files, too, after those with an ending
					require.Subset(t, got, test.want, test.line)
					continue
				}
				require.Equal(t, test.want, got, test.line)
			}
		})
	}
}
