package experiment

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"pianola/experiment/check"
	"pianola/experiment/compare"
	"pianola/format"
	"pianola/internal/stats"
	"pianola/internal/table"
	"pianola/profile"
)

// WriteText writes the conclusion, what was suggested, a table of the run times, and
// remarks. With all it also writes a table for each category that occurs.
func (r *Report) WriteText(w io.Writer, all bool) error {
	var b strings.Builder
	if c := r.Conclusion(); c != "" {
		b.WriteString(c + "\n")
	}
	for _, p := range r.outcomes() {
		b.WriteString(check.Text(p.Checks))
	}
	if !r.several() {
		fmt.Fprintln(&b, r.Subjects[0].Coverage())
	}
	for i, f := range r.Findings {
		fmt.Fprintf(&b, "%d. %s: %s\n", i+1, f.Rule, f.Text)
	}
	measured := slices.ContainsFunc(r.Subjects, func(s *Subject) bool { return len(s.first().Runs) > 0 })
	for k := range profile.NumCategories + 1 {
		k = (k + profile.NumCategories) % (profile.NumCategories + 1) // the run time first
		if measured && (k == profile.NumCategories || all && k < profile.NumIO && r.occurs(k)) {
			names := 1
			if r.several() {
				names = 2
			}
			text, out := table.Narrow(r.cells(k), func(column int) bool { return column < names }, func(column int) bool { return column < names+3 })
			b.WriteString("\n" + text)
			if out > 0 {
				fmt.Fprintf(&b, "%s left out: --json has all\n", table.Plural(out, "column"))
			}
		}
	}
	if notes := r.notes(); notes != "" {
		b.WriteString("\n" + notes)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// outcomes returns the pairs that have outcomes of checks.
func (r *Report) outcomes() []Pair {
	if r.several() {
		return nil
	}
	return slices.DeleteFunc(r.Pairs(), func(p Pair) bool { return len(p.Checks) == 0 })
}

// occurs reports whether a side has calls of a category.
func (r *Report) occurs(k profile.Category) bool {
	return r.has(func(s *Side) bool { return s.measure(k).Calls > 0 })
}

// has reports whether something holds for a side.
func (r *Report) has(of func(*Side) bool) bool {
	return slices.ContainsFunc(r.Subjects, func(s *Subject) bool { return slices.ContainsFunc(r.sides(s), of) })
}

// column is a column of a table of sides.
type column struct {
	head  string
	shown bool
	cell  func(s *Side) string
}

// columns returns those of a category, or of the run time for NumCategories.
func (r *Report) columns(k profile.Category) (columns []column) {
	total := k == profile.NumCategories
	name := compare.ElapsedRow
	if !total {
		name = k.String()
	}
	unit := r.unit(func(s *Side) *float64 { return s.measure(k).Seconds })
	columns = []column{
		{compare.Label(name), true, r.Label},
		{unit.Name, true, func(s *Side) string { return unit.Optional(s.measure(k).Seconds) }},
		{"ratio", true, func(s *Side) string {
			if v := s.row(k); v != nil && v.Ratio != nil {
				return digits(*v.Ratio)
			}
			return table.Missing
		}},
		{"interval", true, func(s *Side) string {
			if v := s.row(k); v != nil && v.Interval != nil && v.Finding != compare.TooFewRuns {
				return v.Interval.String()
			}
			return table.Missing
		}},
	}
	quantile := func(of func(s *Side) profile.Measure, i int) func(s *Side) string {
		return func(s *Side) string {
			if t := of(s).Tails; t != nil {
				return table.Micros(int64(math.Round(t.List()[i] * 1e9)))
			}
			return table.Missing
		}
	}
	of := func(k profile.Category) func(s *Side) profile.Measure {
		return func(s *Side) profile.Measure { return s.measure(k) }
	}
	if !total {
		for i, name := range stats.QuantileNames {
			columns = append(columns, column{name + " µs", true, quantile(of(k), i)})
		}
		return columns
	}
	const p99 = 2 // of stats.QuantileNames
	served := r.has(func(s *Side) bool { return s.requests().Calls > 0 })
	columns = append(columns,
		column{compare.Label(compare.RequestsRow), served, func(s *Side) string {
			if rate := s.requests().Rate; rate != nil {
				return profile.ASecond(*rate)
			}
			return table.Missing
		}},
		column{"request p99 µs", served, quantile((*Side).requests, p99)})
	calls := r.unit((*Side).calls)
	columns = append(columns, column{"I/O " + calls.Name, true, func(s *Side) string { return calls.Optional(s.calls()) }})
	for _, k := range []profile.Category{profile.Reads, profile.Syncs} {
		columns = append(columns, column{k.String() + " p99 µs", r.has(func(s *Side) bool { return s.measure(k).Tails != nil }), quantile(of(k), p99)})
	}
	count := func(name string, of func(s *Side) int64) column {
		return column{name, r.has(func(s *Side) bool { return of(s) > 0 }), func(s *Side) string { return table.Count(of(s)) }}
	}
	return append(columns,
		count("runs", func(s *Side) int64 { return int64(len(s.Runs)) }),
		count("failed", (*Side).Failed),
		count("differed", (*Side).Differed))
}

// calls returns the median over the runs of the time in I/O of all threads together, in
// seconds, nil without runs.
func (s *Side) calls() *float64 {
	var nanos []int64
	for _, p := range s.Profiles() {
		nanos = append(nanos, p.IO().Nanos+p.Categories[profile.Submitting].Nanos)
	}
	if nanos == nil {
		return nil
	}
	return new(format.Seconds(stats.Median(nanos)))
}

// unit returns the unit of a column, by its longest time.
func (r *Report) unit(of func(*Side) *float64) table.Unit {
	longest := 0.0
	for _, s := range r.Subjects {
		for _, side := range r.sides(s) {
			if v := of(side); v != nil {
				longest = max(longest, *v)
			}
		}
	}
	return table.UnitOf(longest)
}

// cells returns the table of a category, or of the run time for NumCategories.
func (r *Report) cells(k profile.Category) [][]string {
	columns := slices.DeleteFunc(r.columns(k), func(c column) bool { return !c.shown })
	line := func(subject string, of func(c *column) string) (cells []string) {
		if r.several() {
			cells = append(cells, subject)
		}
		for i := range columns {
			cells = append(cells, of(&columns[i]))
		}
		return cells
	}
	rows := [][]string{line("workload", func(c *column) string { return c.head })}
	for _, s := range r.Subjects {
		name := format.Visible(s.Name)
		for _, side := range r.sides(s) {
			if k < profile.NumCategories && side.measure(k).Calls == 0 {
				continue
			}
			rows = append(rows, line(name, func(c *column) string { return c.cell(side) }))
		}
	}
	if k < profile.NumCategories {
		return rows
	}
	for _, m := range r.means() {
		cells := slices.Repeat([]string{table.Missing}, len(rows[0]))
		copy(cells, []string{fmt.Sprintf("mean of %d", m.Subjects), m.Side, table.Missing, digits(m.Ratio)})
		if m.Low != nil {
			cells[4] = digits(*m.Low) + " to " + digits(*m.High)
		}
		rows = append(rows, cells)
	}
	return rows
}

// digits prints a ratio: with three decimals, or more where it is small, and none if it
// is large.
func digits(v float64) string {
	switch {
	case v < 0.01:
		return fmt.Sprintf("%.2g", v)
	case v >= 1000:
		return table.Fixed(v, 0)
	}
	return table.Fixed(v, 3)
}

// notes returns the remarks about sides, each in a line. It says once what
// holds for the traces of several sides.
func (r *Report) notes() string {
	var b strings.Builder
	for _, s := range r.Subjects {
		said := map[string]bool{}
		for _, side := range r.sides(s) {
			label := r.Label(side)
			if r.several() {
				label = format.Visible(s.Name) + " on " + label
			}
			for _, note := range r.notesOf(side) {
				fmt.Fprintf(&b, "%s: %s\n", label, note)
			}
			for _, note := range r.traceNotes(s, side) {
				if !said[note] {
					fmt.Fprintf(&b, "%s: %s\n", label, note)
				}
				said[note] = true
			}
		}
		if s.Paced != nil {
			fmt.Fprintln(&b, s.Paced.Text("the application", format.Seconds(s.Sides[0].Runs[0].Profile.RunTime)))
		}
	}
	if _, steps := r.shape(); !steps && r.fewRuns() { // else the conclusion says it
		fmt.Fprintf(&b, "too few runs to tell a difference from noise: %d of each can\n", compare.MinRuns)
	}
	if r.Interrupted {
		b.WriteString("incomplete: some runs are missing\n")
	}
	return b.String()
}

// fewRuns reports whether a comparison of replays has too few runs for an interval.
func (r *Report) fewRuns() bool {
	return r.has(func(side *Side) bool {
		v := side.row(profile.NumCategories)
		return side.Kind == Replayed && side.base != nil && side.base.Kind != Recorded && v != nil && v.Finding == compare.TooFewRuns
	})
}

// notesOf returns the remarks about the runs of a side.
func (r *Report) notesOf(side *Side) (notes []string) {
	breaks := len(side.Candidate) > 0 && side.breaks()
	add := func(when bool, text string) {
		if when {
			notes = append(notes, format.Visible(text))
		}
	}
	if side.Err != nil {
		add(true, "left out: "+side.Err.Error())
	}
	add(breaks, "breaks results: "+side.Example())
	add(side.Idle, "the trace is that of the baseline, and was not replayed")
	add(side.Unchanged && !side.Idle, "the trace is that of the baseline")
	known := len(side.Candidate) > 0 && side.Example() == side.base.Example()
	add(side.Differed() > 0 && !breaks && !known, table.Plural(int(side.Differed()), "event")+" differed from the recording: "+side.Example())
	advice := r.advice(side)
	add(advice != "", advice)
	return notes
}

// traceNotes returns the remarks about the trace of a side.
func (r *Report) traceNotes(s *Subject, side *Side) (notes []string) {
	if bounds := boundsOf(r, side); bounds != nil {
		if r.several() || side != s.base { // else the conclusion says it
			notes = append(notes, strings.Replace(compare.BoundText(bounds), r.Label(side)+" (", "it (", 1))
		}
	} else if f := side.floor(); f != nil && !r.several() {
		notes = append(notes, f.Text())
	}
	if text := side.grouping(); text != "" && !r.several() && side.Kind == Replayed {
		notes = append(notes, text)
	}
	return notes
}
