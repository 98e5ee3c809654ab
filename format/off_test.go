package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOff(t *testing.T) {
	o := Off{Ready: 1, Own: 2, Wait: 3, Timer: 4, Storage: 5, Other: 6}
	require.EqualValues(t, 21, o.Total())
	require.Equal(t, o, o.Within(21))
	require.Equal(t, Off{Ready: 1, Own: 2, Wait: 3, Timer: 1}, o.Within(7))
	require.Equal(t, Off{}, o.Within(0))
	require.Equal(t, Off{Wait: 3}, Off{Ready: -9, Wait: 3}.Within(5))
	require.Equal(t, Off{Ready: 2, Own: 4, Wait: 6, Timer: 8, Storage: 10, Other: 12}, o.Plus(o))
	require.Equal(t, o, o.Less(0))
	require.Equal(t, Off{Ready: 1, Own: 2, Timer: 4, Storage: 5, Other: 4}, o.Less(5))
	require.Equal(t, Off{}, o.Less(100))
	less := o.Less(12)
	require.EqualValues(t, 9, less.Total())
	require.Equal(t, Off{Ready: 1, Own: 2, Wait: 3, Timer: 4, Storage: 5, Other: 6}, o, "the receiver stays")
	for i, p := range o.Parts() {
		require.EqualValues(t, i+1, *p, OffNames[i])
	}
}
