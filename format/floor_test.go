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
	require.Equal(t, "the run time can't fall below 1.200 s: of it 0.100 s I/O that was not recorded, 1.000 s waits that are tied to no event", f.Text())
	require.Equal(t, "the run time can't fall below 0.000 s", Floor{}.Text())
	h.Set(MetaFloor, "total=x waits=-1 other=3 storage")
	got, _ = h.Floor()
	require.Equal(t, Floor{}, got)
}
