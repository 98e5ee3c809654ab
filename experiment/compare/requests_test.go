package compare

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/profile"
)

// serving returns runs of a server in which requests are answered at these rates. The run
// time says nothing: it is that of the recording, however many requests there were.
func serving(t *testing.T, rates ...float64) (runs []*profile.Profile) {
	t.Helper()
	for i, rate := range rates {
		p := made(t, 100, 0, 0, 0, 1000*int64(1+i))
		var h stats.Histogram
		for range 1000 {
			h.Add(int64(4e9 / rate))
		}
		l, err := profile.NewLatency(h.Counts())
		require.NoError(t, err)
		p.Requests = &profile.Requests{Clients: 4, RequestKind: profile.RequestKind{Count: 1000, Bytes: 64_000, Replied: 6000, Latency: l}, Rate: rate}
		runs = append(runs, p)
	}
	return runs
}

// Where both sides have requests, the answer, the verdict and the warnings are about their
// rate, and not about run times.
func TestRequests(t *testing.T) {
	slow, fast := serving(t, 98, 99, 100, 100, 101, 102), serving(t, 208, 209, 210, 210, 211, 212)
	for _, test := range []struct {
		name        string
		app, replay []*profile.Profile
		replays     string // the answer for replays of an application
		sides       string // the answer for two systems
	}{
		{"one of each", serving(t, 7394), serving(t, 7031),
			"the replay answers 4.9 % fewer requests than the application, 7031 instead of 7394 a second, one run of each: within 10 %",
			"new answers 4.9 % fewer requests than old, 7031 instead of 7394 a second, one run of each"},
		{"too few", serving(t, 100), serving(t, 79, 79),
			"the replays answer 21.0 % fewer requests than the application, 79.0 instead of 100 a second, 1 and 2 runs: outside 10 % in requests/s", ""},
		{"undecided", serving(t, 100), serving(t, 115),
			"the replay answers 15.0 % more requests than the application, 115 instead of 100 a second, one run of each: inconclusive in requests/s; make 6 runs of each", ""},
		{"equal", serving(t, 100), serving(t, 100),
			"the replay answers as many requests as the application, 100 a second, one run of each: within 10 %", ""},
		{"faster", slow, fast,
			"the replays answer 2.10 times as many requests as the application (2.06 to 2.14, 95 %), 210 instead of 100 a second, 6 runs of each: outside 10 % in requests/s",
			"new answers 2.10 times as many requests a second as old (2.06 to 2.14, 95 %), 6 runs of each"},
		{"slower", fast, slow,
			"the replays answer 52.4 % fewer requests than the application (51.4 to 53.3 % fewer, 95 %), 100 instead of 210 a second, 6 runs of each: outside 10 % in requests/s",
			"old answers 2.10 times as many requests a second as new (2.06 to 2.14, 95 %), 6 runs of each"},
		{"no difference", slow, serving(t, 101, 100, 99, 98, 100, 103),
			"no difference found: the replays answer 2.5 % fewer to 3.1 % more requests than the application (95 %), 6 runs of each: within 10 %",
			"no difference found: new answers 2.5 % fewer to 3.1 % more requests than old (95 %), 6 runs of each"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Profiles(test.app, test.replay)
			v := c.Judge(0.1)
			require.Equal(t, test.replays, c.Answer(&v))
			require.NotContains(t, append(v.Outside, v.Undecided...), ElapsedRow)
			if test.sides != "" {
				c.Names = [2]string{"old", "new"}
				v = c.Judge(NoTolerance)
				require.Equal(t, test.sides, c.Answer(&v))
			}
		})
	}
}

// A side without requests, or without a rate, leaves the answer to the run time.
func TestRequestsOfOneSide(t *testing.T) {
	without := []*profile.Profile{made(t, 100, 0, 0, 0, 1000)}
	unknown := serving(t, 100)
	unknown[0].Requests.Rate = 0
	for _, app := range [][]*profile.Profile{without, unknown} {
		c := Profiles(app, serving(t, 79))
		v := c.Judge(0.1)
		require.Equal(t, "the replay takes the same time as the application, one run of each: within 10 %", c.Answer(&v))
		require.Empty(t, v.Unknown)
	}
	require.Nil(t, Profiles(without, without).Requests())
	require.Nil(t, Profiles(without, without).requests())
}

func TestRequestsOutliers(t *testing.T) {
	c := Profiles(serving(t, 100), serving(t, 1000, 1010, 990, 1005, 200, 1002))
	require.Equal(t, []string{"replay: 1 of 6 runs are outliers: 200 requests a second, the median is 1001 requests a second"}, c.outliers())
}

// The class that a server spends more time in is named whichever side is faster.
func TestRequestsMost(t *testing.T) {
	slow, fast := serving(t, 98, 99, 100, 100, 101, 102), serving(t, 208, 209, 210, 210, 211, 212)
	for _, p := range slow {
		p.Categories[profile.Reads].Nanos *= 3
	}
	for _, sides := range [][2][]*profile.Profile{{slow, fast}, {fast, slow}} {
		c := Profiles(sides[0], sides[1])
		c.Names = [2]string{"old", "new"}
		require.Equal(t, "; the most in read: 100.000 instead of 300.000 ms", c.most())
	}
}

func TestRequestsOutput(t *testing.T) {
	c := Profiles(serving(t, 7394), serving(t, 7031))
	var text, table bytes.Buffer
	require.NoError(t, c.WriteText(&text, TextOptions{Tolerance: 0.1}))
	require.Contains(t, text.String(), `
            application s  replay s  ratio    10 %
read                0.100     0.100  1.000  within
run time            1.000     1.000  1.000       -
requests/s           7394      7031  0.951  within

latency ratio    p50    p90    p99  p99.9    max
read           1.000  1.000  1.000  1.000  1.000
requests       1.052  1.052  1.052  1.052  1.052
`)
	require.NoError(t, c.WriteCSV(&table))
	require.Regexp(t, `(?m)^total,requests,,,0.95.*,too_few_runs_to_tell,1000,1000,0,0,70000,70000,0.0005.*,7394,7031$`, table.String())

	d := c.Document(0.1).(*comparisonDocument).Requests
	require.Equal(t, requestSide{Clients: 4, Requests: 1000, Rate: new(7394.0), Latency: c.Requests().Application.Tails}, d.Application)
	require.InDelta(t, 0.9509, *d.Ratio, 1e-4)
	require.InDelta(t, 1.0517, *d.Ratios.Ratio.Max, 1e-3)
	require.Equal(t, TooFewRuns, d.Finding)
	require.Nil(t, d.Low)

	d = Profiles(serving(t, 98, 99, 100, 100, 101, 102), serving(t, 208, 209, 210, 210, 211, 212)).requests()
	require.InDelta(t, 2.06, *d.Low, 0.01)
	require.InDelta(t, 208, *d.Replay.Low, 0.5)
}

// A rate that the floor bounds is not judged, be it by compute. The first line says so once.
func TestRequestsBound(t *testing.T) {
	app, replay := serving(t, 100), serving(t, 100)
	replay[0].Floor = &format.Floor{Total: 980e6}
	c := Profiles(app, replay)
	v := c.Judge(0.1)
	const bound = "compute binds the replay (0.980 s of its 1.000 s), so its request rate does not show how fast the storage is"
	require.Equal(t, bound, v.Withheld)
	require.Equal(t, Inconclusive, c.Result(NoTolerance))
	require.Equal(t, bound+"; the replay answers as many requests as the application, 100 a second, one run of each: not judged", c.Answer(&v))
	for _, line := range c.Remarks(&v) {
		require.NotContains(t, line, "judged")
	}
}

// A recording of a server that others disturbed allows no verdict.
func TestCrowdedServer(t *testing.T) {
	app, replay := serving(t, 100), serving(t, 100)
	replay[0].Coverage.Crowded = 0.25
	c := Profiles(app, replay)
	v := c.Judge(0.1)
	const why = "other programs, or the host of a virtual machine, had the processors for 25 % of the time in which threads of the server could run"
	require.Equal(t, why, v.Withheld)
	require.Contains(t, c.Remarks(&v), "cannot be judged: "+why)
}
