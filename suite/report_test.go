package suite

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/profile"
	"pianola/stats"
)

var update = flag.Bool("update", false, "write the golden files")

// run returns a run of so many milliseconds, a third of them in I/O, with reads and syncs
// of a fixed duration each.
func run(millis, syncMicros int64) *profile.Profile {
	p := &profile.Profile{RunTime: millis * 1e6}
	p.Categories[profile.Writes].Nanos = millis * 1e6 / 3
	latency := func(k profile.Category, calls int, nanos int64) {
		var h stats.Histogram
		for range calls {
			h.Add(nanos)
		}
		l, err := profile.NewLatency(h.Counts())
		if err != nil {
			panic(err)
		}
		p.Latency[k] = l
	}
	if syncMicros > 0 {
		latency(profile.Syncs, 200, syncMicros*1e3)
	}
	latency(profile.Reads, fewCalls-1, 5000) // too few for a percentile
	return p
}

func runs(syncMicros int64, millis ...int64) (all []*profile.Profile) {
	for _, ms := range millis {
		all = append(all, run(ms, syncMicros))
	}
	return all
}

// example returns a report of two roots, where one workload is twice as fast on the
// second, one as fast, and one was refused there.
func example() *Report {
	return &Report{
		Sides: []string{"disk", "flash"},
		Workloads: []*Workload{
			{Name: "base", Recorded: run(1000, 400), Sides: []Runs{{Profiles: runs(800, 2000, 2020, 1980)}, {Profiles: runs(100, 1000, 1010, 990)}}},
			{Name: "compile", Recorded: run(500, 0), Sides: []Runs{{Profiles: runs(0, 505, 500, 495)}, {Profiles: runs(0, 500, 495, 510), Differed: 2, Example: "2 × write: recorded 5, got \x1b 4"}}},
			{Name: "large", Recorded: run(900, 0), Sides: []Runs{{Profiles: runs(0, 800, 810, 805)}, {Refused: "it may take 2 GB, and 1 GB are free"}}},
		},
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = "testdata/" + name
	if *update {
		require.NoError(t, os.WriteFile(name, got, 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, example().WriteText(&b))
	golden(t, "two.txt", b.Bytes())

	one := example()
	one.Sides = one.Sides[:1]
	for _, w := range one.Workloads {
		w.Sides = w.Sides[:1]
	}
	one.Interrupted = true
	b.Reset()
	require.NoError(t, one.WriteText(&b))
	golden(t, "one.txt", b.Bytes())
}

func TestDocument(t *testing.T) {
	text, err := json.MarshalIndent(example().Document(), "", "  ")
	require.NoError(t, err)
	golden(t, "two.json", text)
	require.NotContains(t, string(text), "NaN")
}

func TestConclusion(t *testing.T) {
	of := func(first, second []*profile.Profile) string {
		r := &Report{Sides: []string{"a", "b"}, Workloads: []*Workload{{Name: "w", Recorded: run(100, 0), Sides: []Runs{{Profiles: first}, {Profiles: second}}}}}
		return r.Conclusion()
	}
	for _, test := range []struct {
		first, second []*profile.Profile
		want          string
	}{
		{runs(0, 200, 202, 198), runs(0, 100, 101, 99), "b is 2.00 times as fast as a (1.96 to 2.05, 95 %); geometric mean of 1 workload"},
		{runs(0, 100, 101, 99), runs(0, 200, 202, 198), "b takes 2.00 times as long as a (1.96 to 2.05, 95 %); geometric mean of 1 workload"},
		{runs(0, 100, 110, 90), runs(0, 100, 105, 95), "no difference found between b and a: the ratio of run times is from 0.82 to 1.23; geometric mean of 1 workload"},
		{runs(0, 100), runs(0, 50, 60, 55), "b takes 0.55 times the run time of a, too few runs for an interval; geometric mean of 1 workload"},
		{nil, runs(0, 50), "b: nothing to compare with a"},
	} {
		require.Equal(t, test.want, of(test.first, test.second))
	}
}

// Where a replay is as long as its floor, its run time does not show how fast the storage
// is.
func TestBound(t *testing.T) {
	with := func(floor format.Floor, all []*profile.Profile) Runs {
		for _, p := range all {
			p.Floor = &floor
		}
		return Runs{Profiles: all}
	}
	compute, timers := format.Floor{Total: 96e6}, format.Floor{Total: 96e6, Timers: 96e6}
	workload := func(name string, a, b Runs) *Workload {
		return &Workload{Name: name, Recorded: run(100, 0), Sides: []Runs{a, b}}
	}
	r := &Report{Sides: []string{"a", "b"}, Workloads: []*Workload{
		workload("both", with(compute, runs(0, 100, 99, 101)), with(compute, runs(0, 101, 100, 99))),
		workload("two", with(compute, runs(0, 100, 99, 101)), with(timers, runs(0, 101, 100, 99))),
		workload("one", with(compute, runs(0, 100, 99, 101)), with(compute, runs(0, 100, 102, 103))),
		workload("none", with(compute, runs(0, 102, 103, 104)), Runs{Profiles: runs(0, 100, 100, 100)}),
	}}
	var b bytes.Buffer
	require.NoError(t, r.WriteText(&b))
	for _, want := range []string{
		"; storage does not show in both, two\n",
		"\nboth: compute binds a (0.096 s of its 0.100 s) and b (0.096 s of its 0.100 s), so the run times do not show how fast the storage is\n",
		"\ntwo: compute binds a (0.096 s of its 0.100 s) and timers bind b (0.096 s of its 0.100 s), so the run times do not",
		"\none: compute binds a (0.096 s of its 0.100 s), so its run time does not show how fast the storage is\n",
	} {
		require.Contains(t, b.String(), want)
	}
	require.NotContains(t, b.String(), "none:")
	text, err := json.Marshal(r.Document())
	require.NoError(t, err)
	require.Equal(t, 5, strings.Count(string(text), `"bound":"`))
	require.Contains(t, string(text), `"bound":"timers bind"`)

	// A single side is compared with the recording.
	r.Sides = r.Sides[:1]
	for _, w := range r.Workloads {
		w.Sides = w.Sides[:1]
	}
	require.Regexp(t, "; storage does not show in both, two, one$", r.Conclusion())
}

// A base of one run has no interval unless it is the recording.
func TestInterval(t *testing.T) {
	pairs := []stats.Pair{{Base: []float64{1}, Other: []float64{2, 2.1, 1.9}}}
	require.Nil(t, ratio(pairs, false).Low)
	require.NotNil(t, ratio(pairs, true).Low)
	require.Nil(t, ratio(nil, true))
	require.Equal(t, none, (*Ratio)(nil).String())
	require.Equal(t, "0.0012", digits(0.00123))
	require.Equal(t, "12.300", digits(12.3))
	require.Equal(t, "1235", digits(1234.5678))
	require.Len(t, strings.Fields(ratio(pairs, true).interval()), 3)
}
