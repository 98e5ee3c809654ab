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
	require.Equal(t, "I/O that was not recorded, waits without a known cause and compute bind", f.Binding())
	require.Equal(t, "compute binds", Floor{Total: 1}.Binding())
	require.Equal(t, "timers bind", Floor{Total: 100, Timers: 98}.Binding())
	scheduled := Floor{Total: 2_000_000_000, Of: FloorOfSchedule}
	require.Equal(t, "the recorded schedule binds", scheduled.Binding())
	require.Equal(t, "the replay cannot be shorter than 2.000 s, as it follows the recorded schedule", scheduled.Text())
	h.Set(MetaFloor, "total=x waits=-1 other=3 storage")
	got, _ = h.Floor()
	require.Equal(t, Floor{}, got)
}

// A log tells the floor of its replay, where the replay keeps to it.
func TestReplayFloor(t *testing.T) {
	h := &Header{}
	h.Set(MetaFloor, Floor{Total: 1000, Timers: 400}.String())
	_, ok := h.ReplayFloor()
	require.False(t, ok, "a trace is no replay")
	for options, want := range map[string]Floor{
		"timing=compute speed=1 order=resource": {Total: 1000, Timers: 400},
		"timing=compute speed=2 order=total":    {Total: 500, Timers: 200},
		"timing=compute speed=1 order=thread":   {},
		"timing=schedule speed=1":               {},
		"timing=afap speed=1":                   {},
	} {
		h.Set(MetaReplay, options)
		f, ok := h.ReplayFloor()
		require.Equal(t, want != Floor{}, ok, options)
		require.Equal(t, want, f, options)
	}
	scheduled := Floor{Total: 1000, Of: FloorOfSchedule}
	h.Set(MetaFloor, scheduled.String())
	for options, want := range map[string]Floor{
		"timing=schedule speed=1 order=thread":   scheduled,
		"timing=schedule speed=2 order=resource": {Total: 500, Of: FloorOfSchedule},
		"timing=compute speed=1 order=resource":  {},
		"timing=afap speed=1":                    {},
	} {
		h.Set(MetaReplay, options)
		f, ok := h.ReplayFloor()
		require.Equal(t, want != Floor{}, ok, options)
		require.Equal(t, want, f, options)
	}
	h.Set(MetaGrouped, Grouping{Threads: 1, Commits: 1, Groups: 1, Recorded: 1}.String())
	h.Set(MetaReplay, "timing=compute speed=2 order=resource")
	h.Set(MetaFloor, Floor{Total: 1000}.String())
	_, ok = h.ReplayFloor()
	require.False(t, ok, "threads commit in other groups than recorded")
	h.Set(MetaFloor, Floor{Total: 1000, Of: FloorOfProcessors}.String())
	f, ok := h.ReplayFloor()
	require.True(t, ok)
	require.Equal(t, Floor{Total: 500, Of: FloorOfProcessors}, f)
}
