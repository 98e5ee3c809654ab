package profile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"pianola/format"
)

// WriteText writes the comparison as a table and, below it, the verdict.
func (c *Comparison) WriteText(w io.Writer, tolerance float64) error {
	unit := unitOf(c.longest())
	head := []string{"", "application " + unit.name, "replay " + unit.name}
	if c.Replays > 1 {
		head = append(head, "min", "max")
	}
	head = append(head, "ratio", "distance", "calls", "replay calls", "bytes", "replay bytes")
	rows := [][]string{head}
	for i := range c.Rows {
		rows = append(rows, c.Rows[i].cells(unit, c.Replays > 1))
	}
	var b bytes.Buffer
	writeTable(&b, rows)
	b.WriteByte('\n')
	b.WriteString(c.verdict(c.Judge(tolerance), unit))
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// WriteJSON writes the comparison and the verdict as one JSON document.
func (c *Comparison) WriteJSON(w io.Writer, tolerance float64) error {
	return writeJSON(w, c.Document(tolerance))
}

// Document returns what WriteJSON writes, to be put into a larger document.
func (c *Comparison) Document(tolerance float64) any {
	return struct {
		*Comparison
		Verdict Verdict `json:"verdict"`
	}{c, c.Judge(tolerance)}
}

// longest returns the longest time of the table, in seconds.
func (c *Comparison) longest() (longest float64) {
	for i := range c.Rows {
		for _, m := range []Measure{c.Rows[i].Application, c.Rows[i].Replay} {
			if m.Seconds != nil {
				longest = max(longest, *m.Seconds)
			}
		}
	}
	return longest
}

func (r *Row) cells(u unit, several bool) []string {
	a, p := &r.Application, &r.Replay
	cells := []string{label(r.Name), u.optional(a.Seconds), u.optional(p.Seconds)}
	if several {
		low, high := noCell, noCell
		if r.Range != nil {
			low, high = u.format(r.Range.Min), u.format(r.Range.Max)
		}
		cells = append(cells, low, high)
	}
	ratio, far := noCell, noCell
	if r.Ratio != nil {
		ratio = fixed(*r.Ratio, 3)
	}
	if r.Distance != nil {
		far = fixed(r.Distance.Max, 3)
	}
	return append(cells, ratio, far, count(a.Calls), count(p.Calls), count(a.Bytes), count(p.Bytes))
}

func (c *Comparison) verdict(v Verdict, u unit) string {
	var b strings.Builder
	tolerance := strconv.FormatFloat(v.Tolerance*100, 'g', 4, 64) + " %"
	switch {
	case v.Within:
		b.WriteString("within " + tolerance)
	case len(v.Outside) == 0:
		b.WriteString("cannot be judged")
	default:
		b.WriteString("outside " + tolerance + ": " + labels(v.Outside))
	}
	if len(v.Noise) > 0 {
		b.WriteString("; too short to be judged, below " + u.format(c.NoiseFloor) + " " + u.name + ": " + labels(v.Noise))
	}
	if len(v.Unknown) > 0 {
		b.WriteString("; not known: " + labels(v.Unknown))
	}
	return b.String()
}

// label returns the name of a row as a reader of text would write it.
func label(name string) string { return strings.ReplaceAll(name, "_", " ") }

func labels(names []string) string { return label(strings.Join(names, ", ")) }

// WriteText writes the profile: the categories, then the operations that
// occurred, the longest first.
func (p *Profile) WriteText(w io.Writer) error {
	unit := unitOf(max(seconds(p.RunTime), seconds(p.IO().Nanos)))
	rows := [][]string{{"", unit.name, "calls", "errors", "bytes"}}
	line := func(name string, t *Total) {
		m := measure(t, t.Nanos)
		rows = append(rows, []string{name, unit.optional(m.Seconds), count(t.Calls), count(t.Errors), count(t.Bytes)})
	}
	for k := range p.Categories {
		line(Category(k).String(), &p.Categories[k])
	}
	rows = append(rows, []string{"run time", unit.format(seconds(p.RunTime))}, nil)
	for _, op := range p.byTime() {
		line(op.String(), &p.Ops[op])
	}
	var b bytes.Buffer
	writeTable(&b, rows)
	if p.All.Unknown > 0 {
		b.WriteString("\ncalls without a duration, which are not in the times: " + count(p.All.Unknown) + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// WriteJSON writes the profile as one JSON document, without its curves.
func (p *Profile) WriteJSON(w io.Writer) error { return writeJSON(w, p.Document()) }

// Document returns what WriteJSON writes, to be put into a larger document.
func (p *Profile) Document() any {
	type named struct {
		Name string `json:"name"`
		Measure
	}
	doc := struct {
		RunTime    float64 `json:"run_time_seconds"`
		Events     int64   `json:"events"`
		Failed     int64   `json:"failed_events"`
		Unknown    int64   `json:"events_without_duration"`
		Categories []named `json:"categories"`
		Ops        []named `json:"operations"`
	}{seconds(p.RunTime), p.All.Calls, p.All.Errors, p.All.Unknown, []named{}, []named{}}
	for k := range p.Categories {
		t := &p.Categories[k]
		doc.Categories = append(doc.Categories, named{Category(k).String(), measure(t, t.Nanos)})
	}
	for _, op := range p.byTime() {
		t := &p.Ops[op]
		doc.Ops = append(doc.Ops, named{op.String(), measure(t, t.Nanos)})
	}
	return doc
}

// byTime returns the operations that occurred, the longest first.
func (p *Profile) byTime() (ops []format.Op) {
	for op := range p.Ops {
		if p.Ops[op].Calls > 0 {
			ops = append(ops, format.Op(op))
		}
	}
	slices.SortStableFunc(ops, func(a, b format.Op) int { return cmp.Compare(p.Ops[b].Nanos, p.Ops[a].Nanos) })
	return ops
}

func writeJSON(w io.Writer, doc any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
