package export

import (
	"bytes"
	"cmp"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"

	"pianola/format"
)

// A row group ends when it has so many rows, or its different texts take so many bytes.
const (
	groupRows  = 1 << 16
	groupBytes = 32 << 20
)

// column describes a column of a table.
type column struct {
	name     string
	says     kind // of the table of events: how CSV and JSON write it
	kind     columnKind
	plain    bool // of text: values are rarely equal
	delta    bool // of integers: stored as differences from the value before
	optional bool // it can hold nulls
	bloom    bool // of text: row groups have a Bloom filter of its values
	doc      string
}

type columnKind uint8

const (
	ofInt64 columnKind = iota
	ofInt32
	ofText // UTF-8
	ofTime // nanoseconds since 1970, UTC
)

// node returns the type of the column for the library.
func (c *column) node() (n parquet.Node) {
	switch {
	case c.kind == ofText:
		n = parquet.String()
	case c.kind == ofInt32:
		n = parquet.Leaf(parquet.Int32Type)
	case c.kind == ofTime:
		n = parquet.Timestamp(parquet.Nanosecond)
	default:
		n = parquet.Leaf(parquet.Int64Type)
	}
	switch {
	case c.delta:
		n = parquet.Encoded(n, &parquet.DeltaBinaryPacked)
	case c.kind == ofText && !c.plain:
		n = parquet.Encoded(n, &parquet.RLEDictionary)
	}
	if c.optional {
		n = parquet.Optional(n)
	}
	return n
}

// level returns the level of the values of the column, which tells them from nulls.
func (c *column) level() int {
	if c.optional {
		return 1
	}
	return 0
}

// ordered are columns in the order of a table. A Group is in the order of names.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o ordered) Fields() []parquet.Field { return o.fields }

func schemaOf(columns []column) *parquet.Schema {
	group := make(parquet.Group)
	places := make(map[string]int)
	for k := range columns {
		group[columns[k].name] = columns[k].node()
		places[columns[k].name] = k
	}
	fields := make([]parquet.Field, len(columns))
	for _, f := range group.Fields() {
		fields[places[f.Name()]] = f
	}
	return parquet.NewSchema("schema", ordered{group, fields})
}

// table writes a Parquet file. A row is a value or a null for each column, in any order,
// then endRow. The rows of a row group stay in memory until it is full: then they are
// sorted, and goroutines encode a column each at a time, while the next one is filled. The
// file does not depend on their number. The methods of a table belong to one goroutine.
type table struct {
	out     *parquet.GenericWriter[any]
	columns []column
	cells   []cells // of each column
	full    []cells // the row group before, while it is encoded
	key     int     // column by which the rows of a row group are sorted, -1 for none
	most    int     // rows of a row group
	rows    int
	bytes   int   // of texts
	err     error // the first one; nothing is written after it

	encoding sync.WaitGroup
	failed   error // of the row group before, after encoding
}

// cells are the values of a column in the rows of a row group.
type cells struct {
	nulls  []bool
	some   bool    // a value came; until then nulls and values are empty
	values []int64 // numbers, or places in texts; 0 for null
	texts  []parquet.Value
	place  map[string]int64 // of texts
	err    error
}

func newCells(columns []column) []cells {
	list := make([]cells, len(columns))
	for k := range list {
		if columns[k].kind == ofText && !columns[k].plain {
			list[k].place = make(map[string]int64)
		}
	}
	return list
}

// newTable begins a Parquet file with the remarks of a header. Its row groups have at most
// so many rows, and are sorted by column key, which holds no nulls; -1 for none.
func newTable(w io.Writer, h *format.Header, columns []column, key, most int) *table {
	options := []parquet.WriterOption{
		schemaOf(columns), parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(1),
		parquet.DataPageStatistics(false), // row groups and the index of pages have them
		parquet.WriteBufferSize(-1),       // w has a buffer; another would delay its errors
	}
	for k := range columns {
		if columns[k].kind == ofText {
			options = append(options, parquet.SkipPageBounds(columns[k].name)) // no query asks for a range of them
		}
		if columns[k].bloom {
			options = append(options, parquet.BloomFilters(parquet.SplitBlockFilter(bloomBits, columns[k].name)))
		}
	}
	if key >= 0 {
		options = append(options, parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending(columns[key].name))))
	}
	t := &table{
		out: parquet.NewGenericWriter[any](w, options...), columns: columns, cells: newCells(columns), full: newCells(columns), key: key,
		most: min(max(most, 1), groupRows),
	}
	for _, m := range h.Meta {
		t.out.SetKeyValueMetadata("pianola."+snake(m.Key), string(format.AppendName(nil, []byte(m.Value))))
	}
	t.out.SetKeyValueMetadata("pianola.threads", strconv.Itoa(len(h.Threads)))
	return t
}

// bloomBits are the bits of a Bloom filter for each value: fewer than one in a hundred
// other values pass.
const bloomBits = 12

// null sets a column of the row to null.
func (t *table) null(column int) {
	if c := &t.cells[column]; c.some {
		c.nulls = append(c.nulls, true)
		c.values = append(c.values, 0)
	}
}

// int sets a column of numbers or times.
func (t *table) int(column int, v int64) {
	c := &t.cells[column]
	if !c.some {
		c.begin(t.rows)
	}
	c.nulls = append(c.nulls, false)
	c.values = append(c.values, v)
}

// begin makes room for a value after so many nulls.
func (c *cells) begin(nulls int) {
	c.some = true
	for range nulls {
		c.nulls = append(c.nulls, true)
		c.values = append(c.values, 0)
	}
}

// text sets a column of text, and copies it. The text must be UTF-8.
func (t *table) text(column int, v []byte) {
	t.int(column, t.place(column, v))
}

// place returns the place of a text among those of the column, after it if it is new.
func (t *table) place(column int, v []byte) int64 {
	c := &t.cells[column]
	if n := len(c.values); n > 0 && !c.nulls[n-1] && bytes.Equal(c.texts[c.values[n-1]].ByteArray(), v) {
		return c.values[n-1]
	}
	place, known := c.place[string(v)]
	if !known {
		place = int64(len(c.texts))
		c.texts = append(c.texts, parquet.ByteArrayValue(bytes.Clone(v)))
		t.bytes += len(v)
		if c.place != nil {
			c.place[string(v)] = place
		}
	}
	return place
}

// endRow ends the row.
func (t *table) endRow() error {
	if t.rows++; t.rows == t.most || t.bytes >= groupBytes {
		t.endGroup()
	}
	return t.err
}

// endGroup lets the row group be written, after the one before.
func (t *table) endGroup() {
	t.wait()
	rows := t.rows
	t.cells, t.full, t.rows, t.bytes = t.full, t.cells, 0, 0
	if t.err == nil {
		t.encoding.Go(func() { t.failed = t.write(rows) })
	}
}

// wait waits for the row group before.
func (t *table) wait() {
	t.encoding.Wait()
	t.err = cmp.Or(t.err, t.failed)
}

// write writes the rows in t.full, and empties it.
func (t *table) write(rows int) (err error) {
	order := t.order(rows)
	var next atomic.Int32
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(t.columns)) {
		all.Go(func() {
			var batch [256]parquet.Value
			for k := int(next.Add(1)) - 1; k < len(t.columns); k = int(next.Add(1)) - 1 {
				t.full[k].err = t.encode(k, order, batch[:])
				t.full[k].reset()
			}
		})
	}
	all.Wait()
	for k := range t.full {
		err = cmp.Or(err, t.full[k].err)
	}
	if err == nil {
		err = t.out.Flush()
	}
	return err
}

func (c *cells) reset() {
	clear(c.texts)
	clear(c.place)
	c.nulls, c.values, c.texts, c.some = c.nulls[:0], c.values[:0], c.texts[:0], false
}

// order returns the rows of t.full as they have to be sorted. Rows of the same key keep
// their order.
func (t *table) order(rows int) []int32 {
	order := make([]int32, rows)
	for i := range order {
		order[i] = int32(i)
	}
	if t.key >= 0 {
		if keys := t.full[t.key].values; !slices.IsSorted(keys) {
			slices.SortFunc(order, func(a, b int32) int {
				if c := cmp.Compare(keys[a], keys[b]); c != 0 {
					return c
				}
				return cmp.Compare(a, b)
			})
		}
	}
	return order
}

// encode encodes a column of t.full. batch is memory.
func (t *table) encode(k int, order []int32, batch []parquet.Value) error {
	in, out, kind, level := &t.full[k], t.out.ColumnWriters()[k], t.columns[k].kind, t.columns[k].level()
	clear(batch)
	for len(order) > 0 {
		n := min(len(order), len(batch))
		for i, row := range order[:n] {
			if !in.some {
				break // batch is nulls
			}
			switch v := in.values[row]; {
			case in.nulls[row]:
				batch[i] = parquet.Value{}
				continue
			case kind == ofText:
				batch[i] = in.texts[v]
			case kind == ofInt32:
				batch[i] = parquet.Int32Value(int32(v))
			default:
				batch[i] = parquet.Int64Value(v)
			}
			batch[i].SetDefinitionLevel(level) // this tells it from a null
		}
		if _, err := out.WriteRowValues(batch[:n]); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

// close writes the rest of the file. It does not close the underlying writer.
func (t *table) close() error {
	t.endGroup()
	t.wait()
	if t.err == nil {
		t.err = t.out.Close()
	}
	return t.err
}
