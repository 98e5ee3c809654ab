package profile

import "pianola/format"

// Measure is what a comparison or a document tells of calls. In that of a whole
// run calls, errors and bytes are those of I/O.
type Measure struct {
	Seconds *float64 `json:"seconds,omitempty"`           // nil where no call has a duration
	Flight  *float64 `json:"in_flight_seconds,omitempty"` // of requests, from submission to completion; nil for none
	Calls   int64    `json:"calls"`
	Errors  int64    `json:"errors"`
	Bytes   int64    `json:"bytes"`
	Unknown int64    `json:"calls_without_duration,omitempty"` // not in Seconds
}

// Measure returns the figures of the total.
func (t *Total) Measure() Measure {
	m := Measure{Calls: t.Calls, Errors: t.Errors, Bytes: t.Bytes, Unknown: t.Unknown}
	if t.Calls == 0 || t.Unknown < t.Calls {
		m.Seconds = new(format.Seconds(t.Nanos))
	}
	if t.Flight > 0 {
		m.Flight = new(format.Seconds(t.Flight))
	}
	return m
}

// Measure returns the figures of a category or, for NumCategories, of the run,
// whose seconds are the run time.
func (p *Profile) Measure(k Category) Measure {
	if k < NumCategories {
		return p.Categories[k].Measure()
	}
	sum := p.IO()
	m := sum.Measure()
	// Start times alone tell the run time, to the last call's start.
	m.Seconds = nil
	if p.RunTime > 0 {
		m.Seconds = new(format.Seconds(p.RunTime))
	}
	return m
}
