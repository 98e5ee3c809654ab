package compare

import (
	"encoding/csv"
	"io"
	"strconv"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/internal/table"
	"pianola/profile"
)

// WriteCSV writes the comparison as a table: its rows, of kind "total", the
// operations and the files. Unknown cells are empty.
func (c *Comparison) WriteCSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	a, r := c.Names[0], c.Names[1]
	head := []string{"kind", "name", a + "_seconds", r + "_seconds", "ratio", "interval_low", "interval_high", "finding",
		a + "_calls", r + "_calls", a + "_errors", r + "_errors", a + "_bytes", r + "_bytes"}
	for _, side := range c.Names {
		for _, key := range stats.QuantileKeys {
			head = append(head, side+"_"+key+"_seconds")
		}
	}
	head = append(head, a+"_per_second", r+"_per_second") // of requests, which have no seconds
	cw.Write(head)
	for _, group := range []struct {
		kind string
		rows []Row
	}{{"total", c.shown()}, {"operation", c.Operations}, {"file", c.Files}} {
		for i := range group.rows {
			cw.Write(append([]string{group.kind}, group.rows[i].fields()...))
		}
	}
	cw.Flush()
	return cw.Error()
}

func (r *Row) fields() []string {
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	var low, high *float64
	if r.Interval != nil {
		low, high = &r.Interval.Low, &r.Interval.High
	}
	a, p := &r.Application, &r.Replay
	fields := []string{
		format.Name(r.Name), number(a.Seconds), number(p.Seconds), number(r.Ratio), number(low), number(high), string(r.Finding),
		table.Count(a.Calls), table.Count(p.Calls), table.Count(a.Errors), table.Count(p.Errors), table.Count(a.Bytes), table.Count(p.Bytes),
	}
	for _, m := range []*profile.Measure{a, p} {
		for i := range stats.QuantileNames {
			var v *float64
			if m.Tails != nil {
				v = new(m.Tails.List()[i])
			}
			fields = append(fields, number(v))
		}
	}
	return append(fields, number(a.Rate), number(p.Rate))
}
