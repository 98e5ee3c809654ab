package export

import (
	"io"
	"math"
	"slices"
	"time"

	"pianola/format"
)

// parquetWriter writes a Parquet file. Times are integers of nanoseconds, because a
// float64 of seconds is less precise. The remarks of the header are the file's
// metadata, under keys that begin with "pianola.".
type parquetWriter struct {
	out   *table
	row   *row
	clock clock
	host  []byte // nil if unknown
	text  []byte // memory of a name
}

// onlyParquet are the columns of Parquet files after those of all tables.
var onlyParquet = []column{
	timeColumn.means("the start as a time of day"), optional("bytes").means("that a read or a write moved"), label("host").means("where the recording was made"),
}

// parquetColumns returns the columns of the table of events, in order.
func parquetColumns() []column {
	all := slices.Clone(columns)
	for k := range all {
		switch c := &all[k]; c.says {
		case seconds:
			c.name += "_nanos"
		case word, name:
			c.kind = ofText
		}
	}
	return append(all, onlyParquet...)
}

func newParquet(w io.Writer, h *format.Header) (Writer, error) {
	p := newEvents(h)
	p.out = newTable(w, h, parquetColumns(), colStart, groupRows)
	return p, nil
}

// newEvents returns a writer of rows of events, which has no table yet.
func newEvents(h *format.Header) *parquetWriter {
	p := &parquetWriter{row: newRow(h), clock: newClock(h)}
	if host, ok := h.Value(format.MetaHost); ok {
		p.host = format.AppendName(nil, []byte(host))
	}
	return p
}

func (p *parquetWriter) Write(events []format.Event) error {
	for i := range events {
		if p.row.enters(&events[i]) || events[i].Span != nil {
			continue // only a Dataset has a table of spans
		}
		if err := p.event(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *parquetWriter) event(e *format.Event) error {
	if err := p.row.set(e); err != nil {
		return err
	}
	return p.put(p.out, e)
}

// put writes the row of an event to a table.
func (p *parquetWriter) put(out *table, e *format.Event) error {
	for k := range p.row.columns {
		switch v := &p.row.columns[k]; v.kind {
		case null:
			out.null(k)
		case number, seconds:
			out.int(k, v.n)
		case word:
			out.text(k, v.text)
		default:
			p.text = format.AppendName(p.text[:0], v.text)
			out.text(k, p.text)
		}
	}
	k := len(columns) // that of time; bytes and host follow
	if p.clock.known {
		out.int(k, p.clock.at(e.Start))
	} else {
		out.null(k)
	}
	if class := e.Op.Info().Class; class == format.ClassRead || class == format.ClassWrite {
		out.int(k+1, e.Bytes())
	} else {
		out.null(k + 1)
	}
	if p.host != nil {
		out.text(k+2, p.host)
	} else {
		out.null(k + 2)
	}
	return out.endRow()
}

func (p *parquetWriter) Close() error { return p.out.close() }

// clock turns times since the start of a recording into times of day.
type clock struct {
	start int64 // of the recording, nanoseconds since 1970
	known bool
}

// newClock returns the clock of a recording. Parquet has years 1677 to 2262.
func newClock(h *format.Header) clock {
	text, _ := h.Value(format.MetaStart)
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.Year() < 1678 || at.Year() > 2261 {
		return clock{}
	}
	return clock{at.UnixNano(), true}
}

// at returns a time of day. One that is too late for Parquet becomes the latest.
func (c clock) at(nanos int64) int64 {
	if c.start > 0 && nanos > math.MaxInt64-c.start {
		return math.MaxInt64
	}
	return c.start + nanos
}

// Columns of several tables.
var timeColumn = column{name: "time", kind: ofTime, delta: true, optional: true}

func optional(name string) column {
	return column{name: name, optional: true}
}

func number32(name string) column { return column{name: name, kind: ofInt32} }

func number64(name string) column { return column{name: name} }

// nanos is a column of times since the start of the recording, or of durations.
func nanos(name string) column {
	return column{name: name + "_nanos", delta: true}
}

// means returns the column with its documentation.
func (c column) means(doc string) column {
	c.doc = doc
	return c
}

// label is a column of text.
func label(name string) column {
	return column{name: name, kind: ofText, optional: true}
}
