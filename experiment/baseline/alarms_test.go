package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/experiment/check"
	"pianola/experiment/compare"
	"pianola/profile"
)

// slowdowns are by which part the times of one group are longer.
var slowdowns = []float64{0, 0.05, 0.1, 0.2}

// studyChecks are the checks of the study. Each is evaluated alone, except for the last
// two.
var studyChecks = []struct {
	name  string
	texts []string
}{
	{"--fail-if 'run_time > +0%'", []string{"run_time > +0%"}},
	{"--fail-if 'run_time > +5%'", []string{"run_time > +5%"}},
	{"--fail-if 'sync.p99 > +0%'", []string{"sync.p99 > +0%"}},
	{"--fail-if 'sync.p99 > +10%'", []string{"sync.p99 > +10%"}},
	{"the second and the fourth together", []string{"run_time > +5%", "sync.p99 > +10%"}},
}

// tally counts what comparisons came to, by the names of the rows of the table.
type tally map[string]int

// compared counts a comparison of two groups.
func (n tally) compared(t *testing.T, a, b []*profile.Profile) {
	c := compare.Profiles(a, b)
	any := false
	for i := range c.Rows {
		r := &c.Rows[i]
		any = any || r.Finding == compare.Differs && (r.Name == compare.ElapsedRow || r.Application.Calls+r.Replay.Calls > 0)
		if r.Name == compare.ElapsedRow && r.Finding == compare.Differs {
			n["run time differs"]++
		}
	}
	if any {
		n["any row differs"]++
	}
	n["verdict of 10 %: "+string(c.Judge(0.1).State)]++
	for _, s := range studyChecks {
		var checks []*check.Check
		for _, text := range s.texts {
			one, err := check.Parse(text)
			require.NoError(t, err)
			checks = append(checks, one)
		}
		switch check.Overall(check.Evaluate(checks, check.Side{Name: "a", Runs: a}, check.Side{Name: "b", Runs: b}, "")) {
		case check.Failed:
			n[s.name+": failed"]++
		case check.Passed:
		default:
			n[s.name+": inconclusive"]++
		}
	}
}

// slower returns a run with times that are longer by a part.
func slower(p *profile.Profile, part float64) *profile.Profile {
	scaled := func(nanos int64) int64 { return int64(math.Round(float64(nanos) * (1 + part))) }
	q := *p
	q.RunTime = scaled(p.RunTime)
	for k := range q.Categories {
		q.Categories[k].Nanos = scaled(p.Categories[k].Nanos)
		if l := p.Latency[k]; l != nil {
			other := *l
			other.P50, other.P90, other.P99, other.P999, other.Max = scaled(l.P50), scaled(l.P90), scaled(l.P99), scaled(l.P999), scaled(l.Max)
			q.Latency[k] = &other
		}
	}
	return &q
}

// study compares groups of six runs of a pool with others that draw picks: indexes of
// twelve.
func study(t *testing.T, pool []*profile.Profile, comparisons int, draw func() []int) map[float64]tally {
	result := map[float64]tally{}
	for _, part := range slowdowns {
		result[part] = tally{}
		for range comparisons {
			picked := draw()
			var a, b []*profile.Profile
			for i := range 6 {
				a, b = append(a, pool[picked[i]]), append(b, slower(pool[picked[6+i]], part))
			}
			result[part].compared(t, a, b)
		}
	}
	return result
}

// note prints the shares of a tally in per cent, a figure of a study each (scripts/measure).
func note(title string, comparisons int, result map[float64]tally) {
	names := []string{"run time differs", "any row differs", "verdict of 10 %: outside", "verdict of 10 %: inconclusive"}
	for _, s := range studyChecks {
		names = append(names, s.name+": failed", s.name+": inconclusive")
	}
	for _, name := range names {
		for _, part := range slowdowns {
			fmt.Printf("note %g %s: %s, %.0f %% slower, %%\n", 100*float64(result[part][name])/float64(comparisons), title, name, 100*part)
		}
	}
}

// Few comparisons of equal groups fail. PIANOLA_ALARMS names a baseline of some hundred
// runs of one kind, and the test then prints figures of the study alarms. Without it, the
// test uses a few synthetic runs.
func TestAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many comparisons")
	}
	rnd := rand.New(rand.NewPCG(23, 3))
	name := os.Getenv("PIANOLA_ALARMS")
	pool, comparisons := made(t, rnd), 30
	if name != "" {
		pool, comparisons = saved(t, name), 200
	}
	random := study(t, pool, comparisons, func() []int { return rnd.Perm(len(pool))[:12] })
	allowed := 0.05 * float64(comparisons)
	for _, row := range []string{"any row differs", "--fail-if 'run_time > +0%': failed", "--fail-if 'sync.p99 > +0%': failed", "the second and the fourth together: failed"} {
		require.LessOrEqual(t, float64(random[0][row]), allowed+3*math.Sqrt(allowed), row)
	}
	require.Greater(t, random[0.2]["--fail-if 'run_time > +0%': failed"], random[0]["--fail-if 'run_time > +0%': failed"])
	if name == "" {
		return
	}
	note("drawn at random", comparisons, random)
	// One group after the other, as two that are measured in one job, and as a baseline
	// and a later night.
	for _, later := range []bool{false, true} {
		title := "twelve in a row"
		if later {
			title = "six in a row, and six later ones"
		}
		note(title, comparisons, study(t, pool, comparisons, func() []int {
			first := rnd.IntN(len(pool) - 11)
			second := first + 6
			if later {
				second += rnd.IntN(len(pool) - 11 - first)
			}
			return append(six(first), six(second)...)
		}))
	}
}

// countChecks are the checks of the study of counts, all of one command, and what each must
// find: a pool of runs in which a count is larger.
var countChecks = []struct{ text, name, pool string }{
	{"sync.calls > +0", "one more fsync", "synced"},
	{"write.bytes > +0.5%", "1 % more bytes", "more"},
}

// One run is enough to check counts. PIANOLA_ALARMS names a directory with baselines of a
// program as it is, and as it makes more calls or more bytes; the test then prints figures
// of the study alarms. Without it, the test uses a few synthetic runs, whose bytes vary.
func TestCounts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(29, 3))
	dir := os.Getenv("PIANOLA_ALARMS")
	pool := func(name string) []*profile.Profile {
		if dir != "" {
			return saved(t, filepath.Join(dir, name+".json"))
		}
		return madeCounts(name, rnd)
	}
	same := pool("as_is")
	var checks []*check.Check
	for _, c := range countChecks {
		one, err := check.Parse(c.text)
		require.NoError(t, err)
		checks = append(checks, one)
	}
	// compared returns the states of a run beside a baseline of so many others.
	compared := func(size int, run *profile.Profile, but int) (states []check.State) {
		base := check.Side{Name: "a"}
		for _, i := range rnd.Perm(len(same)) {
			if i != but && len(base.Runs) < size {
				base.Runs = append(base.Runs, same[i])
			}
		}
		for _, o := range check.Evaluate(checks, base, check.Side{Name: "b", Runs: []*profile.Profile{run}}, "") {
			states = append(states, o.State)
		}
		return states
	}
	for _, size := range []int{6, 40} {
		for i, c := range countChecks {
			if _, err := os.Stat(filepath.Join(dir, c.pool+".json")); dir != "" && err != nil {
				continue // another row of the study
			}
			runs, found := pool(c.pool), 0
			for _, run := range runs {
				if compared(size, run, -1)[i] == check.Failed {
					found++
				}
			}
			fmt.Printf("note %g %s: found, beside %d runs, %%\n", 100*float64(found)/float64(len(runs)), c.name, size)
			if dir == "" && (size == 40 || c.pool == "synced") {
				require.Equal(t, len(runs), found, c.name)
			}
		}
		const pairs = 200
		alarms := make([]int, len(checks))
		for range pairs {
			k := rnd.IntN(len(same))
			for i, state := range compared(size, same[k], k) {
				if state == check.Failed {
					alarms[i]++
				}
			}
		}
		for i, c := range countChecks {
			fmt.Printf("note %d %s: false alarms of %d pairs, beside %d runs\n", alarms[i], c.text, pairs, size)
			require.True(t, dir != "" || alarms[i] == 0, c.text)
		}
	}
}

// madeCounts returns runs of a program whose bytes vary by some, and whose syncs don't.
func madeCounts(name string, rnd *rand.Rand) (pool []*profile.Profile) {
	for range 60 {
		p := &profile.Profile{RunTime: 1e9}
		p.Categories[profile.Syncs].Calls = 8
		p.Categories[profile.Writes] = profile.Total{Calls: 100, Bytes: 300_000 + rnd.Int64N(20)}
		switch name {
		case "synced":
			p.Categories[profile.Syncs].Calls++
		case "more":
			p.Categories[profile.Writes].Bytes += 3000
		}
		pool = append(pool, p)
	}
	return pool
}

// six returns the indexes of six runs in a row.
func six(first int) (list []int) {
	for i := range 6 {
		list = append(list, first+i)
	}
	return list
}

// made returns runs that differ by noise of 3 %.
func made(t *testing.T, rnd *rand.Rand) (pool []*profile.Profile) {
	one := run(t, 1, 40).Profile
	for range 60 {
		pool = append(pool, slower(one, 0.03*rnd.NormFloat64()))
	}
	return pool
}

// saved returns the runs of a baseline.
func saved(t *testing.T, name string) (pool []*profile.Profile) {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	b, err := Read(f)
	require.NoError(t, err)
	for i := range b.Runs {
		pool = append(pool, b.Runs[i].Profile)
	}
	require.GreaterOrEqual(t, len(pool), 60)
	return pool
}
