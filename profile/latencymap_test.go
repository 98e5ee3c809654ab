package profile

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// Rows follow each other without gaps, and each duration is in its row.
func TestRowsOfLatencies(t *testing.T) {
	next := int64(0)
	for row := range mapRows {
		from, to := rowBounds(row)
		require.Equal(t, next, from)
		require.Equal(t, row, rowOf(from))
		require.Equal(t, row, rowOf(to))
		next = to + 1
	}
	require.Equal(t, mapRows-1, rowOf(math.MaxInt64))
}

func TestLatencyMap(t *testing.T) {
	p := read(t,
		testkit.Event(format.OpRead, 0, 3, 10),
		testkit.Event(format.OpRead, 1, 5, 10),
		testkit.Event(format.OpRead, 1_000_000, 3000, 10),
		testkit.Event(format.OpWrite, 7, 9, 10),
		format.Event{Op: format.OpRead, Start: 565e3, Dur: format.Unknown, Ret: format.NoResult},
	)
	m := p.LatencyMaps[Reads]
	require.Greater(t, m.ColumnNanos*mapColumns, int64(1e9))
	require.LessOrEqual(t, m.ColumnNanos*mapColumns/2, int64(1e9))
	require.Equal(t, int(1e9/m.ColumnNanos)+1, m.Columns)
	require.LessOrEqual(t, m.Rows[0].From, int64(3000))
	require.GreaterOrEqual(t, m.Rows[0].To, int64(3000))
	last := len(m.Rows) - 1
	require.EqualValues(t, 1, m.Rows[last].Calls)
	require.EqualValues(t, 1, m.Cells[m.Columns-1][last])
	var all int64
	for _, column := range m.Cells {
		for _, n := range column {
			all += n
		}
	}
	require.EqualValues(t, 3, all)
	require.Len(t, p.LatencyMaps[Writes].Rows, 1)
	require.Nil(t, p.LatencyMaps[Syncs])

	require.EqualValues(t, 3e6, m.P99(0, 2e9), "the longest, not the bound of its row")
	require.EqualValues(t, 3e6, m.P99(1e9, 1e9))
	require.Zero(t, m.P99(m.ColumnNanos, 2*m.ColumnNanos), "nothing began there")
	require.Zero(t, m.P99(5e9, 6e9))
	require.Less(t, m.P99(0, m.ColumnNanos), int64(8192))
}
