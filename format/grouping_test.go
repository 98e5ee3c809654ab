package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGrouping(t *testing.T) {
	g := Grouping{Threads: 16, Commits: 5000, Groups: 435}
	require.EqualValues(t, 313, g.Least())
	h := Header{}
	_, ok := h.Grouping()
	require.False(t, ok)
	h.Set(MetaGrouped, g.String())
	got, ok := h.Grouping()
	require.True(t, ok)
	require.Equal(t, g, got)
	require.Contains(t, g.Text(), "5000 commits with 435 syncs")
	require.Contains(t, g.Needs(), "only 313")
	g.Recorded = 500
	require.Contains(t, g.Text(), "took 500 syncs in the application (10.0 commits each), and 435 in the replay (11.5)")
	require.EqualValues(t, 2, Grouping{Threads: 3, Commits: 102, Groups: 2}.Least())
	for _, wrong := range []string{"312", "threads=0 commits=1 groups=1 recorded=0", "threads=1 commits=1 groups=1 recorded=-1", "threads=9223372036854775807 commits=1 groups=1 recorded=0"} {
		h.Set(MetaGrouped, wrong)
		_, ok := h.Grouping()
		require.False(t, ok, wrong)
	}
}
