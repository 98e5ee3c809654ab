package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"pianola/experiment/check"
	"pianola/internal/stats"
	"pianola/internal/table"
	"pianola/profile"
)

// differMost is how many operations a text without All shows.
const differMost = 3

// TextOptions select what WriteText writes.
type TextOptions struct {
	Tolerance float64 // see Judge
	All       bool    // all rows and tables, and not only a screenful
}

// WriteText writes the answer, the remarks, and tables: the times, the latencies and
// the largest differences.
func (c *Comparison) WriteText(w io.Writer, o TextOptions) error {
	v := c.Judge(o.Tolerance)
	var b bytes.Buffer
	b.WriteString(c.Answer(&v) + "\n")
	for _, line := range c.Remarks(&v) {
		b.WriteString(line + "\n")
	}
	if len(c.Checks) > 0 {
		b.WriteString(check.Text(c.Checks))
	}
	fmt.Fprintf(&b, "%v\n\n", &c.Coverage)
	unit := table.UnitOf(c.longest())
	b.WriteString(table.Fit(c.times(unit, &v), table.FirstLeft))
	if o.All {
		below(&b, c.amounts())
		c.latencies(&b)
		c.mostDifferent(&b, "operations that differ most", unit, c.ioOperations())
		c.mostDifferent(&b, "files that differ most", unit, c.Files)
		if c.Paired != nil && *c.Paired < fewPaired {
			b.WriteString("few files have the same name on both sides: compare with the compiled trace instead of the recording\n")
		}
		c.catchUps(&b)
		if c.Distance != nil {
			fmt.Fprintf(&b, "\ndistance of the profiles: largest %.3f, mean %.3f\n", c.Distance.Max, c.Distance.Mean)
		}
	} else {
		c.latencyRatios(&b)
		operations := c.ioOperations()
		c.mostDifferent(&b, "operations that differ most", unit, operations[:min(differMost, len(operations))])
	}
	_, err := w.Write(b.Bytes())
	return err
}

// times returns the table of times. The last column is the verdict of each row, if there is
// one.
func (c *Comparison) times(u table.Unit, v *Verdict) [][]string {
	enough := slices.ContainsFunc(c.Rows, func(r Row) bool { return r.enough() })
	several := max(len(c.applications), len(c.replays)) > 1
	tolerance, judged := 0.0, v.Tolerance != nil
	if judged {
		tolerance = *v.Tolerance
	}
	columns := []struct {
		head  string
		shown bool
		cell  func(r *Row, at int) string
	}{
		{"", true, func(r *Row, _ int) string { return Label(r.Name) }},
		{c.head(0) + u.Name, true, func(r *Row, _ int) string { return r.cell(&r.Application, u) }},
		{c.head(1) + u.Name, true, func(r *Row, _ int) string { return r.cell(&r.Replay, u) }},
		{"ratio", true, func(r *Row, _ int) string { return r.ratio() }},
		{"interval", several, func(r *Row, _ int) string {
			if r.Interval == nil {
				return table.Missing
			}
			return r.Interval.String()
		}},
		{"finding", enough, func(r *Row, _ int) string { return cmp.Or(r.Finding.String(), table.Missing) }},
		{table.Percent(tolerance), judged, func(_ *Row, at int) string { return standingNames[c.standing(at, tolerance)] }},
	}
	rows := make([][]string, 1)
	for _, column := range columns {
		if column.shown {
			rows[0] = append(rows[0], column.head)
		}
	}
	for k := range c.Rows {
		r := &c.Rows[k]
		if r.Name != ElapsedRow && !r.occurs() {
			continue
		}
		var row []string
		for _, column := range columns {
			if column.shown {
				row = append(row, column.cell(r, k))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// catchUps writes a line for each class of which the replay catches up.
func (c *Comparison) catchUps(b *bytes.Buffer) {
	for k := range c.Rows {
		r := &c.Rows[k]
		if r.Distance != nil && r.Distance.CatchesUp && max(*r.Application.Seconds, *r.Replay.Seconds) >= c.NoiseFloor {
			b.WriteString(r.Distance.text(r.Name, c.Names) + "\n")
		}
	}
}

// cell returns what a row compares of a side.
func (r *Row) cell(m *profile.Measure, u table.Unit) string {
	if m.Rate != nil {
		return profile.ASecond(*m.Rate)
	}
	return u.Optional(m.Seconds)
}

// amounts returns the table of distances, calls and bytes.
func (c *Comparison) amounts() [][]string {
	rows := [][]string{{"", "distance", c.head(0) + "calls", c.head(1) + "calls", c.head(0) + "bytes", c.head(1) + "bytes"}}
	for _, r := range c.shown() {
		a, b, distance := &r.Application, &r.Replay, table.Missing
		if r.Distance != nil {
			distance = table.Fixed(r.Distance.Max, 3)
		}
		rows = append(rows, []string{Label(r.Name), distance, table.Count(a.Calls), table.Count(b.Calls), table.Count(a.Bytes), table.Count(b.Bytes)})
	}
	return rows
}

// head returns the name of a side as the start of the head of a column.
func (c *Comparison) head(side int) string { return table.Cut(c.Names[side], headWidth) + " " }

// headWidth is how many characters of the name of a side the head of a column has.
const headWidth = 12

// below writes a table below an empty line, unless it has no rows.
func below(b *bytes.Buffer, rows [][]string) {
	if len(rows) > 1 {
		b.WriteByte('\n')
		b.WriteString(table.Fit(rows, table.FirstLeft))
	}
}

// hasLatencies reports whether the text shows latencies of a category or of requests: both
// sides have some, and at least one side of a category is above the noise floor.
func (c *Comparison) hasLatencies(r *Row) bool {
	return r.Tails != nil && (r.Name == RequestsRow || max(*r.Application.Seconds, *r.Replay.Seconds) >= c.NoiseFloor)
}

// latencyRatios writes a table of the ratios of the quantiles.
func (c *Comparison) latencyRatios(b *bytes.Buffer) {
	rows := [][]string{append([]string{"latency ratio"}, stats.QuantileNames[:]...)}
	for k := range c.Rows {
		r := &c.Rows[k]
		if !c.hasLatencies(r) {
			continue
		}
		row := []string{r.Name}
		for i := range r.Tails {
			row = append(row, fixed(r.Tails[i].Ratio))
		}
		rows = append(rows, row)
	}
	below(b, rows)
}

// latencies writes a table of the quantiles of both sides.
func (c *Comparison) latencies(b *bytes.Buffer) {
	rows := [][]string{append([]string{"latency, µs"}, stats.QuantileNames[:]...)}
	add := func(name string, cell func(i int) string) {
		row := []string{name}
		for i := range stats.QuantileNames {
			row = append(row, cell(i))
		}
		rows = append(rows, row)
	}
	for k := range c.Rows {
		r := &c.Rows[k]
		if !c.hasLatencies(r) {
			continue
		}
		micros := func(t *profile.Tails) func(int) string {
			return func(i int) string { return table.Micros(int64(math.Round(t.List()[i] * 1e9))) }
		}
		add(r.Name, micros(r.Application.Tails))
		add("  "+c.head(1), micros(r.Replay.Tails))
		add("  ratio", func(i int) string { return fixed(r.Tails[i].Ratio) })
		if r.Tails[0].Interval != nil {
			for side, name := range []string{"    from", "    to"} {
				add(name, func(i int) string {
					if v := r.Tails[i].Interval; v != nil {
						return table.Fixed([]float64{v.Low, v.High}[side], 3)
					}
					return table.Missing
				})
			}
		}
	}
	below(b, rows)
}

// longest returns the longest time of the table, in seconds.
func (c *Comparison) longest() (longest float64) {
	for i := range c.Rows {
		for _, m := range []profile.Measure{c.Rows[i].Application, c.Rows[i].Replay} {
			if m.Seconds != nil {
				longest = max(longest, *m.Seconds)
			}
		}
	}
	return longest
}

func (r *Row) ratio() string { return fixed(r.Ratio) }

func fixed(ratio *float64) string {
	if ratio == nil {
		return table.Missing
	}
	return table.Fixed(*ratio, 3)
}

// fewPaired is the value of Paired below which the names of the two sides do not match.
const fewPaired = 0.5

// ioOperations returns the operations that are I/O.
func (c *Comparison) ioOperations() []Row {
	end := slices.IndexFunc(c.Operations, func(r Row) bool { return r.Category == "" })
	if end < 0 {
		end = len(c.Operations)
	}
	return c.Operations[:end]
}

// mostDifferent writes a table of the first rows with different times, if there
// are any.
func (c *Comparison) mostDifferent(b *bytes.Buffer, what string, u table.Unit, list []Row) {
	rows := [][]string{{what, c.head(0) + u.Name, c.head(1) + u.Name, "ratio", "difference", "calls", c.head(1) + "calls"}}
	for i := range list {
		r := &list[i]
		d := r.difference()
		if d == 0 {
			break
		}
		sign := "+"
		if d < 0 {
			sign = "-"
		}
		rows = append(rows, []string{table.ShortName(r.Name), u.Optional(r.Application.Seconds), u.Optional(r.Replay.Seconds),
			r.ratio(), sign + u.Format(math.Abs(d)), table.Count(r.Application.Calls), table.Count(r.Replay.Calls)})
	}
	below(b, rows)
}

// Label returns the name of a row in words.
func Label(name string) string {
	if label, ok := rowLabels[name]; ok {
		return label
	}
	return name
}

var rowLabels = map[string]string{ElapsedRow: "run time", RequestsRow: "requests/s"}

func labels(names []string) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = Label(name)
	}
	return strings.Join(words, ", ")
}
