package export

import (
	"io"
	"strconv"

	"pianola/format"
	"pianola/format/parquet"
)

// needed are the columns that are never null.
const needed = 1<<colThread | 1<<colProcess | 1<<colIndex | 1<<colOp | 1<<colClass | 1<<colStart | 1<<colCompute | 1<<colOffCPU

// increasing are columns that are stored as differences.
const increasing = 1<<colIndex | 1<<colStart | 1<<colDuration | 1<<colCompute | 1<<colOffCPU

// parquetWriter writes a Parquet file. Times are integers of nanoseconds, because a
// float64 of seconds is less precise. The remarks of the header are the file's
// metadata, under keys that begin with "pianola.".
type parquetWriter struct {
	out  *parquet.Writer
	row  *row
	text []byte // memory of a name
}

// parquetColumns returns the columns of a table, in order.
func parquetColumns() []parquet.Column {
	columns := make([]parquet.Column, numColumns)
	for k := range columns {
		c := &columns[k]
		c.Name, c.Kind, c.Optional = columnNames[k], parquet.Int64, needed>>k&1 == 0
		switch columnKinds[k] {
		case seconds:
			c.Name += "_nanos"
		case word, name:
			c.Kind, c.Encoding = parquet.Text, parquet.Dictionary
		}
		switch {
		case k == colThread || k == colProcess:
			c.Kind = parquet.Int32
		case k == colAfter: // nearly every one is another
			c.Encoding = parquet.Plain
		case increasing>>k&1 != 0:
			c.Encoding = parquet.Delta
		}
	}
	return columns
}

func newParquet(w io.Writer, h *format.Header) (Writer, error) {
	p := &parquetWriter{out: parquet.NewWriter(w, parquetColumns()), row: newRow(h)}
	for _, m := range h.Meta {
		p.out.SetMetadata("pianola."+snake(m.Key), string(format.AppendName(nil, []byte(m.Value))))
	}
	p.out.SetMetadata("pianola.threads", strconv.Itoa(len(h.Threads)))
	return p, nil
}

func (p *parquetWriter) Write(events []format.Event) error {
	for i := range events {
		if err := p.row.set(&events[i]); err != nil {
			return err
		}
		for k := range p.row.columns {
			switch v := &p.row.columns[k]; v.kind {
			case null:
				p.out.Null(k)
			case number, seconds:
				p.out.Int(k, v.n)
			default:
				p.text = format.AppendName(p.text[:0], v.text)
				p.out.Text(k, p.text)
			}
		}
		if err := p.out.EndRow(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parquetWriter) Close() error { return p.out.Close() }
