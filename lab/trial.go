package lab

import (
	"slices"

	"pianola/profile"
)

// Trial is a candidate on a root, and what its runs were like.
type Trial struct {
	Candidate Candidate
	Root      string // "" where the backend has none
	Err       error  // why it was given up; nil if it was not
	Unchanged bool   // its steps were to change the trace, and left it as the baseline's

	failed, differed []int64 // events of each run
	example          string  // of an event that differed, "" if none did
	profiles         []*profile.Profile
}

// Add adds a run: its profile, of which it keeps only what a comparison of
// times needs; the events that failed and those that differed, as a replay
// counts them; and what is to be said of one of these.
func (t *Trial) Add(p *profile.Profile, failed, differed int64, example string) {
	t.profiles = append(t.profiles, times(p))
	t.failed, t.differed = append(t.failed, failed), append(t.differed, differed)
	if t.example == "" {
		t.example = example
	}
}

// times returns the totals of a profile, some kilobytes, however long it was.
func times(p *profile.Profile) *profile.Profile {
	return &profile.Profile{RunTime: p.RunTime, All: p.All, Categories: p.Categories, Ops: p.Ops}
}

// Runs returns how many were added.
func (t *Trial) Runs() int { return len(t.profiles) }

// Failed and Differed return the most that a run counted.
func (t *Trial) Failed() int64   { return most(t.failed) }
func (t *Trial) Differed() int64 { return most(t.differed) }

func most(v []int64) int64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Max(v)
}

// breaks reports whether a trial's results are not those of the application,
// where the baseline's are.
func (t *Trial) breaks(baseline *Trial) bool {
	return t.Failed() > baseline.Failed() || t.Differed() > baseline.Differed()
}
