package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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

// A run goes on where it stopped: a row of this commit is not measured again.
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
	missing, err := b.missing(wanted([]study{s}, nil))
	require.NoError(t, err)
	require.Len(t, missing, 2)
	require.Equal(t, "cost/git", missing[0].name())
	require.Equal(t, "cost/fio", missing[1].name())
	require.NoError(t, os.WriteFile(filepath.Join(b.out, "cost.json"), []byte("{"), 0o644))
	_, err = b.missing(wanted([]study{s}, nil))
	require.ErrorContains(t, err, "cost.json")
}
