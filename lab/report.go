package lab

import (
	"slices"

	"pianola/compare"
	"pianola/coverage"
	"pianola/profile"
)

// Report is the result of an experiment. The first output in any form compares
// the trials, and the report may not change after that.
type Report struct {
	Trace       string           // its name, "" if it has none
	Options     []Option         // of all replays, except for what candidates change
	Application *profile.Profile // as recorded; nil if it is not shown
	Paced       *compare.Paced   // how Application differs from the recording; nil if it does not
	Trials      []*Trial         // the first is the baseline to which all are compared
	Interrupted bool             // some runs are missing
	Findings    any              // of the diagnosis that suggested the candidates, maybe none; nil without one

	compared []row // see rows; nil before the first output
}

// Idle reports whether there are candidates and none of them changes anything, or none
// was suggested, so that nothing is replayed.
func (r *Report) Idle() bool {
	return (r.Findings != nil || len(r.Trials) > 1) && !slices.ContainsFunc(r.Trials[1:], func(t *Trial) bool { return !t.Idle })
}

// Option is an option with its value.
type Option struct{ Name, Value string }

// row is a trial, compared.
type row struct {
	*Trial
	against *compare.Comparison // with the first baseline; nil for the baseline itself
	own     *compare.Comparison // with the baseline on the same root; nil if that is the first one or this trial
	alone   *compare.Comparison // of its own runs only; nil without runs
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
			one.breaks = one.breaks || t.breaks(b) // a root can break results in its own baseline, too
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

// baselineOf returns the baseline on the root of a trial, nil if that is the
// first one or the trial itself.
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

// Outcome is what became of a candidate on the first root: parts of the baseline's run
// time that it saved.
type Outcome struct {
	Err       error    // why it was given up
	Known     bool     // there are enough runs to tell a gain
	Gain      float64  // median
	Low, High *float64 // of its interval, nil if not known
	Certain   bool     // the interval excludes none
	Breaks    bool     // results
	Example   string   // of a result that differed
	Unchanged bool     // its trace is the baseline's
}

// Outcome returns what became of a candidate; ok is false if there is none.
func (r *Report) Outcome(c Candidate) (o Outcome, ok bool) {
	rows := r.rows()
	i := slices.IndexFunc(rows, func(k row) bool { return slices.Equal(k.Candidate, c) })
	if i < 0 {
		return o, false
	}
	k := &rows[i]
	o = Outcome{Err: k.Err, Breaks: k.breaks, Example: k.example, Unchanged: k.Unchanged}
	if k.against != nil {
		run := &k.against.Rows[profile.NumCategories]
		d := newAgainst(k.against)
		if d.Gain != nil {
			o.Gain, o.Low, o.High = *d.Gain, d.GainLow, d.GainHigh
		}
		o.Known, o.Certain = d.Gain != nil && run.Finding != compare.TooFewRuns, run.Finding == compare.Differs
	}
	return o, true
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

// ratio returns the run time as a fraction of the baseline's, 0 if unknown.
func (r *row) ratio() float64 {
	if r.against == nil {
		return 0
	}
	if v := r.against.Rows[profile.NumCategories].Ratio; v != nil {
		return *v
	}
	return 0
}

// alone returns a comparison of a trial's own runs only, nil without runs.
func alone(t *Trial) *compare.Comparison {
	if len(t.profiles) == 0 {
		return nil
	}
	return compare.Profiles(nil, t.profiles)
}
