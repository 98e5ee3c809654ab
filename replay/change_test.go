package replay

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/posix"
	"pianola/replay/replaykit"
)

// known is a Changer that knows some more events at a time.
type known struct {
	trace   format.Trace
	changes map[int32][]format.Change
	step    int64
	fault   error
	closed  error
}

func (k *known) Await(thread int32, from int64, _ <-chan struct{}) (changes []format.Change, until int64, waited bool, err error) {
	until = min(from+k.step, k.trace.Len(thread))
	for _, c := range k.changes[thread] {
		if c.Event >= from && c.Event < until {
			changes = append(changes, c)
		}
	}
	return changes, until, true, k.fault
}

func (k *known) Close() error { return k.closed }

// by has a replay change events.
func (k *known) by(context.Context, format.Trace) (Changer, error) { return k, nil }

func call(op format.Op, ret int64, args ...int64) format.Record {
	r := format.Record{Op: op, Ret: ret}
	copy(r.Args[:], args)
	return r
}

// changeable is a trace whose second thread waits for the last write of the first one: its read
// fails before that.
func changeable() *replaykit.Trace {
	r := replaykit.New(2)
	r.Add(1, format.OpOpenm, 3, "f", format.RDWR|format.CREAT, 0o600)
	for i := range 5 {
		r.Add(1, format.OpPwrite64, 10, 3, 0, 10, 10*i)
	}
	r.Add(1, format.OpFsync, 0, 3)
	r.Add(2, format.OpPread64, 10, 3, 0, 10, 0)
	r.Add(2, format.OpClose, 0, 3)
	r.Threads[1].Waits = []format.Wait{{Event: 0, For: format.Edge{Thread: 1, Event: 5, Kind: format.EdgeBytes}}, {Event: 1, For: format.Edge{Thread: 1, Event: 6}}}
	return r
}

// changesOf are for that trace.
var changesOf = map[int32][]format.Change{
	1: {
		{Event: 2, Before: []format.Record{call(format.OpFadvise64, 0, 3, 0, 10, 3), call(format.OpPwrite64, 7, 3, 0, 7, 1000)}},
		{Event: 4, Removed: true},
		{Event: 5, Altered: true, As: call(format.OpPwrite64, 20, 3, 0, 20, 50), Before: []format.Record{call(format.OpFdatasync, 0, 3)}},
		{Event: 6, Removed: true, Before: []format.Record{call(format.OpFdatasync, 0, 3)}},
	},
	2: {{Event: 0, Altered: true, As: call(format.OpPread64, 20, 3, 0, 20, 50)}},
}

// Inserted and altered calls are made in their places, counted and in the log, however much is known and decoded at a time.
func TestChanges(t *testing.T) {
	for _, backend := range []Backend{Posix, Memory, Null} {
		for _, step := range []int64{1, 2, 100} {
			for _, timing := range []Timing{Compute, Schedule, AFAP} {
				t.Run(fmt.Sprint(backend, step, timing), func(t *testing.T) {
					r := changeable()
					o := Options{Backend: backend, Timing: timing, Strict: true, Buffer: int(step)}
					if backend == Posix {
						o.Root = t.TempDir()
					}
					o.Change = (&known{trace: r, changes: changesOf, step: step}).by
					res, err := Run(t.Context(), r, o)
					require.NoError(t, err)
					require.False(t, res.Interrupted)
					require.Zero(t, res.Differed)
					c := res.Changes
					require.Equal(t, []int64{4, 2, 2}, []int64{c.Inserted, c.Altered, c.Removed})
					require.Equal(t, (7-1)/step+(2-1)/step, c.Late, "the first ones are known before the start")
					require.EqualValues(t, 11, res.Executed)
					require.EqualValues(t, 0, res.ByOp[format.OpFsync].Executed)
					require.EqualValues(t, 2, res.ByOp[format.OpFdatasync].Executed)
					got := map[int32][]string{}
					for _, e := range readAll(t, res.Events()) {
						got[e.TID] = append(got[e.TID], fmt.Sprintf("%v%v %d", e.Op, e.Args[2:4], e.Ret))
					}
					require.Equal(t, map[int32][]string{
						1: {
							"openm[384 0] 3", "pwrite64[10 0] 10", "fadvise64[10 3] 0", "pwrite64[7 1000] 7", "pwrite64[10 10] 10", "pwrite64[10 20] 10",
							"fdatasync[0 0] 0", "pwrite64[20 50] 20", "fdatasync[0 0] 0",
						},
						2: {"pread64[20 50] 20", "close[0 0] 0"},
					}, got)
				})
			}
		}
	}
}

// Compute of a change comes before its call, or its event, besides that of the event.
func TestChangesOfCompute(t *testing.T) {
	r := replaykit.New(1)
	for range 2 {
		r.Add(1, format.OpSync, 0)
		r.Last(1).Compute = int64(time.Millisecond)
	}
	before := call(format.OpSync, 0)
	before.Compute = int64(2 * time.Millisecond)
	k := &known{trace: r, step: 10, changes: map[int32][]format.Change{1: {{Event: 1, Before: []format.Record{before}, Compute: int64(3 * time.Millisecond)}}}}
	res, err := Run(t.Context(), r, Options{Backend: Null, Change: k.by})
	require.NoError(t, err)
	all := readAll(t, res.Events())
	require.Len(t, all, 3)
	for i, due := range []time.Duration{1, 3, 7} {
		require.GreaterOrEqual(t, all[i].Start, int64(due*time.Millisecond))
	}
}

// Faults in changes end the run. Its result has all that was done.
func TestChangesFail(t *testing.T) {
	fault := errors.New("the program has failed")
	before := func(r format.Record) map[int32][]format.Change {
		return map[int32][]format.Change{1: {{Event: 3, Before: []format.Record{r}}}}
	}
	many := make([]format.Record, posix.MinMemory/512)
	for i := range many {
		many[i] = call(format.OpSync, 0)
	}
	for name, test := range map[string]struct {
		known
		options Options
		want    string
		done    int64
	}{
		"unplayable": {known: known{changes: before(call(format.OpChdir, 0))}, want: "event 3 of thread 1: operation", done: 3},
		"unknown":    {known: known{changes: before(call(format.Op(format.NumOps+7), 0))}, want: "event 3 of thread 1: operation", done: 3},
		"altered":    {known: known{changes: map[int32][]format.Change{1: {{Event: 3, Altered: true, As: call(format.Op(format.NumOps), 0)}}}}, want: "event 3 of thread 1: operation", done: 3},
		"differs":    {known: known{changes: before(call(format.OpClose, 0, 99))}, options: Options{Strict: true}, want: "event 3 of thread 1: close(99) = -1 EBADF", done: 4},
		"fault":      {known: known{fault: fault}, want: "thread 1: the program has failed"},
		"closed":     {known: known{closed: fault}, want: "the program has failed", done: 9},
		"memory":     {known: known{changes: map[int32][]format.Change{1: {{Event: 3, Before: many}}}}, options: Options{Limits: Limits{Memory: posix.MinMemory}}, want: "memory"},
		"simulated":  {options: Options{Backend: Simulated}, want: "only a single process that plays in real time can change events"},
	} {
		t.Run(name, func(t *testing.T) {
			r := changeable()
			k, o := test.known, test.options
			k.trace, k.step = r, 100
			if o.Change = k.by; o.Backend != Simulated {
				o.Backend, o.Order = Memory, Thread
				r.Threads = r.Threads[:1]
				r.Head.Threads = r.Head.Threads[:1]
			}
			res, err := Run(t.Context(), r, o)
			require.ErrorContains(t, err, test.want)
			if res != nil {
				require.Equal(t, min(test.done, 7), res.Executed)
				require.Len(t, readAll(t, res.Events()), int(res.Executed))
			}
		})
	}
}
