package futex

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKinds(t *testing.T) {
	for name, op := range map[string]uint32{"FUTEX_WAIT_BITSET_PRIVATE": 9 | 128, "FUTEX_LOCK_PI": 6} {
		require.Equal(t, Waits, KindOfName(name), name)
		require.Equal(t, Waits, KindOf(op), name)
	}
	require.Equal(t, Moves, KindOf(4|128|256))
	require.Equal(t, Wakes, KindOfName("FUTEX_WAKE"))
	require.Equal(t, Other, KindOf(77))
	require.Equal(t, Other, KindOfName("0x8c"))
}

// Two processes can wait at the same address without waking each other.
func TestPlaces(t *testing.T) {
	var p Pairs
	p.Begin(1, Place{1, 16}, Waits)
	p.Begin(2, Place{2, 16}, Waits)
	p.Begin(3, Place{1, 16}, Wakes)
	p.Woke(3, Place{1, 16}, Wakes, 1)
	require.Zero(t, p.Woken(2, Place{2, 16}))
	require.EqualValues(t, 3, p.Woken(1, Place{1, 16}))
	require.Zero(t, p.Woken(1, Place{1, 16}), "it did not wait")
}

// Calls that never end leave nothing behind.
func TestAbandon(t *testing.T) {
	var p Pairs
	for i := range int64(100) {
		p.Begin(1, Place{1, i}, Waits)
		p.Abandon(1, Place{1, i})
		p.Begin(1, Place{1, i}, Wakes)
	}
	require.Empty(t, p.sleepers)
	require.Len(t, p.wakes, 1)
	for i := range int32(maxSleepers + 100) {
		p.Begin(i, Place{1, 0}, Waits)
	}
	require.Len(t, p.sleepers[Place{1, 0}], maxSleepers)
}

func TestAWaitAllocatesNothing(t *testing.T) {
	var p Pairs
	here, there := Place{Process: 1, Address: 8}, Place{Process: 1, Address: 16}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		p.Begin(1, here, Waits)
		p.Begin(2, there, Waits)
		p.Begin(3, here, Wakes)
		p.Woke(3, here, Wakes, 1)
		require.Equal(t, int32(3), p.Woken(1, here))
		p.Abandon(2, there)
	}))
}
