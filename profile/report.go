package profile

import (
	"cmp"
	"slices"

	"pianola/format"
)

// summary is the document that others can hold.
type summary struct {
	RunTime    float64 `json:"run_time_seconds"`
	Events     int64   `json:"events"`
	Failed     int64   `json:"failed_events"`
	Unknown    int64   `json:"events_without_duration"`
	Coverage   any     `json:"coverage"`
	Categories []named `json:"classes"`
	Ops        []named `json:"operations"`
}

// named is a total with a name.
type named struct {
	Name string `json:"name"`
	Measure
}

// Document returns the totals by category and operation, to be put into a larger
// document.
func (p *Profile) Document() any {
	doc := p.summary()
	return &doc
}

func (p *Profile) summary() summary {
	doc := summary{format.Seconds(p.RunTime), p.All.Calls, p.All.Errors, p.All.Unknown, p.Coverage.Document(), []named{}, []named{}}
	for k := range p.Categories {
		doc.Categories = append(doc.Categories, named{Category(k).String(), p.Measure(Category(k))})
	}
	for _, op := range p.byTime() {
		doc.Ops = append(doc.Ops, named{op.String(), p.OpMeasure(op)})
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
