package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Each value has a name, which parses to the same value.
func TestNamesOfOptions(t *testing.T) {
	for i, name := range Timings.All {
		got, err := Timings.Parse(name)
		require.NoError(t, err)
		require.Equal(t, Timing(i), got)
		require.Equal(t, name, got.String())
	}
	_, err := Orders.Parse("whatever")
	require.EqualError(t, err, `unknown order "whatever": want resource, thread, total`)
	require.True(t, Timings.Has(AFAP))
	require.False(t, Timings.Has(AFAP+1))
}
