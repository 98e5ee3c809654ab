package compare

import (
	"encoding/csv"
	"io"
	"strconv"

	"pianola/format"
	"pianola/table"
)

// WriteCSV writes the comparison as a table: its rows, of kind "total", the
// operations and the files. Unknown cells are empty.
func (c *Comparison) WriteCSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	cw.Write([]string{"kind", "name", "application_seconds", "replay_seconds", "ratio", "interval_low", "interval_high", "finding",
		"application_calls", "replay_calls", "application_errors", "replay_errors", "application_bytes", "replay_bytes", "original"})
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
	return []string{
		format.Name(r.Name), number(a.Seconds), number(p.Seconds), number(r.Ratio), number(low), number(high), string(r.Finding),
		table.Count(a.Calls), table.Count(p.Calls), table.Count(a.Errors), table.Count(p.Errors), table.Count(a.Bytes), table.Count(p.Bytes), format.Name(r.Original),
	}
}
