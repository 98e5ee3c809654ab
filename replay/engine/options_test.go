package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Each value has a name, which parses to the same value.
func TestNamesOfOptions(t *testing.T) {
	for i, name := range timingNames {
		got, err := ParseTiming(name)
		require.NoError(t, err)
		require.Equal(t, Timing(i), got)
		require.Equal(t, name, got.String())
	}
	_, err := ParseOrder("whatever")
	require.EqualError(t, err, `unknown order "whatever": want resource, thread, total`)
	require.True(t, AFAP.Valid())
	require.False(t, (AFAP + 1).Valid())
}
