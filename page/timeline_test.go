package page

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/profile"
)

// A cell has the parts of its column, and names of calls stand there once.
func TestTimeline(t *testing.T) {
	cell := func(call string, nanos int64, parts ...int64) (c profile.Cell) {
		copy(c.Doing[:], parts)
		if call != "" {
			c.Longest = profile.Step{Name: call, File: "f", Nanos: nanos}
		}
		return c
	}
	got := newTimeline(&profile.Profile{Timeline: profile.Timeline{
		ColumnNanos: 1000,
		Lanes: []profile.Lane{
			{TID: 7, First: 2, Command: "/bin/db --sync", Cells: []profile.Cell{
				cell("read", 1_500_000, 500, 500), cell("read", 1_500_000, 500, 500), cell("", 0), cell("fsync", 20_000, 0, 0, 1), cell("", 0, 4000, 0, 4000),
			}},
			{TID: 8, Short: []profile.SpanTimes{{300}, {300}, {}}},
		},
		Others:   3,
		Segments: []profile.Segment{{Lane: 0, From: 0, To: 50, Name: "fsync", File: "f"}, {Lane: -1, From: 50, To: 90, Name: "compute"}},
	}})
	require.Equal(t, []lane{{"db 7", 2, "aibi,,-,c1,aici", "1.15o,,-,2.k,-", 7, ""}, {"thread 8", 0, "", "", 8, "ab,,-"}}, got.Lanes)
	require.Equal(t, []string{"read f", "fsync f", "compute"}, got.Calls)
	require.Equal(t, []pathSegment{{0, 0, 50, 2}, {-1, 50, 90, 3}}, got.Path)
	require.Equal(t, 3, got.Others)
	require.Len(t, got.Activities, int(profile.NumActivities))
}

// The names of files are bounded. Later calls have the name of their operation.
func TestTimelineNames(t *testing.T) {
	calls := names{places: make(map[[2]string]int)}
	for i := range 1000 {
		calls.place("read", strings.Repeat("x", 1000)+strconv.Itoa(i))
	}
	require.Less(t, calls.bytes, maxNames+2000)
	require.Equal(t, "read", calls.list[len(calls.list)-1])
	require.Equal(t, len(calls.list), calls.place("read", "another"))
}
