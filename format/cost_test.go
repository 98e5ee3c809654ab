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

	c.Call, c.Switch = 100, 250
	h.Meta = append(h.Meta, Meta{MetaCost, c.String()})
	require.Equal(t, c, h.Cost(), "of two remarks the last is what was measured in place")
	require.Zero(t, c.Before(&Event{Op: OpOpen}))
	require.EqualValues(t, 3*100, c.Before(&Event{Calls: 3}))
	require.EqualValues(t, 3*100+250, c.Before(&Event{Calls: 3, Off: Off{Wait: 1}}))
	require.LessOrEqual(t, c.Before(&Event{Calls: MaxNote}), int64(MaxNote))

	h = Header{}
	h.Set(MetaCost, "outside=7 more=1 inside=x rich=99999999999")
	require.Equal(t, Cost{Outside: 7, Rich: 1<<31 - 1}, h.Cost())
}
