package profile

import (
	"math"
	"math/rand/v2"
	"slices"
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

	require.EqualValues(t, 3e6, m.Rows[last].To, "the longest, not the bound of its row")
}

// No figure of durations is above the longest or below the shortest, although classes of
// durations are wider.
func TestDurationsHaveBounds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var events []format.Event
		shortest, longest := int64(math.MaxInt64), int64(0)
		for range 1 + rnd.IntN(300) {
			nanos := rnd.Int64N(1 << (1 + rnd.IntN(40)))
			events = append(events, format.Event{Op: format.OpRead, TID: 1, Dur: nanos, Ret: 1})
			shortest, longest = min(shortest, nanos), max(longest, nanos)
		}
		p := read(t, events...)
		l := p.Latency[Reads]
		require.Equal(t, []int64{shortest, longest}, []int64{l.Min, l.Max})
		list := l.List()
		quantiles := append([]int64{l.Min}, list[:]...)
		require.True(t, slices.IsSorted(quantiles), "%d", quantiles)
		require.True(t, slices.IsSorted(l.Tail), "%d", l.Tail)
		require.Equal(t, longest, l.Tail[len(l.Tail)-1])
		require.Equal(t, []int64{shortest, longest}, []int64{l.Bars[0].From, l.Bars[len(l.Bars)-1].To})
		rows := p.LatencyMaps[Reads].Rows
		require.Equal(t, longest, rows[len(rows)-1].To)
		var calls int64
		for _, b := range l.Bars {
			require.LessOrEqual(t, b.From, b.To)
			calls += b.Calls
		}
		require.EqualValues(t, len(events), calls)
	}
}
