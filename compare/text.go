package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"pianola/profile"
	"pianola/table"
)

// differMost is the number of operations, and of files, that the text shows.
const differMost = 5

// WriteText writes the comparison as a table, the operations and the files that
// differ most, and below them which side is faster, and the verdict.
func (c *Comparison) WriteText(w io.Writer, tolerance float64) error {
	unit := table.UnitOf(c.longest())
	several := max(len(c.applications), len(c.replays)) > 1
	head := []string{"", "application " + unit.Name, "replay " + unit.Name, "ratio", "distance"}
	if several {
		head = append(head, "interval", "finding")
	} else {
		head = append(head, "calls", "replay calls", "bytes", "replay bytes")
	}
	rows := [][]string{head}
	shown := c.shown()
	for i := range shown {
		rows = append(rows, shown[i].cells(unit, several))
	}
	var b bytes.Buffer
	b.WriteString(table.Format(rows, table.FirstLeft))
	mostDifferent(&b, "operations that differ most", unit, c.ioOperations())
	mostDifferent(&b, "files that differ most", unit, c.Files)
	if c.Paired != nil && *c.Paired < fewPaired {
		b.WriteString("few files have the same name on both sides: compare with the compiled trace that was replayed\n")
	}
	b.WriteByte('\n')
	if c.Distance != nil {
		fmt.Fprintf(&b, "distance of the profiles: largest %.3f, mean %.3f\n", c.Distance.Max, c.Distance.Mean)
	}
	b.WriteString(c.conclusion())
	fmt.Fprintf(&b, "%v\n", &c.Coverage)
	b.WriteString(c.verdict(c.Judge(tolerance), unit))
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// Summary returns a line with the verdict, and a line with the faster side. The
// second is empty if a run time is unknown.
func (c *Comparison) Summary(tolerance float64) (verdict, conclusion string) {
	return c.verdict(c.Judge(tolerance), table.UnitOf(c.longest())), strings.TrimSuffix(c.conclusion(), "\n")
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

// cells returns a row of the table. For several runs it has intervals instead
// of calls and bytes, which hardly vary.
func (r *Row) cells(u table.Unit, several bool) []string {
	a, p := &r.Application, &r.Replay
	far := table.Missing
	if r.Distance != nil {
		far = table.Fixed(r.Distance.Max, 3)
	}
	cells := []string{Label(r.Name), u.Optional(a.Seconds), u.Optional(p.Seconds), r.ratio(), far}
	if !several {
		return append(cells, table.Count(a.Calls), table.Count(p.Calls), table.Count(a.Bytes), table.Count(p.Bytes))
	}
	interval, finding := table.Missing, table.Missing
	if r.Interval != nil {
		interval = r.Interval.String()
	}
	if r.Finding != "" {
		finding = r.Finding.String()
	}
	return append(cells, interval, finding)
}

func (r *Row) ratio() string {
	if r.Ratio == nil {
		return table.Missing
	}
	return table.Fixed(*r.Ratio, 3)
}

// fewPaired is the value of Paired below which the names of the sides do not
// match.
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
func mostDifferent(b *bytes.Buffer, what string, u table.Unit, list []Row) {
	rows := [][]string{{what, "application " + u.Name, "replay " + u.Name, "ratio", "difference", "calls", "replay calls"}}
	for i := range list[:min(differMost, len(list))] {
		r := &list[i]
		d := r.difference()
		if d == 0 {
			break
		}
		sign := "+"
		if d < 0 {
			sign = "-"
		}
		rows = append(rows, []string{table.ShortName(cmp.Or(r.Original, r.Name)), u.Optional(r.Application.Seconds), u.Optional(r.Replay.Seconds),
			r.ratio(), sign + u.Format(math.Abs(d)), table.Count(r.Application.Calls), table.Count(r.Replay.Calls)})
	}
	if len(rows) > 1 {
		b.WriteByte('\n')
		b.WriteString(table.Format(rows, table.FirstLeft))
	}
}

// conclusion returns a line that says which side is faster, by how much, and
// with what confidence; "" if a run time is unknown.
func (c *Comparison) conclusion() string {
	r := c.elapsed()
	if r.Ratio == nil {
		return ""
	}
	who, runs := "the replay", "one run of each"
	if a, n := len(c.applications), len(c.replays); max(a, n) > 1 {
		runs = fmt.Sprintf("medians of %d and %d runs", a, n)
		if n > 1 {
			who = "the replays"
		}
	}
	sure := table.Percent(Confidence) + " confidence"
	switch {
	case r.Finding == Differs && *r.Ratio < 1:
		return fmt.Sprintf("faster: %s took %s less time than the application, %s to %s less with %s; %s\n",
			who, table.Percent(1-*r.Ratio), table.Percent(1-r.Interval.High), table.Percent(1-r.Interval.Low), sure, runs)
	case r.Finding == Differs:
		return fmt.Sprintf("slower: %s took %s more time than the application, %s to %s more with %s; %s\n",
			who, table.Percent(*r.Ratio-1), table.Percent(r.Interval.Low-1), table.Percent(r.Interval.High-1), sure, runs)
	case r.Finding == NoDifference:
		return fmt.Sprintf("no difference in run time found: %s took %.3f to %.3f times as long as the application with %s; %s\n",
			who, r.Interval.Low, r.Interval.High, sure, runs)
	}
	return fmt.Sprintf("%s took %.3f times as long as the application; %s cannot tell that from noise, %d of each can\n",
		who, *r.Ratio, runs, MinRuns)
}

func (c *Comparison) verdict(v Verdict, u table.Unit) string {
	var b strings.Builder
	switch {
	case v.Withheld != "":
		return "cannot be judged: " + v.Withheld
	case v.State == Within:
		b.WriteString("within " + table.Percent(v.Tolerance))
	case v.State == Inconclusive:
		b.WriteString("cannot be judged")
	default:
		b.WriteString("outside " + table.Percent(v.Tolerance) + ": " + labels(v.Outside))
	}
	if len(v.Undecided) > 0 {
		b.WriteString("; more runs may change that: " + labels(v.Undecided))
	}
	if len(v.Noise) > 0 {
		b.WriteString("; too short to be judged, below " + u.Format(c.NoiseFloor) + " " + u.Name + ": " + labels(v.Noise))
	}
	if len(v.Unknown) > 0 {
		b.WriteString("; not known: " + labels(v.Unknown))
	}
	return b.String()
}

// Label returns the name of a row in words.
func Label(name string) string {
	if name == ElapsedRow {
		return "run time"
	}
	return name
}

func labels(names []string) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = Label(name)
	}
	return strings.Join(words, ", ")
}
