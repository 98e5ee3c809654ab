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
}

// The numbers of the specification.
const (
	typeOfInt32, typeOfInt64, typeOfText = 1, 2, 6

	plain, rle, delta, rleDictionary = 0, 3, 5, 8

	dataPage, dictionaryPage = 0, 2

	codecZstd = 6
)

func (c *Column) physical() int { return [...]int{typeOfInt32, typeOfInt64, typeOfText}[c.Kind] }

func (c *Column) encoding() int { return [...]int{plain, rleDictionary, delta}[c.Encoding] }

const (
	pageRows  = 1 << 14
	pageBytes = 1 << 20 // of plain text; a page is at most one text longer

	// maxBound is the length of the longest texts in statistics.
	maxBound = 128
)

// column holds what is not written yet of a column.
type column struct {
	Column
	zstd *zstd.Encoder

	// The page that is being filled.
	levels  []uint8 // of its rows: 0 for null, 1 for a value
	ints    []int64
	indexes []uint32 // in the dictionary
	plain   []byte   // texts with their lengths

	// Memory for finishing a page.
	page   []byte
	packed []byte // the page, compressed
	header thrift

	// The chunk: what the row group has of the column.
	pages       []byte // complete, with headers
	bare        int64  // bytes of those before compression
	rows, nulls int64
	least, most int64 // of integers
	known       map[string]uint32
	dictionary  []byte // texts with their lengths
}

func newColumn(c Column, z *zstd.Encoder) *column {
	n := &column{Column: c, zstd: z, known: make(map[string]uint32)}
	n.reset()
	return n
}

// reset empties the chunk and keeps its memory.
func (c *column) reset() {
	c.pages, c.bare, c.rows, c.nulls = c.pages[:0], 0, 0, 0
	c.least, c.most = math.MaxInt64, math.MinInt64
	c.dictionary = c.dictionary[:0]
	clear(c.known)
}

// held returns how many bytes of memory the chunk takes, without the page.
func (c *column) held() int { return len(c.pages) + len(c.dictionary) }

func (c *column) null() {
	c.nulls++
	c.row(0)
}

func (c *column) int(v int64) {
	c.ints = append(c.ints, v)
	c.least, c.most = min(c.least, v), max(c.most, v)
	c.row(1)
}

func (c *column) string(v []byte) {
	if c.Encoding != Dictionary {
		c.plain = appendText(c.plain, v)
		c.row(1)
		return
	}
	index, ok := c.known[string(v)]
	if !ok {
		index = uint32(len(c.known))
		c.known[string(v)] = index
		c.dictionary = appendText(c.dictionary, v)
	}
	c.indexes = append(c.indexes, index)
	c.row(1)
}

func (c *column) row(level uint8) {
	c.rows++
	c.levels = append(c.levels, level)
	if len(c.levels) == pageRows || len(c.plain) >= pageBytes {
		c.finishPage()
	}
}

func appendText(dst, text []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
}

// finishPage moves the page into the chunk.
func (c *column) finishPage() {
	if len(c.levels) == 0 {
		return
	}
	b := c.page[:0]
	if c.Optional {
		b = appendHybrid(append(b, 0, 0, 0, 0), c.levels, 1)
		binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	}
	switch {
	case c.Encoding == Dictionary:
		width := max(1, bits.Len(uint(max(len(c.known), 1)-1)))
		b = appendHybrid(append(b, byte(width)), c.indexes, width)
	case c.Encoding == Delta:
		b = appendDelta(b, c.ints)
	case c.Kind == Int32:
		for _, v := range c.ints {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	case c.Kind == Int64:
		for _, v := range c.ints {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
	default:
		b = append(b, c.plain...)
	}
	c.page = b
	c.pages = c.appendPage(c.pages, b, dataPage, len(c.levels))
	c.levels, c.ints, c.indexes, c.plain = c.levels[:0], c.ints[:0], c.indexes[:0], c.plain[:0]
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
	case c.Kind == Int64:
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

// write writes the chunk, and its description into the list of row groups, and
// empties it. It returns its bytes before compression.
func (c *column) write(p *Writer) (bare int64) {
	c.finishPage()
	var first []byte
	if c.Encoding == Dictionary {
		first = c.appendPage(nil, c.dictionary, dictionaryPage, len(c.known))
	}
	offset, f := p.offset, &p.list
	p.write(first)
	p.write(c.pages)
	bare = c.bare

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
	f.i64(6, bare)
	f.i64(7, int64(len(first)+len(c.pages)))
	f.i64(9, offset+int64(len(first)))
	if first != nil {
		f.i64(11, offset)
	}
	f.inside(12) // Statistics
	f.i64(3, c.nulls)
	if least, most := c.bounds(); least != nil {
		f.text(5, string(most))
		f.text(6, string(least))
	}
	f.end()
	f.end()
	f.end()
	c.reset()
	return bare
}
