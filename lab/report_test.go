package lab

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compare"
	"pianola/format"
	"pianola/internal/testkit"
	"pianola/profile"
)

// run returns the profile of a run that reads and writes for so many
// milliseconds.
func run(millis, read, write int64) *profile.Profile {
	p := &profile.Profile{RunTime: millis * 1e6, Curves: [profile.NumCategories]profile.Curve{{{}, {Elapsed: 1, Spent: 1}}}}
	p.Categories[profile.Reads] = profile.Total{Calls: 3, Nanos: read * 1e6}
	p.Categories[profile.Writes] = profile.Total{Calls: 2, Nanos: write * 1e6}
	p.Ops[format.OpRead], p.Ops[format.OpWrite] = p.Categories[profile.Reads], p.Categories[profile.Writes]
	return p
}

// trial returns a trial of so many runs that differ by a millisecond each.
func trial(root string, n int, millis, read, write int64, steps ...string) *Trial {
	t := &Trial{Candidate: steps, Root: Root{Dir: root}}
	for i := range int64(n) {
		t.Add(Run{Profile: run(millis+i, read+i, write)})
	}
	return t
}

func report() *Report {
	broken := trial("", 6, 300, 100, 20, "drop=write")
	broken.Add(Run{Profile: run(300, 100, 20), Failed: 1, Differed: 2, Example: "2 × write: recorded 10, got EBADF"})
	stopped := trial("", 0, 0, 0, 0, "backend=memory")
	stopped.Err = errors.New("limit exceeded")
	return &Report{
		Trace: "trace.txt", Options: []Option{{"cache", "cold"}}, Application: run(1010, 490, 20),
		Trials: []*Trial{
			trial("", 6, 1000, 500, 20),
			trial("", 6, 1200, 700, 20, "block=1"),
			broken, stopped,
			trial("", 6, 500, 50, 20, "prefetch=4", "cache=cold"),
		},
	}
}

func text(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteText(&b))
	return b.String()
}

// The table has the baseline first, those that gain most after it, and those
// that are no candidates last.
func TestText(t *testing.T) {
	require.Equal(t, `run time               seconds   ratio  interval        finding  gain     runs  failed  differed
application            1.010000  1.007  –               –        –        –     –       –
baseline               1.002500  –      –               –        –        6     0       0
prefetch=4+cache=cold  0.502500  0.501  0.499 to 0.504  differs  +49.9 %  6     0       0
block=1                1.202500  1.200  1.196 to 1.203  differs  -20.0 %  6     0       0
drop=write             0.302000  0.301  0.299 to 0.304  differs  +69.9 %  7     1       2
backend=memory         –         –      –               –        –        0     0       0

read                   seconds   ratio  interval        finding
application            0.490000  0.975  –               –
baseline               0.502500  –      –               –
prefetch=4+cache=cold  0.052500  0.104  0.100 to 0.109  differs
block=1                0.702500  1.398  1.389 to 1.407  differs
drop=write             0.102000  0.203  0.198 to 0.209  differs
backend=memory         –         –      –               –

write                  seconds   ratio  interval        finding
application            0.020000  1.000  –               –
baseline               0.020000  –      –               –
prefetch=4+cache=cold  0.020000  1.000  1.000 to 1.000  no difference found
block=1                0.020000  1.000  1.000 to 1.000  no difference found
drop=write             0.020000  1.000  1.000 to 1.000  no difference found
backend=memory         –         –      –               –

drop=write: breaks results: 2 × write: recorded 10, got EBADF
backend=memory: given up: limit exceeded
coverage: unknown, because the recording does not state it
most gained: prefetch=4+cache=cold took 49.9 % less time than the baseline, 49.6 % to 50.1 % less with 95 % confidence
`, text(t, report()))
}

func TestConclusion(t *testing.T) {
	base, faster, broken := trial("", 6, 1000, 500, 20), trial("", 6, 500, 50, 20, "a"), &Trial{Candidate: Candidate{"b"}}
	broken.Add(Run{Profile: run(10, 1, 1), Failed: 1, Example: "1 × open"})
	for _, c := range []struct {
		name   string
		trials []*Trial
		want   string
	}{
		{"nothing tried", nil, ""},
		{"few runs", []*Trial{trial("", 5, 500, 50, 20, "a")}, "too few runs to tell a gain from noise: 6 of each can"},
		{"slower", []*Trial{trial("", 6, 1500, 50, 20, "a")}, "no candidate is found to be faster than the baseline"},
		{"the same", []*Trial{trial("", 6, 1000, 500, 20, "a")}, "no candidate is found to be faster than the baseline"},
		{"without runs", []*Trial{trial("", 0, 0, 0, 0, "a")}, "no candidate was replayed"},
		{"broken", []*Trial{broken, trial("", 0, 0, 0, 0, "a")}, "no candidate has the results of the baseline"},
		{"ten", slices.Repeat([]*Trial{faster}, 10), "most gained: a took 49.9 % less time than the baseline, 49.6 % to 50.1 % less with 95 % confidence"},
		{"many", slices.Repeat([]*Trial{faster}, 64), "most gained: a took 49.9 % less time than the baseline, 49.6 % to 50.1 % less with 95 % confidence" +
			"; of 64 that change nothing one gains by chance in up to 27 % of experiments, so try it again by itself"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Report{Trials: append([]*Trial{base}, c.trials...)}
			require.Equal(t, c.want, r.Conclusion())
		})
	}
}

// A difference that the baseline has too breaks nothing.
func TestBreaks(t *testing.T) {
	base, same, more := &Trial{}, &Trial{Candidate: Candidate{"a"}}, &Trial{Candidate: Candidate{"b"}}
	base.Add(Run{Profile: run(10, 1, 1), Failed: 1, Differed: 3, Example: "3 × read"})
	same.Add(Run{Profile: run(10, 1, 1), Failed: 1, Differed: 3, Example: "3 × read"})
	more.Add(Run{Profile: run(5, 1, 1), Failed: 2, Differed: 3, Example: "1 × open"})
	out := text(t, &Report{Trials: []*Trial{base, same, more}})
	require.Contains(t, out, "\nbaseline: 3 × read\nb: breaks results: 1 × open\n")
	require.NotContains(t, out, "a: breaks")
}

// How threads share syncs is said once for all trials whose traces share them alike.
func TestGrouping(t *testing.T) {
	base, same, other := trial("", 1, 10, 1, 1), trial("", 1, 10, 1, 1, "a"), trial("", 1, 10, 1, 1, "b")
	base.profiles[0].Grouping = &format.Grouping{Threads: 4, Syncs: 8, Joined: 4}
	same.profiles[0].Grouping = base.profiles[0].Grouping
	other.profiles[0].Grouping = &format.Grouping{Threads: 2, Syncs: 8, Joined: 4}
	out := text(t, &Report{Trials: []*Trial{base, same, other}})
	require.Contains(t, out, "\nbaseline: group commit: 4 threads shared 8 syncs, and other threads waited for them 4 times; ")
	require.Contains(t, out, "\nb: group commit: 2 threads shared 8 syncs, ")
	require.NotContains(t, out, "a: group commit")
}

// A root on which the baseline itself breaks results has no candidate that
// doesn't, though all break the same.
func TestBrokenRoot(t *testing.T) {
	full := func(millis int64, steps ...string) *Trial {
		f := &Trial{Candidate: steps, Root: Root{Dir: "/full"}}
		for i := range int64(6) {
			f.Add(Run{Profile: run(millis+i, 1, 1), Failed: 22, Differed: 22, Example: "22 × write: recorded 4096, got ENOSPC"})
		}
		return f
	}
	r := &Report{Trials: []*Trial{trial("/a", 6, 1000, 500, 20), trial("/a", 6, 900, 400, 20, "a"), full(100), full(90, "a")}}
	out := text(t, r)
	require.Contains(t, out, "baseline on /full: breaks results: 22 × write")
	require.Contains(t, out, "a on /full: breaks results: 22 × write")
	require.Contains(t, out, "most gained: a on /a took 9.9")
}

// The report says that a candidate changed nothing, and no name breaks the table.
func TestUnchanged(t *testing.T) {
	same := trial("", 6, 1000, 500, 20, "exec:sed -e '\n\ts/a/b/'")
	same.Unchanged = true
	r := &Report{Trials: []*Trial{trial("", 6, 1000, 500, 20), same}}
	require.Contains(t, text(t, r), "\nexec:sed -e '\\n\\ts/a/b/': the trace is that of the baseline\n")
	var d document
	require.NoError(t, json.Unmarshal(written(t, r), &d))
	require.True(t, d.Candidates[0].Same)
	require.False(t, d.Baseline.Same)
}

// A pattern has no application.
func TestWithoutApplication(t *testing.T) {
	r := &Report{Application: &profile.Profile{}, Trials: []*Trial{trial("", 1, 1000, 500, 20)}}
	r.Application.Categories[profile.Reads] = profile.Total{Calls: 3, Unknown: 3}
	require.NotRegexp(t, `(?m)^application +–`, text(t, r))
}

// With several roots, each trial is compared with the first baseline, and with the one
// of its own root.
func TestRoots(t *testing.T) {
	r := &Report{Trials: []*Trial{
		trial("/fast", 6, 1000, 500, 20), trial("/fast", 6, 500, 50, 20, "a"),
		trial("/slow", 6, 2000, 1500, 20), trial("/slow", 6, 1800, 1300, 20, "a"),
		trial("", 6, 100, 10, 10, "backend=memory"),
	}}
	out := text(t, r)
	require.Regexp(t, `(?m)^run time +seconds .* of its root +interval +runs`, out)
	require.Regexp(t, `(?m)^a on /slow +1\.80\S+ +1\.798 .* -79\.8 % +0\.900 +0\.89\d to 0\.90\d +6 +0 +0$`, out)
	require.Regexp(t, `(?m)^baseline on /slow +2\.00\S+ +1\.998 .* – +– +6 +0 +0$`, out)
	require.Regexp(t, `(?m)^backend=memory +0\.10\S+ +0\.102 .* – +– +6 +0 +0$`, out)
	require.Contains(t, out, "most gained: backend=memory took 89.8 % less")
	var d document
	require.NoError(t, json.Unmarshal(written(t, r), &d))
	require.Equal(t, "/slow", d.Candidates[2].Root)
	require.InDelta(t, 0.1, *d.Candidates[2].OnRoot.Gain, 0.001)
	require.InDelta(t, -0.798, *d.Candidates[2].Gain, 0.001)
	require.Nil(t, d.Candidates[0].OnRoot)
}

// Roots without candidates go by their names, or else by their directories.
func TestRootsOnly(t *testing.T) {
	fast, slow := trial("/fast", 6, 1000, 500, 20), trial("/slow", 6, 2000, 1500, 20)
	slow.Root.Name = "hdd"
	r := &Report{Trials: []*Trial{slow, fast}}
	out := text(t, r)
	require.Regexp(t, `(?m)^hdd +2\.00`, out)
	require.Regexp(t, `(?m)^/fast +1\.00`, out)
	require.Regexp(t, `(?m)^fastest: /fast took 49\.9 % less time than hdd, .* with 95 % confidence$`, out)
	var d document
	require.NoError(t, json.Unmarshal(written(t, r), &d))
	require.Equal(t, "hdd", d.Baseline.RootName)
	require.Equal(t, "/slow", d.Baseline.Root)
	require.Empty(t, d.Candidates[0].RootName)

	require.Contains(t, text(t, &Report{Trials: []*Trial{fast, slow}}), "\nno root is found to be faster than /fast\n")
	r = &Report{Trials: []*Trial{slow, trial("/fast", 6, 500, 50, 20), trial("/slow", 6, 2000, 50, 20, "a")}}
	require.Contains(t, text(t, r), "\nmost gained: baseline on /fast took 74.9 % less time than the baseline")
}

func written(t *testing.T, r *Report) []byte {
	t.Helper()
	return testkit.JSON(t, r.Document())
}

func TestJSON(t *testing.T) {
	var d document
	require.NoError(t, json.Unmarshal(written(t, report()), &d))
	require.Equal(t, "trace.txt", d.Trace)
	require.Equal(t, map[string]string{"cache": "cold"}, d.Options)
	require.Equal(t, 1.01, *d.Application.Elapsed)
	require.Equal(t, Baseline, d.Baseline.Name)
	require.Nil(t, d.Baseline.Against)
	require.Equal(t, []float64{1, 1.001, 1.002, 1.003, 1.004, 1.005}, d.Baseline.RunSeconds)

	var names []string
	for _, c := range d.Candidates {
		names = append(names, c.Name)
	}
	require.Equal(t, []string{"prefetch=4+cache=cold", "block=1", "drop=write", "backend=memory"}, names)
	best, broken, stopped := d.Candidates[0], d.Candidates[2], d.Candidates[3]
	require.Equal(t, []string{"prefetch=4", "cache=cold"}, best.Steps)
	require.Equal(t, 0.5025, *best.Elapsed)
	require.InDelta(t, 0.499, *best.Gain, 0.001)
	require.Less(t, *best.GainLow, *best.Gain)
	require.Greater(t, *best.GainHigh, *best.Gain)
	require.Equal(t, compare.Differs, *best.Finding.Elapsed)
	require.Nil(t, best.Ratio.Sync)
	require.True(t, broken.Breaks)
	require.Equal(t, int64(2), broken.Differed)
	require.Equal(t, "limit exceeded", stopped.Error)
	require.Zero(t, stopped.Runs)
	require.Nil(t, stopped.Elapsed)
}

// However often a report is told, it is compared once.
func TestComparedOnce(t *testing.T) {
	r := report()
	text(t, r)
	one := r.rows()[1].against
	written(t, r)
	r.Conclusion()
	require.NotNil(t, one)
	require.Same(t, one, r.rows()[1].against)
}

// The memory that a trial keeps of a run does not grow with the run.
func TestKept(t *testing.T) {
	trial := &Trial{}
	p := run(1, 1, 1)
	p.Files = make([]profile.File, 1000)
	trial.Add(Run{Profile: p})
	require.Empty(t, trial.profiles[0].Files)
	require.Empty(t, trial.profiles[0].Curves[0])
}
