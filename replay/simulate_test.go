package replay

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/device"
	"pianola/replay/posix"
	"pianola/replay/replaykit"
)

// syncs returns a trace of a thread that syncs n times, for a millisecond after half of one.
func syncs(n int) *replaykit.Trace {
	r := replaykit.New(1)
	for range n {
		r.Add(1, format.OpFsync, 0, 3)
		r.Took(1, millisecond)
		r.Last(1).Compute = millisecond / 2
	}
	return r
}

// On the simulated clock calls take their recorded durations, the log has the times of the
// clock, and nothing is late.
func TestSimulated(t *testing.T) {
	r := syncs(2)
	child := r.Child(2, 1)
	r.Add(1, format.OpClone, int64(child))
	r.Add(child, format.OpFsync, 0, 3)
	r.Took(child, 10*millisecond)
	r.Wait(1, child, 0)
	r.Add(1, format.OpFsync, 0, 3)
	r.Took(1, millisecond)
	for timing, want := range map[Timing][4]int64{
		Compute: {millisecond / 2, 3 * millisecond, 13 * millisecond, 14 * millisecond},
		AFAP:    {0, 2 * millisecond, 12 * millisecond, 13 * millisecond},
	} {
		res, err := Run(t.Context(), r, Options{Backend: Simulated, Timing: timing})
		require.NoError(t, err)
		require.False(t, res.Interrupted)
		require.EqualValues(t, 5, res.Executed)
		require.Zero(t, res.Failed+res.Differed)
		require.Zero(t, res.Lateness.Max)
		require.Equal(t, time.Duration(want[3]), res.Elapsed)
		require.Equal(t, 10*time.Millisecond, res.OrderWait)
		var got [4]int64
		for _, e := range readAll(t, res.Events()) {
			switch {
			case e.TID == child:
				got[1] = e.Start
			case e.Op == format.OpFsync && e.Off.Wait > 0:
				got[2], got[3] = e.Start, e.End()
			case e.Op == format.OpFsync && got[1] == 0 && e.Start <= millisecond/2:
				got[0] = e.Start
			}
		}
		require.Equal(t, want, got, timing)
	}
}

// All traces and copies share the device, whose calls come in the order of time.
func TestSimulatedDevice(t *testing.T) {
	m := new(device.Model)
	require.NoError(t, m.SetIOPS("100"))
	const n, copies = 20, 3
	results, err := RunAll(t.Context(), []Part{{Name: "a", Trace: syncs(n)}}, Options{Backend: Simulated, Device: m, Copies: copies})
	require.NoError(t, err)
	require.Len(t, results, copies)
	for _, res := range results {
		require.GreaterOrEqual(t, res.Elapsed, (copies*n-copies)*10*time.Millisecond)
		require.LessOrEqual(t, res.Elapsed, (copies*n+1)*10*time.Millisecond)
	}
	again, err := RunAll(t.Context(), []Part{{Name: "a", Trace: syncs(n)}}, Options{Backend: Simulated, Device: m, Copies: copies})
	require.NoError(t, err)
	for i := range results {
		require.Equal(t, readAll(t, results[i].Events()), readAll(t, again[i].Events()))
	}
}

// A call that waits for completions ends when the device has completed them.
func TestSimulatedRequests(t *testing.T) {
	r := replaykit.New(1)
	q := r.Ring(format.ViaUring, 1)
	ring := int32(q)
	r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
	r.Add(ring, format.OpFsync, 0, 3)
	r.Took(ring, millisecond)
	r.Add(1, format.OpRingSubmit, 0, q, 1, 1, 0, 0)
	r.Took(1, millisecond+1000) // a microsecond after the completion
	m := new(device.Model)
	require.NoError(t, m.AddLatency("sync:x3"))
	for _, more := range []bool{false, true} {
		if more {
			r.Add(1, format.OpFsync, 0, 3)
			r.Took(1, 0)
		}
		res, err := Run(t.Context(), r, Options{Backend: Simulated, Device: m})
		require.NoError(t, err)
		require.Equal(t, 3*time.Millisecond+time.Microsecond, res.Elapsed)
		for _, e := range readAll(t, res.Events()) {
			if e.Op == format.OpRingSubmit {
				require.EqualValues(t, 3*millisecond+1000, e.Dur)
			}
		}
	}
}

// A log that does not fit into memory goes to a file, and a run that is to end does.
func TestSimulatedBounds(t *testing.T) {
	r := syncs(50_000)
	o := Options{Backend: Simulated, Limits: Limits{Memory: posix.MinMemory}}
	res, err := Run(t.Context(), r, o)
	require.NoError(t, err)
	all := readAll(t, res.Events())
	require.Len(t, all, 50_000)
	for i, e := range all {
		require.Equal(t, int64(i)*3*millisecond/2+millisecond/2, e.Start)
		require.EqualValues(t, millisecond, e.Dur)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err = Run(ctx, r, o)
	require.ErrorIs(t, err, context.Canceled)
	if res != nil {
		require.True(t, res.Interrupted)
	}
}

// A trace without durations can't be simulated.
func TestSimulatedUnknown(t *testing.T) {
	r := replaykit.New(1)
	r.Add(1, format.OpFsync, 0, 3)
	r.Took(1, format.Unknown)
	_, err := Run(t.Context(), r, Options{Backend: Simulated})
	require.ErrorIs(t, err, ErrNoDurations)
}
