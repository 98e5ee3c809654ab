package export

import (
	"io"
	"math"
	"time"

	"pianola/format"
)

// needed are the columns that are never null.
const needed = 1<<colThread | 1<<colProcess | 1<<colIndex | 1<<colOp | 1<<colClass | 1<<colStart | 1<<colCompute | 1<<colOffCPU

// increasing are columns that are stored as differences.
const increasing = 1<<colIndex | 1<<colStart | 1<<colDuration | 1<<colCompute | 1<<colOffCPU

// The columns of Parquet files after those of all tables.
const (
	colTime  = numColumns + iota // start as a time of day; null if the start of the recording is unknown
	colBytes                     // that a read or a write moved, null for other events
	colHost                      // on which the recording was made
	numParquetColumns
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

// parquetColumns returns the columns of a table, in order.
func parquetColumns() []column {
	columns := make([]column, numColumns, numParquetColumns)
	for k := range columns {
		c := &columns[k]
		c.name, c.optional = columnNames[k], needed>>k&1 == 0
		switch columnKinds[k] {
		case seconds:
			c.name += "_nanos"
		case word, name:
			c.kind = ofText
		}
		switch {
		case k == colThread || k == colProcess:
			c.kind = ofInt32
		case k == colAfter: // nearly every one is another
			c.plain = true
		case increasing>>k&1 != 0:
			c.delta = true
		case k == colPath || k == colRootPath:
			c.bloom = true
		}
	}
	return append(columns, timeColumn, optional("bytes"), label("host"))
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
		if events[i].Span != nil {
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
	if p.clock.known {
		out.int(colTime, p.clock.at(e.Start))
	} else {
		out.null(colTime)
	}
	if class := e.Op.Info().Class; class == format.ClassRead || class == format.ClassWrite {
		out.int(colBytes, e.Bytes())
	} else {
		out.null(colBytes)
	}
	if p.host != nil {
		out.text(colHost, p.host)
	} else {
		out.null(colHost)
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

// label is a column of text.
func label(name string) column {
	return column{name: name, kind: ofText, optional: true}
}
