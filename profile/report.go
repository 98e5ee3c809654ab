package profile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"pianola/format"
)

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
