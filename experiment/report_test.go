package experiment

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"pianola/experiment/compare"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/internal/table"
	"pianola/internal/testkit"
	"pianola/profile"
	"pianola/profile/diagnosis"
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

// replays returns a side of so many runs that differ by a millisecond each.
func replays(root string, n int, millis, read, write int64, steps ...string) *Side {
	s := &Side{Kind: Replayed, Candidate: steps, Root: Root{Dir: root}}
	for i := range int64(n) {
		s.Runs = append(s.Runs, Run{Profile: run(millis+i, read+i, write)})
	}
	return s
}

// subject returns a subject of an application that ran once, and of other sides.
func subject(name string, sides ...*Side) *Subject {
	s := &Subject{Name: name, Sides: append([]*Side{{Kind: Recorded, Runs: []Run{{Profile: run(1010, 490, 20)}}}}, sides...)}
	for _, side := range sides {
		if side.Kind == Replayed {
			s.played = append(s.played, played{Side: side})
		}
	}
	return s
}

func reportOf(subjects ...*Subject) *Report { return &Report{Subjects: subjects} }

func report() *Report {
	broken := replays("", 6, 300, 100, 20, "drop=write")
	broken.Runs[5].Failed, broken.Runs[5].Differed, broken.Runs[5].Example = 1, 2, "2 × write: recorded 10, got EBADF"
	stopped := replays("", 0, 0, 0, 0, "backend=memory")
	stopped.Err = errors.New("limit exceeded")
	r := reportOf(subject("trace.txt",
		replays("", 6, 1000, 500, 20),
		replays("", 6, 1200, 700, 20, "block=1"),
		broken, stopped,
		replays("", 6, 500, 50, 20, "prefetch=4", "cache=cold")))
	r.Options = []Option{{"cache", "cold"}}
	return r
}

func text(t *testing.T, r *Report) string { return written(t, r, false) }

func written(t *testing.T, r *Report, all bool) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteText(&b, all))
	return b.String()
}

// The table has the baseline first, those that gain most after it, and those
// that are no candidates last.
func TestText(t *testing.T) {
	require.Equal(t, `most gained: prefetch=4+cache=cold took 49.9 % less time than the baseline, 49.6 % to 50.1 % less with 95 % confidence
coverage: unknown, because the recording does not state it

run time                   s  ratio        interval   I/O ms  runs  failed  differed
application            1.010  1.007               -  510.000     1       0         0
baseline               1.002      -               -  522.500     6       0         0
prefetch=4+cache=cold  0.502  0.501  0.499 to 0.504   72.500     6       0         0
block=1                1.203  1.200  1.196 to 1.203  722.500     6       0         0
drop=write             0.302  0.302  0.299 to 0.304  122.500     6       1         2
backend=memory             -      -               -        -     0       0         0

drop=write: breaks results: 2 × write: recorded 10, got EBADF
backend=memory: left out: limit exceeded
`, text(t, report()))
	all := written(t, report(), true)
	require.Contains(t, all, "\nread ")
	require.NotContains(t, all, "\nsync ", "no side has such calls")
	require.NotRegexp(t, `(?ms)^read .*^backend=memory +-.*^write `, all)
}

func TestConclusion(t *testing.T) {
	base, faster := func() *Side { return replays("", 6, 1000, 500, 20) }, func() *Side { return replays("", 6, 500, 50, 20, "a") }
	broken := replays("", 1, 10, 1, 1, "b")
	broken.Runs[0].Failed = 1
	many := func(n int) (all []*Side) {
		for range n {
			all = append(all, faster())
		}
		return all
	}
	for _, c := range []struct {
		name  string
		sides []*Side
		want  string
	}{
		{"few runs", []*Side{replays("", 5, 500, 50, 20, "a")}, "too few runs to tell a gain from noise: 6 of each can"},
		{"slower", []*Side{replays("", 6, 1500, 50, 20, "a")}, "baseline is 1.50 times as fast as a (1.49 to 1.50, 95 %), 6 runs of each"},
		{"the same", []*Side{replays("", 6, 1000, 500, 20, "a")}, "no difference found: a takes 0.3 % less to 0.3 % more time than baseline (95 %), 6 runs of each"},
		{"two", []*Side{replays("", 6, 1500, 50, 20, "a"), replays("", 6, 1400, 50, 20, "b")},
			"no candidate is found to be faster than the baseline; the best: baseline is 1.40 times as fast as b (1.39 to 1.40, 95 %), 6 runs of each"},
		{"without runs", []*Side{replays("", 0, 0, 0, 0, "a")}, "no candidate was replayed"},
		{"broken", []*Side{broken, replays("", 0, 0, 0, 0, "a")}, "no candidate has the results of the baseline"},
		{"ten", many(10), "most gained: a took 49.9 % less time than the baseline, 49.6 % to 50.1 % less with 95 % confidence"},
		{"many", many(64), "most gained: a took 49.9 % less time than the baseline, 49.6 % to 50.1 % less with 95 % confidence" +
			"; of 64 that change nothing one gains by chance in up to 27 % of experiments, so try it again by itself"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, reportOf(subject("", slices.Concat([]*Side{base()}, c.sides)...)).Conclusion())
		})
	}
}

// A recording that lacks too much allows no conclusion.
func TestWithheld(t *testing.T) {
	r := report()
	r.Subjects[0].Sides[0].Runs[0].Profile.Coverage = lacks(t)
	require.Contains(t, r.Conclusion(), "cannot be judged: ")
	require.NotEmpty(t, r.Withheld())
}

// lacks returns the coverage of a recording that allows no verdict.
func lacks(t *testing.T) coverage.Account {
	a := coverage.Account{Known: true, Recorded: coverage.Amount{Bytes: 1, Nanos: 1}}
	a.Add(coverage.Missing{Kind: coverage.Uring, Calls: 1, Amount: coverage.Amount{Bytes: 1 << 30, Nanos: 1e9}})
	require.NotEmpty(t, a.Withheld())
	return a
}

// A difference that the baseline has too breaks nothing.
func TestBreaks(t *testing.T) {
	with := func(failed, differed int64, example string, steps ...string) *Side {
		return &Side{Kind: Replayed, Candidate: steps, Runs: []Run{{Profile: run(10, 1, 1), Failed: failed, Differed: differed, Example: example}}}
	}
	out := text(t, reportOf(subject("", with(1, 3, "3 × read"), with(1, 3, "3 × read", "a"), with(2, 3, "1 × open", "b"))))
	require.Contains(t, out, "\nbaseline: 3 events differed from the recording: 3 × read\nb: breaks results: 1 × open\n")
	require.NotContains(t, out, "a: breaks")
}

// How threads share syncs is said once for all sides whose traces share them alike.
func TestGrouping(t *testing.T) {
	base, same, other := replays("", 1, 10, 1, 1), replays("", 1, 10, 1, 1, "a"), replays("", 1, 10, 1, 1, "b")
	base.Runs[0].Profile.Grouping = &format.Grouping{Threads: 4, Commits: 12, Groups: 8}
	same.Runs[0].Profile.Grouping = base.Runs[0].Profile.Grouping
	other.Runs[0].Profile.Grouping = &format.Grouping{Threads: 2, Commits: 12, Groups: 8}
	out := text(t, reportOf(subject("", base, same, other)))
	require.Contains(t, out, "\nbaseline: group commit: 4 threads made 12 commits with 8 syncs; ")
	require.Contains(t, out, "\nb: group commit: 2 threads made 12 commits with 8 syncs")
	require.NotContains(t, out, "a: group commit")
}

// The report says that a candidate changed nothing, and no name breaks the table.
func TestUnchanged(t *testing.T) {
	same := replays("", 6, 1000, 500, 20, "exec:sed -e '\n\ts/a/b/'")
	same.Unchanged = true
	r := reportOf(subject("", replays("", 6, 1000, 500, 20), same))
	require.Contains(t, text(t, r), "\nexec:sed -e '\\n\\ts/a/b/': the trace is that of the baseline\n")
	sides := documentOf(t, r).Subjects[0].Sides
	require.True(t, sides[2].Unchanged)
	require.False(t, sides[1].Unchanged)
}

// A candidate is compared with the recording as it is on the same root, and that with the
// first root.
func TestRoots(t *testing.T) {
	r := reportOf(subject("",
		replays("/fast", 6, 1000, 500, 20), replays("/fast", 6, 500, 50, 20, "a"),
		replays("", 6, 100, 10, 10, "backend=memory"),
		replays("/slow", 6, 2000, 1500, 20), replays("/slow", 6, 1800, 1300, 20, "a")))
	out := text(t, r)
	require.Regexp(t, `(?ms)^baseline on /fast +1\.002 +- .*^backend=memory +0\.10\S+ +0\.102 .*^a on /fast +0\.50\S+ +0\.501 .*^baseline on /slow +2\.00\S+ +1\.998 .*^a on /slow +1\.80\S+ +0\.900 `, out)
	require.Contains(t, out, "most gained: backend=memory took 89.8 % less time than baseline on /fast")
	sides := documentOf(t, r).Subjects[0].Sides
	require.Equal(t, "/slow", sides[5].Root)
	require.Equal(t, "baseline on /slow", sides[5].Base)
	require.InDelta(t, 0.1, *sides[5].Gain, 0.001)
	require.Empty(t, documentOf(t, r).Comparisons)
}

// Roots without candidates go by their names, or else by their directories, and each is
// compared with the first. A single one is compared with the application.
func TestRootsOnly(t *testing.T) {
	fast, slow := func() *Side { return replays("/fast", 6, 1000, 500, 20) }, replays("/slow", 6, 2000, 1500, 20)
	slow.Root.Name = "hdd"
	r := reportOf(subject("", slow, fast()))
	require.Equal(t, "/fast is 2.00 times as fast as hdd (1.99 to 2.00, 95 %), 6 runs of each; the most in read: 0.502 instead of 1.502 s", r.Conclusion())
	out := text(t, r)
	require.Regexp(t, `(?m)^hdd +2\.00`, out)
	require.Regexp(t, `(?m)^/fast +1\.00`, out)
	d := documentOf(t, r)
	require.Equal(t, "hdd", d.Subjects[0].Sides[1].RootName)
	require.Len(t, d.Comparisons, 1)

	r = reportOf(subject("", fast()))
	require.Len(t, r.Pairs(), 1)
	require.Equal(t, [2]string{"application", "replay"}, r.Pairs()[0].Names, "replays in a root without a name are those of the application")
	one := replays("", 6, 1, 1, 1)
	one.Root.Name = "nvme"
	require.Equal(t, [2]string{"application", "nvme"}, reportOf(subject("", one)).Pairs()[0].Names)

	r = reportOf(subject("", fast(), replays("/a", 2, 900, 400, 20), replays("/b", 2, 1100, 400, 20)))
	require.Len(t, r.Pairs(), 2)
	require.Contains(t, text(t, r), "\ntoo few runs to tell a difference from noise: 6 of each can\n")
}

// Runs that were saved are what others are compared with.
func TestSaved(t *testing.T) {
	saved := replays("", 6, 500, 50, 20)
	saved.Kind, saved.Name = Saved, "yesterday"
	r := reportOf(subject("", saved, replays("", 6, 1000, 500, 20)))
	require.Equal(t, [2]string{"yesterday", "replay"}, r.Pairs()[0].Names)
	require.Contains(t, r.Conclusion(), "yesterday is 2.00 times as fast as replay")
}

// suite returns a report of three workloads on two roots: one is twice as fast on the
// second, one as fast, and one was refused there.
func suite() *Report {
	on := func(root Root, millis int64) *Side {
		s := replays(root.Dir, 3, millis, 1, 1)
		s.Root = root
		return s
	}
	disk, flash := Root{"disk", "/d"}, Root{"flash", "/f"}
	refused := on(flash, 1)
	refused.Runs, refused.Err = nil, errors.New("it may take 2 GB, and 1 GB are free")
	differed := on(flash, 500)
	differed.Runs[0].Differed, differed.Runs[0].Example = 2, "2 × write: recorded 5, got \x1b 4"
	return reportOf(subject("base", on(disk, 2000), on(flash, 1000)), subject("compile", on(disk, 500), differed), subject("large", on(disk, 800), refused))
}

func TestSubjects(t *testing.T) {
	out := text(t, suite())
	require.Contains(t, out, "flash is 1.41 times as fast as disk (1.41 to 1.42, 95 %); geometric mean of 2 workloads, from 0.50 times the run time (base) to 1.00 (compile)\n")
	require.Regexp(t, `(?m)^workload +run time +s +ratio +interval .*runs +failed|differed`, out)
	require.Regexp(t, `(?m)^base +application +1\.010 +0\.505 `, out)
	require.Regexp(t, `(?m)^base +flash +1\.001 +0\.500 +- `, out)
	require.Regexp(t, `(?m)^mean of 2 +flash +- +0\.707 +0\.70\d to 0\.70\d`, out)
	require.Contains(t, out, "\nlarge on flash: left out: it may take 2 GB, and 1 GB are free\n")
	require.Contains(t, out, `compile on flash: 2 events differed from the recording: 2 × write: recorded 5, got \33 4`)
	for line := range strings.Lines(out) {
		require.NotContains(t, line, "\x1b")
	}
	long := suite()
	for _, s := range long.Subjects {
		s.Name = strings.Repeat("w", 40)
		for _, side := range s.Sides[1:] {
			side.Root.Name += strings.Repeat("x", 28)
		}
	}
	_, lines, _ := strings.Cut(text(t, long), "\n\n")
	lines, _, _ = strings.Cut(lines, "\n\n")
	for line := range strings.Lines(lines) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), table.Width+1, "the table fits the screen")
	}
	d := documentOf(t, suite())
	require.Len(t, d.Subjects, 3)
	require.InDelta(t, 0.707, d.Means[0].Ratio, 0.001)
	require.Equal(t, 2, d.Means[0].Subjects)
	require.Empty(t, d.Comparisons)

	one := suite()
	for _, s := range one.Subjects {
		s.Sides, s.played = s.Sides[:2], s.played[:1]
	}
	one.Interrupted = true
	out = text(t, one)
	require.Contains(t, out, "disk is 1.09 times as fast as the recorded machine (1.09 to 1.09, 95 %); geometric mean of 3 workloads")
	require.Contains(t, out, "\nincomplete: some runs are missing\n")

	few := suite()
	few.Subjects[0].Sides[1].Runs = few.Subjects[0].Sides[1].Runs[:1]
	require.Contains(t, few.Conclusion(), "too few runs for an interval")

	none := suite()
	for _, s := range none.Subjects {
		for _, side := range s.Sides[1:] {
			side.Runs = nil
		}
	}
	require.Equal(t, "nothing to compare: no workload was replayed", none.Conclusion())
}

// Workloads in whose run times storage does not show are named.
func TestHidden(t *testing.T) {
	r := suite()
	for _, side := range r.Subjects[1].Sides[1:] {
		for i := range side.Runs {
			p := side.Runs[i].Profile
			p.Floor = &format.Floor{Total: p.RunTime}
			require.True(t, p.Bound())
		}
	}
	out := text(t, r)
	require.Contains(t, out, "; storage does not show in compile\n")
	require.Contains(t, out, "compile on disk: compute binds it (")
}

// The report has the result of each suggestion of the diagnosis.
func TestAdvice(t *testing.T) {
	risk := diagnosis.ChangeOf(&profile.Finding{}, "sync=none").Risk
	r := reportOf(subject("trace.txt", replays("", 6, 1000, 500, 20), replays("", 6, 500, 50, 20, "sync=none"), replays("", 6, 300, 50, 20, "backend=memory"), replays("", 6, 1000, 500, 20, "prefetch=4")))
	r.Findings = []profile.Finding{
		{Rule: "sync", Text: "Syncs take the time.", Candidates: []string{"sync=none", "backend=memory"}},
		{Rule: "reads", Text: "Reads do.", Candidates: []string{"prefetch=4", "sync=none", "cache=cold", "gone=1"}},
	}
	require.Equal(t, []Candidate{{"sync=none"}, {"backend=memory"}, {"prefetch=4"}, {"gone=1"}}, Suggested(r.Findings))
	out := text(t, r)
	require.Contains(t, out, "worth most: sync=none saves 49.9 % of the run time (+49.9 %, +49.6 to +50.1 %)\n")
	require.Contains(t, out, "\n1. sync: Syncs take the time.\n2. reads: Reads do.\n")
	require.Contains(t, out, "\nsync=none: worth doing; it risks "+risk+"\n")
	require.Contains(t, out, "\nbackend=memory: a gain, but no change of the program brings that\n")
	require.Contains(t, out, "\nprefetch=4: no certain gain: +0.0 %, ")
	d := documentOf(t, r)
	require.Equal(t, worthDoing, d.Findings[0].Candidates[0].Outcome)
	require.Equal(t, risk, d.Findings[0].Candidates[0].Risk)
	require.Equal(t, beyondProgram, d.Findings[0].Candidates[1].Outcome)
	require.Equal(t, []string{"prefetch=4", "cache=cold", "gone=1"}, []string{d.Findings[1].Candidates[0].Name, d.Findings[1].Candidates[1].Name, d.Findings[1].Candidates[2].Name})
	require.Equal(t, notTried, d.Findings[1].Candidates[1].Outcome)
	require.Equal(t, "it shows a slowdown, not a gain", d.Findings[1].Candidates[1].Why)

	for name, test := range map[string]struct {
		change func(s *Side)
		why    string
	}{
		"error":  {func(s *Side) { s.Err = errors.New("no room") }, "no room"},
		"breaks": {func(s *Side) { s.Runs[0].Failed, s.Runs[0].Example = 1, "1 × open" }, "calls return other results: 1 × open"},
		"few":    {func(s *Side) { s.Runs = s.Runs[:2] }, "too few runs to tell"},
		"idle":   {func(s *Side) { s.Idle, s.Runs = true, nil }, "it changes nothing in this trace"},
		"none":   {func(s *Side) { s.Runs = nil }, "it was not measured"},
	} {
		r := reportOf(subject("", replays("", 6, 1000, 500, 20), replays("", 6, 500, 50, 20, "sync=none")))
		test.change(r.Subjects[0].Sides[2])
		r.Findings = []profile.Finding{{Rule: "sync", Candidates: []string{"sync=none"}}}
		require.Equal(t, "no suggested change certainly saves time", r.Conclusion(), name)
		require.Equal(t, test.why, r.findings()[0].Candidates[0].Why, name)
	}

	r = reportOf(subject("", replays("", 0, 0, 0, 0)))
	r.Findings = []profile.Finding{}
	require.Equal(t, "the diagnosis suggests no change to try", r.Conclusion())
	require.NotNil(t, documentOf(t, r).Findings)
}

func documentOf(t *testing.T, r *Report) (d document) {
	t.Helper()
	require.NoError(t, json.Unmarshal(testkit.JSON(t, r.Document(0.1)), &d))
	return d
}

func TestDocument(t *testing.T) {
	d := documentOf(t, report())
	require.Equal(t, map[string]string{"cache": "cold"}, d.Options)
	require.Equal(t, "trace.txt", d.Subjects[0].Name)
	sides := d.Subjects[0].Sides
	require.Equal(t, 1.01, *sides[0].Elapsed)
	require.Equal(t, Baseline, sides[1].Name)
	require.Nil(t, sides[1].Against)
	require.Equal(t, []float64{1, 1.001, 1.002, 1.003, 1.004, 1.005}, sides[1].RunSeconds)
	var names []string
	for _, s := range sides[2:] {
		names = append(names, s.Name)
	}
	require.Equal(t, []string{"prefetch=4+cache=cold", "block=1", "drop=write", "backend=memory"}, names)
	best, broken, stopped := sides[2], sides[4], sides[5]
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
	require.Nil(t, d.Findings)
}

// However often a report is told, it is compared once.
func TestComparedOnce(t *testing.T) {
	r := report()
	text(t, r)
	one := r.Subjects[0].Sides[2].against
	documentOf(t, r)
	r.Conclusion()
	require.NotNil(t, one)
	require.Same(t, one, r.Subjects[0].Sides[2].against)
}
