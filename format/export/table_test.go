package export

import (
	"bytes"
	"cmp"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"pianola/format"
)

// every has a column of each kind and encoding.
var every = []column{
	{name: "time", kind: ofTime, delta: true},
	{name: "narrow", kind: ofInt32},
	{name: "number or null", optional: true},
	{name: "growing or null", delta: true, optional: true},
	{name: "text", kind: ofText, plain: true, optional: true},
	{name: "word", kind: ofText, bloom: true},
	{name: "null", kind: ofText, optional: true},
}

// cell is a value: nil, an int64 or a string.
type cell any

// written returns a table of rows, sorted by column key.
func written(t *testing.T, columns []column, key int, rows [][]cell) ([]byte, *parquet.File) {
	t.Helper()
	var b bytes.Buffer
	w := newTable(&b, &format.Header{}, columns, key, groupRows)
	for _, row := range rows {
		require.NoError(t, put(w, row))
	}
	require.NoError(t, w.close())
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	return b.Bytes(), f
}

func put(w *table, row []cell) error {
	for k, v := range row {
		switch v := v.(type) {
		case nil:
			w.null(k)
		case int64:
			w.int(k, v)
		case string:
			w.text(k, []byte(v))
		}
	}
	return w.endRow()
}

// randomRows returns rows for the columns of every. Some columns are null at first.
func randomRows(n int) (rows [][]cell) {
	rnd := rand.New(rand.NewPCG(1, 2))
	orNull := func(v cell, chance int) cell {
		if rnd.IntN(chance) == 0 {
			return nil
		}
		return v
	}
	for i := range n {
		late := cell(nil)
		if i > n/2 {
			late = orNull(int64(i)-7, 3)
		}
		rows = append(rows, []cell{rnd.Int64N(1000) - 500, int64(int32(rnd.Uint32())), orNull(rnd.Int64()-rnd.Int64(), 2), late,
			orNull(strings.Repeat("ö", rnd.IntN(20)), 3), "word" + strconv.Itoa(rnd.IntN(1+rnd.IntN(1000))), nil})
	}
	return rows
}

// Row groups are bounded in rows, and their rows are sorted by the key. Rows of the same key
// keep their order. The file is the same however many processors there are.
func TestTable(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, n := range []int{0, 1, 300, groupRows + 1000} {
		rows := randomRows(n)
		runtime.GOMAXPROCS(1)
		one, f := written(t, every, 0, rows)
		runtime.GOMAXPROCS(5)
		five, _ := written(t, every, 0, rows)
		require.True(t, bytes.Equal(one, five))

		for group := range slices.Chunk(rows, groupRows) {
			slices.SortStableFunc(group, func(a, b []cell) int { return cmp.Compare(a[0].(int64), b[0].(int64)) })
		}
		r, row := parquet.NewReader(f), make([]parquet.Row, 1)
		for i := range rows {
			count, err := r.ReadRows(row)
			require.Equal(t, 1, count, err)
			for k, v := range row[0] {
				var got cell
				switch {
				case v.IsNull():
				case every[k].kind == ofText:
					got = string(v.ByteArray())
				default:
					got = v.Int64()
					if every[k].kind == ofInt32 {
						got = int64(v.Int32())
					}
				}
				if got != rows[i][k] {
					require.Equal(t, rows[i][k], got, "row %d of %d, column %s", i, n, every[k].name)
				}
			}
		}
		require.NoError(t, r.Close())
		require.EqualValues(t, n, f.NumRows())
		require.Len(t, f.RowGroups(), (n+groupRows-1)/groupRows)
		for _, g := range f.Metadata().RowGroups {
			require.Len(t, g.SortingColumns, 1)
			require.Zero(t, g.SortingColumns[0].ColumnIdx)
		}
		require.Equal(t, "TIMESTAMP(isAdjustedToUTC=true,unit=NANOS)", f.Schema().Fields()[0].Type().LogicalType().String())
	}
}

// A row group is bounded in the bytes of its texts, too.
func TestLongTexts(t *testing.T) {
	columns := []column{{name: "name", kind: ofText, optional: true}, {name: "text", kind: ofText, plain: true, optional: true}}
	rnd := rand.NewChaCha8([32]byte{})
	noise := make([]byte, 1<<20)
	var rows [][]cell
	for range 50 {
		_, _ = rnd.Read(noise)
		text := strings.ToValidUTF8(string(noise), "?")
		rows = append(rows, []cell{text, text})
	}
	_, f := written(t, columns, -1, rows)
	require.Greater(t, len(f.RowGroups()), 2)
	for _, g := range f.Metadata().RowGroups {
		require.Less(t, g.TotalCompressedSize, int64(groupBytes+4<<20))
	}
}

// Bloom filters find what is there, and hardly anything else. Statistics have the bounds.
func TestBloom(t *testing.T) {
	columns := []column{{name: "n"}, {name: "text", kind: ofText, bloom: true}}
	const n = groupRows + 9000
	rows := make([][]cell, n)
	for i := range rows {
		rows[i] = []cell{int64(i), strconv.Itoa(i)}
	}
	_, f := written(t, columns, -1, rows)
	for k, g := range f.RowGroups() {
		require.Nil(t, g.ColumnChunks()[0].BloomFilter())
		filter := g.ColumnChunks()[1].BloomFilter()
		from, to, wrong := k*groupRows, min((k+1)*groupRows, n), 0
		for i := from; i < to+5000; i++ {
			found, err := filter.Check(parquet.ValueOf(strconv.Itoa(i)))
			require.NoError(t, err)
			if i < to {
				require.True(t, found, i)
			} else if found {
				wrong++
			}
		}
		require.Less(t, wrong, 50)
		least, most, ok := g.ColumnChunks()[0].(*parquet.FileColumnChunk).Bounds()
		require.True(t, ok)
		require.Equal(t, []int64{int64(from), int64(to - 1)}, []int64{least.Int64(), most.Int64()})
	}
}

// Rows cost no memory while a row group is filled.
func TestRowsAllocateNothing(t *testing.T) {
	row, w := randomRows(1)[0], newTable(io.Discard, &format.Header{}, every, 0, groupRows)
	word := []byte("word")
	fill := func() {
		for k := range row {
			switch {
			case k == 5:
				w.text(k, word)
			case k < 4:
				w.int(k, 7)
			default:
				w.null(k)
			}
		}
		_ = w.endRow()
	}
	for range groupRows {
		fill() // reserves memory
	}
	require.LessOrEqual(t, testing.AllocsPerRun(groupRows/2, fill), 0.0)
}
