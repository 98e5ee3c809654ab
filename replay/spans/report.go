package spans

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"pianola/format"
	"pianola/internal/table"
)

// document is a result as JSON.
type document struct {
	Layer           string             `json:"layer"`
	Functions       []row              `json:"functions"`
	All             row                `json:"all"`
	NotPlayed       []reason           `json:"not_played"`
	Remarks         []reason           `json:"remarks"`
	Lateness        map[string]float64 `json:"lateness_seconds"`
	Elapsed         float64            `json:"elapsed_seconds"`
	RecordedElapsed float64            `json:"recorded_elapsed_seconds"`
	Nested          int64              `json:"nested"`
	CallsInside     int64              `json:"calls_inside"`
	CallsOutside    int64              `json:"calls_outside"`
	OutsideSeconds  float64            `json:"outside_seconds"`
}

type row struct {
	Function string  `json:"function"`
	Span     string  `json:"span,omitempty"`
	Played   int64   `json:"played"`
	Not      int64   `json:"not_played"`
	Failed   int64   `json:"failed"`
	Differed int64   `json:"differed"`
	Recorded float64 `json:"recorded_seconds"`
	Seconds  float64 `json:"seconds"`
	Bytes    int64   `json:"bytes"`
	Rate     float64 `json:"bytes_per_second,omitempty"`
	First    string  `json:"first_difference,omitempty"`

	moving int64
}

// rate sets the rate, of the time of the calls whose bytes are known.
func (r *row) rate() {
	if r.Bytes > 0 && r.moving > 0 {
		r.Rate = float64(r.Bytes) * 1e9 / float64(r.moving)
	}
}

type reason struct {
	Text  string `json:"reason"`
	Count int64  `json:"count"`
}

// Document returns the result, to be written as JSON.
func (r *Result) Document() any { return r.document() }

func (r *Result) document() *document {
	d := &document{
		Layer: r.Layer, Functions: []row{}, NotPlayed: []reason{}, Remarks: []reason{}, All: row{Function: "all"},
		Elapsed: r.Elapsed.Seconds(), RecordedElapsed: r.Recorded.Seconds(), Nested: r.Nested,
		CallsInside: r.Inside, CallsOutside: r.Outside, OutsideSeconds: format.Seconds(r.OutNanos),
		Lateness: map[string]float64{"p50": format.Seconds(r.Lateness.P50), "p99": format.Seconds(r.Lateness.P99), "max": format.Seconds(r.Lateness.Max)},
	}
	for _, f := range r.Functions {
		one := row{Function: f.Name, Span: f.Kind, Played: f.Calls, Not: f.Refused, Failed: f.Failed, Differed: f.Differed, Recorded: format.Seconds(f.Recorded), Seconds: format.Seconds(f.Nanos), Bytes: f.Bytes, moving: f.Moving}
		one.rate()
		if f.First != nil {
			one.First = f.First.String()
		}
		d.Functions = append(d.Functions, one)
		d.All.Played += one.Played
		d.All.Not += one.Not
		d.All.Failed += one.Failed
		d.All.Differed += one.Differed
		d.All.Recorded += one.Recorded
		d.All.Seconds += one.Seconds
		d.All.Bytes += one.Bytes
		d.All.moving += one.moving
	}
	d.All.rate()
	for _, why := range r.Reasons {
		d.NotPlayed = append(d.NotPlayed, reason(why))
	}
	for _, what := range r.Remarks {
		d.Remarks = append(d.Remarks, reason(what))
	}
	return d
}

// WriteText writes the result as text: a row for each function, and then what was not played
// or differed.
func (r *Result) WriteText(w io.Writer) error {
	var b bytes.Buffer
	d := r.document()
	rows := [][]string{{"function", "played", "not played", "failed", "differed", "recorded ms", "replayed ms", "bytes", "bytes/s"}}
	for _, f := range append(d.Functions, d.All) {
		rate := table.Missing
		if f.Rate > 0 {
			rate = table.Bytes(f.Rate)
		}
		rows = append(rows, []string{
			f.Function, table.Count(f.Played), table.Count(f.Not), table.Count(f.Failed), table.Count(f.Differed),
			table.Fixed(f.Recorded*1e3, 3), table.Fixed(f.Seconds*1e3, 3), table.Count(f.Bytes), rate,
		})
	}
	b.WriteString(table.Format(rows, table.FirstLeft))
	for _, why := range r.Reasons {
		fmt.Fprintf(&b, "not played: %d calls: %s\n", why.Count, why.Text)
	}
	for _, what := range r.Remarks {
		fmt.Fprintf(&b, "played otherwise: %d calls: %s\n", what.Count, what.Text)
	}
	for _, f := range r.Functions {
		if f.First != nil {
			fmt.Fprintf(&b, "differed: %d × %s: first %v\n", f.Differed, f.Name, f.First)
		}
	}
	micros := func(nanos int64) time.Duration { return time.Duration(nanos).Round(time.Microsecond) }
	tens := func(nanos int64) time.Duration { return time.Duration(nanos).Round(10 * time.Nanosecond) }
	fmt.Fprintf(&b, "run time: recorded %v, replayed %v\n", micros(int64(r.Recorded)), micros(int64(r.Elapsed)))
	fmt.Fprintf(&b, "system calls: %s within these calls; %s others, of %v, are not replayed\n", table.Count(r.Inside), table.Count(r.Outside), micros(r.OutNanos))
	fmt.Fprintf(&b, "lateness: p50 %v, p99 %v, max %v\n", tens(r.Lateness.P50), tens(r.Lateness.P99), tens(r.Lateness.Max))
	_, err := w.Write(b.Bytes())
	return err
}
