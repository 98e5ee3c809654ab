package lab

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"pianola/compare"
	"pianola/format"
	"pianola/profile"
	"pianola/stats"
	"pianola/table"
)

// none is the text of an unknown cell.
const none = "–"

// WriteText writes a table for the run time and for each category that occurs,
// by gain, and below them the candidates that leave the trace as it is.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	rows := r.rows()
	var application *compare.Comparison // with the baseline
	if r.Application != nil && rows[0].alone != nil {
		application = compare.Profiles(rows[0].profiles, []*profile.Profile{r.Application})
	}
	categories := []profile.Category{profile.NumCategories, profile.Reads, profile.Writes, profile.Syncs, profile.Metadata, profile.MappedReads, profile.MappedWrites}
	if r.Idle() {
		categories = nil
	}
	for _, k := range categories {
		if k == profile.NumCategories || r.occurs(k) {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(table.Format(r.cells(rows, application, k), table.AllLeft))
		}
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	for i := range rows {
		switch t := &rows[i]; {
		case t.Err != nil:
			fmt.Fprintf(&b, "%s: given up: %s\n", r.Label(t.Trial), format.Visible(t.Err.Error()))
		case t.breaks:
			fmt.Fprintf(&b, "%s: breaks results: %s\n", r.Label(t.Trial), format.Visible(t.example))
		case i == 0 && t.Differed() > 0:
			fmt.Fprintf(&b, "%s: %s\n", r.Label(t.Trial), format.Visible(t.example))
		case t.Idle:
			fmt.Fprintf(&b, "%s: the trace is that of the baseline, and was not replayed\n", r.Label(t.Trial))
		case t.Unchanged:
			fmt.Fprintf(&b, "%s: the trace is that of the baseline\n", r.Label(t.Trial))
		}
	}
	var last string
	for i := range rows {
		t := &rows[i]
		if f := t.floor(); f != nil && f.Text() != last {
			last = f.Text()
			fmt.Fprintf(&b, "%s: %s\n", r.Label(t.Trial), last)
		}
		if bound := r.bound(t); bound != "" && i > 0 { // the conclusion has that of the baseline
			fmt.Fprintln(&b, bound)
		}
	}
	last = ""
	for i := range rows {
		t := &rows[i]
		if text := t.grouping(); text != "" && text != last {
			last = text
			fmt.Fprintf(&b, "%s: %s\n", r.Label(t.Trial), text)
		}
	}
	if r.Paced != nil {
		fmt.Fprintln(&b, r.Paced.Text("the application", format.Seconds(r.Application.RunTime)))
	}
	fmt.Fprintln(&b, r.Coverage())
	if c := r.conclusion(rows); c != "" {
		fmt.Fprintln(&b, c)
	}
	if r.Interrupted {
		b.WriteString("interrupted: not all was replayed\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// occurs reports whether a trial has calls of a category.
func (r *Report) occurs(k profile.Category) bool {
	for _, t := range r.Trials {
		for _, p := range t.profiles {
			if p.Categories[k].Calls > 0 {
				return true
			}
		}
	}
	return false
}

// roots reports whether storage systems are compared.
func (r *Report) roots() bool {
	for _, t := range r.Trials {
		if t.Root != (Root{}) && t.Root != r.Trials[0].Root {
			return true
		}
	}
	return false
}

// steps reports whether candidates are compared, and not only storage systems.
func (r *Report) steps() bool {
	return slices.ContainsFunc(r.Trials, func(t *Trial) bool { return len(t.Candidate) > 0 })
}

// Label names a trial in one cell of one line.
func (r *Report) Label(t *Trial) string {
	name := t.Candidate.String()
	switch {
	case !r.roots() || t.Root == (Root{}):
	case r.steps():
		name += " on " + t.Root.String()
	default:
		name = t.Root.String()
	}
	return format.Visible(name)
}

// cells returns the table of a category or, for NumCategories, of the run time.
// application can be nil.
func (r *Report) cells(rows []row, application *compare.Comparison, k profile.Category) [][]string {
	total := k == profile.NumCategories
	roots := total && r.roots() && r.steps()
	name := compare.ElapsedRow
	if !total {
		name = k.String()
	}
	head := []string{compare.Label(name), "seconds", "ratio", "interval", "finding"}
	if total {
		head = append(head, "gain")
	}
	tails := slices.ContainsFunc(rows, func(r row) bool { return r.tails(k) != nil })
	if tails {
		for i, name := range stats.QuantileNames {
			if i == 0 {
				name += " µs"
			}
			head = append(head, name)
		}
	}
	if roots {
		head = append(head, "of its root", "interval")
	}
	if total {
		head = append(head, "runs", "failed", "differed")
	}
	cells := [][]string{head}
	if application != nil {
		if v := &application.Rows[k]; v.Replay.Seconds != nil { // nil for a pattern
			line := []string{"application", seconds(v.Replay.Seconds), ratio(v), none, none}
			if tails {
				line = append(line, quantiles(v.Replay.Tails)...)
			}
			cells = append(cells, append(line, slices.Repeat([]string{none}, len(head)-len(line))...))
		}
	}
	for i := range rows {
		t := &rows[i]
		line := []string{r.Label(t.Trial), none, none, none, none}
		switch {
		case t.against != nil:
			v := &t.against.Rows[k]
			line = []string{line[0], seconds(v.Replay.Seconds), ratio(v), interval(v), finding(v)}
		case t.alone != nil:
			line[1] = seconds(t.alone.Rows[k].Replay.Seconds)
		}
		if total {
			line = append(line, t.gain())
		}
		if tails {
			line = append(line, quantiles(t.tails(k))...)
		}
		if roots {
			own := []string{none, none}
			if t.own != nil {
				v := &t.own.Rows[k]
				own = []string{ratio(v), interval(v)}
			}
			line = append(line, own...)
		}
		if total {
			line = append(line, table.Count(int64(len(t.profiles))), table.Count(t.Failed()), table.Count(t.Differed()))
		}
		cells = append(cells, line)
	}
	return cells
}

// gain prints how much less time a trial took than the baseline.
func (r *row) gain() string {
	if r.ratio() == 0 {
		return none
	}
	return fmt.Sprintf("%+.1f %%", 100*(1-r.ratio()))
}

func seconds(v *float64) string {
	if v == nil {
		return none
	}
	return table.Fixed(*v, 6)
}

// tails returns the quantiles of a category, nil if they are not known.
func (r *row) tails(k profile.Category) *profile.Tails {
	if r.alone == nil {
		return nil
	}
	return r.alone.Rows[k].Replay.Tails
}

// quantiles prints those of the calls of a category, in microseconds.
func quantiles(t *profile.Tails) []string {
	if t == nil {
		return slices.Repeat([]string{none}, len(stats.QuantileNames))
	}
	var cells []string
	for _, v := range t.List() {
		cells = append(cells, table.Micros(int64(math.Round(v*1e9))))
	}
	return cells
}

func ratio(r *compare.Row) string {
	if r.Ratio == nil {
		return none
	}
	return table.Fixed(*r.Ratio, 3)
}

func interval(r *compare.Row) string {
	if r.Interval == nil {
		return none
	}
	return r.Interval.String()
}

func finding(r *compare.Row) string {
	if r.Finding == "" {
		return none
	}
	return r.Finding.String()
}

// Conclusion returns a line that names the candidate with the largest gain, if
// there is one; "" if there are no candidates.
func (r *Report) Conclusion() string { return r.conclusion(r.rows()) }

func (r *Report) conclusion(rows []row) string {
	text := r.found(rows)
	if bound := r.bound(&rows[0]); bound != "" && text != "" {
		text = bound + "; " + text
	}
	return text
}

// bound says what binds the replays of a trial, if storage does not.
func (r *Report) bound(t *row) string {
	if t.alone == nil {
		return ""
	}
	c := *t.alone
	c.Names[1] = r.Label(t.Trial)
	return c.Bound()
}

// found is the conclusion about the gains.
func (r *Report) found(rows []row) string {
	if why := r.Coverage().Withheld(); why != "" {
		return "cannot be judged: " + why
	}
	if len(rows) == 1 && r.Findings != nil {
		return "the diagnosis suggests no change to try"
	}
	if len(rows) == 1 {
		return ""
	}
	if r.Idle() {
		return "no candidate changes the trace: nothing was replayed"
	}
	n := 0 // candidates to choose from
	for i := range rows[1:] {
		if rows[1+i].rank() == 0 {
			n++
		}
	}
	one, baseline, best := "candidate", "the baseline", "most gained"
	if !r.steps() {
		one, baseline, best = "root", r.Label(rows[0].Trial), "fastest"
	}
	switch {
	case n == 0 && rows[1].rank() == 1:
		return fmt.Sprintf("no %s has the results of %s", one, baseline)
	case n == 0:
		return fmt.Sprintf("no %s was replayed", one)
	}
	for i := range rows[1 : 1+n] {
		t := &rows[1+i]
		v := &t.against.Rows[profile.NumCategories]
		switch {
		case v.Finding == compare.TooFewRuns:
			return fmt.Sprintf("too few runs to tell a gain from noise: %d of each can", compare.MinRuns)
		case v.Finding == compare.Differs && *v.Ratio < 1:
			return fmt.Sprintf("%s: %s took %s less time than %s, %s to %s less with %s confidence%s", best, r.Label(t.Trial),
				table.Percent(1-*v.Ratio), baseline, table.Percent(1-v.Interval.High), table.Percent(1-v.Interval.Low), table.Percent(compare.Confidence), caution(n))
		}
	}
	return fmt.Sprintf("no %s is found to be faster than %s", one, baseline)
}

// caution returns how often the best of n candidates gains by chance, if that
// is more often than the confidence of a single one allows. The candidates
// share their baseline, so it is an upper bound.
func caution(n int) string {
	const each = (1 - compare.Confidence) / float64(profile.NumCalls+1) / 2 // of the run time, on the side of a gain
	chance := 1 - math.Pow(1-each, float64(n))
	if chance <= 1-compare.Confidence {
		return ""
	}
	return fmt.Sprintf("; of %d that change nothing one gains by chance in up to %.0f %% of experiments, so try it again by itself", n, 100*chance)
}
