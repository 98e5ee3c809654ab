package replay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
)

// executors are all executors. Each function makes the options of a replay with one.
var executors = map[string]func(t *testing.T) Options{
	"posix":     func(t *testing.T) Options { return Options{Root: t.TempDir()} },
	"memory":    func(*testing.T) Options { return Options{Backend: Memory} },
	"null":      func(*testing.T) Options { return Options{Backend: Null} },
	"simulated": func(*testing.T) Options { return Options{Backend: Simulated} },
	"program": func(*testing.T) Options {
		return Options{Backend: NewBackend("orderly", func(_ context.Context, t format.Trace) (Player, error) {
			return &orderly{trace: t.(*replaykit.Trace), done: make([]int64, len(t.(*replaykit.Trace).Threads))}, nil
		})}
	},
}

// orderly is a Player that ends the run if an event comes before one that it waits for.
type orderly struct {
	mu    sync.Mutex
	trace *replaykit.Trace
	done  []int64 // events of each thread
}

func (o *orderly) Close() error { return nil }

func (o *orderly) Play(thread int32, r *format.Record) (int64, error) {
	if r.Op == format.OpPread64 { // a request of any thread
		return r.Ret, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.done[thread-1]
	for ofRing(o.trace.Threads[thread-1].Records[n].Op) {
		n++ // the engine plays it
	}
	for _, w := range o.trace.Threads[thread-1].Waits {
		if w.Event <= n && w.For.Thread != ringThread && !ofRing(o.trace.Threads[w.For.Thread-1].Records[w.For.Event].Op) && o.done[w.For.Thread-1] <= w.For.Event {
			return 0, fmt.Errorf("event %d of thread %d comes before event %d of thread %d", n, thread, w.For.Event, w.For.Thread)
		}
	}
	o.done[thread-1] = n + 1
	return r.Ret, nil
}

func ofRing(op format.Op) bool { return op.Info().Acts.Any(format.Submits) }

// TestConformance checks the guarantees of the engine with each executor: every event is played once,
// in the order of its thread, after what it waits for and not before it is due; threads begin after the
// event that creates them; and each result is the recorded one.
func TestConformance(t *testing.T) {
	shareClock(t)
	seeds := uint64(8)
	if testing.Short() {
		seeds = 3
	}
	for name, options := range executors {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				conforms(t, randomRoll(seed, 12), seed, options)
			}
			conforms(t, randomRoll(99, 200), 99, options)
			stops(t, options)
			t.Run("copies", func(t *testing.T) {
				o := options(t)
				o.Timing = AFAP
				r := randomRoll(1, 5)
				results, err := RunAll(t.Context(), []Part{{Name: "a", Trace: r}, {Name: "b", Trace: r}}, o)
				require.NoError(t, err)
				require.Len(t, results, 2)
				for _, res := range results {
					faultless(t, r, res)
				}
			})
		})
	}
}

func conforms(t *testing.T, r *replaykit.Trace, seed uint64, options func(t *testing.T) Options) {
	t.Helper()
	for _, choice := range []Options{{Timing: AFAP}, {}, {Speed: 3}, {Order: Total}, {Timing: Schedule}, {Wait: Sleep}} {
		o := options(t)
		o.Timing, o.Speed, o.Order, o.Wait, o.Strict = choice.Timing, choice.Speed, choice.Order, choice.Wait, true
		name := fmt.Sprintf("seed %d, timing %s, order %s, speed %g", seed, o.Timing, o.Order, o.Speed)
		res, err := Run(t.Context(), r, o)
		require.NoError(t, err, name)
		faultless(t, r, res)
		require.Empty(t, res.Notes, name)
		inOrder(t, r, res, name)
	}
}

// inOrder checks that the log of a trace has each event once, in the order of its thread. On
// the simulated clock no event begins before it is due, nor before the events that it waits for.
// On a real clock the results show that, because the log leaves out the cost of the clock, and
// an overdue event begins at the end of the previous one.
func inOrder(t *testing.T, r *replaykit.Trace, res *Result, name string) {
	t.Helper()
	events := make([][]format.Event, len(r.Threads))
	for _, e := range readAll(t, res.Events()) {
		thread := e.TID
		if e.Via != format.ViaCall {
			thread = ringThread
		}
		events[thread-1] = append(events[thread-1], e)
	}
	for i, own := range events {
		require.Len(t, own, len(r.Threads[i].Records), name)
		if i+1 == ringThread {
			continue // requests overlap
		}
		for n, e := range own {
			record := &r.Threads[i].Records[n]
			require.Equal(t, record.Op, e.Op, name)
			if n > 0 {
				require.GreaterOrEqual(t, e.Start, own[n-1].Start, name)
			}
			if record.Op == format.OpClone {
				require.GreaterOrEqual(t, events[record.Ret-1][0].Start, e.Start, name)
			}
		}
		if res.Options.Backend != Simulated {
			continue
		}
		for n, e := range own[1:] {
			if compute := r.Threads[i].Records[n+1].Compute; res.Options.Timing == Compute {
				require.GreaterOrEqual(t, e.Start, own[n].End()+int64(float64(compute)/res.Options.Speed), name)
			}
		}
		for _, w := range r.Threads[i].Waits {
			target := events[w.For.Thread-1][w.For.Event]
			require.GreaterOrEqual(t, own[w.Event].Start, target.End(), "%s: event %d of thread %d, event %d of thread %d", name, w.Event, i+1, w.For.Event, w.For.Thread)
		}
	}
}

// stops checks that a run that ends early says so, and leaves no worker behind.
func stops(t *testing.T, options func(t *testing.T) Options) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	o := options(t)
	if o.Playing = func(int64, int64) { cancel(enough) }; o.Backend == Simulated {
		cancel(enough)
	}
	r := randomRoll(7, 12)
	for i := range r.Threads {
		for n := range r.Threads[i].Records {
			r.Threads[i].Records[n].Compute = int64(time.Hour)
		}
	}
	res, err := Run(ctx, r, o)
	require.ErrorIs(t, err, enough)
	require.True(t, res.Interrupted)
}

// ringThread is the number of the ring of a random trace.
const ringThread = 2

// randomRoll returns a trace of so many threads, in several processes, that create each other,
// hand directories to one another, and wait for requests of a ring.
func randomRoll(seed uint64, threads int) *replaykit.Trace {
	random := rand.New(rand.NewPCG(seed, 8))
	r := replaykit.New(1)
	q := r.Ring(format.ViaUring, 1)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 1 << 16, Cached: -1})
	r.Add(1, format.OpOpen, 3, "f", format.RDWR)
	r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
	alive := []int32{1}
	process := int32(1)
	type made struct {
		name   string
		thread int32
		event  int64
	}
	var dirs []made
	submitted, asked, submit := 0, 0, int64(0)
	add := func(thread int32, op format.Op, ret int64, args ...any) int64 {
		n := r.Add(thread, op, ret, args...)
		r.Last(thread).Compute = random.Int64N(3000)
		p := &r.Threads[thread-1]
		p.Durations[n] = random.Int64N(1000)
		return n
	}
	for n := range 20 * threads {
		thread := alive[random.IntN(len(alive))]
		switch choice := random.IntN(10); {
		case choice < 2 && len(r.Threads) <= threads:
			own, flags := r.Head.Threads[thread-1].Process, int64(format.CloneFiles|format.CloneThread)
			if random.IntN(2) == 0 {
				process++
				own, flags = process, 0
			}
			child := r.Child(own, thread)
			add(thread, format.OpClone, int64(child), int(flags))
			add(child, format.OpStat, 0, "f", 0)
			alive = append(alive, child)
		case choice < 4:
			name := fmt.Sprint("d", n)
			dirs = append(dirs, made{name, thread, add(thread, format.OpMkdir, 0, name, 0o700)})
		case choice < 7 && len(dirs) > 0:
			i := random.IntN(len(dirs))
			d := dirs[i]
			dirs = append(dirs[:i], dirs[i+1:]...)
			if d.thread != thread {
				r.Wait(thread, d.thread, d.event)
			}
			add(thread, format.OpRmdir, 0, d.name)
		case choice < 8:
			k := 1 + random.IntN(4)
			for range k {
				r.Add(ringThread, format.OpPread64, 512, 3, 4096, 512, 512*random.IntN(100))
			}
			submitted += k
			submit = add(1, format.OpRingSubmit, 0, q, k, 0, 0, 0)
		case choice < 9 && submitted > asked:
			asked = submitted
			add(1, format.OpRingSubmit, 0, q, 0, 1, submitted-1, 0)
		case submitted > 0 && thread != 1:
			r.Wait(thread, 1, submit) // before it there is no request to wait for
			r.Wait(thread, ringThread, int64(submitted-1))
			add(thread, format.OpStat, -int64(unix.ENOENT), "none", 0)
		default:
			add(thread, format.OpStat, 0, "f", 0)
		}
	}
	for _, thread := range alive[1:] {
		add(thread, format.OpExit, format.NoResult, 0)
	}
	add(1, format.OpRingSubmit, 0, q, 0, 1, max(submitted-1, 0), 0)
	return r
}
