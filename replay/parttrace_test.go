package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/ranks"
	"pianola/replay/replaykit"
)

// Each player has consecutive ranks, and what their processes create.
func TestPlayers(t *testing.T) {
	thread := func(process, parent, rank int32) format.Thread {
		return format.Thread{Process: process, Parent: parent}.OfRank(rank)
	}
	h := &format.Header{Threads: []format.Thread{
		thread(1, 0, -1), // the launcher
		thread(2, 1, 10), thread(3, 1, 20), thread(4, 1, 30), thread(5, 1, 40),
		thread(2, 2, 10),  // a thread of rank 10
		thread(7, 5, -1),  // a process that rank 40 created
		thread(8, 0, -1),  // one without a parent
		thread(5, 5, 40),  // a thread of rank 40
		thread(10, 7, -1), // a grandchild
	}}
	for players, want := range map[int][]int{
		1: {0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		2: {0, 0, 0, 1, 1, 0, 1, 0, 1, 1},
		3: {0, 0, 0, 1, 2, 0, 2, 0, 2, 2},
		4: {0, 0, 1, 2, 3, 0, 3, 0, 3, 3},
		8: {0, 0, 2, 4, 6, 0, 6, 0, 6, 6},
	} {
		require.Equal(t, want, playersOf(h, players), "%d players", players)
	}
	require.Equal(t, []int{0}, playersOf(&format.Header{}, 4), "a trace without a table has one thread")

	plays := ThreadsOf(2, 3)(h)
	require.True(t, plays(5))
	require.False(t, plays(4))
	require.False(t, plays(11), "there is no such thread")
}

// A player has the thread table of all, and events, waits and descriptors of its own threads.
func TestOwnPart(t *testing.T) {
	r := replaykit.New(3)
	for i := range r.Head.Threads {
		r.Head.Threads[i] = format.Thread{Process: int32(i + 1)}.OfRank(int32(i))
		r.Add(int32(i+1), format.OpClose, 0, 3)
		r.Add(int32(i+1), format.OpClose, 0, 4)
	}
	r.Head.Threads[2].Parent = 1
	r.Wait(2, 1, 0)
	r.Head.Descriptors = []format.Descriptor{{Process: 1, FD: 3}, {Process: 2, FD: 4}}
	p := ownPart(r, &ranks.Session{Rank: 1, Size: 3})
	for thread, own := range map[int32]bool{1: false, 2: true, 3: false} {
		require.Equal(t, !own, p.isForeign(thread))
		require.Equal(t, own, p.Len(thread) > 0)
		waits, err := p.Waits(thread)
		require.NoError(t, err)
		require.Equal(t, own, len(waits) > 0)
	}
	require.Equal(t, []format.Descriptor{{Process: 2, FD: 4}}, p.Header().Descriptors)
	require.Zero(t, p.Header().Threads[2].Parent, "another player creates it")
	require.EqualValues(t, 1, r.Head.Threads[2].Parent, "the trace is as it was")
}
