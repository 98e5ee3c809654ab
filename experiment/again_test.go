package experiment

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/profile"
)

// A command that does something else when it runs again strays by its calls or its bytes.
func TestStrays(t *testing.T) {
	did := func(calls, bytes int64) *Run {
		p := &profile.Profile{}
		p.All.Calls, p.All.Bytes = calls, bytes
		k := profile.CategoryOf(format.OpWrite)
		p.Categories[k].Calls, p.Categories[k].Bytes = calls, bytes
		return &Run{Profile: p}
	}
	first := did(100, 1000)
	require.Empty(t, did(110, 1100).Strays(first))
	require.Equal(t, "made 111 calls instead of 100", did(111, 1000).Strays(first))
	require.Equal(t, "made 89 calls instead of 100", did(89, 1000).Strays(first))
	require.Equal(t, "moved 899 bytes instead of 1000", did(100, 899).Strays(first))
	require.Equal(t, "made 1 calls instead of 0", did(1, 0).Strays(did(0, 0)))
}
