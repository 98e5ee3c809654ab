package parquet

import (
	"cmp"
	"encoding/binary"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// A row group ends when it has so many rows, or its texts take so many bytes.
const (
	groupRows  = 1 << 17
	groupBytes = 32 << 20
)

// Writer writes a Parquet file. A row is a value or a null for each column, in any
// order, then EndRow. After an error nothing more is written. A Writer belongs to
// one goroutine at a time.
//
// While a row group is filled, other goroutines encode and write the one before, so that
// the memory of two is needed. The file does not depend on their number.
type Writer struct {
	w       io.Writer
	err     error
	offset  int64
	columns []*column
	key     int // column by which the rows of a row group are sorted, -1 for none
	most    int // rows of a row group
	rows    int64
	groups  int
	list    thrift // the row groups of the footer
	remarks [][2]string

	filling group         // the row group that is being filled
	behind  group         // the one before
	busy    chan struct{} // closed when behind is written; nil if it is
	sorters []sorter      // of the workers
}

// group is the rows of a row group.
type group struct {
	cells []cells // of each column
	rows  int
	texts int // bytes
}

// sorter is memory for sorting a column.
type sorter struct {
	cells  cells
	places []int32
}

const magic = "PAR1"

// encoder returns the encoder of all Writers, which may be used concurrently.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic("internal error: " + err.Error()) // options are constant
	}
	return z
})

// NewWriter returns a Writer to w. Texts that it is given must be UTF-8.
func NewWriter(w io.Writer, columns []Column) *Writer {
	p := &Writer{w: w, key: -1, most: groupRows, sorters: make([]sorter, min(runtime.GOMAXPROCS(0), len(columns)))}
	for _, c := range columns {
		p.columns = append(p.columns, newColumn(c, encoder()))
	}
	p.filling.cells, p.behind.cells = make([]cells, len(columns)), make([]cells, len(columns))
	p.write([]byte(magic))
	return p
}

// write writes bytes of the file. It keeps the first error.
func (p *Writer) write(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
		p.offset += int64(len(b))
	}
}

// SetMetadata adds a key with a value to the metadata of the file.
func (p *Writer) SetMetadata(key, value string) { p.remarks = append(p.remarks, [2]string{key, value}) }

// SortBy sorts the rows of each row group by a column of integers that holds no nulls.
// Rows of the same value keep their order. It must be called before the first row.
func (p *Writer) SortBy(column int) { p.key = column }

// LimitRows makes a row group end after so many rows at the latest, for a program that has
// many Writers. It must be called before the first row.
func (p *Writer) LimitRows(rows int) { p.most = min(max(rows, 1), groupRows) }

// Null sets a column of the row to null.
func (p *Writer) Null(column int) {
	c := &p.filling.cells[column]
	c.levels = append(c.levels, 0)
}

// Int sets a column of integers.
func (p *Writer) Int(column int, v int64) {
	c := &p.filling.cells[column]
	c.levels = append(c.levels, 1)
	c.ints = append(c.ints, v)
}

// Text sets a column of text, and copies it.
func (p *Writer) Text(column int, v []byte) {
	c := &p.filling.cells[column]
	c.levels = append(c.levels, 1)
	c.texts = append(c.texts, v...)
	c.ends = append(c.ends, len(c.texts))
	p.filling.texts += len(v)
}

// EndRow ends the row.
func (p *Writer) EndRow() error {
	g := &p.filling
	switch g.rows++; {
	case g.rows == p.most || g.texts >= groupBytes:
		return p.endGroup()
	case p.busy != nil:
		return nil // the error belongs to the workers
	}
	return p.err
}

// endGroup hands the row group over to the workers, once they are done with the one
// before.
func (p *Writer) endGroup() error {
	if err := p.wait(); err != nil || p.filling.rows == 0 {
		return err
	}
	p.filling, p.behind = p.behind, p.filling
	p.busy = make(chan struct{})
	go func() {
		defer close(p.busy)
		p.encode()
		p.writeGroup()
		for k := range p.behind.cells {
			p.behind.cells[k].reset()
		}
		p.behind.rows, p.behind.texts = 0, 0
	}()
	return nil
}

// wait waits until no row group is being written.
func (p *Writer) wait() error {
	if p.busy != nil {
		<-p.busy
		p.busy = nil
	}
	return p.err
}

// encode makes the chunks of the row group behind, with a goroutine for each sorter.
func (p *Writer) encode() {
	order := p.order()
	var next atomic.Int32
	var all sync.WaitGroup
	for i := range p.sorters {
		all.Go(func() {
			s := &p.sorters[i]
			for k := next.Add(1) - 1; int(k) < len(p.columns); k = next.Add(1) - 1 {
				in := &p.behind.cells[k]
				if order != nil {
					s.places = slices.Grow(s.places[:0], len(order))[:len(order)]
					s.cells.reorder(in, order, s.places)
					in = &s.cells
				}
				p.columns[k].encode(in)
			}
		})
	}
	all.Wait()
}

// order returns the rows of the row group behind as they have to be sorted, nil if they
// are.
func (p *Writer) order() []int32 {
	if p.key < 0 {
		return nil
	}
	keys := p.behind.cells[p.key].ints
	if slices.IsSorted(keys) {
		return nil
	}
	order := make([]int32, len(keys))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b)) })
	return order
}

// writeGroup writes the encoded row group.
func (p *Writer) writeGroup() {
	filters := make([]int64, len(p.columns))
	for k, c := range p.columns {
		if c.Bloom {
			filters[k] = p.offset
			p.write(c.filter.bytes)
		}
	}
	start := p.offset
	f := &p.list
	f.begin() // RowGroup
	f.list(1, typeStruct, len(p.columns))
	var bare int64
	for k, c := range p.columns {
		c.write(p, filters[k])
		bare += c.bare
	}
	f.i64(2, bare)
	f.i64(3, int64(p.behind.rows))
	if p.key >= 0 {
		f.list(4, typeStruct, 1)
		f.begin() // SortingColumn
		f.i32(1, p.key)
		f.bool(2, false) // descending
		f.bool(3, false) // nulls first
		f.end()
	}
	f.i64(5, start)
	f.i64(6, p.offset-start)
	f.end()
	p.groups++
	p.rows += int64(p.behind.rows)
}

// Close writes the rest of the file. It does not close the underlying writer.
func (p *Writer) Close() error {
	_ = p.endGroup() // the error stays
	_ = p.wait()
	b := p.footer()
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)))
	p.write(append(b, magic...))
	return p.err
}

// footer returns the FileMetaData.
func (p *Writer) footer() []byte {
	var f thrift
	f.begin()
	f.i32(1, 2) // version
	f.list(2, typeStruct, 1+len(p.columns))
	f.begin() // the root of the schema
	f.text(4, "schema")
	f.i32(5, len(p.columns))
	f.end()
	for _, c := range p.columns {
		c.describe(&f)
	}
	f.i64(3, p.rows)
	f.list(4, typeStruct, p.groups)
	f.b = append(f.b, p.list.b...)
	f.list(5, typeStruct, len(p.remarks))
	for _, r := range p.remarks {
		f.begin()
		f.text(1, r[0])
		f.text(2, r[1])
		f.end()
	}
	f.text(6, "pianola version 2")
	f.list(7, typeStruct, len(p.columns))
	for range p.columns {
		f.begin()   // ColumnOrder
		f.inside(1) // TypeDefinedOrder
		f.end()
		f.end()
	}
	f.end()
	return f.b
}

// describe appends the SchemaElement of the column.
func (c *column) describe(f *thrift) {
	f.begin()
	f.i32(1, c.physical())
	repetition := 0
	if c.Optional {
		repetition = 1
	}
	f.i32(3, repetition)
	f.text(4, c.Name)
	switch c.Kind {
	case Text:
		f.i32(6, 0)  // ConvertedType UTF8, for old readers
		f.inside(10) // LogicalType
		f.inside(1)  // StringType
		f.end()
		f.end()
	case Time:
		f.inside(10) // LogicalType
		f.inside(8)  // TimestampType
		f.bool(1, true)
		f.inside(2) // TimeUnit
		f.inside(3) // NanoSeconds
		f.end()
		f.end()
		f.end()
		f.end()
	}
	f.end()
}
