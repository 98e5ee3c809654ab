package compare

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
	"pianola/profile"
)

// made returns a profile with these milliseconds of reads, writes, syncs,
// metadata and run time, each category in one call; a negative time is unknown.
func made(t *testing.T, millis ...int64) *profile.Profile {
	t.Helper()
	ops := [profile.NumCalls]format.Op{format.OpRead, format.OpWrite, format.OpFsync, format.OpClose}
	var events []format.Event
	for k, ms := range millis[:profile.NumCalls] {
		if ms != 0 {
			e := testkit.Event(ops[k], 0, ms*1000, 0)
			if ms < 0 {
				e.Dur = format.Unknown
			}
			events = append(events, e)
		}
	}
	if end := millis[profile.NumCalls]; end > 0 {
		events = append(events, testkit.Event(format.OpExitGroup, end*1000, 0, 0))
	}
	return read(t, events...)
}

// compare compares one run of an application with replays.
func compare(app *profile.Profile, replays ...*profile.Profile) *Comparison {
	return Profiles([]*profile.Profile{app}, replays)
}

func TestCompare(t *testing.T) {
	app := read(t, testkit.Event(format.OpRead, 0, 200, 100), testkit.Event(format.OpWrite, 500, 100, 10), testkit.Event(format.OpExitGroup, 1000, 0, 0))
	replay := read(t, testkit.Event(format.OpRead, 0, 150, 90), testkit.Event(format.OpRead, 200, 150, -5), testkit.Event(format.OpFsync, 600, 50, 0), testkit.Event(format.OpExitGroup, 900, 0, 0))
	c := compare(app, replay)
	require.InDelta(t, 10e-6, c.NoiseFloor, 1e-12)
	require.Len(t, c.shown(), 5)

	row := c.Rows[profile.Reads]
	require.Equal(t, "read", row.Name)
	require.Equal(t, profile.Measure{Seconds: new(200e-6), Calls: 1, Bytes: 100, Tails: profile.NewTails([5]float64{200e-6, 200e-6, 200e-6, 200e-6, 200e-6})}, row.Application)
	require.Equal(t, profile.Measure{Seconds: new(300e-6), Calls: 2, Errors: 1, Bytes: 90, Tails: profile.NewTails([5]float64{150e-6, 150e-6, 150e-6, 150e-6, 150e-6})}, row.Replay)
	require.Len(t, row.Tails, 5)
	require.InDelta(t, 0.75, *row.Tails[2].Ratio, 1e-12)
	require.Nil(t, row.Tails[2].Interval)
	require.InDelta(t, 1.5, *row.Ratio, 1e-12)
	require.Nil(t, row.Interval)
	require.Equal(t, TooFewRuns, row.Finding)
	// The application is done at 0.2 of its time; the replay has then spent
	// half and goes on at 0.222 to the end of its reads at 0.389.
	require.InDelta(t, 0.5, row.Distance.Max, 0.001)

	row = c.Rows[profile.Writes]
	require.Equal(t, profile.Measure{Seconds: new(0.0)}, row.Replay)
	require.Zero(t, *row.Ratio)
	require.Nil(t, row.Distance)

	row = c.Rows[profile.Syncs]
	require.Zero(t, *row.Application.Seconds)
	require.Nil(t, row.Ratio, "a ratio to nothing is none")

	row = c.Rows[profile.NumCategories]
	require.Equal(t, ElapsedRow, row.Name)
	require.Equal(t, profile.Measure{Seconds: new(1e-3), Calls: 2, Bytes: 110}, row.Application)
	require.InDelta(t, 0.9, *row.Ratio, 1e-12)
}

func TestCompareSeveralReplays(t *testing.T) {
	app := made(t, 100, 0, 0, 0, 1000)
	c := compare(app, made(t, 130, 0, 0, 0, 1300), made(t, 100, 0, 0, 0, 1000), made(t, 105, 0, 0, 0, 900))
	require.InDelta(t, 1.05, *c.Rows[profile.Reads].Ratio, 1e-12)
	require.Equal(t, &Interval{Low: 1, High: 1.3}, c.Rows[profile.Reads].Interval)
	require.InDelta(t, 1, *c.Rows[profile.NumCategories].Ratio, 1e-12)
	require.True(t, c.Judge(0.06).Within)
	require.False(t, c.Judge(0.04).Within)

	c = compare(app, made(t, 130, 0, 0, 0, 1300), made(t, 100, 0, 0, 0, 1000))
	require.InDelta(t, 1.15, *c.Rows[profile.Reads].Ratio, 1e-12, "the median of two is their mean")
}

// recording is a made-up run, on a machine whose speed drifts by 1 % from run
// to run, whose calls take from half to one and a half times as long as usual,
// and which stalls at times. One in ten reads takes slow times as long.
func recording(t *testing.T, rnd *rand.Rand, slow float64) *profile.Profile {
	t.Helper()
	ops := []struct {
		op    format.Op
		nanos float64
	}{{format.OpRead, 2e6}, {format.OpRead, 1e6}, {format.OpPwrite64, 1e6}, {format.OpNewfstatat, 0.2e6}, {format.OpFdatasync, 4e6}}
	var (
		events []format.Event
		now    int64
		speed  = math.Exp(0.01 * rnd.NormFloat64())
	)
	for i := range 2000 {
		o := ops[i%len(ops)]
		nanos := o.nanos * speed * (0.5 + rnd.Float64())
		if rnd.IntN(500) == 0 {
			nanos += 5e6
		}
		if o.op == format.OpRead && rnd.IntN(10) == 0 {
			nanos *= slow
		}
		events = append(events, format.Event{Op: o.op, TID: 1, Start: now, Dur: int64(nanos), Ret: 4096})
		now += int64(nanos) + 100e3
	}
	return read(t, events...)
}

// differing returns the rows that differ in ten draws of ten runs each.
func differing(t *testing.T, slow float64) (draws [10][]string) {
	rnd := rand.New(rand.NewPCG(11, 12))
	for i := range draws {
		var a, b []*profile.Profile
		for range 10 {
			a, b = append(a, recording(t, rnd, 1)), append(b, recording(t, rnd, slow))
		}
		for _, row := range Profiles(a, b).Rows {
			require.NotEqual(t, TooFewRuns, row.Finding)
			if row.Finding == Differs {
				draws[i] = append(draws[i], row.Name)
			}
		}
	}
	return draws
}

func TestCompareWithItselfFindsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many samples")
	}
	found := 0
	for _, rows := range differing(t, 1) {
		if len(rows) > 0 {
			found++
		}
	}
	require.LessOrEqual(t, found, 1)
}

func TestCompareFindsSlowReads(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many samples")
	}
	for i, rows := range differing(t, 1.5) {
		require.Contains(t, rows, "read", "draw %d", i)
	}
}

func TestFindings(t *testing.T) {
	// runs are of these milliseconds of reads in a run of twice the time.
	runs := func(millis ...int64) (p []*profile.Profile) {
		for _, ms := range millis {
			p = append(p, made(t, ms, 0, 0, 0, 2*ms))
		}
		return p
	}
	for _, test := range []struct {
		name        string
		app, replay []*profile.Profile
		want        Finding
		replays     string // the answer for replays of an application
		sides       string // the answer for two systems
	}{
		{"slower", runs(98, 99, 100, 100, 101, 102), runs(208, 209, 210, 210, 211, 212), Differs,
			"the replays take 2.10 times as long as the application (2.06 to 2.14, 95 %), 6 runs of each: outside 10 % in read, run time", "old is 2.10 times as fast as new (2.06 to 2.14, 95 %), 6 runs of each"},
		{"a bit slower", runs(98, 99, 100, 100, 101, 102), runs(103, 104, 105, 105, 106, 107), Differs,
			"the replays take 5.0 % longer than the application (2.5 to 7.6 % more, 95 %), 6 runs of each: within 10 %", "old is 1.050 times as fast as new (1.025 to 1.076, 95 %)"},
		{"faster", runs(98, 99, 100, 100, 101, 102), runs(88, 89, 90, 90, 91, 92), Differs,
			"the replays take 10.0 % less time than the application (", "new is 1.11 times as fast as old (1.08 to 1.14, 95 %), 6 runs of each"},
		{"no difference", runs(98, 99, 100, 100, 101, 102), runs(101, 100, 99, 98, 100, 103), NoDifference,
			"no difference found: the replays take 2.5 % less to 3.0 % more time than the application (95 %), 6 runs of each: within 10 %",
			"no difference found: new takes 2.5 % less to 3.0 % more time than old (95 %), 6 runs of each"},
		{"five are too few", runs(98, 99, 100, 101, 102), runs(208, 209, 210, 210, 211, 212), TooFewRuns,
			"the replays take 2.10 times as long as the application, 5 and 6 runs: outside 10 % in read, run time", "new takes 2.10 times as long as old, 5 and 6 runs"},
		{"one recording", runs(100), runs(117, 118, 118, 119, 119), TooFewRuns,
			"the replays take 18.0 % longer than the application, 1 and 5 runs: inconclusive in read, run time; make 6 runs of each", "new takes 18.0 % longer than old, 1 and 5 runs"},
		{"one of each", runs(100), runs(110), TooFewRuns,
			"the replay takes 10.0 % longer than the application, one run of each: within 10 %", "new takes 10.0 % longer than old, one run of each"},
		{"equal", runs(100), runs(100), TooFewRuns,
			"the replay takes the same time as the application, one run of each: within 10 %", "new takes the same time as old, one run of each"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Profiles(test.app, test.replay)
			require.Equal(t, test.want, c.Rows[profile.Reads].Finding)
			require.Equal(t, test.want, c.elapsed().Finding)
			v := c.Judge(0.1)
			require.Contains(t, c.Answer(&v), test.replays)
			c.Names = [2]string{"old", "new"}
			require.Contains(t, c.Answer(&v), test.sides)
			require.Empty(t, c.Rows[profile.Writes].Finding)
		})
	}
}

// One of two systems is faster, which is not a failure: nothing is outside a tolerance that
// was not asked for. The answer says in what class the difference is.
func TestSystems(t *testing.T) {
	runs := func(reads, writes, whole int64) (list []*profile.Profile) {
		for i := range int64(MinRuns) {
			list = append(list, made(t, reads+i, writes, 0, 0, whole+i))
		}
		return list
	}
	slow, fast := runs(800, 50, 1000), runs(300, 40, 400)
	for _, test := range []struct {
		name        string
		application []*profile.Profile
		replay      []*profile.Profile
		want        string
	}{
		{"the second is faster", slow, fast, "new is 2.49 times as fast as old (2.47 to 2.51, 95 %), 6 runs of each; the most in read: 302.500 instead of 802.500 ms"},
		{"the first is faster", fast, slow, "old is 2.49 times as fast as new (2.47 to 2.51, 95 %), 6 runs of each; the most in read: 302.500 instead of 802.500 ms"},
		{"few runs", slow[:1], fast[:1], "new takes 60.0 % less time than old, one run of each; the most in read: 300.000 instead of 800.000 ms"},
		{"few runs, and slower", fast[:1], slow[:1], "new takes 2.50 times as long as old, one run of each; the most in read: 800.000 instead of 300.000 ms"},
		{"neither", slow, slow, "no difference found: new takes 0.3 % less to 0.3 % more time than old (95 %), 6 runs of each"},
		{"no calls", []*profile.Profile{made(t, 0, 0, 0, 0, 1000)}, []*profile.Profile{made(t, 0, 0, 0, 0, 500)}, "new takes 50.0 % less time than old, one run of each"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Profiles(test.application, test.replay)
			c.Names = [2]string{"old", "new"}
			v := c.Judge(NoTolerance)
			require.Equal(t, Compared, v.State)
			require.Nil(t, v.Tolerance)
			require.Equal(t, test.want, c.Answer(&v))
			var text, markdown bytes.Buffer
			require.NoError(t, c.WriteText(&text, TextOptions{Tolerance: NoTolerance, All: true}))
			require.NoError(t, c.WriteMarkdown(&markdown, TextOptions{Tolerance: NoTolerance}))
			document, err := json.Marshal(c.Document(NoTolerance))
			require.NoError(t, err)
			for _, form := range []string{text.String(), markdown.String()} {
				require.NotRegexp(t, "outside|within|undecided|10 %", form)
			}
			require.Contains(t, string(document), `"verdict":"compared"`)
			require.NotContains(t, string(document), `"tolerance":`)
		})
	}
	c := Profiles(slow, fast)
	require.InDelta(t, DefaultTolerance, *new(c.Judge(NoTolerance)).Tolerance, 0, "of replays the question is how true they are")
	require.Equal(t, Outside, c.Judge(NoTolerance).State)
	c.Names = [2]string{"old", "new"}
	require.Equal(t, Outside, c.Judge(0.1).State, "a tolerance that is asked for holds")

	c = Profiles(slow, []*profile.Profile{made(t, 300, 40, 0, 0, 0)})
	c.Names = [2]string{"old", "new"}
	c.elapsed().Replay.Seconds, c.elapsed().Ratio = nil, nil
	v := c.Judge(NoTolerance)
	require.False(t, v.Possible())
	require.Equal(t, Inconclusive, v.State)
}

// With enough runs the intervals decide. A row is undecided if its interval contains a
// bound, unless it shows no relevant difference.
func TestJudgeIntervals(t *testing.T) {
	app := []*profile.Profile{}
	for range MinRuns {
		app = append(app, made(t, 500, 0, 0, 0, 1000))
	}
	for _, test := range []struct {
		name        string
		reads       [MinRuns]int64
		state       State
		notExcluded bool
	}{
		{"inside", [...]int64{510, 520, 530, 535, 540, 545}, Within, false},
		{"a difference, inside but for one", [...]int64{510, 520, 530, 535, 540, 600}, Inconclusive, false},
		{"no difference, inside but for one", [...]int64{490, 495, 500, 505, 520, 600}, Within, true},
		{"no difference, but far on both sides", [...]int64{200, 300, 490, 510, 700, 800}, Inconclusive, false},
		{"no difference, and at most twice the tolerance", [...]int64{420, 430, 490, 510, 570, 580}, Within, true},
		{"outside but for one", [...]int64{510, 560, 565, 570, 580, 600}, Inconclusive, false},
		{"outside", [...]int64{560, 565, 570, 580, 590, 600}, Outside, false},
		{"outside below", [...]int64{400, 410, 415, 420, 430, 440}, Outside, false},
		{"at the bound", [...]int64{550, 550, 550, 550, 550, 550}, Within, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var replays []*profile.Profile
			for _, ms := range test.reads {
				replays = append(replays, made(t, ms, 0, 0, 0, 1000))
			}
			v := Profiles(app, replays).Judge(0.1)
			require.Equal(t, test.state, v.State)
			require.Equal(t, test.state == Within, v.Within)
			require.Equal(t, test.state == Outside, slices.Contains(v.Outside, "read"))
			require.Equal(t, test.state == Inconclusive, slices.Contains(v.Undecided, "read"))
			require.Equal(t, test.notExcluded, slices.Contains(v.NotExcluded, "read"))
			require.Equal(t, test.state == Inconclusive, v.Runs > MinRuns, "%d runs needed", v.Runs)
			if finding := Profiles(app, replays).Rows[profile.Reads].Finding; test.state == Outside {
				require.Equal(t, Differs, finding)
			} else if test.notExcluded {
				require.Equal(t, NoDifference, finding)
			}
		})
	}
}

// With few runs the medians decide. A row that exceeds the tolerance by less than the
// tolerance is undecided.
func TestJudgeMediansOfFewRuns(t *testing.T) {
	for _, test := range []struct {
		read, end int64
		want      State
	}{
		{500, 1000, Within}, {550, 1100, Within}, {450, 900, Within},
		{551, 1000, Inconclusive}, {600, 1200, Inconclusive}, {400, 800, Inconclusive},
		{601, 1000, Outside}, {500, 1201, Outside}, {500, 799, Outside}, {560, 1300, Outside},
	} {
		app, replay := made(t, 500, 0, 0, 0, 1000), made(t, test.read, 0, 0, 0, test.end)
		for n := 1; n < MinRuns; n++ {
			v := Profiles(slices.Repeat([]*profile.Profile{app}, n), slices.Repeat([]*profile.Profile{replay}, MinRuns)).Judge(0.1)
			require.Equal(t, test.want, v.State, "%d runs, %d ms of %d", n, test.read, test.end)
			if test.want == Inconclusive {
				require.Equal(t, MinRuns, v.Runs)
			} else {
				require.Zero(t, v.Runs)
			}
		}
	}
}

// As many runs as are advised decide, if they are like the first.
func TestRunsNeededTell(t *testing.T) {
	runs := func(n int, from, to int64) (list []*profile.Profile) {
		for i := range int64(n) {
			ms := from
			if n > 1 {
				ms += (to - from) * i / int64(n-1)
			}
			list = append(list, made(t, ms, 0, 0, 0, 2000))
		}
		return list
	}
	for _, test := range []struct {
		name     string
		from, to int64
		want     State
	}{
		{"a difference inside", 1020, 1120, Within},
		{"outside", 1060, 1240, Outside},
		{"outside below", 760, 930, Outside},
		{"much noise", 750, 1250, Within},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := Profiles(runs(MinRuns, 990, 1010), runs(MinRuns, test.from, test.to)).Judge(0.1)
			require.Equal(t, []string{"read"}, v.Undecided)
			n := v.Runs + v.Runs/2 // it is an estimate
			require.Equal(t, test.want, Profiles(runs(n, 990, 1010), runs(n, test.from, test.to)).Judge(0.1).State, "%d runs", n)
			require.Less(t, v.Runs, maxUseful)
		})
	}
	v := Profiles(runs(MinRuns, 990, 1010), runs(MinRuns, 1010, 1180)).Judge(0.1)
	require.Equal(t, Inconclusive, v.State)
	require.Zero(t, v.Runs, "it is at the bound")
}

func TestTypical(t *testing.T) {
	a, b, c := made(t, 0, 0, 0, 0, 3), made(t, 0, 0, 0, 0, 1), made(t, 0, 0, 0, 0, 2)
	require.Same(t, c, Typical([]*profile.Profile{a, b, c}))
	require.Same(t, b, Typical([]*profile.Profile{a, b}))
	require.Nil(t, Typical(nil))
}

func TestDistanceOfAllIO(t *testing.T) {
	app := read(t, testkit.Event(format.OpRead, 0, 100, 0), testkit.Event(format.OpWrite, 100, 100, 0), testkit.Event(format.OpExitGroup, 400, 0, 0))
	swapped := read(t, testkit.Event(format.OpWrite, 0, 100, 0), testkit.Event(format.OpRead, 100, 100, 0), testkit.Event(format.OpExitGroup, 400, 0, 0))
	late := read(t, testkit.Event(format.OpRead, 200, 100, 0), testkit.Event(format.OpWrite, 300, 100, 0), testkit.Event(format.OpExitGroup, 400, 0, 0))
	require.Equal(t, &Distance{}, compare(app, swapped).Distance)
	require.InDelta(t, 1, compare(app, late).Distance.Max, 0.001)
	require.InDelta(t, 0.5, compare(app, late).Distance.Mean, 0.001)
	require.InDelta(t, 0.5, compare(app, late, app).Distance.Max, 0.001)
	require.Nil(t, compare(app, made(t, 0, 0, 0, 0, 1)).Distance)
}

func TestOperationsThatDifferMostComeFirst(t *testing.T) {
	c := compare(read(t, testkit.Application(1, 1)...), read(t, testkit.Application(2, 1.1)...))
	require.Len(t, c.Operations, 7)
	require.True(t, slices.IsSortedFunc(c.Operations, func(a, b Row) int {
		return cmp.Compare(math.Abs(b.difference()), math.Abs(a.difference()))
	}))
	for _, row := range c.Operations {
		require.Empty(t, row.Finding)
	}
}

func TestJudge(t *testing.T) {
	app := []int64{500, 200, 0, 5, 1000}
	for _, test := range []struct {
		name                    string
		app, replay             []int64
		within                  bool
		outside, noise, unknown []string
	}{
		{"equal", app, app, true, nil, []string{"metadata"}, nil},
		{"just inside", app, []int64{550, 180, 0, 5, 1100}, true, nil, []string{"metadata"}, nil},
		{"just outside, undecided", app, []int64{551, 179, 0, 5, 1101}, false, nil, []string{"metadata"}, nil},
		{"outside", app, []int64{601, 159, 0, 5, 1201}, false, []string{"read", "write", "elapsed"}, []string{"metadata"}, nil},
		{"faster is as bad as slower", app, []int64{500, 200, 0, 5, 799}, false, []string{"elapsed"}, []string{"metadata"}, nil},
		{"below the floor nothing counts", app, []int64{500, 200, 9, 1, 1000}, true, nil, []string{"sync", "metadata"}, nil},
		{"above the floor it does", app, []int64{500, 200, 10, 20, 1000}, false, []string{"sync", "metadata"}, nil, nil},
		{"a difference below the floor does not", app, []int64{500, 200, 0, 14, 1000}, true, nil, []string{"metadata"}, nil},
		{"a difference from below the floor that is above it does", app, []int64{500, 200, 0, 16, 1000}, false, []string{"metadata"}, nil, nil},
		{"vanished", app, []int64{500, 0, 0, 5, 1000}, false, []string{"write"}, []string{"metadata"}, nil},
		{"times unknown", app, []int64{-1, 200, 0, 5, 1000}, true, nil, []string{"metadata"}, []string{"read"}},
		{"run time unknown", app, []int64{-1, -1, 0, -1, 0}, false, nil, nil, []string{"read", "write", "metadata", "elapsed"}},
		{"nothing", []int64{0, 0, 0, 0, 0}, []int64{0, 0, 0, 0, 0}, false, nil, nil, []string{"elapsed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := compare(made(t, test.app...), made(t, test.replay...))
			v := c.Judge(0.1)
			require.Equal(t, test.within, v.Within)
			require.Equal(t, test.within, c.Judge(0.1).Within)
			require.ElementsMatch(t, test.outside, v.Outside)
			require.ElementsMatch(t, test.noise, v.Noise)
			require.ElementsMatch(t, test.unknown, v.Unknown)
		})
	}
}

func TestCompareWithoutReplays(t *testing.T) {
	c := compare(made(t, 1, 2, 3, 4, 10))
	require.False(t, c.Judge(1).Within)
	require.Len(t, c.Judge(1).Unknown, int(profile.NumCalls)+1)
}

func TestReports(t *testing.T) {
	app, other := read(t, testkit.Application(1, 1)...), read(t, testkit.Application(2, 1.1)...)
	unknown := read(t, testkit.Event(format.OpRead, 0, 9000, 4096), testkit.Event(format.OpClose, 9500, 0, -9),
		format.Event{Op: format.OpWrite, Start: 1e7, Dur: format.Unknown, Ret: 7})
	var apps, others []*profile.Profile
	for i := range uint64(MinRuns) {
		apps = append(apps, read(t, testkit.Application(i, 1+float64(i)/100)...))
		others = append(others, read(t, testkit.Application(i+10, 1.05+float64(i)/100)...))
	}
	groups, systems := Profiles(apps, others), Profiles(apps, others)
	systems.Names, systems.Busy = [2]string{"nvme", "sata"}, []string{"sata: the machine was busy"}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"groups.txt":     func(b *bytes.Buffer) error { return groups.WriteText(b, TextOptions{Tolerance: 0.06}) },
		"groups-all.txt": func(b *bytes.Buffer) error { return groups.WriteText(b, TextOptions{Tolerance: 0.06, All: true}) },
		"systems.txt":    func(b *bytes.Buffer) error { return systems.WriteText(b, TextOptions{Tolerance: 0.06}) },
		"compare-all.txt": func(b *bytes.Buffer) error {
			return compare(app, other).WriteText(b, TextOptions{Tolerance: 0.1, All: true})
		},
		"groups.json":   func(b *bytes.Buffer) error { b.Write(testkit.JSON(t, groups.Document(0.06))); return nil },
		"groups.csv":    func(b *bytes.Buffer) error { return groups.WriteCSV(b) },
		"unknown.csv":   func(b *bytes.Buffer) error { return compare(unknown, unknown).WriteCSV(b) },
		"benchstat.txt": func(b *bytes.Buffer) error { return compare(unknown, app, other).WriteBenchstat(b) },
		"compare.txt":   func(b *bytes.Buffer) error { return compare(app, other).WriteText(b, TextOptions{Tolerance: 0.1}) },
		"compare.json":  func(b *bytes.Buffer) error { b.Write(testkit.JSON(t, compare(app, other).Document(0.1))); return nil },
		"replays.txt": func(b *bytes.Buffer) error {
			return compare(app, app, other).WriteText(b, TextOptions{Tolerance: 0.07})
		},
		"replays.json": func(b *bytes.Buffer) error {
			b.Write(testkit.JSON(t, compare(app, app, other).Document(0.07)))
			return nil
		},
		"unknown.txt": func(b *bytes.Buffer) error {
			return compare(unknown, unknown).WriteText(b, TextOptions{Tolerance: 0.1})
		},
		"unknown.json": func(b *bytes.Buffer) error {
			b.Write(testkit.JSON(t, compare(unknown, unknown).Document(0.1)))
			return nil
		},
		"nothing.txt": func(b *bytes.Buffer) error { return compare(app).WriteText(b, TextOptions{Tolerance: 0.1}) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, write(&b))
			testkit.Golden(t, name, b.Bytes())
		})
	}
}

func TestReportErrors(t *testing.T) {
	p := made(t, 1, 2, 3, 4, 10)
	c := compare(p, p)
	require.ErrorIs(t, c.WriteText(testkit.Broken{}, TextOptions{Tolerance: 0.1}), os.ErrClosed)
	require.ErrorIs(t, c.WriteCSV(testkit.Broken{}), os.ErrClosed)
	require.ErrorIs(t, c.WriteBenchstat(testkit.Broken{}), os.ErrClosed)
}

// FuzzProfiles: any profile can be compared, and nothing differs from itself.
func FuzzProfiles(f *testing.F) {
	for _, seed := range testkit.EventSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var collector profile.Collector
		if err := collector.Write(testkit.Events(data)); err != nil {
			return
		}
		p := collector.Profile()
		c := compare(p, p)
		require.Empty(t, c.Judge(0).Outside)
		if c.Distance != nil {
			require.Zero(t, *c.Distance)
		}
	})
}

// Communication is shown where a side has any, and is not judged.
func TestCommunicationIsNotJudged(t *testing.T) {
	file := testkit.Event(format.OpRead, 0, 100, 1)
	talk := testkit.Event(format.OpRead, 200, 9000, 1)
	talk.Args[0] = 1
	talk.Notes = &format.Notes{Has: format.NotedType, Type: format.TypeFifo}
	quiet, talks := read(t, file, testkit.Event(format.OpExitGroup, 10_000, 0, 0)), read(t, file, talk, testkit.Event(format.OpExitGroup, 10_000, 0, 0))
	for _, test := range []struct {
		app, replay *profile.Profile
		shown       bool
	}{{quiet, quiet, false}, {talks, quiet, true}, {quiet, talks, true}} {
		c := compare(test.app, test.replay)
		require.Equal(t, Within, c.Judge(0.1).State)
		var text, csv bytes.Buffer
		require.NoError(t, c.WriteText(&text, TextOptions{Tolerance: 0.1}))
		require.NoError(t, c.WriteCSV(&csv))
		document := string(testkit.JSON(t, c.Document(0.1)))
		for _, output := range []string{text.String(), csv.String(), document} {
			require.Equal(t, test.shown, strings.Contains(output, "communication"), output)
		}
	}
}

// The interval of a quantile is that of the medians over the runs of each.
func TestIntervalsOfQuantiles(t *testing.T) {
	side := func(slower int64) (runs []*profile.Profile) {
		for i := range int64(MinRuns) {
			runs = append(runs, read(t, testkit.Event(format.OpRead, 0, 100+i+slower, 10), testkit.Event(format.OpRead, 500, 1000+10*i, 10)))
		}
		return runs
	}
	c := Profiles(side(0), side(50))
	p50, most := c.Rows[profile.Reads].Tails[0], c.Rows[profile.Reads].Tails[4]
	require.Greater(t, p50.Interval.Low, 1.4)
	require.InDelta(t, 1.5, *p50.Ratio, 0.03)
	require.Less(t, most.Interval.Low, 1.0)
	require.Greater(t, most.Interval.High, 1.0)
	require.Nil(t, c.Rows[profile.Writes].Tails, "there are none")
}
