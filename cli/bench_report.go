package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"pianola/check"
	"pianola/compare"
	"pianola/format"
	"pianola/lab"
	"pianola/page"
	"pianola/profile"
	"pianola/stats"
	"pianola/table"
)

// nameOf returns what the comparison calls a system. Replays in the only root that
// has no name are those of an application.
func (b *bench) nameOf(s *system) string { return cmp.Or(s.root.Name, compare.DefaultNames[1]) }

// pair is a comparison of two sides, and their runs.
type pair struct {
	*compare.Comparison
	runs [2][]page.Run
}

// pairs compares the replays with the command or a baseline or, of several systems,
// each with the first.
func (b *bench) pairs(r *lab.Report, applications []page.Run) (pairs []pair) {
	name, base, others := compare.DefaultNames[0], applications, b.systems
	paced := r.Paced // of the application
	switch {
	case b.baseline != nil:
		name = b.baseline.nameBeside(b.nameOf(others[0]))
		base, paced = b.baseline.side(name), nil
	case len(others) > 1:
		name, base, others, paced = b.nameOf(others[0]), others[0].runs, others[1:], nil
	}
	for _, s := range others {
		runs := [2][]page.Run{base, s.runs}
		c := b.judging.compare([2]string{name, b.nameOf(s)}, runs)
		c.Paced = paced
		pairs = append(pairs, pair{c, runs})
	}
	return pairs
}

// form returns the name of the output format.
func (b *bench) form() string { return b.judging.form.name }

// conclude prints the comparisons, writes the page, and returns what the command ends
// with.
func (b *bench) conclude(r *lab.Report, applications []page.Run, html *output) (status, err error) {
	pairs := b.pairs(r, applications)
	var all []*compare.Comparison
	for _, p := range pairs {
		all = append(all, p.Comparison)
	}
	switch {
	case b.form() == "json":
		d := benchDocument{Laboratory: r.Document()}
		for _, c := range all {
			d.Comparisons = append(d.Comparisons, c.Document(b.judging.text.Tolerance))
		}
		err = printJSON(d)
	case len(all) > 1:
		err = b.writeAnswers(stdout("text"), r, all)
	default:
		err = b.judging.write(all[0])
	}
	if err == nil && b.form() == "text" {
		err = writeLayers(stdout("text"), applications[0])
	}
	if err == nil && b.form() == "text" {
		_, err = io.WriteString(stdout("text"), b.notes(r, applications))
	}
	switch {
	case err != nil:
	case len(pairs) == 1:
		err = b.judging.putPage(html, pairs[0].Comparison, pairs[0].runs)
	default:
		err = html.put(func(w io.Writer) error {
			return page.WriteLab(w, &page.Lab{Meta: applications[0].Meta, Conclusion: r.Conclusion(), Coverage: *r.Coverage(), Figures: r.Document()})
		})
	}
	return b.judging.status(all...), err
}

// writeLayers writes what the libraries did whose calls were recorded, if there are any.
func writeLayers(w io.Writer, application page.Run) error {
	if len(application.Profile.Layers) == 0 {
		return nil
	}
	t, err := application.Profile.Table("layer")
	if err == nil {
		_, err = io.WriteString(w, "\nlibraries in the recording\n")
	}
	if err == nil {
		err = t.WriteText(w, profile.TextOptions{})
	}
	return err
}

// benchDocument is the output of bench --json.
type benchDocument struct {
	Laboratory  any   `json:"laboratory"`  // all runs, of lab.Report.Document
	Comparisons []any `json:"comparisons"` // of compare.Comparison.Document
}

// writeAnswers writes the answer of each comparison, with the verdict or what its
// checks found, and one table of all systems.
func (b *bench) writeAnswers(w io.Writer, r *lab.Report, all []*compare.Comparison) error {
	var t strings.Builder
	for _, c := range all {
		v := c.Judge(b.judging.text.Tolerance)
		t.WriteString(format.Visible(c.Answer(&v)))
		switch {
		case len(c.Checks) > 0:
		case v.State == compare.Within || v.State == compare.Outside:
			fmt.Fprintf(&t, "; %s %s", v.State, table.Percent(*v.Tolerance))
		case v.State == compare.Inconclusive:
			fmt.Fprintf(&t, "; %s", v.State)
		}
		t.WriteByte('\n')
		if len(c.Checks) > 0 {
			t.WriteString(check.Text(c.Checks))
		}
	}
	t.WriteByte('\n')
	if _, err := io.WriteString(w, t.String()); err != nil {
		return err
	}
	return r.WriteText(w)
}

// notes returns what the comparisons do not say: the time of the command where two
// roots are compared, results that differed, and where the page is.
func (b *bench) notes(r *lab.Report, applications []page.Run) string {
	var t strings.Builder
	if len(b.systems) == 2 {
		fmt.Fprintf(&t, "recorded: %s", medianTime(applications))
		for _, s := range b.systems {
			fmt.Fprintf(&t, "; replayed on %s: %s", b.nameOf(s), medianTime(s.runs))
		}
		t.WriteByte('\n')
	}
	if len(b.systems) <= 2 { // else the table says it
		for i, trial := range r.Trials {
			if n := trial.Differed(); n > 0 {
				fmt.Fprintf(&t, "%s: %s differed from the recording: %s\n", b.nameOf(b.systems[i]), table.Plural(int(n), "event"), format.Visible(trial.Example()))
			}
		}
		if r.Interrupted {
			t.WriteString("interrupted: not all was replayed\n")
		}
	}
	if b.page != "" {
		fmt.Fprintf(&t, "page: %s\n", format.Visible(b.page))
	}
	if t.Len() == 0 {
		return ""
	}
	return "\n" + t.String()
}

// medianTime prints the median run time.
func medianTime(runs []page.Run) string {
	var nanos []int64
	for _, p := range profilesOf(runs) {
		nanos = append(nanos, p.RunTime)
	}
	return fmt.Sprintf("%.3f s", format.Seconds(stats.Median(nanos)))
}
