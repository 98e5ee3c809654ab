package profile

import (
	"pianola/format"
	"pianola/internal/stats"
)

// Measure is the figures of calls in a comparison or a document. In that of a whole
// run calls, errors and bytes are those of I/O.
type Measure struct {
	Seconds *float64 `json:"seconds,omitempty"`           // nil where no call has a duration
	Flight  *float64 `json:"in_flight_seconds,omitempty"` // of requests, from submission to completion; nil for none
	Calls   int64    `json:"calls"`
	Errors  int64    `json:"errors"`
	Bytes   int64    `json:"bytes"`
	Unknown int64    `json:"calls_without_duration,omitempty"` // not in Seconds
	Rate    *float64 `json:"-"`                                // calls a second; only of requests of clients, which have no Seconds
	*Tails           // nil where no call has a duration, and for files and whole runs
}

// Tails are stats.Quantiles in seconds. For a category with requests, they include the
// time in flight.
type Tails struct {
	P50  float64 `json:"p50_seconds"`
	P90  float64 `json:"p90_seconds"`
	P99  float64 `json:"p99_seconds"`
	P999 float64 `json:"p999_seconds"`
	Max  float64 `json:"max_seconds"`
}

// TailsOf returns quantiles in seconds.
func TailsOf(q stats.Quantiles) *Tails {
	var v [len(stats.QuantileNames)]float64
	for i, nanos := range q.List() {
		v[i] = format.Seconds(nanos)
	}
	return NewTails(v)
}

// NewTails returns seconds in the order of stats.QuantileNames.
func NewTails(v [len(stats.QuantileNames)]float64) *Tails {
	return &Tails{v[0], v[1], v[2], v[3], v[4]}
}

// List returns the seconds in the order of stats.QuantileNames.
func (t *Tails) List() [len(stats.QuantileNames)]float64 {
	return [...]float64{t.P50, t.P90, t.P99, t.P999, t.Max}
}

// tails returns the quantiles in seconds, nil for nil.
func (l *Latency) tails() *Tails {
	if l == nil {
		return nil
	}
	return TailsOf(l.Quantiles)
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
		m := p.Categories[k].Measure()
		m.Tails = p.Latency[k].tails()
		return m
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

// Measure returns the figures of requests, without any for nil: each counts as a call, and its
// bytes are those of its messages and replies.
func (r *Requests) Measure() (m Measure) {
	if r == nil {
		return m
	}
	m = Measure{Calls: r.Count, Bytes: r.Bytes + r.Replied, Tails: r.Latency.tails()}
	if r.Rate > 0 {
		m.Rate = new(r.Rate)
	}
	return m
}

// OpMeasure returns the figures of an operation.
func (p *Profile) OpMeasure(op format.Op) Measure {
	m := p.Ops[op].Measure()
	m.Tails = p.OpLatency[op].tails()
	return m
}
