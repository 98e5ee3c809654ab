package profile

import (
	"math/bits"
	"slices"
)

// LatencyMap says how long calls took over time. Time is cut into columns, and
// durations into rows, two to a power of two; a cell counts the calls, and the
// requests, that began in the column and took a time of the row.
type LatencyMap struct {
	ColumnNanos int64     // length of a column; the first starts with the recording
	Columns     int       // up to the last that holds anything
	Rows        []Bar     // the durations of each row, from the shortest to the longest, and all its calls
	Cells       [][]int64 // by column, then row
}

const (
	mapColumns = 1 << 8
	mapShift   = 12       // at least 4 µs in a column
	mapRows    = 2*42 + 1 // up to 73 minutes; what is longer is in the last
)

// latencyMap gathers a LatencyMap in fixed memory of 170 KiB. Where a call begins
// beyond the last column, neighbours are added together.
type latencyMap struct {
	shift   uint // a column is 1<<shift nanoseconds
	cells   [mapColumns][mapRows]int64
	longest int64 // duration
}

// rowOf returns the row of a duration.
func rowOf(nanos int64) int {
	n := bits.Len64(uint64(nanos))
	if n < 2 {
		return n // 0 and 1
	}
	return min(2*n-2+int(nanos>>(n-2)&1), mapRows-1)
}

// rowBounds returns the shortest and the longest duration of a row.
func rowBounds(row int) (from, to int64) {
	begin := func(row int) int64 {
		if row < 2 {
			return int64(row)
		}
		return int64(2+row&1) << (row/2 - 1)
	}
	return begin(row), begin(row+1) - 1
}

func newLatencyMap() *latencyMap { return &latencyMap{shift: mapShift} }

func (m *latencyMap) add(start, nanos int64) {
	for start>>m.shift >= mapColumns {
		m.widen()
	}
	m.cells[start>>m.shift][rowOf(nanos)]++
	m.longest = max(m.longest, nanos)
}

// widen adds each column to its neighbour.
func (m *latencyMap) widen() {
	m.shift++
	halve(m.cells[:], func(into, from *[mapRows]int64) { addCounts(into[:], from[:]) })
}

// snapshot returns nil if nothing was added.
func (m *latencyMap) snapshot() *LatencyMap {
	if m == nil {
		return nil
	}
	out := &LatencyMap{ColumnNanos: 1 << m.shift}
	var sums [mapRows]int64
	first, last := mapRows, -1
	for i := range m.cells {
		for row, n := range m.cells[i] {
			if n > 0 {
				out.Columns = i + 1
				sums[row] += n
				first, last = min(first, row), max(last, row)
			}
		}
	}
	for row := first; row <= last; row++ {
		from, to := rowBounds(row)
		out.Rows = append(out.Rows, Bar{from, to, sums[row]})
	}
	within(out.Rows, 0, m.longest)
	for i := range out.Columns {
		out.Cells = append(out.Cells, slices.Clone(m.cells[i][first:last+1]))
	}
	return out
}
