package lab

import (
	"slices"

	"pianola/compare"
	"pianola/coverage"
	"pianola/profile"
)

// Report is what an experiment found out. Its trials are compared when it is
// first told of, in whatever form, and once: it may not change after that.
type Report struct {
	Trace       string
	Options     []Option         // with which all was replayed, but for what candidates change
	Application *profile.Profile // as it was recorded; nil where that is not told
	Trials      []*Trial         // the first of them the baseline to which all are compared
	Interrupted bool             // some runs are missing

	compared []row // see rows; nil before it is told of
}

// Option is how something is set.
type Option struct{ Name, Value string }

// row is a trial, compared.
type row struct {
	*Trial
	against *compare.Comparison // with the first baseline; nil for that itself
	own     *compare.Comparison // with the baseline on the same root; nil where that is the first, or this
	alone   *compare.Comparison // what its runs say by themselves; nil without runs
	breaks  bool
}

// Coverage returns how much of the application's I/O the recording holds: that of
// the application, or where it is not told, of the baseline's runs.
func (r *Report) Coverage() *coverage.Account {
	if r.Application != nil {
		return &r.Application.Coverage
	}
	if profiles := r.Trials[0].profiles; len(profiles) > 0 {
		return &profiles[0].Coverage
	}
	return &coverage.Account{}
}

// rows returns the trials: the baseline, then the others, by gain in run time.
// Those that break results come after those that don't, and those without runs
// last.
func (r *Report) rows() []row {
	if r.compared == nil {
		r.compared = r.compare()
	}
	return r.compared
}

func (r *Report) compare() []row {
	first := r.Trials[0]
	rows := []row{{Trial: first, alone: alone(first)}}
	for _, t := range r.Trials[1:] {
		one := row{Trial: t, against: compared(first, t), alone: alone(t), breaks: t.breaks(first)}
		if b := r.baselineOf(t); b != nil {
			one.own = compared(b, t)
			one.breaks = one.breaks || t.breaks(b) // a root can break more than its own baseline shows
		}
		rows = append(rows, one)
	}
	slices.SortStableFunc(rows[1:], func(a, b row) int {
		if a.rank() != b.rank() {
			return a.rank() - b.rank()
		}
		switch x, y := a.ratio(), b.ratio(); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return rows
}

// baselineOf returns the baseline on the root of a trial, where it is not the
// first one, nor the trial.
func (r *Report) baselineOf(t *Trial) *Trial {
	for _, b := range r.Trials[1:] {
		if len(b.Candidate) == 0 && b.Root == t.Root && b != t {
			return b
		}
	}
	return nil
}

func compared(baseline, t *Trial) *compare.Comparison {
	if len(baseline.profiles) == 0 || len(t.profiles) == 0 {
		return nil
	}
	return compare.Profiles(baseline.profiles, t.profiles)
}

func (r *row) rank() int {
	switch {
	case r.against == nil || r.Err != nil:
		return 2
	case r.breaks:
		return 1
	}
	return 0
}

// ratio returns the run time as a part of the baseline's, 0 if it is not known.
func (r *row) ratio() float64 {
	if r.against == nil {
		return 0
	}
	if v := r.against.Rows[profile.NumCategories].Ratio; v != nil {
		return *v
	}
	return 0
}

// alone returns what a trial's runs say by themselves, nil without runs.
func alone(t *Trial) *compare.Comparison {
	if len(t.profiles) == 0 {
		return nil
	}
	return compare.Profiles(nil, t.profiles)
}
