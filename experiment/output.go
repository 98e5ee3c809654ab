package experiment

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"pianola/experiment/compare"
	"pianola/experiment/page"
	"pianola/format"
	"pianola/internal/console"
	"pianola/internal/table"
	"pianola/profile"
)

// Refused returns why nothing was replayed as it was recorded, nil if something was. early is
// why the experiment ended early.
func (r *Report) Refused(early error) error {
	var reasons []error
	for _, s := range r.Subjects {
		for _, side := range s.Sides {
			switch {
			case side.Kind != Replayed || side.Idle || len(side.Candidate) > 0:
			case len(side.Runs) > 0:
				return nil
			case side.Err != nil:
				reasons = append(reasons, fmt.Errorf("%s on %s: %w", s.Name, r.Label(side), side.Err))
			default:
				reasons = append(reasons, early)
			}
		}
	}
	return errors.Join(reasons...)
}

// Write writes the report in a form. The forms of comparisons are for a single pair. Its text
// is that of the comparison, with what that does not say.
func (r *Report) Write(w io.Writer, form *compare.Form, o compare.TextOptions, pairs []Pair) error {
	switch {
	case form.Name == "json":
		return console.WriteJSON(w, r.Document(o.Tolerance))
	case form.Name == "text" && len(pairs) != 1:
		return r.WriteText(w, o.All)
	}
	err := form.Write(pairs[0].Comparison, w, o)
	if err != nil || form.Name != "text" {
		return err
	}
	application := r.Subjects[0].Sides[0].Runs[0].Profile
	if application.Layers != nil {
		t, err := application.Table("layer")
		if err == nil {
			_, err = io.WriteString(w, "\nlibraries in the recording\n")
		}
		if err == nil {
			err = t.WriteText(w, profile.TextOptions{})
		}
		if err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, r.notesOfPair())
	return err
}

// notesOfPair returns what the only comparison does not say: the times of other sides, and
// results that differed.
func (r *Report) notesOfPair() string {
	var t strings.Builder
	var times []string
	for _, s := range r.Subjects[0].Sides {
		times = append(times, fmt.Sprintf("%s: %.3f s", r.Label(s), s.Seconds()))
		if n := s.Differed(); n > 0 {
			fmt.Fprintf(&t, "%s: %s differed from the recording: %s\n", r.Label(s), table.Plural(int(n), "event"), format.Visible(s.Example()))
		}
	}
	if len(times) > 2 {
		t.WriteString(strings.Join(times, "; ") + "\n")
	}
	if r.Interrupted {
		t.WriteString("incomplete: some runs are missing\n")
	}
	if t.Len() == 0 {
		return ""
	}
	return "\n" + t.String()
}

// WritePage writes the page of the only pair, or of all sides.
func (r *Report) WritePage(w io.Writer, tolerance float64, pairs []Pair) error {
	if len(pairs) == 1 {
		return pairs[0].WritePage(w, tolerance)
	}
	shown := page.Experiment{Figures: r.Document(tolerance)}
	if s := r.Subjects[0]; !r.several() {
		shown.Meta, shown.Coverage = s.Sides[0].Runs[0].Meta, s.Coverage()
	}
	return page.WriteExperiment(w, &shown)
}
