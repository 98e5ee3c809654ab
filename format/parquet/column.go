package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

// Kind is the type of a column's values.
type Kind uint8

const (
	Int32 Kind = iota
	Int64
	Text // UTF-8
	Time // nanoseconds since 1970, UTC
)

// Encoding is how values are written.
type Encoding uint8

const (
	Plain      Encoding = iota
	Dictionary          // of text: each value once in a row group, and its numbers
	Delta               // of integers: differences from the value before
)

// Column describes a column of a table.
type Column struct {
	Name     string
	Kind     Kind
	Encoding Encoding
	Optional bool // it can hold nulls
	Bloom    bool // with Dictionary: row groups have a Bloom filter of its values
}

// The numbers of the specification.
const (
	typeOfInt32, typeOfInt64, typeOfText = 1, 2, 6

	plain, rle, delta, rleDictionary = 0, 3, 5, 8

	dataPage, dictionaryPage = 0, 2

	codecZstd = 6
)

func (c *Column) physical() int {
	return [...]int{typeOfInt32, typeOfInt64, typeOfText, typeOfInt64}[c.Kind]
}

func (c *Column) encoding() int { return [...]int{plain, rleDictionary, delta}[c.Encoding] }

const (
	pageRows  = 1 << 14
	pageBytes = 1 << 20 // of plain text; a page is at most one text longer

	// maxBound is the length of the longest texts in statistics.
	maxBound = 128
)

// cells are the values of a column in the rows of a row group.
type cells struct {
	levels []uint8 // of each row: 0 for null, 1 for a value
	ints   []int64
	texts  []byte
	ends   []int // of each text
}

func (c *cells) reset() {
	c.levels, c.ints, c.texts, c.ends = c.levels[:0], c.ints[:0], c.texts[:0], c.ends[:0]
}

// text returns a text.
func (c *cells) text(i int) []byte {
	from := 0
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.texts[from:c.ends[i]]
}

// reorder sets c to the rows of other in an order. places is memory.
func (c *cells) reorder(other *cells, order, places []int32) {
	c.reset()
	var n int32
	for row, level := range other.levels {
		places[row] = n
		n += int32(level)
	}
	for _, row := range order {
		c.levels = append(c.levels, other.levels[row])
		switch place := places[row]; {
		case other.levels[row] == 0:
		case len(other.ints) > 0:
			c.ints = append(c.ints, other.ints[place])
		default:
			c.texts = append(c.texts, other.text(int(place))...)
			c.ends = append(c.ends, len(c.texts))
		}
	}
}

// column encodes the chunks of a column, one for each row group.
type column struct {
	Column
	zstd *zstd.Encoder

	// The chunk.
	first       []byte // the dictionary page
	pages       []byte // the data pages with their headers
	bare        int64  // bytes of both before compression
	rows, nulls int64
	least, most int64 // of integers
	known       map[string]uint32
	dictionary  []byte // texts with their lengths
	filter      bloom

	// Memory for a page.
	indexes []uint32 // in the dictionary
	page    []byte
	packed  []byte // the page, compressed
	header  thrift
}

func newColumn(c Column, z *zstd.Encoder) *column {
	return &column{Column: c, zstd: z, known: make(map[string]uint32)}
}

func appendText(dst, text []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
}

// encode makes the chunk of cells.
func (c *column) encode(in *cells) {
	c.pages, c.first, c.bare, c.rows, c.nulls = c.pages[:0], c.first[:0], 0, int64(len(in.levels)), 0
	c.least, c.most = math.MaxInt64, math.MinInt64
	c.dictionary = c.dictionary[:0]
	clear(c.known)
	for row, value := 0, 0; row < len(in.levels); {
		rows, values := c.pageOf(in, row, value)
		c.encodePage(in, in.levels[row:row+rows], value, values)
		row, value = row+rows, value+values
	}
	if c.Encoding == Dictionary {
		c.first = c.appendPage(c.first, c.dictionary, dictionaryPage, len(c.known))
	}
	if c.Bloom {
		c.filter.fill(c.dictionary, len(c.known))
	}
}

// pageOf returns how many rows and values the page has that begins with a row and a
// value.
func (c *column) pageOf(in *cells, row, value int) (rows, values int) {
	bounded := c.Kind == Text && c.Encoding == Plain
	for bytes := 0; row+rows < len(in.levels) && rows < pageRows && bytes < pageBytes; rows++ {
		if in.levels[row+rows] == 0 {
			continue
		}
		if bounded {
			bytes += len(in.text(value + values))
		}
		values++
	}
	return rows, values
}

// encodePage appends a page of rows, whose values begin with number value.
func (c *column) encodePage(in *cells, levels []uint8, value, values int) {
	c.nulls += int64(len(levels) - values)
	b := c.page[:0]
	if c.Optional {
		b = appendHybrid(append(b, 0, 0, 0, 0), levels, 1)
		binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	}
	if c.Kind == Text {
		if c.Encoding == Dictionary {
			c.look(in, value, values)
			width := max(1, bits.Len(uint(max(len(c.known), 1)-1)))
			b = appendHybrid(append(b, byte(width)), c.indexes, width)
		} else {
			for i := range values {
				b = appendText(b, in.text(value+i))
			}
		}
	} else {
		ints := in.ints[value:][:values]
		for _, v := range ints {
			c.least, c.most = min(c.least, v), max(c.most, v)
		}
		switch {
		case c.Encoding == Delta:
			b = appendDelta(b, ints)
		case c.Kind == Int32:
			for _, v := range ints {
				b = binary.LittleEndian.AppendUint32(b, uint32(v))
			}
		default:
			for _, v := range ints {
				b = binary.LittleEndian.AppendUint64(b, uint64(v))
			}
		}
	}
	c.page = b
	c.pages = c.appendPage(c.pages, b, dataPage, len(levels))
}

// look finds the indexes of texts in the dictionary, and adds new ones.
func (c *column) look(in *cells, value, values int) {
	c.indexes = c.indexes[:0]
	var last []byte
	for i := range values {
		v := in.text(value + i)
		if i > 0 && bytes.Equal(v, last) {
			c.indexes = append(c.indexes, c.indexes[i-1])
			continue
		}
		last = v
		index, ok := c.known[string(v)]
		if !ok {
			index = uint32(len(c.known))
			c.known[string(v)] = index
			c.dictionary = appendText(c.dictionary, v)
		}
		c.indexes = append(c.indexes, index)
	}
}

// appendPage appends a page with its header.
func (c *column) appendPage(dst, content []byte, kind, values int) []byte {
	c.packed = c.zstd.EncodeAll(content, c.packed[:0])
	h := &c.header
	h.b = h.b[:0]
	h.begin()
	h.i32(1, kind)
	h.i32(2, len(content))
	h.i32(3, len(c.packed))
	h.i32(4, int(int32(crc32.ChecksumIEEE(c.packed))))
	if kind == dictionaryPage {
		h.inside(7)
		h.i32(1, values)
		h.i32(2, plain)
	} else {
		h.inside(5)
		h.i32(1, values)
		h.i32(2, c.encoding())
		h.i32(3, rle) // definition levels
		h.i32(4, rle) // repetition levels, of which there are none
	}
	h.end()
	h.end()
	c.bare += int64(len(h.b) + len(content))
	return append(append(dst, h.b...), c.packed...)
}

// bounds returns the least and the greatest value, in plain encoding, nil where
// there are none, or where they are long.
func (c *column) bounds() (least, most []byte) {
	switch {
	case c.rows == c.nulls:
	case c.Kind == Int32:
		least, most = binary.LittleEndian.AppendUint32(nil, uint32(c.least)), binary.LittleEndian.AppendUint32(nil, uint32(c.most))
	case c.Kind != Text:
		least, most = binary.LittleEndian.AppendUint64(nil, uint64(c.least)), binary.LittleEndian.AppendUint64(nil, uint64(c.most))
	case c.Encoding == Dictionary:
		for rest := c.dictionary; len(rest) > 0; {
			end := 4 + binary.LittleEndian.Uint32(rest)
			text := rest[4:end]
			rest = rest[end:]
			if least == nil || bytes.Compare(text, least) < 0 {
				least = text
			}
			if most == nil || bytes.Compare(text, most) > 0 {
				most = text
			}
		}
		if max(len(least), len(most)) > maxBound {
			return nil, nil
		}
	}
	return least, most
}

// write writes the chunk, and its description into the list of row groups. The Bloom
// filter is at an offset.
func (c *column) write(p *Writer, filter int64) {
	offset, f := p.offset, &p.list
	p.write(c.first)
	p.write(c.pages)

	f.begin() // ColumnChunk
	f.i64(2, 0)
	f.inside(3) // ColumnMetaData
	f.i32(1, c.physical())
	encodings := []int{rle, c.encoding()}
	if c.Encoding == Dictionary {
		encodings = append(encodings, plain)
	}
	f.list(2, typeI32, len(encodings))
	for _, e := range encodings {
		f.b = binary.AppendVarint(f.b, int64(e))
	}
	f.list(3, typeBinary, 1)
	f.element(c.Name)
	f.i32(4, codecZstd)
	f.i64(5, c.rows)
	f.i64(6, c.bare)
	f.i64(7, int64(len(c.first)+len(c.pages)))
	f.i64(9, offset+int64(len(c.first)))
	if len(c.first) > 0 {
		f.i64(11, offset)
	}
	f.inside(12) // Statistics
	f.i64(3, c.nulls)
	if least, most := c.bounds(); least != nil {
		f.text(5, string(most))
		f.text(6, string(least))
	}
	f.end()
	if c.Bloom {
		f.i64(14, filter)
		f.i32(15, len(c.filter.bytes))
	}
	f.end()
	f.end()
}
