package check

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"math/rand/v2"
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
		{"no calls", "write.calls > +1%", []int64{1}, Passed, "0 to 0"},
		{"no calls, a value", "write.calls > 0", []int64{1}, Passed, "0 to 0"},
		{"no calls, but some wanted", "write.calls < 1", []int64{1, 1, 1, 1, 1, 1}, Failed, "0 to 0, at most 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := one(t, test.text, base, side(t, "new", test.now...))
			require.Equal(t, test.want, o.State)
			require.Equal(t, test.message, o.Message())
			require.Equal(t, test.want != Unknown && len(test.now) < 6, o.byMedians())
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
	require.Equal(t, "0 to 1: sync.calls of old is 0, so there is no change in per cent", o.Message())
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
	require.Equal(t, `1 of 4 checks failed, 1 unknown, 1 inconclusive, 1 passed
  inconclusive  sync.p99 > +10%  1.025 ms to 1.200 ms, +17.1 %, at least -8.2 %: this may be noise: make more runs
  passed        run_time > +5%   1.000 s to 1.000 s, +0.0 %, at most +0.0 %
  unknown       write.p99 > +1%  new has no write.p99
  failed        sync.calls > 0   1 to 1, +0.0 %
6 runs of each cannot tell a change from noise, so the medians were compared: make 7 of each
`, Text(mixed(t)))
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
	require.Equal(t, "1 to 1, +0.0 %", s.Cases[3].Failure.Message)
	require.Equal(t, "sync.calls > 0", s.Cases[3].Name)
}
