package lab

import (
	"slices"

	"pianola/format"
	"pianola/profile"
)

// Trial is a candidate on a root, with the results of its runs.
type Trial struct {
	Candidate Candidate
	Root      Root  // zero where the backend has none, or the command line names none
	Err       error // why it was given up; nil if it was not
	Unchanged bool  // it has steps that change the trace, but its trace equals the baseline's
	Idle      bool  // and it has no other steps: its replays would be those of the baseline, and are not made

	failed, differed []int64 // events of each run
	example          string  // of an event that differed, "" if none did
	profiles         []*profile.Profile
}

// Run is the result of one replay.
type Run struct {
	Profile          *profile.Profile
	Failed, Differed int64  // events, as counted by a replay
	Example          string // what is to be said of one that differed, "" if none did
}

// Add adds a run. It keeps only the totals of its profile.
func (t *Trial) Add(r Run) {
	t.profiles = append(t.profiles, r.Profile.Totals())
	t.failed, t.differed = append(t.failed, r.Failed), append(t.differed, r.Differed)
	if t.example == "" {
		t.example = r.Example
	}
}

// floor returns the minimum run time of its replays, nil if it is not known or they do
// not keep to it.
func (t *Trial) floor() *format.Floor {
	if len(t.profiles) == 0 {
		return nil
	}
	return t.profiles[0].Floor
}

// grouping says how threads share syncs in its trace; "" if they do not.
func (t *Trial) grouping() string {
	if len(t.profiles) == 0 || t.profiles[0].Grouping == nil {
		return ""
	}
	return t.profiles[0].Grouping.Text()
}

// Runs returns how many were added.
func (t *Trial) Runs() int { return len(t.profiles) }

// Failed and Differed return the largest counts of a run.
func (t *Trial) Failed() int64   { return most(t.failed) }
func (t *Trial) Differed() int64 { return most(t.differed) }

// Example says more of an event that differed; "" if none did.
func (t *Trial) Example() string { return t.example }

func most(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Max(v)
}

// breaks reports whether a trial has results that differ from the
// application's, and the baseline b has not.
func (t *Trial) breaks(baseline *Trial) bool {
	return t.Failed() > baseline.Failed() || t.Differed() > baseline.Differed()
}
