package bin

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// packer is shared, for to make one costs more than to use it.
var packer = newEncoder()

// pack returns a loader of one part of the form rows, and the part.
func pack(rows []uint64, k kind) (loader, part) {
	packed := packer.rows(nil, rows, kinds[k].width)
	p := k.part(0, int64(len(rows)/kinds[k].width))
	p.length, p.crc = int64(len(packed)), checksum(packed)
	return newLoader(bytes.NewReader(packed), DefaultLimit), p
}

// decoded returns the rows of a part, decoded so many at a time.
func decoded(t testing.TB, l *loader, p *part, at int) []uint64 {
	t.Helper()
	var f frame
	require.NoError(t, f.load(l, p, kinds[p.kind].width))
	rows := make([]uint64, f.rows*f.width)
	for rest := rows; len(rest) > 0; {
		n := min(at*f.width, len(rest))
		f.decode(rest[:n])
		rest = rest[n:]
	}
	require.Zero(t, f.left())
	return rows
}

func TestColumns(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for name, value := range map[string]func(i int) uint64{
		"zero":        func(int) uint64 { return 0 },
		"constant":    func(int) uint64 { return 1<<63 + 5 },
		"no result":   func(int) uint64 { return 1 << 63 },
		"progression": func(i int) uint64 { return 77 + 4096*uint64(i) },
		"descending":  func(i int) uint64 { return uint64(-3 * i) },
		"wraps":       func(i int) uint64 { return uint64(i) * (1 << 61) },
		"extremes":    func(i int) uint64 { return []uint64{math.MaxInt64, 1 << 63, 0, math.MaxUint64}[i%4] },
		"low byte":    func(int) uint64 { return 0xabcd00 + uint64(r.Intn(256)) },
		"two bytes":   func(int) uint64 { return uint64(r.Intn(4000)) << 12 },
		"high byte":   func(int) uint64 { return uint64(r.Intn(256)) << 56 },
		"walk":        func(i int) uint64 { return uint64(i*1000 + r.Intn(1000)) },
		"noise":       func(int) uint64 { return r.Uint64() },
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{0, 1, 2, 3, 255, 256, 257, 5000, rowsPerPart} {
				rows := make([]uint64, n)
				for i := range rows {
					rows[i] = value(i)
				}
				l, p := pack(rows, kindDurations)
				for _, at := range []int{1, 7, 256, 300, n + 1} {
					require.Equal(t, rows, decoded(t, &l, &p, at), "%d rows, %d at a time", n, at)
				}
			}
		})
	}
}

func TestColumnsTakeNoSpaceWhereNothingVaries(t *testing.T) {
	rows := make([]uint64, 0, rowsPerPart*maxWidth)
	for i := range uint64(rowsPerPart) {
		rows = append(rows, uint64(format.OpPread64), 20000, 0, 4096, 3, 0, 4096, i*4096, 0, 0)
	}
	_, p := pack(rows, kindRecords)
	require.Less(t, p.length, int64(50))
}

func TestPlanesOfRowsAreApart(t *testing.T) {
	rows := make([]uint64, 700*maxWidth)
	r := rand.New(rand.NewSource(1))
	for i := range rows {
		rows[i] = r.Uint64() >> r.Intn(64)
	}
	l, p := pack(rows, kindRecords)
	require.Equal(t, rows, decoded(t, &l, &p, 33))
}

// The mode of a word is chosen by cost; it must not depend on floating point.
func TestCost(t *testing.T) {
	require.EqualValues(t, 0, log2(1))
	require.EqualValues(t, 256*12+128, log2(4096+2048))
	same, two := make([]uint64, 512), make([]uint64, 512)
	for i := range two {
		two[i] = uint64(i&1) << 8
	}
	require.Zero(t, cost(same, 1, math.MaxUint64))
	require.EqualValues(t, 512*256, cost(two, 2, math.MaxUint64)) // a bit each
}

func FuzzRows(f *testing.F) {
	f.Add([]byte("the quick brown fox jumps over the lazy dog, twice and more"), uint8(1))
	f.Add(make([]byte, 400), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, at uint8) {
		for _, k := range []kind{kindDurations, kindEdges, kindRecords} {
			var rows []uint64
			for b := data; len(b) >= 8; b = b[8:] {
				rows = append(rows, binary.LittleEndian.Uint64(b))
			}
			rows = rows[:len(rows)/kinds[k].width*kinds[k].width]
			l, p := pack(rows, k)
			got := decoded(t, &l, &p, int(at)+1)
			require.Len(t, got, len(rows))
			for i := range rows {
				require.Equal(t, rows[i], got[i])
			}
		}
	})
}
