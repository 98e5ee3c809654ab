package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFloor(t *testing.T) {
	f := Floor{Total: 1_200_000_000, Storage: 100_000_000, Waits: 1_000_000_000}
	h := &Header{}
	_, ok := h.Floor()
	require.False(t, ok)
	h.Set(MetaFloor, f.String())
	got, ok := h.Floor()
	require.True(t, ok)
	require.Equal(t, f, got)
	require.Equal(t, "the replay cannot be shorter than 1.200 s, of which 0.100 s I/O that was not recorded, 1.000 s waits without a known cause", f.Text())
	require.Equal(t, "the replay cannot be shorter than 0.000 s", Floor{}.Text())
	h.Set(MetaFloor, "total=x waits=-1 other=3 storage")
	got, _ = h.Floor()
	require.Equal(t, Floor{}, got)
}
