package parquet

import (
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"
)

// A row group ends when it has so many rows, or takes so many bytes of memory.
const (
	groupRows  = 1 << 17
	groupBytes = 32 << 20
)

// Writer writes a Parquet file. A row is a value or a null for each column, in any
// order, then EndRow. After an error nothing more is written. A Writer belongs to
// one goroutine at a time.
type Writer struct {
	w       io.Writer
	err     error
	offset  int64
	columns []*column
	rows    int64 // of the file
	inGroup int64
	groups  int
	list    thrift // the row groups of the footer
	remarks [][2]string
}

const magic = "PAR1"

// NewWriter returns a Writer to w. Texts that it is given must be UTF-8.
func NewWriter(w io.Writer, columns []Column) *Writer {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic("internal error: " + err.Error()) // options are constant
	}
	p := &Writer{w: w}
	for _, c := range columns {
		p.columns = append(p.columns, newColumn(c, z))
	}
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

// Null sets a column of the row to null.
func (p *Writer) Null(column int) { p.columns[column].null() }

// Int sets a column of integers.
func (p *Writer) Int(column int, v int64) { p.columns[column].int(v) }

// Text sets a column of text, and copies it.
func (p *Writer) Text(column int, v []byte) { p.columns[column].string(v) }

// EndRow ends the row.
func (p *Writer) EndRow() error {
	p.inGroup++
	if p.inGroup < groupRows {
		held := 0
		for _, c := range p.columns {
			held += c.held()
		}
		if held < groupBytes {
			return p.err
		}
	}
	return p.endGroup()
}

func (p *Writer) endGroup() error {
	if p.inGroup == 0 {
		return p.err
	}
	start := p.offset
	f := &p.list
	f.begin() // RowGroup
	f.list(1, typeStruct, len(p.columns))
	var bare int64
	for _, c := range p.columns {
		bare += c.write(p)
	}
	f.i64(2, bare)
	f.i64(3, p.inGroup)
	f.i64(5, start)
	f.i64(6, p.offset-start)
	f.end()
	p.groups++
	p.rows += p.inGroup
	p.inGroup = 0
	return p.err
}

// Close writes the rest of the file. It does not close the underlying writer.
func (p *Writer) Close() error {
	_ = p.endGroup() // the error stays
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
		f.begin() // SchemaElement
		f.i32(1, c.physical())
		repetition := 0
		if c.Optional {
			repetition = 1
		}
		f.i32(3, repetition)
		f.text(4, c.Name)
		if c.Kind == Text {
			f.i32(6, 0)  // ConvertedType UTF8, for old readers
			f.inside(10) // LogicalType
			f.inside(1)  // StringType
			f.end()
			f.end()
		}
		f.end()
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
	f.text(6, "pianola version 1")
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
