package replay

import (
	"context"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
)

// Two threads hand a file back and forth, many rounds: each result depends on
// the other having been there.
func TestEdges(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(2)
		const rounds = 1000
		for i := range rounds {
			if i > 0 {
				r.Wait(1, 2, int64(i-1))
			}
			r.Add(1, format.OpMkdir, 0, "ball", 0o700)
			r.Wait(2, 1, int64(i))
			r.Add(2, format.OpRmdir, 0, "ball")
		}
		_, res := p.play(t, r)
		faultless(t, r, res)

		// The log has them in the order in which they ended.
		all := readAll(t, res.Events())
		require.Len(t, all, 2*rounds)
		for i, ev := range all {
			require.Equal(t, int32(i%2+1), ev.TID, "event %d", i)
			require.Equal(t, "ball", string(ev.Str[0]))
		}
	})
}

// A read of a pipe waits for a slow writer by its edge, and for nothing where the
// writer is there already; neither is a call.
func TestPipeEdges(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(2)
		for i := range int64(20) {
			r.Add(1, format.OpMkdir, 0, "ball", 0o700)
			r.Last(1).Compute = i * int64(100*time.Microsecond)
			written := r.Add(1, format.OpPipeWrite, 0, 7)
			r.Wait(2, 1, written)
			r.Add(2, format.OpPipeRead, 0, 7)
			r.Add(2, format.OpRmdir, 0, "ball")
			read := r.Add(2, format.OpPipeWrite, 0, 8)
			r.Wait(1, 2, read)
			r.Add(1, format.OpPipeRead, 0, 8)
		}
		_, res := p.play(t, r)
		faultless(t, r, res)
		require.Positive(t, res.OrderWait)
		require.Equal(t, int64(40), res.ByOp[format.OpPipeRead].Executed)
	})
}

// More threads than processors wait for one another in a ring.
func TestEdgesOfManyThreads(t *testing.T) {
	for _, threads := range []int32{16, 400} {
		r := replaykit.New(int(threads))
		rounds := int64(800 / threads)
		for i := range rounds {
			for n := int32(1); n <= threads; n++ {
				if n > 1 {
					r.Wait(n, n-1, i)
				} else if i > 0 {
					r.Wait(1, threads, i-1)
				}
				if n%2 == 1 {
					r.Add(n, format.OpMkdir, 0, "x", 0o700)
				} else {
					r.Add(n, format.OpRmdir, 0, "x")
				}
			}
		}
		_, res := play(t, r, byOpenat2)
		faultless(t, r, res)
		require.Positive(t, res.OrderWait)
	}
}

func TestDeadlock(t *testing.T) {
	tests := []struct {
		name string
		make func(*replaykit.Trace)
		want string
	}{
		{"two", func(r *replaykit.Trace) {
			r.Add(1, format.OpMkdir, 0, "a", 0o700)
			r.Wait(1, 2, 0)
			r.Add(1, format.OpRmdir, 0, "a")
			r.Wait(2, 1, 1)
			r.Add(2, format.OpRmdir, 0, "b")
		}, `event (1|0) of thread (1|2) and event (1|0) of thread (1|2) wait for each other`},
		{"three", func(r *replaykit.Trace) {
			for n := range int32(3) {
				r.Wait(n+1, (n+1)%3+1, 0)
				r.Add(n+1, format.OpRmdir, 0, "b")
			}
		}, `wait for each other`},
		{"child", func(r *replaykit.Trace) {
			child := r.Child(2, 1)
			r.Add(child, format.OpRmdir, 0, "b")
			r.Wait(1, child, 0)
			r.Add(1, format.OpClone, int64(child), 0)
		}, `wait for each other`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := replaykit.New(3)
			test.make(r)
			res, err := Run(context.Background(), r, Options{Root: t.TempDir(), Timing: AFAP})
			require.Error(t, err)
			require.Regexp(t, test.want, err)
			require.True(t, res.Interrupted)
		})
	}
}

// A thread that ends sets free who waits for it, even for what it never did.
func TestEndedThreadFreesOthers(t *testing.T) {
	r := replaykit.New(1)
	child := r.Child(2, 1)
	r.Add(1, format.OpMkdir, 0, "a", 0o700)
	r.Add(child, format.OpFstat, -int64(unix.EBADF), 0, 0)
	_, res := play(t, r, byOpenat2)
	faultless(t, r, res)
}

func TestWaitsThatMakeNoSense(t *testing.T) {
	for _, w := range []format.Wait{
		{For: format.Edge{Thread: 0, Delay: 1}}, {For: format.Edge{Thread: 3}}, {For: format.Edge{Thread: 1}}, {For: format.Edge{Thread: 2, Delay: -1}}, {Held: -1}, {Expired: -1},
		{For: format.Edge{Thread: 2, Kind: format.NumEdgeKinds}}, {For: format.Edge{Thread: 2, Event: 5}},
		{For: format.Edge{Thread: 2, Event: -1}}, {Event: -1, For: format.Edge{Thread: 2}},
	} {
		r := replaykit.New(2)
		r.Add(1, format.OpRmdir, 0, "b")
		r.Add(2, format.OpRmdir, 0, "b")
		r.Threads[0].Waits = []format.Wait{w}
		_, err := Run(context.Background(), r, Options{Root: t.TempDir()})
		require.ErrorContains(t, err, "this edge is invalid")
	}
}

// An event begins no earlier than each of its edges allows, with its delay after the
// target of the edge: an event of another thread, of its own thread, or the start. The
// time covered by edges is not compute.
func TestDelays(t *testing.T) {
	const long = int64(time.Hour)
	ms := int64(time.Millisecond)
	play := func(o Options) []format.Event {
		r := replaykit.New(2)
		r.Add(1, format.OpRmdir, -int64(unix.ENOENT), "a")
		r.Last(1).Compute = 2 * ms
		after := func(thread int32, w format.Wait) {
			p := &r.Threads[thread-1]
			w.Event = int64(len(p.Records))
			p.Waits = append(p.Waits, w)
		}
		after(2, format.Wait{Held: long, For: format.Edge{Thread: 1, Kind: format.EdgeWake, Delay: 3 * ms}})
		after(2, format.Wait{For: format.Edge{Kind: format.EdgeReply, Delay: 9 * ms}})
		after(2, format.Wait{For: format.Edge{Kind: format.EdgeArrival, Delay: 20 * ms}})
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "b")
		r.Last(2).Compute = long + ms
		after(1, format.Wait{Held: long, For: format.Edge{Thread: 1, Kind: format.EdgeMessage, Delay: 4 * ms}})
		r.Add(1, format.OpRmdir, -int64(unix.ENOENT), "c")
		r.Last(1).Compute = long
		o.Backend = Memory
		res, err := Run(context.Background(), r, o)
		require.NoError(t, err)
		return readAll(t, res.Events())
	}
	starts := func(events []format.Event) map[string]int64 {
		all := map[string]int64{}
		for _, e := range events {
			all[string(e.Str[0])] = e.Start
		}
		return all
	}
	s := starts(play(Options{Timing: Compute}))
	require.GreaterOrEqual(t, s["a"], 2*ms)
	require.GreaterOrEqual(t, s["b"], 9*ms)
	require.GreaterOrEqual(t, s["c"], 6*ms)
	require.GreaterOrEqual(t, starts(play(Options{Timing: Compute, Outside: Timed}))["b"], 20*ms)
	play(Options{Timing: AFAP})
}

// A wait whose time limit expired in the recording ends early once what woke the
// thread next has ended.
func TestExpiredWaitsEndEarly(t *testing.T) {
	const long = int64(time.Hour)
	ms := int64(time.Millisecond)
	for _, o := range []Options{{Timing: Compute}, {Timing: Compute, Wait: Spin}, {Timing: Compute, Order: Total}, {Timing: AFAP}} {
		o.Backend = Memory
		r := replaykit.New(2)
		wait := func(w format.Wait) {
			p := &r.Threads[1]
			w.Event = int64(len(p.Records))
			p.Waits = append(p.Waits, w)
		}
		r.Add(1, format.OpRmdir, -int64(unix.ENOENT), "a")
		r.Last(1).Compute = 3 * ms
		wait(format.Wait{Expired: long})
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "b")
		r.Last(2).Compute = long + ms
		wait(format.Wait{Expired: long, For: format.Edge{Thread: 1, Kind: format.EdgeWake}})
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "c")
		r.Last(2).Compute = long + ms
		wait(format.Wait{Held: long, For: format.Edge{Kind: format.EdgeTimed, Delay: ms}})
		wait(format.Wait{For: format.Edge{Thread: 1, Kind: format.EdgeTimed, Delay: 5 * ms}})
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "d")
		r.Last(2).Compute = long
		res, err := Run(t.Context(), r, o)
		require.NoError(t, err)
		if o.Timing == AFAP {
			continue
		}
		for _, e := range readAll(t, res.Events()) {
			if e.TID == 2 {
				least := 3 * ms
				if string(e.Str[0]) == "d" {
					least = 8 * ms
				}
				require.GreaterOrEqual(t, e.Start, least, "%s", e.Str[0])
				require.Less(t, e.Start, long, "%s", e.Str[0])
			}
		}
	}
}

// So does one before an event that others need, unless they waited for that time in
// the recording as well.
func TestExpiredWaitsEndWhereNeeded(t *testing.T) {
	ms := int64(time.Millisecond)
	for _, test := range []struct {
		kinds  []format.EdgeKind
		timer  bool
		waker  bool
		needed bool
	}{
		{[]format.EdgeKind{format.EdgeWake}, false, true, true},
		{[]format.EdgeKind{format.EdgeTimer}, false, true, false},
		{[]format.EdgeKind{format.EdgeTimer, format.EdgeWake}, false, true, true},
		{[]format.EdgeKind{format.EdgeWake}, false, false, true},
		{[]format.EdgeKind{format.EdgeTimer}, false, false, false},
		{[]format.EdgeKind{format.EdgeWake}, true, true, false},
		{[]format.EdgeKind{format.EdgeUntimed}, true, true, true},
		{[]format.EdgeKind{format.EdgeBytes}, true, true, true},
	} {
		early := int64(time.Hour)
		if !test.needed {
			early = 10 * ms
		}
		r := replaykit.New(2)
		r.Threads[1].Waits = []format.Wait{{Expired: early}}
		if test.waker {
			r.Threads[1].Waits = append(r.Threads[1].Waits, format.Wait{Event: 2, For: format.Edge{Thread: 1, Kind: format.EdgeTimed}})
		}
		if test.timer {
			r.Threads[1].Waits[0].For.Kind = format.EdgeTimer
		}
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "a")
		r.Last(2).Compute = early + ms
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "b")
		for _, kind := range test.kinds {
			r.Threads[0].Waits = append(r.Threads[0].Waits, format.Wait{For: format.Edge{Thread: 2, Event: 1, Kind: kind}})
		}
		r.Add(1, format.OpRmdir, -int64(unix.ENOENT), "c")
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "d")
		res, err := Run(t.Context(), r, Options{Timing: Compute, Backend: Memory})
		require.NoError(t, err)
		for _, e := range readAll(t, res.Events()) {
			if test.needed {
				require.Less(t, e.Start, early, "%+v: %s", test, e.Str[0])
			} else {
				require.GreaterOrEqual(t, e.Start, early, "%+v: %s", test, e.Str[0])
			}
		}
	}
}

// A thread whose work began with a timer of another one waits for it, unless it is needed.
func TestTicks(t *testing.T) {
	ms := int64(time.Millisecond)
	for _, test := range []struct {
		kind        format.EdgeKind
		tick, least int64
	}{{format.EdgeWake, 50 * ms, 50 * ms}, {format.EdgeUntimed, int64(time.Hour), ms}} {
		r := replaykit.New(2)
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "a")
		r.Threads[1].Waits = []format.Wait{{Event: 1, Held: test.tick, For: format.Edge{Thread: 2, Kind: format.EdgeTick, Delay: test.tick}}}
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "b")
		r.Last(2).Compute = test.tick + ms
		r.Threads[0].Waits = []format.Wait{{For: format.Edge{Thread: 2, Event: 1, Kind: test.kind}}}
		r.Add(1, format.OpRmdir, -int64(unix.ENOENT), "c")
		res, err := Run(t.Context(), r, Options{Timing: Compute, Backend: Memory})
		require.NoError(t, err)
		for _, e := range readAll(t, res.Events()) {
			if string(e.Str[0]) == "b" {
				require.GreaterOrEqual(t, e.Start, test.least, "%v", test.kind)
				require.Less(t, e.Start, int64(time.Hour), "%v", test.kind)
			}
		}
	}
}

// A thread that is not woken again, or later than its time limit, waits until that.
func TestExpiredWaitsTakeTheirTime(t *testing.T) {
	ms := int64(time.Millisecond)
	for _, woken := range []bool{false, true} {
		r := replaykit.New(2)
		r.Add(1, format.OpRmdir, -int64(unix.ENOENT), "a")
		r.Last(1).Compute = 20 * ms
		r.Threads[1].Waits = []format.Wait{{Expired: 5 * ms}}
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "b")
		r.Last(2).Compute = 6 * ms
		kind := format.EdgeWake
		if woken {
			kind = format.EdgeTimed
		}
		r.Threads[1].Waits = append(r.Threads[1].Waits, format.Wait{Event: 1, For: format.Edge{Thread: 1, Kind: kind}})
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "c")
		res, err := Run(t.Context(), r, Options{Timing: Compute, Backend: Memory})
		require.NoError(t, err)
		starts := map[string]int64{}
		for _, e := range readAll(t, res.Events()) {
			starts[string(e.Str[0])] = e.Start
		}
		require.GreaterOrEqual(t, starts["b"], 6*ms)
		require.GreaterOrEqual(t, starts["c"], 20*ms)
	}
}

// A cancelled context ends sleeps, waits for events and waits for locks.
func TestCancel(t *testing.T) {
	tests := []struct {
		name string
		make func(*replaykit.Trace)
	}{
		{"sleep", func(r *replaykit.Trace) {
			r.Add(1, format.OpRmdir, 0, "b")
			r.Last(1).Compute = math.MaxInt64 / 2
		}},
		{"edge", func(r *replaykit.Trace) {
			r.Add(1, format.OpRmdir, 0, "b")
			r.Last(1).Compute = int64(time.Hour)
			r.Wait(2, 1, 0)
			r.Add(2, format.OpRmdir, 0, "b")
		}},
		{"birth", func(r *replaykit.Trace) {
			r.Add(1, format.OpClone, 3)
			r.Last(1).Compute = int64(time.Hour)
			r.Add(r.Child(1, 1), format.OpRmdir, 0, "b")
		}},
		{"lock", func(r *replaykit.Trace) {
			r.File(format.File{Path: "f", Type: format.TypeReg})
			r.Add(1, format.OpOpen, 3, "f", format.RDWR)
			r.Add(1, format.OpOpen, 4, "f", format.RDWR)
			r.Add(1, format.OpFcntl, 0, 3, format.FOfdSetlk, 0, unix.F_WRLCK, 0, 0)
			r.Add(1, format.OpFcntl, 0, 4, format.FOfdSetlkw, 0, unix.F_WRLCK, 0, 0)
			r.Add(2, format.OpRmdir, 0, "b")
			r.Last(2).Compute = int64(time.Hour)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := replaykit.New(2)
			r.Add(1, format.OpMkdir, 0, "a", 0o700)
			test.make(r)
			root := t.TempDir()
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				defer cancel()
				for _, err := os.Stat(root + "/a"); err != nil; _, err = os.Stat(root + "/a") {
					time.Sleep(time.Millisecond)
				}
			}()
			res, err := Run(ctx, r, Options{Root: root})
			require.ErrorIs(t, err, context.Canceled)
			require.True(t, res.Interrupted)
			require.GreaterOrEqual(t, res.Executed, int64(1))
			require.Len(t, readAll(t, res.Events()), int(res.Executed))
		})
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := replaykit.New(1)
	r.File(format.File{Path: "f", Type: format.TypeReg})
	_, err := Run(ctx, r, Options{Root: t.TempDir()})
	require.ErrorIs(t, err, context.Canceled)
}
