package replay

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile/tracefuzz"
	"pianola/format"
	"pianola/format/bin"
	"pianola/replay/engine"
	"pianola/replay/posix"
	"pianola/replay/replaykit"
)

// totalOrder builds an engine, which is not run.
func totalOrder(t *testing.T, r *replaykit.Trace, limits Limits) (*engine.Engine, error) {
	o, err := Options{Backend: Null, Order: Total, Limits: limits}.complete(1)
	require.NoError(t, err)
	e := newPlaying(engine.NewStage(new(engine.Clock)), Part{Trace: r}, o, nil, 1, nil)
	_, err = e.SetUp(t.Context(), nil)
	return e.Engine, err
}

func TestTotal(t *testing.T) {
	r := replaykit.New(3)
	r.At(1, 0, 10)
	r.At(2, 5, 15)
	r.At(3, 12, 30)
	r.Wait(1, 3, 0) // against the order of time, so it begins at 30
	r.At(1, 20, 25)
	r.Wait(2, 1, 1)
	r.At(2, 22, 50)
	e, err := totalOrder(t, r, Limits{})
	require.NoError(t, err)
	waits := func(thread int) []format.Wait {
		return e.Workers[thread-1].Waits()
	}
	require.Equal(t, []format.Wait{
		{Event: 1, For: format.Edge{Thread: 3, Event: 0}},
		{Event: 1, For: format.Edge{Thread: 2, Event: 0}},
	}, waits(1))
	require.Equal(t, []format.Wait{
		{Event: 1, For: format.Edge{Thread: 1, Event: 1}}, // found by compile, although they overlap
		{Event: 1, For: format.Edge{Thread: 3, Event: 0}},
	}, waits(2))
	require.Equal(t, []format.Wait{{Event: 0, For: format.Edge{Thread: 1, Event: 0}}}, waits(3))
}

// A thread may have no events.
func TestTotalOfNoEvents(t *testing.T) {
	file, err := (&tracefuzz.Trace{
		Header: format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1}}},
		Events: []format.Event{{Op: format.OpRmdir, TID: 1, Str: [format.MaxStrings][]byte{[]byte("a")}}},
	}).Bytes()
	require.NoError(t, err)
	trace, err := bin.Open(bytes.NewReader(file), int64(len(file)), 1<<20)
	require.NoError(t, err)
	res, err := Run(t.Context(), trace, Options{Backend: Null, Order: Total})
	require.NoError(t, err)
	require.EqualValues(t, 1, res.Executed)
}

// A child does not wait for the end of its creation, which is its own end where
// the parent waits for it (vfork). The parent's time in the call is compute.
func TestTotalOfVfork(t *testing.T) {
	r := replaykit.New(1)
	child := r.Child(2, 1)
	n := r.Add(1, format.OpClone, int64(child), format.CloneVfork)
	r.Wait(child, 1, n)
	r.At(child, 10, 20)
	r.At(child, 30, 90)
	r.At(1, 110, 120)
	r.Threads[0].Durations[n] = 100
	e, err := totalOrder(t, r, Limits{})
	require.NoError(t, err)
	require.Equal(t, []format.Wait{{Event: 1, For: format.Edge{Thread: child, Event: 1}}}, e.Workers[0].Waits()[:1])
}

// For any overlap, the waits are those of the definition minus those that others imply,
// and a replay keeps them.
func TestTotalIsWhatItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing of it is concurrent")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		const threads, events = 5, 40
		r := replaykit.New(threads)
		var from, to [threads][events]int64
		for n := range threads {
			now := random.Int64N(20)
			for i := range events {
				from[n][i] = now
				to[n][i] = now + random.Int64N(30)
				r.At(int32(n+1), from[n][i], to[n][i])
				now = to[n][i] + random.Int64N(20)
			}
		}
		e, err := totalOrder(t, r, Limits{})
		require.NoError(t, err)
		// follows[n][i][k] is how many events of k that event waits for, by
		// edges and by those of what it waits for.
		var follows [threads][events][threads]int64
		var fill func(n, i int)
		done := map[[2]int]bool{}
		fill = func(n, i int) {
			if done[[2]int{n, i}] {
				return
			}
			done[[2]int{n, i}] = true
			f := &follows[n][i]
			take := func(k, j int) {
				fill(k, j)
				for m := range f {
					f[m] = max(f[m], follows[k][j][m])
				}
				f[k] = max(f[k], int64(j+1))
			}
			if i > 0 {
				take(n, i-1)
			}
			for _, v := range e.Workers[n].Waits() {
				if v.Event == int64(i) {
					take(int(v.For.Thread-1), int(v.For.Event))
				}
			}
		}
		for n := range threads {
			for i := range events {
				fill(n, i)
				for k := range threads {
					want := int64(0)
					for j := range events {
						if to[k][j] < from[n][i] || k == n && j < i {
							want = int64(j + 1)
						}
					}
					require.GreaterOrEqual(t, follows[n][i][k], want, "event %d of thread %d, of thread %d", i, n, k)
				}
			}
		}

		res, err := Run(t.Context(), r, Options{Backend: Null, Order: Total, Timing: AFAP})
		require.NoError(t, err)
		faultless(t, r, res)
	}
}

// The clocks of threads drift apart, so what compile found can be against the
// order of time. It is kept, whatever else waits, and a replay comes to an end.
func TestTotalKeepsWaits(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		const threads, events = 5, 40
		r := replaykit.New(threads)
		var now [threads]int64
		var count [threads]int64
		for range threads * events {
			// In the order of the trace, which the clocks know nothing of.
			n := random.IntN(threads)
			if count[n] == events {
				continue
			}
			if k := random.IntN(threads); k != n && count[k] > 0 && random.IntN(3) == 0 {
				r.Wait(int32(n+1), int32(k+1), random.Int64N(count[k]))
			}
			from := now[n] + random.Int64N(20)
			now[n] = from + random.Int64N(30)*int64(n+1)
			r.At(int32(n+1), from, now[n])
			count[n]++
		}
		var found [threads][]format.Wait
		for n := range threads {
			waits, err := r.Waits(int32(n + 1))
			require.NoError(t, err)
			found[n] = slices.Clone(waits)
		}
		e, err := totalOrder(t, r, Limits{})
		require.NoError(t, err)
		for n := range threads {
			for _, v := range found[n] {
				require.True(t, slices.ContainsFunc(e.Workers[n].Waits(), func(w format.Wait) bool {
					return w.Event == v.Event && w.For.Thread == v.For.Thread && w.For.Event >= v.For.Event
				}), "%v of thread %d", v, n+1)
			}
		}
		res, err := Run(t.Context(), r, Options{Backend: Null, Order: Total, Timing: AFAP})
		require.NoError(t, err)
		faultless(t, r, res)
	}
}

// Waits of a total order count as memory.
func TestTotalIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing of it is concurrent")
	}
	r := replaykit.New(2)
	for i := range int64(20_000) {
		r.At(1, 4*i, 4*i+1)
		r.At(2, 4*i+2, 4*i+3)
	}
	_, err := totalOrder(t, r, Limits{Memory: posix.MinMemory})
	require.ErrorIs(t, err, ErrLimit)
	_, err = totalOrder(t, r, Limits{})
	require.NoError(t, err)
}

// Threads that keep only their own order never wait for one another, even if the total
// order would deadlock; but they are created first.
func TestThreadOrder(t *testing.T) {
	r := replaykit.New(1)
	child := r.Child(1, 1)
	r.Wait(1, child, 0)
	r.Add(1, format.OpClone, int64(child), format.CloneFiles)
	r.Add(child, format.OpWait4, 0)
	o := Options{Backend: Null, Timing: AFAP}
	_, err := Run(t.Context(), r, o)
	require.ErrorContains(t, err, "wait for each other")
	o.Order = Thread
	res, err := Run(t.Context(), r, o)
	require.NoError(t, err)
	faultless(t, r, res)
}
