package check

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
	"pianola/profile"
)

// run returns a profile of a run with syncs that take so many microseconds, and one
// read of 1 MB in a millisecond; the run takes 1 s.
func run(t testing.TB, micros ...int64) *profile.Profile {
	t.Helper()
	events := []format.Event{testkit.Event(format.OpRead, 0, 1000, 1_000_000)}
	at := int64(2000)
	for _, d := range micros {
		events = append(events, testkit.Event(format.OpFsync, at, d, 0))
		at += d
	}
	events = append(events, testkit.Event(format.OpExitGroup, 1_000_000, 0, 0))
	p, err := profile.Read(&testkit.Reader{Events: events, Batch: 3, Err: io.EOF})
	require.NoError(t, err)
	return p
}

func side(t testing.TB, name string, micros ...int64) Side {
	t.Helper()
	s := Side{Name: name}
	for _, d := range micros {
		s.Runs = append(s.Runs, run(t, d))
	}
	return s
}

func parse(t testing.TB, texts ...string) (checks []*Check) {
	t.Helper()
	for _, text := range texts {
		c, err := Parse(text)
		require.NoError(t, err)
		checks = append(checks, c)
	}
	return checks
}

func one(t testing.TB, text string, base, now Side) Outcome {
	t.Helper()
	return Evaluate(parse(t, text), base, now, "")[0]
}

func TestEvaluate(t *testing.T) {
	base := side(t, "old", 1000, 1010, 1020, 1030, 1040, 1050)
	for _, test := range []struct {
		name, text string
		now        []int64
		want       State
		message    string
	}{
		{"worse by more", "sync.p99 > +10%", []int64{1200, 1210, 1220, 1230, 1240, 1250}, Failed, "1.025 ms to 1.225 ms, +19.5 %, at least +16.9 %"},
		{"worse by less", "sync.p99 > +20%", []int64{1200, 1210, 1220, 1230, 1240, 1250}, Passed, "1.025 ms to 1.225 ms, +19.5 %, at most +22.2 %"},
		{"better", "sync.p99 > +10%", []int64{500, 510, 520, 530, 540, 550}, Passed, "1.025 ms to 525.000 µs, -48.8 %, at most -47.0 %"},
		{"perhaps worse", "sync.seconds > +10%", []int64{900, 1000, 1100, 1300, 1400, 1500}, Inconclusive, "1.025 ms to 1.200 ms, +17.1 %, at least -3.4 %: this may be noise: make more runs"},
		{"by medians", "sync.p99 > +10%", []int64{1200, 1210, 1220, 1230, 1240}, Failed, "1.025 ms to 1.220 ms, +19.0 %"},
		{"within by medians", "sync.p99 > +10%", []int64{1100, 900}, Passed, "1.025 ms to 1.000 ms, -2.4 %"},
		{"just at the bound", "sync.p99 > +10%", []int64{1127, 1128}, Passed, "1.025 ms to 1.127 ms, +10.0 %"},
		{"above a value", "fsync.max > 1100us", []int64{1200, 1210, 1220, 1230, 1240, 1250}, Failed, "1.025 ms to 1.225 ms, +19.5 %, at least 1.200 ms"},
		{"above a value, perhaps", "fsync.max > 1100us", []int64{1000, 1210, 1220, 1230, 1240, 1250}, Inconclusive, "1.025 ms to 1.225 ms, +19.5 %, at least 1.000 ms: this may be noise: make more runs"},
		{"below a value", "fsync.max > 2ms", []int64{1200, 1210, 1220, 1230, 1240, 1250}, Passed, "1.025 ms to 1.225 ms, +19.5 %, at most 1.250 ms"},
		{"rate", "read.bytes_per_second < -5%", []int64{1, 1, 1, 1, 1, 1}, Passed, "1.00 MB/s to 1.00 MB/s, +0.0 %, at least +0.0 %"},
		{"least rate", "read.bytes_per_second < 2MB", []int64{1, 1, 1, 1, 1, 1}, Failed, "1.00 MB/s to 1.00 MB/s, +0.0 %, at most 1.00 MB/s"},
		{"run time", "run_time > +1%", []int64{1, 1, 1, 1, 1, 1}, Passed, "1.000 s to 1.000 s, +0.0 %, at most +0.0 %"},
		{"none on either side", "mapped_read.p99 > +1%", []int64{1}, Unknown, "new has no mapped_read.p99"},
		{"no rate of calls without bytes and time", "write.bytes_per_second < 1MB", []int64{1}, Unknown, "new has no write.bytes_per_second"},
		{"no calls", "write.calls > +1%", []int64{1}, Passed, "0 to 0, +0, exact: the same in 6 runs of old"},
		{"no calls, a value", "write.calls > 0", []int64{1}, Passed, "0 to 0, +0, exact: the same in 6 runs of old"},
		{"no calls, but some wanted", "write.calls < 1", []int64{1, 1, 1, 1, 1, 1}, Failed, "0 to 0, +0, exact: the same in 6 runs of old"},
		{"by a time", "sync.p99 > +100us", []int64{1200, 1210, 1220, 1230, 1240, 1250}, Failed, "1.025 ms to 1.225 ms, +19.5 %, at least +175.000 µs"},
		{"by a time, at most", "sync.p99 > +1ms", []int64{500, 510, 520, 530, 540, 550}, Passed, "1.025 ms to 525.000 µs, -48.8 %, at most -475.000 µs"},
		{"by a time, by medians", "sync.p99 > +1ms", []int64{2026}, Failed, "1.025 ms to 2.026 ms, +97.7 %"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := one(t, test.text, base, side(t, "new", test.now...))
			require.Equal(t, test.want, o.State)
			require.Equal(t, test.message, o.Message())
			require.Equal(t, test.want != Unknown && len(test.now) < 6 && !o.Exact, o.byMedians())
		})
	}
}

// A class that only the other side has is unknown, and so are per cent of nothing; a
// value needs no other side.
func TestEvaluateOneSided(t *testing.T) {
	none, some := Side{Name: "old"}, side(t, "new", 1, 1, 1, 1, 1, 1)
	for range 6 {
		none.Runs = append(none.Runs, run(t))
	}
	o := one(t, "sync.p99 > +10%", none, some)
	require.Equal(t, Unknown, o.State)
	require.Equal(t, "1.000 µs: old has no sync.p99", o.Message())
	o = one(t, "sync.calls > +10%", none, some)
	require.Equal(t, Unknown, o.State)
	require.Equal(t, "0 to 1, +1: sync.calls of old is 0, so there is no change in percent: use a bound without it, such as +0", o.Message())
	require.Equal(t, Failed, one(t, "sync.calls > 0", none, some).State)
	require.Equal(t, Failed, one(t, "sync.p99 > 1ns", none, some).State)
	require.Equal(t, Unknown, one(t, "sync.p99 > 1ns", some, none).State)
	require.Equal(t, Failed, one(t, "sync.calls < -10%", some, none).State)
}

func TestEvaluateWithheld(t *testing.T) {
	base, now := side(t, "old", 1, 1), side(t, "new", 9, 9)
	outcomes := Evaluate(parse(t, "sync.p99 > +10%", "run_time > +1%"), base, now, "too little")
	require.Equal(t, Inconclusive, Overall(outcomes))
	require.Equal(t, "1.000 µs to 9.000 µs, +800.0 %: too little", outcomes[0].Message())
	require.Empty(t, Note(outcomes))
}

// counts returns a side whose runs make so many syncs.
func counts(name string, calls ...int64) Side {
	s := Side{Name: name}
	for _, n := range calls {
		p := &profile.Profile{RunTime: 1e9}
		p.Categories[profile.Syncs] = profile.Total{Calls: n, Bytes: 10 * n}
		s.Runs = append(s.Runs, p)
	}
	return s
}

// same returns n equal counts.
func same(calls int64, n int) (list []int64) {
	for range n {
		list = append(list, calls)
	}
	return list
}

// A count that is the same in several runs of the other side has no noise: one call more
// fails in one run. Too few runs tell nothing of a count that varies, unless all are beyond
// all.
func TestEvaluateCounts(t *testing.T) {
	varied := []int64{25, 26, 25, 27, 25, 26}
	twenty := slices.Concat(varied, varied, varied, []int64{24, 25})
	for _, test := range []struct {
		name, text string
		base, now  []int64
		want       State
		message    string
		chance     float64
	}{
		{"one more", "sync.calls > +0", same(25, 6), []int64{26}, Failed, "25 to 26, +1, +4.0 %, exact: the same in 6 runs of old", 0.0567},
		{"none more", "sync.calls > +0", same(25, 6), []int64{25}, Passed, "25 to 25, +0, exact: the same in 6 runs of old", 0.0567},
		{"one less", "sync.calls > +0", same(25, 6), []int64{24}, Passed, "25 to 24, -1, -4.0 %, exact: the same in 6 runs of old", 0.0567},
		{"one less is too few", "sync.calls < -0", same(25, 6), []int64{24}, Failed, "25 to 24, -1, -4.0 %, exact: the same in 6 runs of old", 0.0567},
		{"as many as allowed", "sync.calls > +2", same(25, 6), []int64{27}, Passed, "25 to 27, +2, +8.0 %, exact: the same in 6 runs of old", 0.0567},
		{"one of many", "calls > +0%", same(1e12, 6), []int64{1e12 + 1}, Failed, "1000000000000 to 1000000000001, +1, +0.0 %, exact: the same in 6 runs of old", 0.0567},
		{"bytes", "sync.bytes > +1%", same(100, 6), []int64{102}, Failed, "1000 B to 1020 B, +20 B, +2.0 %, exact: the same in 6 runs of old", 0.0567},
		{"fewer bytes than allowed", "bytes > +2%", same(100, 6), []int64{102}, Passed, "1000 B to 1020 B, +20 B, +2.0 %, exact: the same in 6 runs of old", 0.0567},
		{"from none", "sync.calls > +0", same(0, 6), []int64{8}, Failed, "0 to 8, +8, exact: the same in 6 runs of old", 0.0567},
		{"above a value", "sync.calls > 25", same(25, 6), []int64{26}, Failed, "25 to 26, +1, +4.0 %, exact: the same in 6 runs of old", 0.0567},
		{"two runs that are equal", "sync.calls > +0", same(25, 2), []int64{26}, Failed, "25 to 26, +1, +4.0 %, exact: the same in 2 runs of old", 0.1548},
		{"seven runs", "sync.calls > +0", same(25, 7), []int64{26}, Failed, "25 to 26, +1, +4.0 %, exact: the same in 7 runs of old", 0.0491},
		{"six of each", "sync.calls > +0", same(25, 6), same(26, 6), Failed, "25 to 26, +1, +4.0 %, exact: the same in 6 runs of old", 0.05},
		{"all more, not the same", "sync.calls > +0", same(25, 6), []int64{26, 27}, Failed, "25 to 26.5, +1.5, +6.0 %, exact: the same in 6 runs of old", 0.0357},
		{"one run", "sync.calls > +0", same(25, 1), []int64{26}, Inconclusive, "25 to 26, +1, +4.0 %: one run of old does not tell whether it varies: make 6", 0},
		{"one run, and several later", "sync.calls > +0", same(25, 1), same(26, 6), Inconclusive, "25 to 26, +1, +4.0 %: one run of old does not tell whether it varies: make 6", 0},
		{"one run, none more", "sync.calls > +0", same(25, 1), []int64{25}, Passed, "25 to 25, +0: one run of old does not tell whether it varies", 0},
		{"one run, above a value", "sync.calls > 25", same(25, 1), []int64{26}, Inconclusive, "25 to 26, +1, +4.0 %: one run of old does not tell whether it varies: make 6", 0},
		{"varies, one run", "sync.calls > +0", varied, []int64{99}, Inconclusive, "25.5 to 99, +73.5, +288.2 %: it varies between runs, from 25 to 27: make 6 of each", 0},
		{"varies, none more", "sync.calls > +0", varied, []int64{25}, Passed, "25.5 to 25, -0.5, -2.0 %", 0},
		{"varies later", "sync.calls > +0", same(25, 6), []int64{25, 26, 26}, Inconclusive, "25 to 26, +1, +4.0 %: it varies between runs, from 25 to 26: make 6 of each", 0},
		{"varies, six of each", "sync.calls > +0", varied, []int64{30, 31, 30, 30, 32, 30}, Failed, "25.5 to 30, +4.5, +17.6 %, at least +4", 0.05},
		{"varies, and may vary so", "sync.calls > +0", varied, []int64{26, 26, 26, 27, 25, 26}, Inconclusive, "25.5 to 26, +0.5, +2.0 %, at least -0.5: this may be noise: make more runs", 0.05},
		{"varies, beyond each of many runs", "sync.calls > +0", twenty, []int64{28}, Failed, "25 to 28, +3, +12.0 %, beyond each of 20 runs of old", 1. / 21},
		{"varies, beyond each of two runs of few", "sync.calls > +10%", varied, []int64{30, 31}, Failed, "25.5 to 30.5, +5, +19.6 %, beyond each of 6 runs of old", 1. / 28},
		{"varies, as some of many runs", "sync.calls > +0", twenty, []int64{27}, Inconclusive, "25 to 27, +2, +8.0 %: it varies between runs, from 24 to 27: make 6 of each", 0},
		{"varies, above a value", "sync.calls > 27", varied, []int64{28, 28}, Inconclusive, "25.5 to 28, +2.5, +9.8 %: it varies between runs, from 25 to 27: make 6 of each", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := one(t, test.text, counts("old", test.base...), counts("new", test.now...))
			require.Equal(t, test.message, o.Message())
			require.Equal(t, test.want, o.State)
			require.False(t, o.byMedians())
			if test.chance == 0 {
				require.Zero(t, o.Confidence)
				return
			}
			require.InDelta(t, 1-test.chance, o.Confidence, 1e-4)
		})
	}
}

// A line says what the runs are worth, of all checks together.
func TestSummaryOfCounts(t *testing.T) {
	checks := parse(t, "sync.calls > +0", "sync.bytes > +1%", "calls > +0")
	for runs, want := range map[int]string{2: "46.5 %", 6: "17 %", 40: "5 %"} {
		outcomes := Evaluate(checks, counts("old", same(25, runs)...), counts("new", 25), "")
		require.Equal(t, "3 of 3 checks passed; the chance of a false failure is at most "+want, Summary(outcomes))
		require.Empty(t, Note(outcomes))
	}
	require.Equal(t, "1 of 1 check inconclusive", Summary([]Outcome{one(t, "calls > +0", counts("old", 1), counts("new", 2))}))
}

// Counts that vary fail no more often than the line says: those that vary rarely, so that
// few runs can be equal, and those of which all runs differ.
func TestCountsKeepTheirPromise(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many samples")
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	const most = 1000
	made := counts("", slices.Collect(func(yield func(int64) bool) {
		for n := range int64(most) {
			yield(n)
		}
	})...).Runs
	check := parse(t, "sync.calls > +0")
	for _, runs := range [][2]int{{2, 1}, {6, 1}, {6, 2}, {3, 3}, {20, 1}, {6, 6}, {8, 7}} {
		for _, rare := range []float64{0.01, 0.14, 0.36, 1} {
			draw := func(n int) (s Side) {
				for range n {
					v := 0
					if rnd.Float64() < rare {
						v = 1 + rnd.IntN(1+int((most-2)*rare*rare*rare))
					}
					s.Runs = append(s.Runs, made[v])
				}
				return s
			}
			const draws = 500
			failed, chance := 0, errorRate
			for range draws {
				o := Evaluate(check, draw(runs[0]), draw(runs[1]), "")[0]
				if o.State == Failed {
					failed++
					require.Positive(t, o.Confidence)
					chance = max(chance, 1-o.Confidence)
				}
			}
			require.LessOrEqual(t, float64(failed), chance*draws+4*math.Sqrt(chance*draws), "%v, %v", runs, rare)
		}
	}
}

// Each check has a share of the error rate, and what that takes in runs.
func TestNeeds(t *testing.T) {
	six := []int64{1, 2, 3, 4, 5, 6}
	base, now := side(t, "old", six...), side(t, "new", six...)
	for _, test := range []struct{ checks, relative, absolute int }{{1, 6, 6}, {3, 6, 6}, {4, 6, 7}, {10, 6, 8}, {11, 7, 8}, {Max, 7, 10}} {
		var texts []string
		for range test.checks {
			texts = append(texts, "sync.p99 > +10%")
		}
		checks := parse(t, append(texts, "sync.p99 > 1s")...)
		require.Equal(t, test.relative, Evaluate(checks[:test.checks], base, now, "")[0].Needs, "%d checks", test.checks)
		require.Equal(t, test.absolute, Evaluate(checks[1:], base, now, "")[test.checks-1].Needs, "%d checks", test.checks)
		if test.relative == 6 {
			o := Evaluate(checks[:test.checks], base, now, "")[0]
			require.InDelta(t, 1-0.05/float64(test.checks), o.Confidence, 1e-12)
		}
	}
}

// Three checks that allow no change at all compare a machine with itself. No more
// comparisons fail than the error rate allows.
func TestChecksKeepTheirPromise(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many samples")
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	checks := parse(t, "sync.p50 > +0%", "sync.calls > +0%", "run_time > +0%")
	group := func(name string) (s Side) {
		for range 6 {
			p := &profile.Profile{RunTime: int64(1e9 * math.Exp(0.05*rnd.NormFloat64()))}
			p.Categories[profile.Syncs] = profile.Total{Calls: 1000 + rnd.Int64N(100), Nanos: 1}
			p.Latency[profile.Syncs] = &profile.Latency{Calls: 1}
			p.Latency[profile.Syncs].P50 = int64(1e6 * (1 + 0.1*rnd.ExpFloat64()))
			s.Runs = append(s.Runs, p)
		}
		s.Name = name
		return s
	}
	const draws = 3000
	failed := 0
	for range draws {
		if Overall(Evaluate(checks, group("old"), group("new"), "")) == Failed {
			failed++
		}
	}
	require.LessOrEqual(t, float64(failed), errorRate*draws+3*math.Sqrt(errorRate*draws))
	require.Greater(t, failed, draws/200)
}

// mixed returns one outcome of each state.
func mixed(t *testing.T) []Outcome {
	t.Helper()
	base := side(t, "old", 1000, 1010, 1020, 1030, 1040, 1050)
	now := side(t, "new", 900, 1000, 1100, 1300, 1400, 1500)
	return Evaluate(parse(t, "sync.p99 > +10%", "run_time > +5%", "write.p99 > +1%", "sync.calls > 0"), base, now, "")
}

func TestText(t *testing.T) {
	require.Equal(t, `1 of 4 checks failed, 1 unknown, 1 inconclusive, 1 passed; the chance of a false failure is at most 5 %
  inconclusive  sync.p99 > +10%  1.025 ms to 1.200 ms, +17.1 %, at least -8.2 %: this may be noise: make more runs
  passed        run_time > +5%   1.000 s to 1.000 s, +0.0 %, at most +0.0 %
  unknown       write.p99 > +1%  new has no write.p99
  failed        sync.calls > 0   1 to 1, +0, exact: the same in 6 runs of old
`, Text(mixed(t)))
	require.Equal(t, `1 of 1 check passed
  passed  run_time > +5%  1.000 s to 1.000 s, +0.0 %
1 run of each cannot tell a change from noise, so the medians were compared: make 6 of each
`, Text([]Outcome{one(t, "run_time > +5%", side(t, "old", 1), side(t, "new", 1))}))
	require.Equal(t, "1 of 1 check failed; the chance of a false failure is at most 5 %\n  failed  run_time > 1ms  1.000 s to 1.000 s, +0.0 %, at least 1.000 s\n",
		Text([]Outcome{one(t, "run_time > 1ms", side(t, "old", 1), side(t, "new", 1, 1, 1, 1, 1, 1))}))
}

// The elements and attributes that junit-10.xsd of Jenkins' xUnit plugin allows in each
// element, and those that it requires.
var schema = map[string]struct{ elements, attributes, required string }{
	"testsuites": {"testsuite", "name time tests failures errors", ""},
	"testsuite":  {"testsuite properties testcase system-out system-err", "name tests failures errors group time skipped timestamp hostname id package file log url", "name tests failures errors"},
	"testcase":   {"skipped error failure system-out system-err", "name time classname group", "name"},
	"skipped":    {"", "type message", ""},
	"failure":    {"", "type message", ""},
	"system-out": {"", "", ""},
}

func TestWriteJUnit(t *testing.T) {
	var b bytes.Buffer
	outcomes := mixed(t)
	outcomes[0].Check += "\x00<&\xff"
	require.NoError(t, WriteJUnit(&b, "pianola", "the \x1b answer", outcomes))
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	var open []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			rule, ok := schema[name]
			require.True(t, ok, name)
			if len(open) > 0 {
				require.Contains(t, strings.Fields(schema[open[len(open)-1]].elements), name)
			}
			var has []string
			for _, a := range e.Attr {
				require.Contains(t, strings.Fields(rule.attributes), a.Name.Local, name)
				has = append(has, a.Name.Local)
			}
			require.Subset(t, has, strings.Fields(rule.required), name)
			open = append(open, name)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
	var read suites
	require.NoError(t, xml.Unmarshal(b.Bytes(), &read))
	s := read.Suites[0]
	require.Equal(t, []int{4, 1, 0, 2}, []int{s.Tests, s.Failures, s.Errors, s.Skipped})
	require.Equal(t, "inconclusive: 1.025 ms to 1.200 ms, +17.1 %, at least -8.2 %: this may be noise: make more runs", s.Cases[0].Skipped.Message)
	require.Nil(t, s.Cases[1].Skipped)
	require.Nil(t, s.Cases[1].Failure)
	require.Equal(t, "unknown: new has no write.p99", s.Cases[2].Skipped.Message)
	require.Equal(t, "1 to 1, +0, exact: the same in 6 runs of old", s.Cases[3].Failure.Message)
	require.Equal(t, "sync.calls > 0", s.Cases[3].Name)
}

// Rates and latencies of requests have checks like those of calls. Runs without requests do not
// have the metrics.
func TestEvaluateRequests(t *testing.T) {
	serving := func(name string, rate float64) Side {
		s := side(t, name, 1000)
		p := s.Runs[0]
		p.Requests = &profile.Requests{RequestKind: profile.RequestKind{Count: 500, Latency: p.OpLatency[format.OpFsync]}, Rate: rate}
		return s
	}
	base, now, without := serving("old", 1000), serving("new", 900), side(t, "new", 1000)
	for _, test := range []struct {
		check   string
		now     Side
		state   State
		message string
	}{
		{"requests.rate < -5%", now, Failed, "1000/s to 900/s, -10.0 %"},
		{"requests.rate < -15%", now, Passed, "1000/s to 900/s, -10.0 %"},
		{"requests.rate < 950", now, Failed, "900/s"},
		{"requests.count < 501", now, Inconclusive, "500"},
		{"requests.p99 > 1100us", now, Passed, "1.000 ms"},
		{"requests.max > 900us", now, Failed, "1.000 ms"},
		{"requests.rate < -5%", without, Unknown, "new has no requests.rate"},
		{"requests.count > +0", without, Unknown, "new has no requests.count"},
		{"requests.p99 > 1s", without, Unknown, "new has no requests.p99"},
	} {
		o := one(t, test.check, base, test.now)
		require.Equal(t, test.state, o.State, test.check)
		require.Contains(t, o.Message(), test.message, test.check)
	}
}
