package profile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

func TestCalls(t *testing.T) {
	c := &Collector{From: 0, To: 1e9}
	require.NoError(t, c.Write([]format.Event{
		on(format.OpOpenat, 1, 5, 2, 3, "/a", format.AtFDCWD),
		{Op: format.OpPread64, TID: 1, Start: 20e3, Dur: 7e3, Ret: 10, Args: [6]int64{3, 0, 10, 4096}, Off: format.Off{Storage: 100e3, Timer: 4e3}},
		on(format.OpWrite, 1, 30, 1, -5, "", 3, 0, 10),
		{Op: format.OpWait, TID: 2, Start: 40e3, Dur: 9e3, Args: [6]int64{format.WaitFutex}, Notes: &format.Notes{Has: format.NotedWaker, Waker: 1}},
		{Op: format.OpRead, TID: 1, Start: 50e3, Dur: format.Unknown, Ret: format.NoResult, Args: [6]int64{7}},
		on(format.OpRead, 1, 2_000_000, 1, 1, "", 3), // after the part
	}))
	p := c.Profile()
	require.Equal(t, int64(1e9), p.Calls.To)
	require.Zero(t, p.Calls.Least)
	list := p.Calls.List
	require.Len(t, list, 5)
	require.Equal(t, "/a", p.Files[list[1].File].Name)
	require.Equal(t, Call{TID: 1, Op: format.OpPread64, Activity: Activity(Reads), File: list[0].File, Start: 20e3, Nanos: 7e3,
		Gap: 13e3, Off: format.Off{Storage: 9e3, Timer: 4e3}, Offset: 4096, Ret: 10}, list[1])
	require.EqualValues(t, -5, list[2].Ret)
	require.Equal(t, DoingWaiting, list[3].Activity)
	require.EqualValues(t, 1, list[3].Waker)
	require.Equal(t, PartNone, list[3].File)
	require.EqualValues(t, -1, list[4].Nanos)

	require.Nil(t, read(t, testkit.Event(format.OpRead, 0, 1, 1)).Calls, "no part was asked for")
}

// The longest calls stay, and Least says which those are.
func TestLongestCallsStay(t *testing.T) {
	var s singles
	one := &thread{row: new(Thread)}
	const n = 5*MaxCalls + 3
	for i := range int64(n) {
		nanos := i * 7919 % 1000
		s.add(one, &call{start: i, end: i + nanos}, &format.Event{Op: format.OpRead, Dur: nanos}, nil, nil)
	}
	calls := s.snapshot(nil)
	require.LessOrEqual(t, len(calls.List), MaxCalls)
	longer := 0
	for i := range int64(n) {
		if i*7919%1000 >= calls.Least {
			longer++
		}
	}
	require.Len(t, calls.List, longer)
	for i := range calls.List {
		require.GreaterOrEqual(t, calls.List[i].Nanos, calls.Least)
	}
}
