package engine

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// A worker notes its place in gaps, but not if that could make it late.
func TestNoted(t *testing.T) {
	w := &Worker{Slot: &Slot{}, Event: 7}
	require.EqualValues(t, 0, w.useGap(0, refillGap))
	require.Zero(t, w.noted.Load())
	require.EqualValues(t, 0, w.useGap(0, refillGap+1))
	require.EqualValues(t, 7, w.noted.Load())
}

// Due times are computed from due times, so that being late doesn't add up.
func TestLatenessIsCarriedOver(t *testing.T) {
	e := &Engine{Stage: &Stage{Clock: NewClock(nil), maxSpinning: 1}, Options: Options{Speed: 1}}
	w := &Worker{e: e, Slot: &Slot{batch: make([]format.Record, batchRecords)}}
	now := e.Now()
	w.due, w.end = now-10_000, now // the last event ended 10 µs late
	pin()                          // as a worker that plays
	defer unpin()
	due, begin := w.pace(&format.Record{Compute: 4_000})
	require.Equal(t, now-6_000, due)
	require.Equal(t, now, begin, "overdue: at once")

	w.due = due
	due, begin = w.pace(&format.Record{Compute: 300_000})
	require.Equal(t, now+294_000, due, "the rest of the lateness is taken from the compute")
	require.GreaterOrEqual(t, begin, due)

	w.due, w.end, w.after = due, begin, begin+7
	due, _ = w.pace(&format.Record{Compute: -5})
	require.Equal(t, begin+7, due, "not before what it waited for")

	w.due, w.end, w.after, w.held = due, begin, 0, 290_000
	due, _ = w.pace(&format.Record{Compute: 300_000})
	require.Equal(t, begin+10_007, due, "without what its waits account for")
}

// A worker that wakes up without a free processor slot waits for one by the Go scheduler:
// here another goroutine keeps the only slot.
func TestSleepWithoutSlot(t *testing.T) {
	e := &Engine{Stage: &Stage{Clock: NewClock(nil), maxSpinning: 1}}
	w := &Worker{e: e, Slot: &Slot{}}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var stop atomic.Bool
	defer stop.Store(true)
	go func() {
		for !stop.Load() {
		}
	}()
	for range 100 {
		Pinned(func() { w.waitUntil(e.Now()+int64(time.Millisecond), 0) })
	}
}
