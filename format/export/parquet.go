package export

import (
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"pianola/format"
)

// rowsPerGroup is the size of a row group, which is held in memory until it is
// full. With names of 60 bytes it takes about 20 MiB.
const rowsPerGroup = 1 << 17

// rowsPerWrite is how many rows one write passes to the library.
const rowsPerWrite = 256

// schema is the columns of a table, in order. Times are integers of
// nanoseconds, because a float64 of seconds is less precise. Text is in
// dictionaries; increasing columns are stored as differences.
type schema struct {
	Thread    int32  `parquet:"thread,dict,zstd"`
	Process   int32  `parquet:"process,dict,zstd"`
	Index     int64  `parquet:"index,delta,zstd"`
	Op        string `parquet:"op,dict,zstd"`
	Class     string `parquet:"class,dict,zstd"`
	Start     int64  `parquet:"start_nanos,delta,zstd"`
	Duration  int64  `parquet:"duration_nanos,optional,delta,zstd"`
	Compute   int64  `parquet:"compute_nanos,delta,zstd"`
	OffCPU    int64  `parquet:"off_cpu_nanos,delta,zstd"`
	Ready     int64  `parquet:"ready_nanos,optional,zstd"`
	Own       int64  `parquet:"own_nanos,optional,zstd"`
	Wait      int64  `parquet:"wait_nanos,optional,zstd"`
	Timer     int64  `parquet:"timer_nanos,optional,zstd"`
	Storage   int64  `parquet:"storage_nanos,optional,zstd"`
	Held      int64  `parquet:"held_nanos,optional,zstd"`
	Result    int64  `parquet:"result,optional,zstd"`
	Error     string `parquet:"error,optional,dict,zstd"`
	FD        int64  `parquet:"fd,optional,zstd"`
	Path      string `parquet:"path,optional,dict,zstd"`
	Path2     string `parquet:"path2,optional,dict,zstd"`
	Offset    int64  `parquet:"offset,optional,zstd"`
	Size      int64  `parquet:"size,optional,zstd"`
	Flags     string `parquet:"flags,optional,dict,zstd"`
	Mode      int64  `parquet:"mode,optional,zstd"`
	After     string `parquet:"after,optional,zstd"`
	Waker     int64  `parquet:"waker,optional,zstd"`
	Woken     int64  `parquet:"woken_nanos,optional,zstd"`
	Ring      int64  `parquet:"ring,optional,zstd"`
	Batch     int64  `parquet:"batch,optional,zstd"`
	Reaped    int64  `parquet:"reaped,optional,zstd"`
	How       string `parquet:"how,optional,dict,zstd"`
	RootPath  string `parquet:"root_path,optional,dict,zstd"`
	RootPath2 string `parquet:"root_path2,optional,dict,zstd"`
}

// needed are the columns that are never null.
const needed = 1<<colThread | 1<<colProcess | 1<<colIndex | 1<<colOp | 1<<colClass | 1<<colStart | 1<<colCompute | 1<<colOffCPU

// narrow are the columns of 32 bits.
const narrow = 1<<colThread | 1<<colProcess

// parquetWriter writes a Parquet file. The remarks of the header are its
// metadata, under keys that begin with "pianola.".
type parquetWriter struct {
	out    *parquet.GenericWriter[any]
	sink   *sticky
	row    *row
	rows   []parquet.Row
	filled int
	text   []byte // of the names in rows
}

func newParquet(w io.Writer, h *format.Header) (Writer, error) {
	sink := &sticky{w: w}
	p := &parquetWriter{sink: sink, row: newRow(h), rows: make([]parquet.Row, rowsPerWrite)}
	for i := range p.rows {
		p.rows[i] = make(parquet.Row, numColumns)
	}
	p.out = parquet.NewGenericWriter[any](sink, parquet.SchemaOf(schema{}), parquet.MaxRowsPerRowGroup(rowsPerGroup), parquet.CreatedBy("pianola", "1", ""))
	for _, m := range h.Meta {
		p.out.SetKeyValueMetadata("pianola."+snake(m.Key), string(format.AppendName(nil, []byte(m.Value))))
	}
	p.out.SetKeyValueMetadata("pianola.threads", strconv.Itoa(len(h.Threads)))
	return p, nil
}

func (p *parquetWriter) Write(events []format.Event) error {
	for i := range events {
		if err := p.row.set(&events[i]); err != nil {
			return err
		}
		p.add()
		if p.filled == len(p.rows) {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	return p.sink.err
}

// add copies the row, because the next one overwrites its text.
func (p *parquetWriter) add() {
	to := p.rows[p.filled]
	p.filled++
	for k := range p.row.columns {
		v, level := &p.row.columns[k], 1
		if needed>>k&1 != 0 {
			level = 0
		}
		var value parquet.Value
		switch v.kind {
		case null:
			to[k] = parquet.NullValue().Level(0, 0, k)
			continue
		case number, seconds:
			value = parquet.Int64Value(v.n)
			if narrow>>k&1 != 0 {
				value = parquet.Int32Value(int32(v.n))
			}
		default:
			from := len(p.text)
			p.text = format.AppendName(p.text, v.text)
			value = parquet.ByteArrayValue(p.text[from:len(p.text):len(p.text)])
		}
		to[k] = value.Level(0, level, k)
	}
}

func (p *parquetWriter) flush() error {
	if p.sink.err != nil {
		return p.sink.err
	}
	_, err := p.out.WriteRows(p.rows[:p.filled])
	p.filled, p.text = 0, p.text[:0]
	return p.sink.first(err)
}

func (p *parquetWriter) Close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.sink.first(p.out.Close())
}

// sticky keeps the first error of a writer, and writes nothing after it.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(b []byte) (n int, err error) {
	if s.err == nil {
		n, s.err = s.w.Write(b)
	}
	return n, s.err
}

// first returns the first error: that of the underlying writer, or err.
func (s *sticky) first(err error) error {
	if s.err == nil {
		s.err = err
	}
	return s.err
}
