package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pianola/experiment/check"
)

// Verdict says whether the second side is within the tolerance of the first, and names the
// rows that decided it. The lists are not nil. A row is in at most one of them.
type Verdict struct {
	Tolerance   *float64 `json:"tolerance,omitempty"` // nil if none was requested
	State       State    `json:"verdict"`
	Within      bool     `json:"within_tolerance"`      // State is Within
	Withheld    string   `json:"withheld,omitempty"`    // reason why no verdict is possible: the coverage of the recording, or what binds the replays
	Outside     []string `json:"outside"`               // rows that differ by more than the tolerance
	Undecided   []string `json:"undecided"`             // rows that may
	NotExcluded []string `json:"not_excluded"`          // rows without a difference found, in which one of up to twice the tolerance is possible
	Noise       []string `json:"below_noise_floor"`     // rows too short to be judged
	Unknown     []string `json:"unknown"`               // rows whose time is unknown on a side
	Runs        int      `json:"runs_needed,omitempty"` // per side, to decide the undecided rows; 0 if there are none or no practical number is enough
}

// State is the outcome of a verdict.
type State string

// The states of a verdict.
const (
	Within       State = "within"
	Outside      State = "outside"
	Inconclusive State = "inconclusive" // rows are undecided, or the verdict is not Possible
	Compared     State = "compared"     // no tolerance was requested: the answer is which side is faster
)

// NoTolerance requests no tolerance. Replays are then judged by DefaultTolerance,
// because the question is how close they are. Other sides are not judged: one of two
// systems may be faster, which is not a failure.
const (
	NoTolerance      = -1
	DefaultTolerance = 0.1
)

// Possible reports whether the runs can be compared: the recording holds enough of the
// I/O, nothing but storage binds the replays, and both run times are known.
func (v *Verdict) Possible() bool { return v.Withheld == "" && !slices.Contains(v.Unknown, ElapsedRow) }

// ParseTolerance parses "10%", "10" or "0.1", which mean the same: a number of at least 1 is
// per cent.
func ParseTolerance(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0) || v > 1e6 {
		return 0, fmt.Errorf("%q is not a tolerance (want for example 10%%, 10 or 0.1)", s)
	}
	if percent || v >= 1 {
		v /= 100
	}
	return v, nil
}

// Result returns the state that decides the exit status of a command: the result of the checks,
// or else the verdict. Without a check and a tolerance, comparable runs are Compared, whether or
// not they differ.
func (c *Comparison) Result(tolerance float64) State {
	if len(c.Checks) > 0 {
		switch check.Overall(c.Checks) {
		case check.Failed:
			return Outside
		case check.Unknown, check.Inconclusive:
			return Inconclusive
		}
		return Within
	}
	v := c.Judge(tolerance)
	if tolerance < 0 && v.Possible() {
		return Compared
	}
	return v.State
}

// standing is the effect of a row on a verdict.
type standing uint8

const (
	ignored standing = iota // without calls, or of a kind that replays never perform
	unknown
	short
	inside
	notExcluded // inside, but not by its interval
	undecided
	outside
	numStandings
)

// standingNames are the names of standings in messages.
var standingNames = [numStandings]string{
	ignored: "-", unknown: "not known", short: "too short", inside: "within", notExcluded: "within", undecided: "undecided", outside: "outside",
}

// Judge decides whether each row's replay time differs from the application's by at most
// the tolerance, a fraction of the application's time (0.1 is 10 %), or NoTolerance.
//
// With MinRuns runs of each side, intervals decide. A row is inside if its interval is,
// and outside if all of its interval is. It is also inside if no difference is found
// and the interval excludes one of twice the tolerance. Without this rule, equal sides
// on a noisy machine would be undecided more often with more runs. Other rows are
// undecided. With fewer runs the medians decide: a row is inside up to the tolerance,
// undecided up to twice the tolerance, and else outside.
//
// A category without calls on both sides is ignored, and so is communication,
// which no replay has. Two kinds of rows do not
// count. The first is a category whose time is below the noise floor, 1 % of the
// application's run time, on one side, and differs by less than that from the other
// side's: a few calls that find a cache in another state can double it, and the run hardly
// differs. The second is a row whose time is unknown. The run time always counts; if it
// is unknown, nothing is within any tolerance. Where both sides have requests of clients, their
// rate counts in its place.
//
// If the recording does not hold nearly all of the application's I/O, the verdict is
// withheld, even if the times are close. So is that of replays that are as long as they are
// because of something else than storage: see withholding.
func (c *Comparison) Judge(tolerance float64) Verdict {
	var rows [numStandings][]string
	for s := range rows {
		rows[s] = []string{}
	}
	v := Verdict{Withheld: cmp.Or(c.Coverage.Withheld(), c.withholding())}
	if tolerance < 0 && c.ofReplays() {
		tolerance = DefaultTolerance
	}
	if tolerance >= 0 {
		v.Tolerance = &tolerance
	}
	runs := 0
	for i := range c.Rows {
		s := c.standing(i, tolerance)
		rows[s] = append(rows[s], c.Rows[i].Name)
		if s == undecided {
			runs = max(runs, c.runsNeeded(&c.Rows[i], tolerance))
		}
	}
	v.Outside, v.Undecided, v.NotExcluded, v.Noise, v.Unknown = rows[outside], rows[undecided], rows[notExcluded], rows[short], rows[unknown]
	switch {
	case v.Withheld != "":
		v.State = Inconclusive
	case len(v.Outside) > 0:
		v.State = Outside
	case !v.Possible():
		v.State = Inconclusive
	case v.Tolerance == nil:
		v.State = Compared
	case len(v.Undecided) > 0:
		v.State = Inconclusive
		if runs <= maxUseful {
			v.Runs = runs
		}
	default:
		v.State, v.Within = Within, true
	}
	return v
}

// standing judges row i.
func (c *Comparison) standing(i int, tolerance float64) standing {
	r := &c.Rows[i]
	if !c.judged(i) {
		return ignored
	}
	a, b := r.values()
	whole := r == c.Headline()
	switch {
	case a == nil || b == nil:
		return unknown
	case !whole && !r.occurs() || tolerance < 0:
		return ignored
	case !whole && min(*a, *b) < c.NoiseFloor && math.Abs(*b-*a) < c.NoiseFloor:
		return short
	}
	// 1.1 counts as within 10 % of 1, although the difference of the floats is larger.
	limit := tolerance * (1 + 1e-9)
	if r.enough() {
		switch v := r.Interval; {
		case v.within(limit):
			return inside
		case v.Low > 1+limit || v.High < 1-limit:
			return outside
		case r.Finding == NoDifference && v.within(2*limit):
			return notExcluded
		}
		return undecided
	}
	switch d := math.Abs(*b - *a); {
	case d <= limit**a:
		return inside
	case d <= 2*limit**a:
		return undecided
	}
	return outside
}

// enough reports whether a row has enough runs for its interval to count.
func (r *Row) enough() bool { return r.Finding == Differs || r.Finding == NoDifference }

// within reports whether an interval of a ratio differs from 1 by at most far.
func (i *Interval) within(far float64) bool { return i.Low >= 1-far && i.High <= 1+far }

// maxUseful is the largest number of runs that it makes sense to recommend.
const maxUseful = 100

// runsNeeded estimates how many runs per side decide an undecided row if its ratio
// stays the same. The width of an interval shrinks with the square root of the number
// of runs. If the ratio is at the bound, no number is enough.
func (c *Comparison) runsNeeded(r *Row, tolerance float64) int {
	runs := min(len(c.applications), len(c.replays))
	switch {
	case runs < MinRuns:
		return MinRuns
	case !r.enough(): // times are unknown or 0
		return maxUseful + 1
	}
	ratio, v := *r.Ratio, r.Interval
	shrink := 1.0 // factor by which the interval must shrink to end at the bound
	end := func(room, reach float64) {
		if reach > room {
			shrink = min(shrink, max(room, 0)/reach)
		}
	}
	switch far := math.Abs(ratio - 1); {
	case far > tolerance && ratio > 1:
		end(ratio-(1+tolerance), ratio-v.Low)
	case far > tolerance:
		end(1-tolerance-ratio, v.High-ratio)
	default:
		if r.Finding == NoDifference {
			tolerance *= 2
		}
		end(1+tolerance-ratio, v.High-ratio)
		end(ratio-(1-tolerance), ratio-v.Low)
	}
	needed := math.Ceil(float64(runs) / (shrink * shrink))
	return int(min(max(needed, float64(runs+1)), maxUseful+1))
}
