package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGrouping(t *testing.T) {
	g := Grouping{Threads: 16, Syncs: 435, Joined: 4565}
	require.EqualValues(t, 313, g.Least())
	h := Header{}
	_, ok := h.Grouping()
	require.False(t, ok)
	h.Set(MetaGrouped, g.String())
	got, ok := h.Grouping()
	require.True(t, ok)
	require.Equal(t, g, got)
	require.Contains(t, g.Text(), "only 313")
	require.EqualValues(t, 2, Grouping{Threads: 3, Syncs: 2, Joined: 100}.Least())
	for _, wrong := range []string{"312", "threads=0 syncs=1 joined=1", "threads=-1 syncs=1 joined=1", "threads=9223372036854775807 syncs=1 joined=1"} {
		h.Set(MetaGrouped, wrong)
		_, ok := h.Grouping()
		require.False(t, ok, wrong)
	}
}
