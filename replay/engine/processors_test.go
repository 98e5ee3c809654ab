package engine

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/schedstat"
)

// A thread takes the processor that is free first, when it asks or later.
func TestTakeProcessors(t *testing.T) {
	p := newProcessors(2)
	for _, test := range []struct{ from, nanos, until int64 }{
		{100, 50, 150},
		{100, 20, 120},
		{110, 10, 130}, // after the second
		{110, 5, 135},
		{140, 0, 140}, // only looks
		{145, 10, 155},
		{145, 10, 160}, // after the first
	} {
		require.Equal(t, test.until, p.take(test.from, test.nanos), "%+v", test)
	}
	require.EqualValues(t, 105, p.busy)
}

// A thread that asks late gets a processor that was free in time.
func TestTakeGaps(t *testing.T) {
	p := newProcessors(1)
	for _, test := range []struct{ from, nanos, until int64 }{
		{100, 50, 150},
		{200, 50, 250},
		{160, 10, 170},
		{155, 0, 155},  // only looks
		{155, 10, 175}, // before and after the one before
		{0, 60, 60},
		{50, 100, 250 + 100 - 40 - 5 - 25},
		{0, 10, 290},
	} {
		require.Equal(t, test.until, p.take(test.from, test.nanos), "%+v", test)
	}
	for at := range int64(2 * maxGaps) {
		p.take(1000+at*10, 5)
	}
	require.EqualValues(t, 1000+maxGaps*10-4, p.take(900, 1), "the oldest gaps are forgotten")
	require.EqualValues(t, 5000, p.pass(5000))
	require.EqualValues(t, 5010, p.take(900, 10), "no gap is left")
}

// The delay of a commit can contain waits, such as for a timer. A thread takes processors for the compute
// of its event, once.
func TestComputeBeforeCommit(t *testing.T) {
	e := &Engine{processors: newProcessors(1)}
	e.Speed = 1
	w := &Worker{e: e}
	w.waits = []format.Wait{{Event: -1}}
	r := &format.Record{Compute: 5_000_000_000, Off: 4_990_000_000}
	w.computeCommit(r, 4_000_000)
	require.EqualValues(t, 4_000_000, w.work)
	w.computeCommit(r, 2_000_000_000)
	require.EqualValues(t, 6_000_000, w.work, "the rest of 10 ms, not two seconds")
	w.computeFirst(r)
	require.Zero(t, w.work, "nothing is left for the event")
	w.computeFirst(r)
	require.EqualValues(t, 10_000_000, w.work)
}

// A short call takes a processor. A long one leaves it, and the thread waits for one afterwards.
func TestCallsTakeProcessors(t *testing.T) {
	e := &Engine{Stage: NewStage(NewClock(nil)), processors: newProcessors(1)}
	w := &Worker{e: e, Slot: &Slot{}}
	past := e.Now() - 1_000_000_000 // nothing sleeps
	e.processors.free[0] = past
	require.Equal(t, past+blocked-1, w.afterCall(past, blocked-1, true))
	require.Equal(t, past+blocked-1, e.processors.take(past, 0))
	e.processors.take(past, 10*blocked)
	require.Equal(t, past+11*blocked-1, w.afterCall(past, blocked, true), "another thread has the processor")
	require.Equal(t, past+20*blocked, w.afterCall(past, 20*blocked, true), "the processor is free by then")
	w.ran = 3 * blocked
	require.Equal(t, past+40*blocked, w.afterCall(past+20*blocked, 20*blocked, true))
	require.Equal(t, past+40*blocked, e.processors.take(past, 0))
	e.processors.free[0] = past + 39*blocked
	require.Equal(t, past+42*blocked, w.afterCall(past+20*blocked, 20*blocked, true), "it ran for a part of the call, when there was a processor")
	e.processors = newProcessors(1)
	e.processors.free[0] = past
	require.Equal(t, past+23*blocked, w.afterCall(past+3*blocked, 20*blocked, false))
	require.Equal(t, past+2*blocked, e.processors.take(past, 2*blocked), "a thread that reads keeps no other from computing before")
	require.Equal(t, past+8*blocked, e.processors.take(past+6*blocked, 2*blocked), "nor meanwhile")
}

// syncing is a player whose calls compute for a while, and then sleep.
type syncing struct{ Player }

func (syncing) Play(*format.Record) int64 {
	for begin := time.Now(); time.Since(begin) < 2*time.Millisecond; {
	}
	time.Sleep(20 * time.Millisecond)
	return 0
}

// A worker knows how long it ran in a call that can wait for storage.
func TestRunsInCalls(t *testing.T) {
	w := &Worker{e: &Engine{processors: newProcessors(1)}, Slot: &Slot{}, player: syncing{}}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w.runs = schedstat.Open()
	defer w.runs.Close()
	if w.runs == nil {
		t.Skip("the kernel does not tell how long threads run")
	}
	for _, op := range []format.Op{format.OpFsync, format.OpPread64} {
		require.True(t, transfers[op])
		w.ran = 0
		w.playCall(&format.Record{Op: op})
		require.Positive(t, w.ran, op)
		require.Less(t, w.ran, 20*time.Millisecond.Nanoseconds(), op)
	}
}
