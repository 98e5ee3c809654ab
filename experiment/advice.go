package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"pianola/experiment/compare"
	"pianola/internal/table"
	"pianola/profile"
	"pianola/profile/diagnosis"
)

// Suggested returns the candidates that findings suggest, without duplicates and without
// those that only show a loss.
func Suggested(findings []profile.Finding) (all []Candidate) {
	seen := map[string]bool{}
	for i := range findings {
		f := &findings[i]
		for _, c := range f.Candidates {
			if !seen[c] && !diagnosis.ChangeOf(f, c).Slower {
				all = append(all, Candidate{c})
			}
			seen[c] = true
		}
	}
	return all
}

// outcome is the result of a suggested candidate.
type outcome string

// The outcomes. Only a certain change is worth doing: the
// interval of its gain excludes zero, and all results stay the same.
const (
	worthDoing    outcome = "worth_doing"
	beyondProgram outcome = "beyond_program" // a certain gain, which no change of the program brings
	noGain        outcome = "no_gain"        // it was tried, and may gain nothing
	notTried      outcome = "not_tried"      // it could not be tried, or can only show a loss
)

// findingDocument is a finding with the candidates that it suggests. A candidate of several
// findings is listed with the first one.
type findingDocument struct {
	profile.Finding
	Candidates []suggestion `json:"candidates"`
}

// suggestion is the result of a candidate. Its gain is that of the side with its name.
type suggestion struct {
	Name    string  `json:"name"`
	Outcome outcome `json:"outcome"`
	Why     string  `json:"why,omitempty"`
	Risk    string  `json:"risk,omitempty"`
	Bound   bool    `json:"bound"`

	side *Side // nil if it was not tried
}

// findings returns the suggestions and their results; nil without a diagnosis.
func (r *Report) findings() []findingDocument {
	if r.Findings == nil {
		return nil
	}
	list := []findingDocument{}
	risks := map[string]*suggestion{}
	for i := range r.Findings {
		f := findingDocument{Finding: r.Findings[i], Candidates: make([]suggestion, 0, len(r.Findings[i].Candidates))}
		for _, c := range r.Findings[i].Candidates {
			change := diagnosis.ChangeOf(&r.Findings[i], c)
			if other := risks[c]; other != nil {
				other.Risk = cmp.Or(other.Risk, change.Risk)
				continue
			}
			f.Candidates = append(f.Candidates, r.suggestion(c, change))
			risks[c] = &f.Candidates[len(f.Candidates)-1]
		}
		list = append(list, f)
	}
	return list
}

func (r *Report) suggestion(name string, change diagnosis.Change) suggestion {
	s := suggestion{Name: name, Outcome: notTried, Why: "it was not measured", Risk: change.Risk, Bound: change.Bound}
	sides := r.sides(r.Subjects[0])
	i := slices.IndexFunc(sides, func(one *Side) bool { return slices.Equal(one.Candidate, Candidate{name}) })
	if change.Slower || i < 0 {
		if change.Slower {
			s.Why = "it shows a slowdown, not a gain"
		}
		return s
	}
	s.side = sides[i]
	v := s.side.row(profile.NumCategories)
	switch {
	case s.side.Err != nil:
		s.Why = s.side.Err.Error()
	case s.side.Idle:
		s.Outcome, s.Why = noGain, "it changes nothing in this trace"
	case v == nil || v.Ratio == nil:
	case s.side.breaks():
		s.Outcome, s.Why = noGain, "calls return other results: "+s.side.Example()
	case v.Finding == compare.TooFewRuns:
		s.Outcome, s.Why = noGain, "too few runs to tell"
	case v.Finding != compare.Differs || *v.Ratio >= 1:
		s.Outcome, s.Why = noGain, s.gain()
	default:
		s.Outcome, s.Why = worthDoing, ""
		if s.Bound {
			s.Outcome, s.Why = beyondProgram, "no change of the program brings that"
		}
	}
	return s
}

// gain prints the part of the run time that was saved, with its interval.
func (s *suggestion) gain() string {
	v := s.side.row(profile.NumCategories)
	text := fmt.Sprintf("%+.1f %%", 100*(1-*v.Ratio))
	if v.Interval != nil {
		text += fmt.Sprintf(", %+.1f to %+.1f %%", 100*(1-v.Interval.High), 100*(1-v.Interval.Low))
	}
	return text
}

// worthMost says in a line which suggested change is worth most.
func (r *Report) worthMost() string {
	var best *suggestion
	for _, f := range r.findings() {
		for i := range f.Candidates {
			if s := &f.Candidates[i]; s.Outcome == worthDoing && (best == nil || s.side.ratio() < best.side.ratio()) {
				best = s
			}
		}
	}
	switch {
	case best != nil:
		return fmt.Sprintf("worth most: %s saves %s of the run time (%s)", best.Name, table.Percent(1-best.side.ratio()), best.gain())
	case len(r.Subjects[0].played) == 1:
		return "the diagnosis suggests no change to try"
	}
	return "no suggested change certainly saves time"
}

// advice returns the result of the candidate of a side, "" if it was not suggested.
func (r *Report) advice(side *Side) string {
	for _, f := range r.findings() {
		for _, s := range f.Candidates {
			switch {
			case s.side != side:
			case s.Outcome == worthDoing && s.Risk == "":
				return "worth doing"
			case s.Outcome == worthDoing:
				return "worth doing; it risks " + s.Risk
			case s.Outcome == beyondProgram:
				return "a gain, but " + s.Why
			case s.Outcome == noGain:
				return "no certain gain: " + s.Why
			}
		}
	}
	return ""
}
