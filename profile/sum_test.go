package profile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// A sum has the calls of all programs, the quantiles of all their durations, and the
// longest run time.
func TestSum(t *testing.T) {
	var all, first, second Collector
	var sum Sum
	write := func(c *Collector, start, dur int64) {
		e := []format.Event{{Op: format.OpWrite, TID: 1, Start: start, Dur: dur, Ret: 10, Args: [format.MaxArgs]int64{3}}}
		require.NoError(t, c.Write(e))
		require.NoError(t, all.Write(e))
	}
	for i := range int64(100) {
		write(&first, 1000*i, 10+i)
	}
	write(&second, 500, 90_000)
	require.NoError(t, second.Write([]format.Event{{Op: format.OpFsync, TID: 1, Start: 200_000, Dur: -1, Ret: -5, Args: [format.MaxArgs]int64{3}}}))
	require.NoError(t, all.Write([]format.Event{{Op: format.OpFsync, TID: 1, Start: 200_000, Dur: -1, Ret: -5, Args: [format.MaxArgs]int64{3}}}))
	first.told.Floor, second.told.Floor = &format.Floor{Total: 5}, &format.Floor{Total: 4}
	sum.Add(&first)
	sum.Add(&second)
	got, want := sum.Profile(), all.Profile()
	require.EqualValues(t, 200_000, got.RunTime)
	require.Equal(t, &format.Floor{Total: 5}, got.Floor, "the longest")
	require.Equal(t, want.Categories, got.Categories)
	require.Equal(t, want.Ops, got.Ops)
	require.Equal(t, want.All, got.All)
	require.Equal(t, want.Latency, got.Latency)
	require.Equal(t, want.OpLatency, got.OpLatency)
	require.EqualValues(t, 101, got.Categories[Writes].Calls)
	require.EqualValues(t, 90_000, got.Latency[Writes].Max)
	require.EqualValues(t, 1, got.Categories[Syncs].Unknown)
	require.Equal(t, first.Profile().RunTime, int64(99_000+109))
}
