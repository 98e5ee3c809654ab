package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCost(t *testing.T) {
	c := Cost{Inside: -20, Outside: 300, Rich: 200}
	var h Header
	require.Zero(t, h.Cost())
	h.Set(MetaCost, c.String())
	require.Equal(t, c, h.Cost())
	require.EqualValues(t, 300, c.Around(OpRead))
	require.EqualValues(t, 500, c.Around(OpOpen))
	require.Equal(t, "inside=-20 outside=300 rich=200", c.String())

	c.Call, c.Switch, c.Message = 100, 250, 70
	h.Meta = append(h.Meta, Meta{MetaCost, c.String()})
	require.Equal(t, c, h.Cost(), "of two remarks the last is what was measured in place")
	require.Zero(t, c.Before(&Event{Op: OpOpen}))
	require.EqualValues(t, 3*100, c.Before(&Event{Calls: 3}))
	require.EqualValues(t, 3*100+250, c.Before(&Event{Calls: 3, Off: Off{Wait: 1}}))
	require.EqualValues(t, 70, c.Before(&Event{Notes: &Notes{Has: NotedMessage}}))
	require.LessOrEqual(t, c.Before(&Event{Calls: MaxNote}), int64(MaxNote))

	h = Header{}
	h.Set(MetaCost, "outside=7 more=1 inside=x rich=99999999999")
	require.Equal(t, Cost{Outside: 7, Rich: 1<<31 - 1}, h.Cost())
}

// Threads of several nodes have costs of their own.
func TestCosts(t *testing.T) {
	var h Header
	require.Zero(t, *h.Costs().Of(1))
	require.Zero(t, *Costs(nil).Of(1))
	h.AddCost(Cost{Inside: 3}, 200)
	h.AddCost(Cost{Inside: 2}, 100)
	require.Zero(t, *h.Costs().Of(100))
	for _, outside := range []int64{1, 2} { // the last line counts
		h.Meta = append(h.Meta, Meta{MetaCost, Cost{Inside: 1, Outside: outside}.String()})
	}
	require.Equal(t, Cost{Inside: 1, Outside: 2}, h.Cost())
	costs := h.Costs()
	for tid, want := range map[int32]int64{-7: 1, 0: 1, 1: 1, 100: 1, 101: 2, 200: 2, 201: 3, 1 << 30: 3} {
		require.Equal(t, want, costs.Of(tid).Inside, "thread %d", tid)
	}

	for above := range int32(2 * maxCosts) { // from a stranger
		h.AddCost(Cost{}, above-maxCosts)
	}
	require.Len(t, h.Costs(), maxCosts)
	require.Zero(t, testing.AllocsPerRun(10, func() { costs.Of(150) }))
}
