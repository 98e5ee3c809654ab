package experiment

import (
	"slices"

	"pianola/experiment/compare"
	"pianola/format/coverage"
	"pianola/internal/stats"
	"pianola/profile"
)

// Report is the result of an experiment. The first output in any form compares the sides,
// and the report may not change after that.
type Report struct {
	Options     []Option // of all replays, except for what candidates change
	Subjects    []*Subject
	Interrupted bool              // some runs are missing
	Findings    []profile.Finding // of the diagnosis that suggested the candidates, maybe none; nil without one
}

// Option is an option with its value.
type Option struct{ Name, Value string }

// idle reports whether there are candidates and none of them changes anything, or none was
// suggested, so that nothing is replayed.
func (r *Report) idle(s *Subject) bool {
	return (r.Findings != nil || len(s.played) > 1) && !slices.ContainsFunc(s.played[1:], func(p played) bool { return !p.Idle })
}

// several reports whether there are several subjects.
func (r *Report) several() bool { return len(r.Subjects) > 1 }

// sides returns those of a subject, compared and in the order of the output.
func (r *Report) sides(s *Subject) []*Side {
	s.compareSides(!r.several())
	return s.Sides
}

// Coverage returns how much of the application's I/O the recording of a subject holds: that
// of the application, or where it is not told, of the first replays.
func (s *Subject) Coverage() *coverage.Account {
	for _, side := range []*Side{s.Sides[0], s.first()} {
		if len(side.Runs) > 0 {
			return &side.Runs[0].Profile.Coverage
		}
	}
	return &coverage.Account{}
}

// Withheld returns why the recording of a single subject allows no verdict, "" if it does.
func (r *Report) Withheld() string {
	if r.several() {
		return "" // such a subject is left out
	}
	return r.Subjects[0].Coverage().Withheld()
}

// Pairs returns the replayed sides of the first subject that are compared with another
// side, in order.
func (r *Report) Pairs() (pairs []Pair) {
	s := r.Subjects[0]
	for _, side := range r.sides(s) {
		if side.Kind == Replayed && side.against != nil {
			side.against.Names = [2]string{r.Label(side.base), r.Label(side)}
			if side.base.Kind == Recorded {
				side.against.Paced = s.Paced
			}
			pairs = append(pairs, Pair{side.against, side.base, side})
		}
	}
	return pairs
}

// Mean is the geometric mean over subjects of how much longer one side takes than another.
type Mean struct {
	Side     string   `json:"side"`
	Base     string   `json:"base"`
	Ratio    float64  `json:"ratio"`
	Low      *float64 `json:"interval_low,omitempty"`
	High     *float64 `json:"interval_high,omitempty"`
	Subjects int      `json:"subjects"` // that it is made of
}

// Confidence is that of each interval.
const Confidence = compare.Confidence

// means returns the geometric mean of each replayed side that is compared with another one,
// over the subjects of which both have runs. An interval needs two runs of each side, but for
// a recording.
func (r *Report) means() (means []Mean) {
	if !r.several() {
		return nil
	}
	pairs := map[string][]stats.Pair{}
	base, few := map[string]string{}, map[string]bool{}
	var order []string
	for _, s := range r.Subjects {
		for _, side := range r.sides(s) {
			if side.against == nil || side.Kind != Replayed {
				continue
			}
			name := r.Label(side)
			if pairs[name] == nil {
				order = append(order, name)
			}
			base[name] = r.Label(side.base)
			few[name] = few[name] || len(side.Runs) < 2 || side.base.Kind != Recorded && len(side.base.Runs) < 2
			pairs[name] = append(pairs[name], stats.Pair{Base: runSeconds(side.base), Other: runSeconds(side)})
		}
	}
	for _, name := range order {
		ratio, interval, ok := stats.GeometricRatio(pairs[name], 1-Confidence)
		m := Mean{Side: name, Base: base[name], Ratio: ratio, Subjects: len(pairs[name])}
		if ok && !few[name] {
			m.Low, m.High = &interval.Low, &interval.High
		}
		means = append(means, m)
	}
	return means
}

// runSeconds returns the run time of each run.
func runSeconds(s *Side) (all []float64) {
	for _, p := range s.Profiles() {
		if p.RunTime > 0 {
			all = append(all, float64(p.RunTime)/1e9)
		}
	}
	return all
}
