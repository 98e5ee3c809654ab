package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pianola/experiment/compare"
	"pianola/format"
	"pianola/internal/table"
	"pianola/profile"
)

// Label names a side in one cell of one line: a candidate by its steps, and a root by its
// name, where there are several.
func (r *Report) Label(s *Side) string {
	return format.Visible(r.label(s))
}

func (r *Report) label(s *Side) string {
	switch s.Kind {
	case Recorded:
		return compare.DefaultNames[0]
	case Saved:
		return s.Name
	}
	roots, steps := r.shape()
	switch {
	case !steps && roots:
		return s.Root.String()
	case !steps:
		return cmp.Or(s.Root.Name, compare.DefaultNames[1])
	case roots && s.Root != (Root{}):
		return s.Candidate.String() + " on " + s.Root.String()
	}
	return s.Candidate.String()
}

// shape reports whether several roots are compared, and whether candidates are.
func (r *Report) shape() (roots, steps bool) {
	first := r.Subjects[0].played[0].Root
	for i := range r.Subjects[0].played {
		p := &r.Subjects[0].played[i]
		roots = roots || p.Root != (Root{}) && p.Root != first
		steps = steps || len(p.Candidate) > 0
	}
	return roots, steps || r.Findings != nil
}

// Conclusion says in a line for each comparison, or for all candidates, what was found.
func (r *Report) Conclusion() string {
	_, steps := r.shape()
	switch why := r.Withheld(); {
	case why != "":
		return "cannot be judged: " + why
	case r.several():
		return r.overall()
	case r.Findings != nil:
		return r.worthMost()
	case steps:
		return r.mostGained()
	}
	var lines []string
	for _, p := range r.Pairs() {
		lines = append(lines, format.Visible(r.answer(p.Side)))
	}
	return strings.Join(lines, "\n")
}

// mostGained names the candidate with the largest gain, if there is one.
func (r *Report) mostGained() string {
	s := r.Subjects[0]
	sides := r.sides(s)
	if r.idle(s) {
		return "no candidate changes the trace: nothing was replayed"
	}
	bound := ""
	if bounds := boundsOf(r, s.base); bounds != nil {
		bound = compare.BoundText(bounds) + "; "
	}
	var best *Side // of the candidates to choose from
	n := 0
	for _, side := range sides {
		if side != s.base && side.Kind == Replayed && side.against != nil && side.Err == nil && !side.breaks() {
			best = cmp.Or(best, side)
			n++
		}
	}
	for _, side := range sides {
		v := side.headline()
		switch {
		case side.Kind != Replayed || v == nil || side.breaks():
		case v.Finding == compare.TooFewRuns:
			return bound + fmt.Sprintf("too few runs to tell a gain from noise: %d of each can", compare.MinRuns)
		case v.Finding == compare.Differs && v.Slowdown() < 1:
			from, to := v.Interval.Low, v.Interval.High
			text := "most gained: %s answered %s more requests than %s, %s to %s more with %s confidence%s"
			if v.Name == compare.ElapsedRow {
				from, to, text = to, from, "most gained: %s took %s less time than %s, %s to %s less with %s confidence%s"
			}
			change := func(ratio float64) string { return table.Percent(math.Abs(ratio - 1)) }
			return bound + fmt.Sprintf(text, r.Label(side), change(*v.Ratio), r.the(side.base), change(from), change(to), table.Percent(Confidence), caution(n))
		}
	}
	switch {
	case n == 1:
		return r.answer(best)
	case n > 0:
		return "no candidate is found to be faster than " + r.the(s.base) + "; the best: " + r.answer(best)
	case slices.ContainsFunc(sides, (*Side).breaks):
		return bound + "no candidate has the results of " + r.the(s.base)
	}
	return bound + "no candidate was replayed"
}

// answer says how a side compares with its base.
func (r *Report) answer(s *Side) string {
	c := *s.against
	c.Names = [2]string{r.Label(s.base), r.Label(s)}
	v := c.Judge(compare.NoTolerance)
	return c.Answer(&v)
}

// the returns the label of a side as a noun phrase.
func (r *Report) the(s *Side) string {
	if label := r.Label(s); label != Baseline {
		return label
	}
	return "the " + Baseline
}

// caution returns how often the best of n candidates gains by chance, if that
// is more often than the confidence of a single one allows. The candidates
// share their baseline, so it is an upper bound.
func caution(n int) string {
	const each = (1 - Confidence) / float64(profile.NumCalls+1) / 2 // of the run time, on the side of a gain
	chance := 1 - math.Pow(1-each, float64(n))
	if chance <= 1-Confidence {
		return ""
	}
	return fmt.Sprintf("; of %d that change nothing one gains by chance in up to %.0f %% of experiments, so try it again by itself", n, 100*chance)
}

// overall says, in a line for each side, how many times as fast it is as another by the
// geometric mean of the subjects, and what that hides: the subjects with the lowest and the
// highest ratio, and those whose run times do not show how fast the storage is.
func (r *Report) overall() string {
	var lines []string
	for _, m := range r.means() {
		var b strings.Builder
		switch base := strings.ReplaceAll(m.Base, compare.DefaultNames[0], "the recorded machine"); {
		case m.Low == nil:
			fmt.Fprintf(&b, "%s takes %.2f times the run time of %s, too few runs for an interval", m.Side, m.Ratio, base)
		case *m.Low <= 1 && *m.High >= 1:
			fmt.Fprintf(&b, "no difference found between %s and %s: the ratio of run times is from %.2f to %.2f", m.Side, base, *m.Low, *m.High)
		case m.Ratio < 1:
			fmt.Fprintf(&b, "%s is %.2f times as fast as %s (%.2f to %.2f, %s)", m.Side, 1/m.Ratio, base, 1 / *m.High, 1 / *m.Low, table.Percent(Confidence))
		default:
			fmt.Fprintf(&b, "%s takes %.2f times as long as %s (%.2f to %.2f, %s)", m.Side, m.Ratio, base, *m.Low, *m.High, table.Percent(Confidence))
		}
		fmt.Fprintf(&b, "; geometric mean of %s", table.Plural(m.Subjects, "workload"))
		var low, high float64
		var lowest, highest string
		var hidden []string
		for _, s := range r.Subjects {
			for _, side := range r.sides(s) {
				if r.Label(side) != m.Side || side.ratio() == 0 {
					continue
				}
				if lowest == "" || side.ratio() < low {
					low, lowest = side.ratio(), s.Name
				}
				if highest == "" || side.ratio() > high {
					high, highest = side.ratio(), s.Name
				}
				if bounds := boundsOf(r, side.base, side); len(bounds) == 2 || len(bounds) == 1 && side.base.Kind == Recorded {
					hidden = append(hidden, s.Name)
				}
			}
		}
		if m.Subjects > 1 {
			fmt.Fprintf(&b, ", from %.2f times the run time (%s) to %.2f (%s)", low, lowest, high, highest)
		}
		if hidden != nil {
			fmt.Fprintf(&b, "; storage does not show in %s", strings.Join(hidden, ", "))
		}
		lines = append(lines, format.Visible(b.String()))
	}
	if lines == nil {
		return "nothing to compare: no workload was replayed"
	}
	return strings.Join(lines, "\n")
}

// boundsOf returns the sides that something other than storage binds.
func boundsOf(r *Report, sides ...*Side) (bounds []compare.Bound) {
	for _, side := range sides {
		if side.Kind == Recorded {
			continue
		}
		if b := compare.BoundOf(r.Label(side), side.Profiles()); b != nil {
			bounds = append(bounds, *b)
		}
	}
	return bounds
}
