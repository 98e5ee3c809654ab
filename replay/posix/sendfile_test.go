package posix

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Reserved bytes that were not used go back to the shared budget.
func TestReserve(t *testing.T) {
	e := bare(Options{})
	a, b := &worker{e: e, slotState: &slotState{}}, &worker{e: e, slotState: &slotState{}}
	e.bytes.Store(4 << 30)
	n := a.reserve(1 << 62)
	require.EqualValues(t, maxTransfer, n)
	require.EqualValues(t, 5, a.settle(1<<62, n, 5))
	require.EqualValues(t, lease, a.allowance)
	require.EqualValues(t, 4<<30-5-lease, e.bytes.Load())
	require.EqualValues(t, 100, b.reserve(100))
	require.EqualValues(t, -9, b.settle(100, 100, -9), "an error writes nothing")
	require.EqualValues(t, 4<<30-5-lease-100, e.bytes.Load())
	require.EqualValues(t, 100, b.allowance)
	require.Zero(t, b.reserve(-1))

	e.bytes.Store(50)
	require.EqualValues(t, 150, b.reserve(1000), "what is left")
	require.EqualValues(t, 149, b.settle(1000, 150, 149), "and enough")
	require.False(t, e.Stopped())
}
