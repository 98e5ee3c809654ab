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

	h.Set(MetaCost, "outside=7 more=1 inside=x rich=99999999999")
	require.Equal(t, Cost{Outside: 7, Rich: 1<<31 - 1}, h.Cost())
}
