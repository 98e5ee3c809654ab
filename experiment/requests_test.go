package experiment

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/internal/stats"
	"pianola/profile"
)

// served gives the runs of a side requests at a rate. Their run times stay equal.
func served(t *testing.T, s *Side, rate float64) *Side {
	t.Helper()
	for i := range s.Runs {
		var h stats.Histogram
		h.Add(int64(1e9 / rate))
		l, err := profile.NewLatency(h.Counts())
		require.NoError(t, err)
		s.Runs[i].Profile.Requests = &profile.Requests{Clients: 1, RequestKind: profile.RequestKind{Count: 1, Latency: l}, Rate: rate + float64(i)}
	}
	return s
}

// The candidate with the most requests a second gains most, whatever the run times say.
func TestRequests(t *testing.T) {
	side := func(rate float64, steps ...string) *Side {
		return served(t, replays("", 6, 1000, 500, 20, steps...), rate)
	}
	r := reportOf(subject("trace.txt", side(1000), side(500, "block=1"), side(2000, "sync=none")))
	out := text(t, r)
	require.Contains(t, out, "most gained: sync=none answered 99.8 % more requests than the baseline, 99.2 % to 100 % more with 95 % confidence\n")
	require.Regexp(t, `run time +s +ratio +interval +requests/s +request p99 µs +I/O ms +runs
application +1\.010 +1\.007 +- +- +- .*
baseline +1\.002 .* 1002 +1000\.0 .*
sync=none +1\.002 .* 2002 +500\.0 .*
block=1 +1\.002 .* 502 +2000\.0 .*`, out)

	js, err := json.Marshal(r.Document(0.1))
	require.NoError(t, err)
	var d struct {
		Subjects []struct {
			Sides []struct {
				Rate    *float64       `json:"requests_per_second"`
				Latency *profile.Tails `json:"request_latency"`
				Ratio   *float64       `json:"requests_ratio"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(js, &d))
	sides := d.Subjects[0].Sides
	require.Nil(t, sides[0].Rate)
	require.Nil(t, sides[0].Latency)
	require.InDelta(t, 2002.5, *sides[2].Rate, 0)
	require.InDelta(t, 500e-6, sides[2].Latency.P99, 1e-8)
	require.InDelta(t, 2002.5/1002.5, *sides[2].Ratio, 1e-9)
}
