package check

import (
	"fmt"
	"math"
	"slices"

	"pianola/internal/stats"
	"pianola/profile"
)

// Side is the runs of one side.
type Side struct {
	Name string // "application"
	Runs []*profile.Profile
}

// State is what a check comes to.
type State string

// The states. Only Failed says that a metric became worse.
const (
	Passed       State = "passed"
	Failed       State = "failed"
	Inconclusive State = "inconclusive" // beyond the bound but possibly noise, or the coverage of the recording is too low
	Unknown      State = "unknown"      // a side does not have the metric
)

// Outcome is the result of a check. Values are in the unit of the metric, and are
// medians over the runs of a side.
type Outcome struct {
	Check      string   `json:"check"`
	Metric     string   `json:"metric"`
	Unit       string   `json:"unit"` // seconds, calls, bytes, bytes_per_second, requests or requests_per_second
	Relative   bool     `json:"relative"`
	Difference bool     `json:"difference,omitempty"`
	Bound      float64  `json:"bound"` // a fraction of the application's value if Relative, such as 0.1, or a value
	Base       *float64 `json:"application,omitempty"`
	Value      *float64 `json:"replay,omitempty"`
	Ratio      *float64 `json:"ratio,omitempty"`

	// Exact says that the count was the same in all runs of the application, of which
	// there are several, and that all runs of the replay are on the same side of the bound.
	Exact bool `json:"exact,omitempty"`

	// Low and High are the ends of one-sided intervals: of the ratio if Relative, of the
	// difference if Difference, else of the value. Both are nil without an interval.
	Low        *float64 `json:"interval_low,omitempty"`
	High       *float64 `json:"interval_high,omitempty"`
	Confidence float64  `json:"confidence,omitempty"` // 1 less the chance of a false failure; 0 if the medians decide, or nothing

	Runs  int    `json:"runs"`     // number of runs with the metric, on the side that has fewer
	Needs int    `json:"min_runs"` // for an interval
	State State  `json:"state"`
	Why   string `json:"reason,omitempty"` // of Inconclusive and Unknown, and of a pass that one run of the application supports

	above    bool
	unit     *unit
	base     string // the name of the side
	baseRuns int
}

// byMedians reports whether there were too few runs to tell a change from noise, so that
// the medians decided.
func (o Outcome) byMedians() bool {
	return !o.unit.counts && (o.State == Passed || o.State == Failed) && o.Low == nil
}

// errorRate is the probability that at least one of the checks evaluated together fails
// although no metric is beyond its bound.
const errorRate = 0.05

// Evaluate evaluates at most Max checks of the runs of one side against those of the
// other. Each side has at most stats.MaxRuns.
//
// Each check has an equal share of the error rate of 5 % (Bonferroni): in at most one
// of twenty comparisons any check fails by chance, even if all metrics are exactly at
// their bounds. If there are too few runs for that rate, the medians of times decide, and
// counts fail only if they are the same in all runs of the other side. withheld is the
// reason why the recording allows no verdict, "" if it allows one.
func Evaluate(checks []*Check, base, now Side, withheld string) []Outcome {
	outcomes := make([]Outcome, len(checks))
	each := errorRate / float64(len(checks))
	for i, c := range checks {
		outcomes[i] = c.evaluate(base, now, each)
		if withheld != "" {
			outcomes[i].State, outcomes[i].Why = Inconclusive, withheld
		}
	}
	return outcomes
}

// needs returns the number of runs per side for an interval with that error rate at one
// end: see docs/reference/checks.md.
func (c *Check) needs(errorRate float64) int {
	const ofSix = 0.005 // the lowest error rate at one end that six runs per side can keep
	switch {
	case c.Of == Value:
		return max(stats.MinRuns, stats.MedianRuns(2*errorRate))
	case errorRate < ofSix*(1-1e-9):
		return stats.MinRuns + 1
	}
	return stats.MinRuns
}

// far returns what the bound bounds, of a value of either side.
func (c *Check) far(before, after float64) float64 {
	switch {
	case c.Of == Value:
		return after
	case c.Of == Difference:
		return after - before
	case before == after: // also 0
		return 1
	}
	return after / before
}

// beyond reports whether what far returned is beyond the bound. 1.1 counts as 1 plus
// 10 %, although the sum of the floats differs.
func (c *Check) beyond(far float64) bool {
	bound := c.Bound
	if c.Of == Share {
		bound++
	}
	rounding := 1e-13 * math.Abs(bound)
	if c.Above {
		return far > bound+rounding
	}
	return far < bound-rounding
}

func (c *Check) evaluate(base, now Side, errorRate float64) Outcome {
	o := Outcome{
		Check: c.String(), Metric: c.Name, Unit: c.unit.name, Relative: c.Of == Share, Difference: c.Of == Difference, Bound: c.Bound,
		Needs: c.needs(errorRate), above: c.Above, unit: c.unit, base: base.Name,
	}
	before, after := c.values(base), c.values(now)
	o.Base, o.Value = median(before), median(after)
	if o.Base != nil && o.Value != nil && *o.Base > 0 {
		o.Ratio = new(*o.Value / *o.Base)
	}
	o.Runs, o.baseRuns = len(after), len(before)
	if c.Of != Value {
		o.Runs = min(o.Runs, len(before))
	}
	switch {
	case len(after) == 0:
		o.unknown(now, c)
		return o
	case c.Of != Value && len(before) == 0:
		o.unknown(base, c)
		return o
	case c.Of == Share && before[0] == 0 && max(before[len(before)-1], after[len(after)-1]) > 0:
		o.State, o.Why = Unknown, fmt.Sprintf("%s of %s is 0, so there is no change in percent: use a bound without it, such as +0", c.Name, base.Name)
		return o
	}
	o.State = Passed
	if c.Of == Value && c.beyond(*o.Value) || c.Of != Value && c.beyond(c.far(*o.Base, *o.Value)) {
		o.State = Failed
	}
	switch {
	case c.unit.counts && c.exact(before, after):
		o.Exact, o.Confidence = true, 1-c.chance(&o, len(after), errorRate)
	case o.Runs >= o.Needs:
		c.interval(&o, before, after, errorRate)
	case c.unit.counts:
		c.ranks(&o, before, after, errorRate)
	}
	return o
}

// interval decides by the interval.
func (c *Check) interval(o *Outcome, before, after []float64, errorRate float64) {
	var i stats.Interval
	switch {
	case c.Of == Value:
		i = stats.MedianInterval(after, 2*errorRate)
	case c.Of == Difference:
		i = stats.DifferenceInterval(before, after, 2*errorRate)
	case before[0] == 0: // like all others, of both sides
		i = stats.Interval{Low: 1, High: 1}
	default:
		i = stats.RatioInterval(before, after, 2*errorRate)
	}
	o.Low, o.High, o.Confidence = &i.Low, &i.High, 1-errorRate
	if o.State == Failed && !(c.beyond(i.Low) && c.beyond(i.High)) {
		o.State, o.Why = Inconclusive, "this may be noise: make more runs"
	}
}

// exact reports whether a count was the same in several runs of the other side, so that
// there is no noise, and all runs are on one side of the bound, where their median is.
func (c *Check) exact(before, after []float64) bool {
	least, most := c.far(before[0], after[0]), c.far(before[0], after[len(after)-1])
	return len(before) > 1 && before[0] == before[len(before)-1] && c.beyond(least) == c.beyond(most)
}

// chance returns that of a false failure of a count with so many replays. If an interval
// or the ranks can decide, they fail whatever is exact beyond the bound, too.
func (c *Check) chance(o *Outcome, replays int, errorRate float64) float64 {
	if o.Runs >= o.Needs {
		return errorRate
	}
	if ranks := stats.RankChance(o.baseRuns, replays); c.Of != Value && ranks <= errorRate {
		return ranks
	}
	return stats.UnseenChance(o.baseRuns, replays)
}

// ranks decides about a count that can vary, where there are too few runs for an interval:
// it fails if each run is beyond each of the other side, and that is no chance.
func (c *Check) ranks(o *Outcome, before, after []float64, errorRate float64) {
	chance := stats.RankChance(len(before), len(after))
	apart := c.Of != Value
	for _, v := range before {
		apart = apart && c.beyond(c.far(v, after[0])) && c.beyond(c.far(v, after[len(after)-1]))
	}
	switch {
	case apart && chance <= errorRate:
		o.Confidence = 1 - chance
	case len(before) == 1:
		o.Why = fmt.Sprintf("one run of %s does not tell whether it varies", o.base)
		if o.State == Failed {
			o.State, o.Why = Inconclusive, o.Why+fmt.Sprintf(": make %d", stats.MinRuns)
		}
	case o.State == Failed:
		varied := before
		if before[0] == before[len(before)-1] {
			varied = after
		}
		o.State = Inconclusive
		o.Why = fmt.Sprintf("it varies between runs, from %s to %s: make %d of each", o.unit.format(varied[0]), o.unit.format(varied[len(varied)-1]), o.Needs)
	}
}

func (o *Outcome) unknown(s Side, c *Check) {
	o.State, o.Why = Unknown, fmt.Sprintf("%s has no %s", s.Name, c.Name)
}

// values returns the values of the runs that have the metric, in rising order.
func (c *Check) values(s Side) (list []float64) {
	for _, p := range s.Runs {
		if v := c.of(p); v != nil && !math.IsInf(*v, 0) {
			list = append(list, *v)
		}
	}
	slices.Sort(list)
	return list
}

func median(v []float64) *float64 {
	if len(v) == 0 {
		return nil
	}
	return new(stats.Median(v))
}

// Overall returns the combined state of checks: Failed if one failed, else Unknown or
// Inconclusive if one is, else Passed.
func Overall(outcomes []Outcome) State {
	for _, state := range []State{Failed, Unknown, Inconclusive} {
		if count(outcomes, state) > 0 {
			return state
		}
	}
	return Passed
}

func count(outcomes []Outcome, state State) (n int) {
	for i := range outcomes {
		if outcomes[i].State == state {
			n++
		}
	}
	return n
}
