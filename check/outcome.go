package check

import (
	"fmt"
	"math"
	"slices"

	"pianola/profile"
	"pianola/stats"
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
	Check    string   `json:"check"`
	Metric   string   `json:"metric"`
	Unit     string   `json:"unit"` // seconds, calls, bytes or bytes_per_second
	Relative bool     `json:"relative"`
	Bound    float64  `json:"bound"` // a fraction of the application's value, such as 0.1, or a value
	Base     *float64 `json:"application,omitempty"`
	Value    *float64 `json:"replay,omitempty"`
	Ratio    *float64 `json:"ratio,omitempty"`

	// Low and High are the ends of one-sided intervals: of the ratio for a relative
	// bound, of the value for an absolute one. Both are nil if the medians decide.
	Low        *float64 `json:"interval_low,omitempty"`
	High       *float64 `json:"interval_high,omitempty"`
	Confidence float64  `json:"confidence,omitempty"` // of each end alone; 0 without an interval

	Runs  int    `json:"runs"`     // number of runs with the metric, on the side that has fewer
	Needs int    `json:"min_runs"` // for an interval
	State State  `json:"state"`
	Why   string `json:"reason,omitempty"` // of Inconclusive and Unknown

	above bool
	unit  *unit
}

// byMedians reports whether there were too few runs for an interval.
func (o Outcome) byMedians() bool {
	return (o.State == Passed || o.State == Failed) && o.Low == nil
}

// errorRate is the probability that at least one of the checks evaluated together fails
// although no metric is beyond its bound.
const errorRate = 0.05

// Evaluate evaluates at most Max checks of the runs of one side against those of the
// other. Each side has at most stats.MaxRuns.
//
// Each check has an equal share of the error rate of 5 % (Bonferroni): in at most one
// of twenty comparisons any check fails by chance, even if all metrics are exactly at
// their bounds. If there are too few runs for that rate, the medians decide. withheld
// is the reason why the recording allows no verdict, "" if it allows one.
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
	case !c.Relative:
		return max(stats.MinRuns, stats.MedianRuns(2*errorRate))
	case errorRate < ofSix*(1-1e-9):
		return stats.MinRuns + 1
	}
	return stats.MinRuns
}

func (c *Check) evaluate(base, now Side, errorRate float64) Outcome {
	o := Outcome{Check: c.String(), Metric: c.Name, Unit: c.unit.name, Relative: c.Relative, Bound: c.Bound, Needs: c.needs(errorRate), above: c.Above, unit: c.unit}
	before, after := c.values(base), c.values(now)
	o.Base, o.Value = median(before), median(after)
	if o.Base != nil && o.Value != nil && *o.Base > 0 {
		o.Ratio = new(*o.Value / *o.Base)
	}
	o.Runs = len(after)
	if c.Relative {
		o.Runs = min(o.Runs, len(before))
	}
	switch {
	case len(after) == 0:
		o.unknown(now, c)
		return o
	case c.Relative && len(before) == 0:
		o.unknown(base, c)
		return o
	case c.Relative && before[0] == 0 && max(before[len(before)-1], after[len(after)-1]) > 0:
		o.State, o.Why = Unknown, fmt.Sprintf("%s of %s is 0, so there is no change in per cent", c.Name, base.Name)
		return o
	}
	// far is the metric and bound the bound, both as ratios if the bound is relative.
	// 1.1 counts as 1 plus 10 %, although the sum of the floats differs.
	far, bound := *o.Value, c.Bound
	if c.Relative {
		far, bound = 1, 1+c.Bound
		if o.Ratio != nil {
			far = *o.Ratio
		}
	}
	beyond := func(v float64) bool {
		if c.Above {
			return v > bound*(1+1e-9)
		}
		return v < bound*(1-1e-9)
	}
	o.State = Passed
	if beyond(far) {
		o.State = Failed
	}
	if o.Runs < o.Needs {
		return o
	}
	var interval stats.Interval
	switch {
	case !c.Relative:
		interval = stats.MedianInterval(after, 2*errorRate)
	case before[0] == 0: // like all others, of both sides
		interval = stats.Interval{Low: 1, High: 1}
	default:
		interval = stats.RatioInterval(before, after, 2*errorRate)
	}
	o.Low, o.High, o.Confidence = &interval.Low, &interval.High, 1-errorRate
	if o.State == Failed && !(beyond(interval.Low) && beyond(interval.High)) {
		o.State, o.Why = Inconclusive, "this may be noise: make more runs"
	}
	return o
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
