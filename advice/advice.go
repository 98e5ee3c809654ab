// Package advice says which changes of an application's I/O are worth making: those
// that a diagnosis suggests and that the lab has measured to save time.
//
//	diagnosis.Of → findings → Candidates → lab.Experiment → New → text, findings of the document
//
// It recommends only changes of which the lab is certain: the interval of the gain
// excludes zero, and all results stay the same.
package advice

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"pianola/diagnosis"
	"pianola/lab"
	"pianola/profile"
	"pianola/table"
)

// Advice holds the findings of a diagnosis and the outcomes of their candidates.
type Advice struct {
	Findings []profile.Finding
	Rows     []Row // in the order of findings; a candidate of several findings is listed with the first one
}

// Row is a candidate of a finding.
type Row struct {
	Finding   string // the name of its rule
	Candidate string
	diagnosis.Change
	Outcome Outcome
	Trial   lab.Outcome // the lab's measurement, zero if the candidate was not tried
}

// Outcome is what became of a candidate.
type Outcome string

// The outcomes.
const (
	Worth    Outcome = "worth_doing"    // it certainly gains
	Beyond   Outcome = "beyond_program" // a certain gain, which no change of the program brings
	NoGain   Outcome = "no_gain"        // it was tried, and may gain nothing
	NotTried Outcome = "not_tried"      // the lab could not try it, or it can only show a loss
)

// Candidates returns the candidates to try, without duplicates and without those that
// only show a loss.
func Candidates(findings []profile.Finding) (all []lab.Candidate) {
	seen := map[string]bool{}
	for i := range findings {
		f := &findings[i]
		for _, c := range f.Candidates {
			if !seen[c] && !diagnosis.ChangeOf(f, c).Slower {
				all = append(all, lab.Candidate{c})
			}
			seen[c] = true
		}
	}
	return all
}

// New returns the advice for findings and the lab's report on their candidates. report
// is nil if nothing was tried.
func New(findings []profile.Finding, report *lab.Report) *Advice {
	a := &Advice{Findings: findings}
	for i := range findings {
		f := &findings[i]
		for _, c := range f.Candidates {
			change := diagnosis.ChangeOf(f, c)
			if k := slices.IndexFunc(a.Rows, func(r Row) bool { return r.Candidate == c }); k >= 0 {
				a.Rows[k].Risk = cmp.Or(a.Rows[k].Risk, change.Risk)
				continue
			}
			row := Row{Finding: f.Rule, Candidate: c, Change: change, Outcome: NotTried}
			if report != nil && !row.Slower {
				row.judge(report)
			}
			a.Rows = append(a.Rows, row)
		}
	}
	return a
}

// judge sets the outcome of a candidate from its measurement.
func (r *Row) judge(report *lab.Report) {
	trial, ok := report.Outcome(lab.Candidate{r.Candidate})
	switch r.Trial = trial; {
	case !ok || trial.Err != nil:
	case trial.Certain && trial.Gain > 0 && !trial.Breaks:
		r.Outcome = Worth
		if r.Bound {
			r.Outcome = Beyond
		}
	default:
		r.Outcome = NoGain
	}
}

// Conclusion says in a line which change is worth most.
func (a *Advice) Conclusion() string {
	var best *Row
	for i := range a.Rows {
		if r := &a.Rows[i]; r.Outcome == Worth && (best == nil || r.Trial.Gain > best.Trial.Gain) {
			best = r
		}
	}
	if best == nil {
		return "no suggested change certainly saves time"
	}
	return fmt.Sprintf("worth most: %s saves %.1f %% of the run time (%s)", best.Candidate, 100*best.Trial.Gain, best.interval())
}

// WriteText writes the conclusion, the findings, a table of the changes worth making, and
// the candidates that gained nothing or could not be tried.
func (a *Advice) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", a.Conclusion())
	for i, f := range a.Findings {
		fmt.Fprintf(&b, "%d. %s: %s\n", i+1, f.Rule, f.Text)
	}
	if len(a.Findings) > 0 {
		b.WriteByte('\n')
	}
	rows := [][]string{{"finding", "candidate", "gain", "interval", "risk"}}
	for i := range a.Rows {
		if r := &a.Rows[i]; r.Outcome == Worth {
			rows = append(rows, []string{r.Finding, r.Candidate, percent(r.Trial.Gain), r.interval(), cmp.Or(r.Risk, "none")})
		}
	}
	if len(rows) > 1 {
		b.WriteString(table.Format(rows, table.AllLeft))
	}
	for i := range a.Rows {
		switch r := &a.Rows[i]; r.Outcome {
		case Beyond:
			fmt.Fprintf(&b, "beyond the program: %s (%s): %s, %s; no change of the program brings that\n", r.Candidate, r.Finding, percent(r.Trial.Gain), r.interval())
		case NoGain:
			fmt.Fprintf(&b, "no certain gain: %s (%s): %s\n", r.Candidate, r.Finding, r.Why())
		case NotTried:
			fmt.Fprintf(&b, "not tried: %s (%s): %s\n", r.Candidate, r.Finding, r.Why())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Why returns the reason why a candidate is not worth doing, "" if it is worth doing.
func (r *Row) Why() string {
	switch {
	case r.Outcome == Worth, r.Outcome == Beyond:
		return ""
	case r.Slower:
		return "it shows a slowdown, not a gain"
	case r.Trial.Err != nil:
		return r.Trial.Err.Error()
	case r.Outcome == NotTried:
		return "it was not measured"
	case r.Trial.Breaks:
		return "calls return other results: " + r.Trial.Example
	case r.Trial.Unchanged:
		return "it changes nothing in this trace"
	case !r.Trial.Known:
		return "too few runs to tell"
	}
	return fmt.Sprintf("%s, %s", percent(r.Trial.Gain), r.interval())
}

func (r *Row) interval() string {
	if r.Trial.Low == nil || r.Trial.High == nil {
		return "–"
	}
	return fmt.Sprintf("%s to %s", percent(*r.Trial.Low), percent(*r.Trial.High))
}

func percent(part float64) string { return fmt.Sprintf("%+.1f %%", 100*part) }

// Document returns the advice, to be written as JSON; docs/reference/lab.md describes its
// fields.
func (a *Advice) Document() any {
	list := []findingDocument{}
	for _, f := range a.Findings {
		list = append(list, findingDocument{Finding: f, Candidates: []rowDocument{}})
	}
	for i := range a.Rows {
		r := &a.Rows[i]
		k := slices.IndexFunc(list, func(f findingDocument) bool { return f.Rule == r.Finding })
		d := rowDocument{Name: r.Candidate, Outcome: r.Outcome, Why: r.Why(), Risk: r.Risk, Bound: r.Bound, Low: r.Trial.Low, High: r.Trial.High}
		if r.Trial.Known {
			d.Gain = &r.Trial.Gain
		}
		list[k].Candidates = append(list[k].Candidates, d)
	}
	return list
}

type findingDocument struct {
	profile.Finding
	Candidates []rowDocument `json:"candidates"`
}

type rowDocument struct {
	Name    string   `json:"name"`
	Outcome Outcome  `json:"outcome"`
	Why     string   `json:"why,omitempty"`
	Gain    *float64 `json:"gain,omitempty"`
	Low     *float64 `json:"gain_low,omitempty"`
	High    *float64 `json:"gain_high,omitempty"`
	Risk    string   `json:"risk,omitempty"`
	Bound   bool     `json:"bound"`
}
