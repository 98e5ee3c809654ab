package compare

import (
	"math"
)

// Verdict says whether replays are within the tolerance of their application,
// and which rows, by name, led to that.
type Verdict struct {
	Tolerance float64  `json:"tolerance"`
	State     State    `json:"verdict"`
	Within    bool     `json:"within_tolerance"`   // State is Within
	Withheld  string   `json:"withheld,omitempty"` // why the coverage of the recording allows no verdict
	Outside   []string `json:"outside"`            // rows that differ by more than the tolerance
	Undecided []string `json:"undecided"`          // rows whose interval contains a bound of the tolerance
	Noise     []string `json:"below_noise_floor"`  // rows too short to be judged
	Unknown   []string `json:"unknown"`            // rows whose time is unknown on a side
}

// State is what a verdict comes to.
type State string

// The states of a verdict.
const (
	Within       State = "within"
	Outside      State = "outside"
	Inconclusive State = "inconclusive" // the recording does not hold enough, or the run time is not known
)

// Judge decides whether each row's replay time differs from the application's
// by at most the tolerance, a fraction of the application's time (0.1 is 10 %).
//
// The medians decide, for any number of runs. If there are enough runs, a row
// is also undecided if its interval is not on one side of the tolerance: more
// runs may change the verdict.
//
// A category without calls on both sides is ignored, and so is communication,
// which no replay has. Two kinds of rows do not
// count. The first is a category whose time is below the noise floor on both
// sides, 1 % of the application's run time: a few calls that find a cache in
// another state can double it, and the run hardly differs. The second is a row
// whose time is unknown. The run time always counts; if it is unknown, nothing
// is within any tolerance.
//
// A recording that does not hold nearly all of the application's I/O says little
// about it, however near the times are: the verdict is withheld.
func (c *Comparison) Judge(tolerance float64) Verdict {
	v := Verdict{Tolerance: tolerance, Outside: []string{}, Undecided: []string{}, Noise: []string{}, Unknown: []string{}}
	known := false
	for i := range c.Rows {
		r := &c.Rows[i]
		if !c.judged(i) {
			continue
		}
		app, replay := r.Application.Seconds, r.Replay.Seconds
		switch {
		case app == nil || replay == nil:
			v.Unknown = append(v.Unknown, r.Name)
			continue
		case r.Name != ElapsedRow && r.Application.Calls == 0 && r.Replay.Calls == 0:
			continue
		case r.Name != ElapsedRow && max(*app, *replay) < c.NoiseFloor:
			v.Noise = append(v.Noise, r.Name)
			continue
		}
		// 1.1 is within 10 % of 1, though the floats' difference is not.
		limit := tolerance * (1 + 1e-9)
		if math.Abs(*replay-*app) > limit**app {
			v.Outside = append(v.Outside, r.Name)
		}
		if r.Finding == Differs || r.Finding == NoDifference {
			inside := func(ratio float64) bool { return math.Abs(ratio-1) <= limit }
			reaches := r.Interval.Low <= 1+limit && r.Interval.High >= 1-limit // into the tolerance
			if reaches && !(inside(r.Interval.Low) && inside(r.Interval.High)) {
				v.Undecided = append(v.Undecided, r.Name)
			}
		}
		known = known || r.Name == ElapsedRow
	}
	v.Withheld = c.Coverage.Withheld()
	switch {
	case v.Withheld != "" || !known && len(v.Outside) == 0:
		v.State = Inconclusive
	case len(v.Outside) > 0 || !known:
		v.State = Outside
	default:
		v.State, v.Within = Within, true
	}
	return v
}
