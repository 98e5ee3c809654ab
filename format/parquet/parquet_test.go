package parquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	others "github.com/parquet-go/parquet-go"
	differences "github.com/parquet-go/parquet-go/encoding/delta"
	runs "github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/stretchr/testify/require"

	"pianola/internal/testkit"
)

// every has a column of each kind and encoding.
var every = []Column{
	{Name: "narrow", Kind: Int32, Encoding: Plain, Optional: false},
	{Name: "narrow or null", Kind: Int32, Encoding: Plain, Optional: true},
	{Name: "number", Kind: Int64, Encoding: Plain, Optional: false},
	{Name: "number or null", Kind: Int64, Encoding: Plain, Optional: true},
	{Name: "growing", Kind: Int64, Encoding: Delta, Optional: false},
	{Name: "growing or null", Kind: Int64, Encoding: Delta, Optional: true},
	{Name: "text", Kind: Text, Encoding: Plain, Optional: false},
	{Name: "text or null", Kind: Text, Encoding: Plain, Optional: true},
	{Name: "word", Kind: Text, Encoding: Dictionary, Optional: false},
	{Name: "word or null", Kind: Text, Encoding: Dictionary, Optional: true},
	{Name: "null", Kind: Text, Encoding: Dictionary, Optional: true},
	{Name: "time", Kind: Time, Encoding: Delta, Optional: true},
}

// cell is a value: nil, an int64 or a string.
type cell any

func write(t testing.TB, columns []Column, rows [][]cell) []byte {
	var b bytes.Buffer
	w := NewWriter(&b, columns)
	w.SetMetadata("key", "value")
	for _, row := range rows {
		require.NoError(t, put(w, row))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func put(w *Writer, row []cell) error {
	for k, v := range row {
		switch v := v.(type) {
		case nil:
			w.Null(k)
		case int64:
			w.Int(k, v)
		case string:
			w.Text(k, []byte(v))
		}
	}
	return w.EndRow()
}

func open(t testing.TB, b []byte) *others.File {
	f, err := others.OpenFile(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	return f
}

// requireRows holds that a reader of others reads rows.
func requireRows(t testing.TB, f *others.File, columns []Column, rows [][]cell) {
	require.EqualValues(t, len(rows), f.NumRows())
	r := others.NewReader(f)
	defer r.Close()
	buffer := make([]others.Row, 1)
	for i, want := range rows {
		n, err := r.ReadRows(buffer)
		require.Equal(t, 1, n, "row %d: %v", i, err)
		for k, v := range buffer[0] {
			var got cell
			switch {
			case v.IsNull():
			case columns[k].Kind == Int32:
				got = int64(v.Int32())
			case columns[k].Kind != Text:
				got = v.Int64()
			default:
				got = string(v.ByteArray())
			}
			if want[k] != got {
				require.Equal(t, want[k], got, "row %d, column %q", i, columns[k].Name)
			}
		}
	}
}

// pages is how many pages the tests fill.
func pages() int {
	if testing.Short() {
		return 1
	}
	return 3
}

// random returns rows for the columns of every.
func random(n int) (rows [][]cell) {
	rnd := rand.New(rand.NewPCG(1, 2))
	ints := func() cell {
		if rnd.IntN(20) == 0 {
			return []int64{math.MinInt64, math.MaxInt64, 0, -1}[rnd.IntN(4)]
		}
		return rnd.Int64N(1 << rnd.IntN(63))
	}
	narrow := func() cell { return int64(int32(rnd.Uint32())) }
	texts := func() cell { return strings.Repeat("ö", rnd.IntN(20)) }
	words := func() cell { return "word" + strconv.Itoa(rnd.IntN(1+rnd.IntN(1000))) }
	orNull := func(c cell, i int) cell {
		// Nulls and values come mixed, and in long runs.
		if i/1000%3 == 0 && rnd.IntN(2) == 0 || i/1000%3 == 1 {
			return nil
		}
		return c
	}
	for i := range n {
		rows = append(rows, []cell{narrow(), orNull(narrow(), i), ints(), orNull(ints(), i), ints(), orNull(ints(), i),
			texts(), orNull(texts(), i), words(), orNull(words(), i), nil, orNull(ints(), i)})
	}
	return rows
}

func TestRoundTrip(t *testing.T) {
	all := random(pages()*pageRows + 77)
	for _, n := range []int{0, 1, 2, 7, 8, 9, 128, 129, 130, 1000, len(all)} {
		b := write(t, every, all[:n])
		require.Equal(t, b, write(t, every, all[:n]))
		f := open(t, b)
		requireRows(t, f, every, all[:n])
		value, ok := f.Lookup("key")
		require.True(t, ok)
		require.Equal(t, "value", value)
	}
}

// A row group is bounded in rows.
func TestRowGroups(t *testing.T) {
	columns := []Column{{Name: "n", Kind: Int64, Encoding: Delta, Optional: false}}
	rows := make([][]cell, 2*groupRows+5)
	for i := range rows {
		rows[i] = []cell{int64(i * i)}
	}
	f := open(t, write(t, columns, rows))
	requireRows(t, f, columns, rows)
	require.Len(t, f.RowGroups(), 3)
	for i, g := range f.Metadata().RowGroups {
		require.LessOrEqual(t, g.NumRows, int64(groupRows))
		s := g.Columns[0].MetaData.Statistics
		require.EqualValues(t, rows[i*groupRows][0], binary.LittleEndian.Uint64(s.MinValue))
		require.EqualValues(t, rows[min((i+1)*groupRows, len(rows))-1][0], binary.LittleEndian.Uint64(s.MaxValue))
	}
}

// A row group is bounded in bytes, too, and so are pages of plain text.
func TestLongTexts(t *testing.T) {
	columns := []Column{{Name: "name", Kind: Text, Encoding: Dictionary, Optional: true}, {Name: "text", Kind: Text, Encoding: Plain, Optional: true}}
	rnd := rand.NewChaCha8([32]byte{})
	var rows [][]cell
	noise := make([]byte, 1<<20)
	for range 50 {
		_, _ = rnd.Read(noise)
		text := strings.ToValidUTF8(string(noise), "?")
		rows = append(rows, []cell{text, text})
	}
	b := write(t, columns, rows)
	f := open(t, b)
	requireRows(t, f, columns, rows)
	require.Greater(t, len(f.RowGroups()), 2)
	for _, g := range f.Metadata().RowGroups {
		require.Less(t, g.TotalCompressedSize, int64(groupBytes+4<<20))
		for _, c := range g.Columns {
			require.Empty(t, c.MetaData.Statistics.MinValue, "texts are too long for statistics")
		}
	}
}

func TestStatistics(t *testing.T) {
	rows := [][]cell{{int64(-5), "pear", nil}, {int64(7), "apple", nil}, {nil, "zebra", nil}, {nil, nil, nil}}
	columns := []Column{{Name: "n", Kind: Int64, Encoding: Plain, Optional: true}, {Name: "word", Kind: Text, Encoding: Dictionary, Optional: true}, {Name: "null", Kind: Int32, Encoding: Plain, Optional: true}}
	f := open(t, write(t, columns, rows))
	var got []string
	for _, c := range f.Metadata().RowGroups[0].Columns {
		s := c.MetaData.Statistics
		got = append(got, fmt.Sprintf("%d %q %q", s.NullCount, s.MinValue, s.MaxValue))
	}
	require.Equal(t, []string{
		`2 "\xfb\xff\xff\xff\xff\xff\xff\xff" "\a\x00\x00\x00\x00\x00\x00\x00"`,
		`1 "apple" "zebra"`,
		`4 "" ""`,
	}, got)
}

// Rows are sorted in row groups, and those of the same key keep their order.
func TestSorted(t *testing.T) {
	columns := []Column{{Name: "n", Kind: Int64, Optional: true}, {Name: "key", Kind: Time, Encoding: Delta}, {Name: "text", Kind: Text, Optional: true}}
	rnd := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	w := NewWriter(&b, columns)
	w.SortBy(1)
	rows := make([][]cell, groupRows+1000)
	for i := range rows {
		rows[i] = []cell{nil, rnd.Int64N(5000) - 2500, nil}
		if i%3 != 0 {
			rows[i][0] = int64(i)
		}
		if i%5 != 0 {
			rows[i][2] = strconv.Itoa(i)
		}
		require.NoError(t, put(w, rows[i]))
	}
	require.NoError(t, w.Close())
	for _, group := range [][][]cell{rows[:groupRows], rows[groupRows:]} {
		slices.SortStableFunc(group, func(a, b []cell) int { return cmp.Compare(a[1].(int64), b[1].(int64)) })
	}
	f := open(t, b.Bytes())
	requireRows(t, f, columns, rows)
	require.Len(t, f.RowGroups(), 2)
	for _, g := range f.Metadata().RowGroups {
		require.Len(t, g.SortingColumns, 1)
		require.EqualValues(t, 1, g.SortingColumns[0].ColumnIdx)
		require.False(t, g.SortingColumns[0].Descending)
	}
	require.Equal(t, "TIMESTAMP(isAdjustedToUTC=true,unit=NANOS)", f.Schema().Fields()[1].Type().LogicalType().String())
}

// Bloom filters of others find what is there, and hardly anything else.
func TestBloom(t *testing.T) {
	for _, n := range []int{1, 5, 3000, groupRows + 9000} {
		columns := []Column{{Name: "n", Kind: Int64}, {Name: "text", Kind: Text, Encoding: Dictionary, Bloom: true}}
		text := func(i int) string { return strings.Repeat("x", i%70) + strconv.Itoa(i) }
		rows := make([][]cell, n)
		for i := range rows {
			rows[i] = []cell{int64(i), text(i)}
		}
		f := open(t, write(t, columns, rows))
		for k, g := range f.RowGroups() {
			require.Nil(t, g.ColumnChunks()[0].BloomFilter())
			filter := g.ColumnChunks()[1].BloomFilter()
			from, to := k*groupRows, min((k+1)*groupRows, n)
			var wrong int
			for i := from; i < to+5000; i++ {
				found, err := filter.Check(others.ValueOf(text(i)))
				require.NoError(t, err)
				switch {
				case i < to:
					require.True(t, found, text(i))
				case found:
					wrong++
				}
			}
			require.Less(t, wrong, 50)
		}
	}
}

// The file is the same however many processors there are.
func TestProcessors(t *testing.T) {
	rows := random(pages()*pageRows + 5)
	want := write(t, every, rows)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, n := range []int{1, 3, 20} {
		runtime.GOMAXPROCS(n)
		require.True(t, bytes.Equal(want, write(t, every, rows)), n)
	}
}

func TestErrors(t *testing.T) {
	w := NewWriter(testkit.Broken{}, every)
	require.ErrorIs(t, put(w, random(1)[0]), os.ErrClosed)
	require.ErrorIs(t, w.Close(), os.ErrClosed)

	// Wherever the disk gets full, Close says so.
	rows := random(100)
	whole := len(write(t, every, rows))
	for room := 0; room < whole; room += 1 + whole/50 {
		w := NewWriter(&full{room}, every)
		w.SetMetadata("key", "value")
		for _, row := range rows {
			_ = put(w, row)
		}
		require.ErrorIs(t, w.Close(), io.ErrShortWrite)
	}
}

// full takes so many bytes.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.room {
		return 0, io.ErrShortWrite
	}
	f.room -= len(b)
	return len(b), nil
}

// Rows cost no memory.
func TestFewAllocations(t *testing.T) {
	rows := random(1000)
	w := NewWriter(io.Discard, every[:6])
	texts := [][]byte{[]byte("one"), []byte("two")}
	written := func() {
		for _, row := range rows {
			for k, v := range row[:6] {
				if n, ok := v.(int64); ok {
					w.Int(k, n)
				} else {
					w.Null(k)
				}
			}
			_ = w.EndRow()
		}
	}
	for range 2 * groupRows / len(rows) { // reserves memory
		written()
	}
	require.LessOrEqual(t, testing.AllocsPerRun(20, written), 1.0)

	w = NewWriter(io.Discard, every[8:9])
	require.LessOrEqual(t, testing.AllocsPerRun(2*pageRows, func() { w.Text(0, texts[0]); w.Text(0, texts[1]) }), 0.0)
}

// FuzzEncodings holds that decoders of others read what is packed.
func FuzzEncodings(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add(bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 0x80}, 300), uint8(17))
	f.Add(bytes.Repeat([]byte{0xff, 0, 0, 0, 0, 0, 0, 0x80}, 40), uint8(32))
	f.Add(append(bytes.Repeat([]byte{5, 0, 0, 0}, 21), 1, 0, 0, 0), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, width uint8) {
		var ints []int64
		var indexes []uint32
		var levels []uint8
		width = 1 + width%32
		for i := 0; i+8 <= len(b); i += 8 {
			ints = append(ints, int64(binary.LittleEndian.Uint64(b[i:])))
		}
		for i := 0; i+4 <= len(b); i += 4 {
			indexes = append(indexes, binary.LittleEndian.Uint32(b[i:])&(1<<width-1))
		}
		for i := range b {
			levels = append(levels, b[i]&1)
		}

		gotInts, err := new(differences.BinaryPackedEncoding).DecodeInt64(nil, appendDelta(nil, ints))
		require.NoError(t, err)
		require.Equal(t, len(ints), len(gotInts))
		for i := range ints {
			require.Equal(t, ints[i], gotInts[i], i)
		}

		// The last group is filled with zeros, which a page's number of values leaves out.
		gotIndexes, err := (&runs.Encoding{BitWidth: int(width)}).DecodeInt32(nil, appendHybrid(nil, indexes, int(width)))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(gotIndexes), len(indexes))
		require.Less(t, len(gotIndexes), len(indexes)+8)
		for i := range indexes {
			require.Equal(t, int32(indexes[i]), gotIndexes[i], i)
		}
		gotLevels, err := (&runs.Encoding{BitWidth: 1}).DecodeLevels(nil, appendHybrid(nil, levels, 1))
		require.NoError(t, err)
		require.Equal(t, levels, append([]uint8(nil), gotLevels[:len(levels)]...))
	})
}
