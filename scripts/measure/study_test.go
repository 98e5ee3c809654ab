package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format/provenance"
)

// The shell files that sides.sh reads define no function twice: the later one would replace the other.
func TestFunctionsOfSides(t *testing.T) {
	sides, err := os.ReadFile("sides.sh")
	require.NoError(t, err)
	files := []string{"scripts/measure/sides.sh"}
	for _, m := range regexp.MustCompile(`(?m)^\. (\S+)$`).FindAllSubmatch(sides, -1) {
		files = append(files, string(m[1]))
	}
	require.Greater(t, len(files), 3)
	in := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join("../..", name))
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^(\w+)\(\)`).FindAllSubmatch(text, -1) {
			if name == "scripts/lib.sh" && string(m[1]) == "tidy" { // a script can define it
				continue
			}
			require.Empty(t, in[string(m[1])], "%s of %s", m[1], name)
			in[string(m[1])] = name
		}
	}
}

// The tables name only what there is.
func TestStudies(t *testing.T) {
	apps, err := os.ReadFile("../apps.sh")
	require.NoError(t, err)
	for _, p := range programs {
		require.Contains(t, string(apps), "\nseed_"+p.name+"()", p.name)
	}
	storage := func(name string) bool {
		return slices.ContainsFunc(storages, func(st storage) bool { return st.name == name })
	}
	studied := map[string]bool{}
	for _, s := range studies {
		require.False(t, studied[s.name], s.name)
		studied[s.name] = true
		require.True(t, storage(s.home), "%s: %s", s.name, s.home)
		require.NotEmpty(t, s.about, s.name)
		rows := map[string]bool{}
		for _, r := range s.rows {
			require.False(t, rows[r.name], "%s/%s", s.name, r.name)
			rows[r.name] = true
			require.True(t, r.input == "" || inputs[r.input] != nil, "%s/%s: %s", s.name, r.name, r.input)
		}
		require.NotEmpty(t, rows, s.name)
		sides := map[string]bool{}
		for i, side := range s.sides {
			require.False(t, sides[side.name], "%s: %s", s.name, side.name)
			require.False(t, i == 0 && side.follows, "%s: %s follows nothing", s.name, side.name)
			for _, on := range []string{side.on, side.beside} {
				require.True(t, on == "" || storage(on), "%s: %s: %s", s.name, side.name, on)
			}
			for _, of := range strings.Split(side.of, "|") {
				require.True(t, of == "" || sides[of], "%s: %s: of %s", s.name, side.name, of)
			}
			require.True(t, !side.added || side.guard && side.of != "", "%s: %s adds nothing", s.name, side.name)
			sides[side.name] = true
		}
	}
}

func TestWanted(t *testing.T) {
	all := []study{{name: "cost", rows: []row{{name: "git"}, {name: "tar"}}}, {name: "storage", rows: []row{{name: "tar"}}}}
	tests := []struct {
		words string
		want  string
	}{
		{"", "cost/git cost/tar storage/tar"},
		{"cost", "cost/git cost/tar"},
		{"/tar", "cost/tar storage/tar"},
		{"cost/git storage", "cost/git storage/tar"},
		{"nosuch", ""},
	}
	for _, tt := range tests {
		var names []string
		for _, p := range wanted(all, strings.Fields(tt.words)) {
			names = append(names, p.name())
		}
		require.Equal(t, tt.want, strings.Join(names, " "), tt.words)
	}
}

func TestGroups(t *testing.T) {
	require.Equal(t, []group{{0, 1}, {1, 3}, {3, 4}}, groups([]side{{name: "a"}, {name: "b"}, {name: "c", follows: true}, {name: "d"}}))
}

func TestTurnsEnd(t *testing.T) {
	n := 0
	all, rounds, err := turnsWhile(9, []string{"a"}, func(string) (sample, error) { return sample{elapsed: 1}, nil }, func() bool { n++; return n < 3 })
	require.NoError(t, err)
	require.Equal(t, 3, rounds)
	require.Len(t, all["a"], 3)
}

func TestNoted(t *testing.T) {
	got, err := noted("1.5 run time, s\n2e-3 read, s\n")
	require.NoError(t, err)
	require.Equal(t, sample{"run time, s": 1.5, "read, s": 0.002}, got)
	_, err = noted("# fio is not here\n")
	require.Equal(t, leftOutError("fio is not here"), err)
	for _, text := range []string{" run time, s\n", "1.5\n", "\n"} {
		_, err = noted(text)
		require.ErrorContains(t, err, "want a number and a name", text)
	}
}

func TestSideResult(t *testing.T) {
	var samples = map[string][]sample{}
	for i := range 6 {
		v := float64(i + 1)
		samples["program"] = append(samples["program"], sample{"run time, s": v, "lost": 0})
		samples["compiled"] = append(samples["compiled"], sample{"write, s": 2})
		samples["replayed"] = append(samples["replayed"], sample{"run time, s": 2 * v, "write, s": 1, "lost": 0})
	}
	samples["replayed"][3]["once"] = 1 // not in all rounds
	got := side{name: "replayed", of: "program|compiled"}.result(samples, "")
	require.Len(t, got.Figures, 3)
	lost, run, write := got.Figures[0], got.Figures[1], got.Figures[2]
	require.Equal(t, "lost", lost.Name)
	require.Empty(t, lost.Of)
	require.Equal(t, "program", run.Of)
	require.Equal(t, 7.0, run.Median)
	require.Equal(t, &[2]float64{2, 12}, run.Interval)
	require.Equal(t, 2.0, run.Ratio.Median)
	require.Equal(t, 3.5, run.Difference.Median)
	require.Equal(t, "compiled", write.Of)
	require.Equal(t, 0.5, write.Ratio.Median)
}

func TestCompared(t *testing.T) {
	ratio, difference := compared("drift, %", []float64{2, 4}, []float64{1, 1})
	require.Nil(t, ratio, "of shares")
	require.Equal(t, 2.0, difference.Median)
	ratio, _ = compared("lost, s", []float64{2, 4}, []float64{1, 0})
	require.Nil(t, ratio, "to nothing")
}

// Five rounds have no interval that misses the median in one of twenty cases only.
func TestFewRounds(t *testing.T) {
	s := summarized([]float64{3, 1, 2, 5, 4})
	require.Equal(t, summary{Median: 3, Range: [2]float64{1, 5}}, s)
}

// A run goes on where it stopped: a row that stands is not measured again.
func TestDocument(t *testing.T) {
	s := study{name: "cost", about: "what it costs", rows: []row{{name: "git"}, {name: "tar"}, {name: "fio"}}}
	b := bench{out: filepath.Join(t.TempDir(), "measured"), commit: "new"}
	d, err := readDocument(b.out, &s)
	require.NoError(t, err)
	for _, r := range []result{{Name: "tar", Commit: "new"}, {Name: "gone", Commit: "old"}, {Name: "git", Commit: "old"}} {
		r.Date = time.Unix(0, 0).UTC().Format(time.RFC3339)
		r.Sides = []sideResult{{Name: "program", Figures: []figureResult{{Name: "run time, s", summary: summarized([]float64{1, 2}), Values: []float64{2, 1}}}}}
		d.put(r, &s)
	}
	require.NoError(t, d.write(b.out))
	text, err := os.ReadFile(filepath.Join(b.out, "cost.json"))
	require.NoError(t, err)
	require.True(t, json.Valid(text))
	require.Contains(t, string(text), `"values": [2, 1]`)
	d, err = readDocument(b.out, &s)
	require.NoError(t, err)
	require.Equal(t, []string{"git", "tar"}, []string{d.Rows[0].Name, d.Rows[1].Name}, "in the order of the study, which has no row gone")
	missing, err := b.missing(t.Context(), wanted([]study{s}, nil))
	require.NoError(t, err)
	require.Len(t, missing, 1)
	require.Equal(t, "cost/fio", missing[0].name())
	require.NoError(t, os.WriteFile(filepath.Join(b.out, "cost.json"), []byte("{"), 0o644))
	_, err = b.missing(t.Context(), wanted([]study{s}, nil))
	require.ErrorContains(t, err, "cost.json")
}

// Rows that are older than a commit are measured again: not those of the commit, nor of
// later ones. A commit of documents alone is as good as the one before.
func TestSince(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, value := range map[string]string{"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": os.DevNull} {
		t.Setenv(name, value)
	}
	git := func(words ...string) string {
		out, err := process(t.Context(), ".", append([]string{"git"}, words...))
		require.NoError(t, err)
		return strings.TrimSpace(out)
	}
	git("init", "-q")
	var commits []string
	for _, file := range []string{"1.go", "2.go", "page.md", "3.go"} {
		require.NoError(t, os.WriteFile(file, nil, 0o644))
		git("add", file)
		git("commit", "-q", "-m", file)
		commits = append(commits, git("rev-parse", "HEAD"))
	}
	s := study{name: "cost", rows: []row{{name: "first"}, {name: "second"}, {name: "changed"}, {name: "last"}, {name: "unknown"}, {name: "none"}}}
	b := bench{out: "measured"}
	var err error
	b.commit, err = commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, commits[3]+" with changes", func() string {
		require.NoError(t, os.WriteFile("4.go", nil, 0o644))
		name, err := commit(t.Context())
		require.NoError(t, err)
		return name
	}())
	d := document{Measure: "cost"}
	for name, commit := range map[string]string{
		"first": commits[0], "second": commits[1], "changed": commits[1] + " with changes", "last": commits[3], "unknown": strings.Repeat("1", 40),
	} {
		d.put(result{Name: name, Commit: commit}, &s)
	}
	require.NoError(t, d.write(b.out))
	for since, want := range map[string]string{
		"": "none", commits[0]: "unknown none", commits[1]: "first unknown none", commits[2]: "first unknown none", "HEAD": "first second changed unknown none",
	} {
		b.since = since
		missing, err := b.missing(t.Context(), wanted([]study{s}, nil))
		require.NoError(t, err)
		var names []string
		for _, p := range missing {
			names = append(names, p.row.name)
		}
		require.Equal(t, want, strings.Join(names, " "), "since %q", since)
	}
	b.since = "nosuch"
	_, err = b.missing(t.Context(), wanted([]study{s}, nil))
	require.ErrorContains(t, err, "nosuch")
}

// benchOf is a bench that measures a study of one row and one side on a quiet machine,
// seven rounds, in the directories that the test removes.
func benchOf(t *testing.T, s study) (*bench, part) {
	top, err := filepath.Abs("../..")
	require.NoError(t, err)
	t.Setenv("TOP", top)
	t.Setenv("LC_ALL", "C")
	dir := t.TempDir()
	t.Setenv("DIR", dir)
	s.name, s.home, s.rows = "fake", "here", []row{{name: "row"}}
	return &bench{
		dir: dir, out: filepath.Join(dir, "out"), rounds: 7, commit: "new", devices: map[string]string{}, build: &build{pianola: "false"},
		busy: func() (float64, error) { return 0, nil },
		read: func() (p provenance.Processors, err error) { return p, nil },
	}, part{&s, s.rows[0]}
}

// A row ends at its deadline, with all that it has started. Three whole rounds are a
// result, and fewer are not.
func TestDeadline(t *testing.T) {
	const waits = `sleep 1000 & echo $! >"$DIR/pid"; mv "$DIR/pid" "$DIR/waits"; wait`
	count := func(rounds int) string {
		return fmt.Sprintf(`note 1 runs; echo >>"$DIR/round"; [ $(wc -l <"$DIR/round") -le %d ] || { %s; }`, rounds, waits)
	}
	for name, tt := range map[string]struct {
		s      study
		rounds int
	}{
		"in once":             {study{once: waits, sides: []side{{name: "a", do: ":"}}}, 0},
		"in the first round":  {study{sides: []side{{name: "a", do: count(0)}}}, 0},
		"in the third round":  {study{sides: []side{{name: "a", do: count(2)}}}, 0},
		"in the fourth round": {study{sides: []side{{name: "a", do: "note 2 runs"}, {name: "b", do: count(3)}}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			b, p := benchOf(t, tt.s)
			waits := filepath.Join(b.dir, "waits")
			b.deadline = func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				go func() {
					for ctx.Err() == nil {
						if _, err := os.Stat(waits); err == nil {
							cancel()
						}
						time.Sleep(time.Millisecond)
					}
				}()
				return ctx, cancel
			}
			p.end = `echo >"$DIR/ended"`
			require.NoError(t, b.part(t.Context(), p))
			require.FileExists(t, filepath.Join(b.dir, "ended"))
			pid, err := os.ReadFile(waits)
			require.NoError(t, err)
			stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
			require.True(t, err != nil || strings.Contains(string(stat), ") Z "), "it runs on: %s", stat)
			d, err := readDocument(b.out, p.study)
			require.NoError(t, err)
			r := d.row("row")
			require.Equal(t, tt.rounds, r.Rounds)
			if tt.rounds == 0 {
				require.Contains(t, r.LeftOut, "of at least 3")
				require.Empty(t, r.Sides)
				return
			}
			require.Empty(t, r.LeftOut)
			require.Equal(t, []float64{2, 2, 2}, r.Sides[0].Figures[0].Values)
			require.Equal(t, []float64{1, 1, 1}, r.Sides[1].Figures[0].Values)
		})
	}
}

// A side is measured again while the host of the machine takes the processors.
func TestStolen(t *testing.T) {
	for disturbed, runs := range map[int]float64{0: 1, 1: 2, 3: 4, 9: tries} {
		b, p := benchOf(t, study{sides: []side{{name: "a", do: "echo x >>\"$OUT/runs\"; note $(wc -l <\"$OUT/runs\") runs"}}})
		b.rounds = 1
		n := 0
		b.read = func() (p provenance.Processors, err error) {
			n++
			if p.All.All = uint64(1000 * n); n/2 <= disturbed {
				p.All.Stolen = uint64(100 * n)
			} else {
				p.All.Stolen = uint64(200*disturbed + 100)
			}
			return p, nil
		}
		require.NoError(t, b.part(t.Context(), p))
		d, err := readDocument(b.out, p.study)
		require.NoError(t, err)
		require.Equal(t, []float64{runs}, d.row("row").Sides[0].Figures[0].Values)
		require.Equal(t, disturbed < tries, d.row("row").Quiet)
	}
}

// A row is not measured on a busy machine, unless that is forced; then it says so.
func TestBusy(t *testing.T) {
	b, p := benchOf(t, study{sides: []side{{name: "a", do: "note 1 runs"}}})
	b.busy = func() (float64, error) { return 0.5, nil }
	require.ErrorIs(t, b.part(t.Context(), p), errBusy)
	require.NoDirExists(t, b.out)
	b.force = true
	require.NoError(t, b.part(t.Context(), p))
	d, err := readDocument(b.out, p.study)
	require.NoError(t, err)
	require.False(t, d.row("row").Quiet)
	require.Equal(t, load{0.5, 0.5, 0}, d.row("row").Load)

	// The machine becomes busy while the row runs.
	b, p = benchOf(t, study{sides: []side{{name: "a", do: "note 1 runs"}}})
	n := 0
	b.busy = func() (float64, error) { n++; return float64(min(n-1, 1)), nil }
	require.ErrorIs(t, b.part(t.Context(), p), errBusy)
	require.NoDirExists(t, b.out)
}
