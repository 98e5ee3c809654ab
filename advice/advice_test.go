package advice

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
	"pianola/lab"
	"pianola/profile"
)

// report returns a report of the lab on candidates, whose run times are given as
// fractions of the baseline's. The time 0 means that the lab gave up.
func report(t *testing.T, parts map[string]float64) *lab.Report {
	r := &lab.Report{Trace: "trace.txt", Trials: []*lab.Trial{{}}}
	add := func(trial *lab.Trial, part float64) {
		for k := range 6 {
			p, err := profile.Read(&testkit.Reader{Events: []format.Event{testkit.Event(format.OpFsync, 0, int64((1+0.001*float64(k))*part*1e9), 0)}, Batch: 10, Err: io.EOF})
			require.NoError(t, err)
			trial.Add(lab.Run{Profile: p})
		}
	}
	add(r.Trials[0], 1)
	for name, part := range parts {
		trial := &lab.Trial{Candidate: lab.Candidate{name}}
		if part == 0 {
			trial.Err = errors.New("no such thing")
		} else {
			add(trial, part)
		}
		r.Trials = append(r.Trials, trial)
	}
	return r
}

var found = []profile.Finding{
	{Rule: "sync", Text: "Syncs took most.", Candidates: []string{"sync=none"}},
	{Rule: "small-writes", Text: "Small writes took the rest.", Candidates: []string{"coalesce=64KiB", "uring-batch=32", "sync=none"}},
	{Rule: "compute", Text: "Compute took something.", Candidates: []string{"backend=memory", "cache=cold"}},
}

// Certain gains are in the table with their risk; each other candidate has a line.
func TestAdvice(t *testing.T) {
	require.Equal(t, []lab.Candidate{{"sync=none"}, {"coalesce=64KiB"}, {"uring-batch=32"}, {"backend=memory"}}, Candidates(found))
	a := New(found, report(t, map[string]float64{"sync=none": 0.5, "coalesce=64KiB": 1.0005, "uring-batch=32": 0, "backend=memory": 0.25}))
	var out bytes.Buffer
	require.NoError(t, a.WriteText(&out))
	require.Equal(t, `worth most: sync=none saves 50.0 % of the run time (+49.8 % to +50.2 %)

1. sync: Syncs took most.
2. small-writes: Small writes took the rest.
3. compute: Compute took something.

finding  candidate  gain     interval            risk
sync     sync=none  +50.0 %  +49.8 % to +50.2 %  durability: a crash of the machine loses data that were not synced
`, firstLines(out.String(), 8))
	require.Contains(t, out.String(), "no certain gain: coalesce=64KiB (small-writes): ")
	require.Contains(t, out.String(), "not tried: uring-batch=32 (small-writes): no such thing\n")
	require.Contains(t, out.String(), "beyond the program: backend=memory (compute): +75.0 %")
	require.Contains(t, out.String(), "not tried: cache=cold (compute): it shows a slowdown, not a gain\n")

	text, err := json.Marshal(a.Document())
	require.NoError(t, err)
	require.Contains(t, string(text), `"outcome":"worth_doing"`)
}

// Without a certain gain there is no table.
func TestNothingCertain(t *testing.T) {
	for _, r := range []*lab.Report{nil, report(t, map[string]float64{"sync=none": 1})} {
		var out bytes.Buffer
		require.NoError(t, New(found[:1], r).WriteText(&out))
		require.Contains(t, out.String(), "no suggested change certainly saves time\n")
		require.NotContains(t, out.String(), "risk")
	}
}

func firstLines(text string, n int) string {
	lines := bytes.SplitAfter([]byte(text), []byte("\n"))
	return string(bytes.Join(lines[:min(n, len(lines))], nil))
}

// A buffer for reads risks no data, unless another finding is about writes.
func TestRiskOfReads(t *testing.T) {
	small := []profile.Finding{{Rule: "small-reads", ReadsOnly: true, Candidates: []string{"coalesce=64KiB"}}}
	require.Empty(t, New(small, nil).Rows[0].Risk)
	small = append(small, profile.Finding{Rule: "small-writes", Candidates: []string{"coalesce=64KiB"}})
	require.Contains(t, New(small, nil).Rows[0].Risk, "durability")
}
