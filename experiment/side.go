package experiment

import (
	"cmp"
	"slices"

	"pianola/experiment/compare"
	"pianola/format"
	"pianola/profile"
)

// Kind says where the runs of a side come from.
type Kind string

// The kinds of sides.
const (
	Recorded Kind = "recorded" // the application, as it was recorded
	Saved    Kind = "saved"    // runs of another experiment, which a baseline holds
	Replayed Kind = "replayed"
)

// Side is runs of a subject that belong together.
type Side struct {
	Kind      Kind
	Name      string    // of a saved side; Report.Label has that of any side
	Candidate Candidate // of a replayed side; without steps it is the recording as it is
	Root      Root      // of a replayed side; zero if the backend has none, or the command line names none
	Err       error     // why it was given up; nil if it was not
	Unchanged bool      // it has steps that change the trace, but its trace equals the baseline's
	Idle      bool      // and it has no other steps: its replays would be those of the baseline, and are not made
	Runs      []Run

	base    *Side               // what it is compared with; nil for none
	against *compare.Comparison // with base; nil where one of them has no runs
	alone   *compare.Comparison // of its own runs only; nil without runs
}

// Run is a recording or a replay.
type Run struct {
	Profile          *profile.Profile
	Meta             []format.Meta
	Failed, Differed int64  // events, as counted by a replay
	Example          string // says more of one that differed; "" if none did
}

// Failed and Differed return the largest counts of a run.
func (s *Side) Failed() int64   { return s.most(func(r *Run) int64 { return r.Failed }) }
func (s *Side) Differed() int64 { return s.most(func(r *Run) int64 { return r.Differed }) }

func (s *Side) most(of func(*Run) int64) (most int64) {
	for i := range s.Runs {
		most = max(most, of(&s.Runs[i]))
	}
	return most
}

// Example says more of an event that differed; "" if none did.
func (s *Side) Example() string {
	for i := range s.Runs {
		if s.Runs[i].Example != "" {
			return s.Runs[i].Example
		}
	}
	return ""
}

// Profiles returns those of the runs.
func (s *Side) Profiles() (all []*profile.Profile) {
	for i := range s.Runs {
		all = append(all, s.Runs[i].Profile)
	}
	return all
}

// breaks reports whether a side has results that differ from the application's, and what
// it is compared with has not.
func (s *Side) breaks() bool {
	return s.base != nil && s.Kind == Replayed && (s.Failed() > s.base.Failed() || s.Differed() > s.base.Differed()) && s.base.Kind == Replayed
}

// floor returns the minimum run time of its replays, nil if it is not known or they do
// not keep to it.
func (s *Side) floor() *format.Floor {
	if len(s.Runs) == 0 || s.Kind == Recorded {
		return nil
	}
	return s.Runs[0].Profile.Floor
}

// grouping says how threads share syncs in its trace; "" if they do not.
func (s *Side) grouping() string {
	if len(s.Runs) == 0 || s.Runs[0].Profile.Grouping == nil {
		return ""
	}
	return s.Runs[0].Profile.Grouping.Text()
}

// row returns the comparison of a category with the base, or of the run time for
// NumCategories; nil if there is none.
func (s *Side) row(k profile.Category) *compare.Row {
	if s.against == nil {
		return nil
	}
	return &s.against.Rows[k]
}

// measure returns the medians of a category, or of the run for NumCategories.
func (s *Side) measure(k profile.Category) (m profile.Measure) {
	if s.alone != nil {
		m = s.alone.Rows[k].Replay
	}
	return m
}

// requests returns the medians of the requests of clients, without any if there were none.
func (s *Side) requests() (m profile.Measure) {
	if s.alone != nil {
		if r := s.alone.Requests(); r != nil {
			m = r.Replay
		}
	}
	return m
}

// headline returns what decides which of two sides is faster, nil if they are not compared.
func (s *Side) headline() *compare.Row {
	if s.against == nil {
		return nil
	}
	return s.against.Headline()
}

// slowdown returns how many times as slow a side is as its base, 0 if unknown.
func (s *Side) slowdown() float64 {
	if r := s.headline(); r != nil && r.Ratio != nil {
		return r.Slowdown()
	}
	return 0
}

// group tells sides with different bases apart, in the order of the output: the application,
// what was saved, and the replays that are compared with the same ones.
func (s *Subject) group(one *Side) int {
	switch {
	case one.Kind == Recorded:
		return 0
	case one.Kind == Saved:
		return 1
	case len(one.Candidate) > 0:
		one = one.base
	case !slices.ContainsFunc(s.Sides, func(other *Side) bool { return len(other.Candidate) > 0 }):
		one = s.first() // roots alone are one group
	}
	return 2 + slices.IndexFunc(s.played, func(p played) bool { return p.Side == one })
}

// rank orders the sides of a group: replays of the recording as it is, candidates, those
// that break results, and those without runs.
func (s *Side) rank() int {
	switch {
	case s.Err != nil || len(s.Runs) == 0 && s.base != nil:
		return 3
	case s.breaks():
		return 2
	case len(s.Candidate) > 0:
		return 1
	}
	return 0
}

// ratio returns the run time as a part of the base's, 0 if unknown.
func (s *Side) ratio() float64 {
	if r := s.row(profile.NumCategories); r != nil && r.Ratio != nil {
		return *r.Ratio
	}
	return 0
}

// compareSides sets what each side is compared with: replays of a candidate with those of
// the recording as it is on the same root, and all others with what was saved, the first
// replays, or the application where there is but one replayed side. If sorted is set, it sorts
// the sides by what they are compared with, and then by gain.
func (s *Subject) compareSides(sorted bool) {
	if s.compared {
		return
	}
	s.compared = true
	i := slices.IndexFunc(s.Sides, func(one *Side) bool { return one.Kind == Saved })
	first := s.first()
	s.base = first
	switch {
	case i >= 0:
		s.base = s.Sides[i]
	case len(s.Sides) == 2:
		s.base = s.Sides[0]
	}
	for _, one := range s.Sides {
		if len(one.Runs) > 0 {
			one.alone = compare.Profiles(nil, one.Profiles())
		}
		if one == s.base {
			continue
		}
		one.base = s.base
		if len(one.Candidate) > 0 {
			one.base = s.unchangedOn(one.Root)
		}
		if len(one.Runs) > 0 && len(one.base.Runs) > 0 {
			one.against = compare.Profiles(one.base.Profiles(), one.Profiles())
		}
	}
	if sorted {
		slices.SortStableFunc(s.Sides, func(a, b *Side) int {
			return cmp.Or(cmp.Compare(s.group(a), s.group(b)), cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.slowdown(), b.slowdown()))
		})
	}
}

// first returns the first replayed side.
func (s *Subject) first() *Side {
	i := slices.IndexFunc(s.Sides, func(one *Side) bool { return one.Kind == Replayed && len(one.Candidate) == 0 })
	return s.Sides[i]
}

// unchangedOn returns the replays of the recording as it is on a root, or else the first
// ones.
func (s *Subject) unchangedOn(root Root) *Side {
	for _, one := range s.Sides {
		if one.Kind == Replayed && len(one.Candidate) == 0 && one.Root == root {
			return one
		}
	}
	return s.first()
}

// Seconds returns the median run time, 0 without runs.
func (s *Side) Seconds() float64 {
	if v := s.measure(profile.NumCategories).Seconds; v != nil {
		return *v
	}
	return 0
}
