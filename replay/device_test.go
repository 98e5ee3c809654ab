package replay

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/device"
	"pianola/replay/replaykit"
)

// modelOf returns a model of one rule: over memory one that changes recorded
// durations of a millisecond to three, over the kernel one that adds as many.
func modelOf(t *testing.T, p player, class string) *device.Model {
	t.Helper()
	m := &device.Model{}
	rule := class + ":+3ms"
	if p.backend == Memory {
		rule = class + ":x3"
	}
	require.NoError(t, m.AddLatency(rule))
	return m
}

const millisecond = 1_000_000

// Calls end at the time of the model, also in the log, and the next event is due after
// that.
func TestServed(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		for _, timing := range []Timing{Compute, Schedule, AFAP} {
			r := replaykit.New(1)
			r.Add(1, format.OpOpenm, 3, "f", format.RDWR|format.CREAT, 0o600)
			const n = 10
			for range n {
				r.Add(1, format.OpFsync, 0, 3)
				r.Took(1, millisecond)
				r.Last(1).Compute = millisecond / 2
			}
			r.Add(1, format.OpClose, 0, 3)
			r.Took(1, format.Unknown)
			res, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: timing, Device: modelOf(t, p, "sync")})
			require.NoError(t, err)
			faultless(t, r, res)
			all := readAll(t, res.Events())
			require.Len(t, all, n+2)
			for _, e := range all[1 : n+1] {
				require.GreaterOrEqual(t, e.Dur, int64(3*millisecond))
			}
			require.GreaterOrEqual(t, all[n+1].Start-all[0].Start, int64(3*n*millisecond))
			if timing == Compute {
				// The check is over the whole run, because computes make up for a late
				// first event.
				require.GreaterOrEqual(t, all[n+1].Start, int64(n*(3*millisecond+millisecond/2)))
			}
			require.Equal(t, p.backend == Memory, len(res.Notes) == 1, res.Notes)
		}
	})
}

// A request of a ring completes at the time of the model, and a call that waits for it
// returns no sooner.
func TestServedRequests(t *testing.T) {
	eachVia(t, func(t *testing.T, p player, via format.Via) {
		r := replaykit.New(1)
		q := r.Ring(via, 1)
		ring := int32(q)
		r.Add(1, format.OpOpenm, 3, "f", format.RDWR|format.CREAT, 0o600)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		const rounds, n = 5, 4
		for round := range rounds {
			for range n {
				r.Add(ring, format.OpFsync, 0, 3)
				r.Took(ring, millisecond)
			}
			r.Add(1, format.OpRingSubmit, 0, q, n, 0, round*n, 0)
			r.Add(1, format.OpRingSubmit, 0, q, 0, n, round*n, 0)
		}
		r.Wait(1, ring, rounds*n-1)
		r.Add(1, format.OpClose, 0, 3)
		res, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Device: modelOf(t, p, "sync")})
		require.NoError(t, err)
		faultless(t, r, res)
		var requests int
		all := readAll(t, res.Events())
		for _, e := range all {
			if e.Op == format.OpFsync {
				require.GreaterOrEqual(t, e.Dur, int64(3*millisecond))
				requests++
			}
		}
		require.Equal(t, rounds*n, requests)
		last := all[len(all)-1]
		require.Equal(t, format.OpClose, last.Op)
		require.GreaterOrEqual(t, last.Start-all[0].Start, int64(rounds*3*millisecond))
	})
}

func TestServedErrors(t *testing.T) {
	slower, faster := &device.Model{}, &device.Model{}
	require.NoError(t, slower.AddLatency("sync:x2"))
	require.NoError(t, faster.AddLatency("sync:x0.5"))
	r := replaykit.New(2)
	r.Add(1, format.OpMkdir, 0, "d", 0o700)
	_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Device: faster})
	require.ErrorIs(t, err, device.ErrFaster)
	_, err = Run(t.Context(), r, Options{Backend: Null, Device: slower})
	require.ErrorContains(t, err, "the backend null has no device")
	_, err = Run(t.Context(), r, Options{Backend: Memory, Device: slower})
	require.ErrorIs(t, err, ErrNoDurations)
	r.Add(2, format.OpMkdir, 0, "e", 0o700)
	r.Took(2, 1000)
	_, err = Run(t.Context(), r, Options{Backend: Memory, Device: faster})
	require.NoError(t, err)
}

// ordered is a roll of one thread whose events can be read in their order.
type ordered struct{ *replaykit.Trace }

type eventList struct {
	header *format.Header
	events []format.Event
}

func (l *eventList) Header() *format.Header { return l.header }
func (l *eventList) Read(events []format.Event) (int, error) {
	n := copy(events, l.events)
	if l.events = l.events[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (t ordered) Events() format.Reader {
	l := &eventList{header: &t.Head}
	for i, r := range t.Threads[0].Records {
		e := format.Event{Op: r.Op, TID: 1, Start: int64(i) * millisecond, Ret: r.Ret, Args: r.Args}
		if at := r.Op.Info().At.Paths[0]; at.Arg >= 0 {
			e.Str[0] = []byte(t.Texts[r.Args[at.Arg]])
		}
		l.events = append(l.events, e)
	}
	return l
}

// With a fitted model, calls that reach the device take the model's time, independent of
// the recording, and other calls take their own time.
func TestServedFitted(t *testing.T) {
	r := replaykit.New(1)
	r.Add(1, format.OpOpenm, 3, "f", format.RDWR|format.CREAT, 0o600)
	const n, recorded = 5, 30_000 * millisecond
	for i := range n {
		r.Add(1, format.OpPwrite64, 4096, 3, 0, 4096, i*4096)
		r.Took(1, 10_000)
		r.Add(1, format.OpFsync, 0, 3)
		r.Took(1, recorded)
	}
	a := device.Access{IOPS: 1e6}
	d := device.Direction{Random: a, Sequential: a, Bandwidth: 1e9}
	m := &device.Model{Fitted: &device.Fitted{Read: d, Write: d, Sync: device.Sync{Flush: 3e-3, Commit: 3e-3}}}
	for _, backend := range []Backend{Memory, Posix} {
		res, err := Run(t.Context(), ordered{r}, Options{Root: t.TempDir(), Backend: backend, Device: m})
		require.NoError(t, err)
		require.NotEmpty(t, res.Notes)
		var sum int64
		for _, e := range readAll(t, res.Events()) {
			if e.Op == format.OpFsync {
				require.GreaterOrEqual(t, e.Dur, int64(3*millisecond))
				sum += e.Dur
			}
		}
		if backend == Memory {
			require.Less(t, sum, int64(recorded), "not what was recorded")
		}
	}
	_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Device: m})
	require.ErrorIs(t, err, errUnmerged)
}
