package process

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// A Fact has what an event did, by its arguments and its result.
func TestFacts(t *testing.T) {
	for _, test := range []struct {
		event format.Event
		did   format.Acts
		made  [2]int64
		first uint32
		last  uint32
	}{
		{format.Event{Op: format.OpClose, Args: args(3), Ret: -5}, format.Closes, [2]int64{-1, -1}, 3, 3},
		{format.Event{Op: format.OpClose, Args: args(3), Ret: -ebadf}, 0, [2]int64{-1, -1}, 1, 0},
		{format.Event{Op: format.OpCloseRange, Args: args(3, 9)}, format.Closes, [2]int64{-1, -1}, 3, 9},
		{format.Event{Op: format.OpCloseRange, Args: args(3, 9, format.CloseRangeCloexec)}, format.Marks, [2]int64{-1, -1}, 3, 9},
		{format.Event{Op: format.OpFcntl, Args: args(3, format.FDupfd), Ret: 4}, format.Duplicates, [2]int64{4, -1}, 1, 0},
		{format.Event{Op: format.OpFcntl, Args: args(3, format.FSetlk)}, format.Locks, [2]int64{-1, -1}, 1, 0},
		{format.Event{Op: format.OpPipe, Args: args(3 | 4<<32)}, format.Channels, [2]int64{3, 4}, 1, 0},
		{format.Event{Op: format.OpRename}, format.Renames, [2]int64{-1, -1}, 1, 0},
		{format.Event{Op: format.OpRenameat2, Args: args(0, 0, 0, 0, format.RenameExchange)}, format.Renames | format.Exchanges, [2]int64{-1, -1}, 1, 0},
		{format.Event{Op: format.OpUnlink, Ret: -2}, 0, [2]int64{-1, -1}, 1, 0},
		{format.Event{Op: format.OpExitGroup, Ret: format.NoResult}, format.Ends | format.EndsAll, [2]int64{-1, -1}, 1, 0},
		{format.Event{Op: format.OpFork, Ret: 7}, format.Starts, [2]int64{-1, -1}, 1, 0},
		{format.Event{Op: format.OpFork}, 0, [2]int64{-1, -1}, 1, 0},
	} {
		f := FactOf(&test.event)
		const all = format.ChangesTables | format.ChangesNames | format.Exchanges | format.Locks
		require.Equal(t, test.did, f.Did&all, "%v", test.event)
		one, other := f.Made()
		require.Equal(t, test.made, [2]int64{one, other}, "%v", test.event)
		first, last := f.Range()
		require.Equal(t, [2]uint32{test.first, test.last}, [2]uint32{first, last}, "%v", test.event)
	}
}

// A Fact does not keep what the event before moved, and allocates nothing.
func TestFactsOfReadsAllocateNothing(t *testing.T) {
	fl := follow(format.Event{Op: format.OpOpenat, TID: 1, Args: args(format.AtFDCWD, 0, format.RDWR), Str: name("a"), Ret: 3})
	events := []format.Event{
		{Op: format.OpRead, TID: 1, Args: args(3, 0, 10), Ret: 10},
		{Op: format.OpWrite, TID: 1, Args: args(3, 0, 5), Ret: 5},
		{Op: format.OpFsync, TID: 1, Args: args(3)},
	}
	moved := [3]bool{}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for i := range events {
			f := fl.Fact(&events[i])
			moved[i] = f.Moves() != nil && f.Moves().To-f.Moves().From == events[i].Ret
			fl.Apply(f)
		}
	}))
	require.Equal(t, [3]bool{true, true, false}, moved)
}
