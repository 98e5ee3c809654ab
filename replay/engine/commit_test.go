package engine

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/commits"
	"pianola/format/commits/commitskit"
)

// disk is a file whose syncs take some time. Pinned workers use it, so it waits for no lock of Go.
type disk struct {
	nanos   time.Duration // of a sync
	written atomic.Int64
	exits   atomic.Int64
	syncs   atomic.Int64
	open    atomic.Int64 // calls in progress
	overlap atomic.Bool  // calls for a log have overlapped
}

func (d *disk) play(r *format.Record) int64 {
	if r.Op == format.OpExitGroup {
		d.exits.Add(1)
		return r.Ret
	}
	if d.open.Add(1) != 1 {
		d.overlap.Store(true)
	}
	if r.Op == format.OpFdatasync {
		d.syncs.Add(1)
		for begin := time.Now(); time.Since(begin) < d.nanos; {
		}
	} else {
		d.written.Add(r.Args[2])
	}
	d.open.Add(-1)
	return r.Ret
}

// Workers make all commits of a log in the groups that form, one after the other, whether or
// not their threads are of one process, and on disks of any speed.
func TestCommits(t *testing.T) {
	for seed := range uint64(12) {
		for _, nanos := range []time.Duration{0, 300 * time.Microsecond, 2 * time.Millisecond} {
			for _, timing := range []Timing{Compute, AFAP} {
				t.Run(fmt.Sprint(seed, nanos, timing), func(t *testing.T) {
					p := commitskit.Random(seed, 2+int(seed%5), 15)
					d := &disk{nanos: nanos}
					o := options
					o.Timing = timing
					s := NewStage(NewClock(nil))
					e := s.NewEngine("", p, p, o)
					require.NoError(t, e.Build(t.Context(), scripted{func(_ *Worker, r *format.Record) int64 { return d.play(r) }}))
					if e.plan == nil {
						t.Skip("one thread has led")
					}
					require.NoError(t, s.Play(t.Context()))
					require.False(t, d.overlap.Load())
					require.EqualValues(t, len(p.AllWaits()), d.exits.Load())
					commits, groups := int64(0), e.Groups()[0]
					for i := range groups.Groups {
						g := &groups.Groups[i]
						commits += g.Commits
						require.Positive(t, g.Commits)
						if i > 0 {
							_, before, ok := groups.Groups[i-1].Call(1)
							require.Equal(t, p.Synced, ok)
							if !ok {
								_, before, _ = groups.Groups[i-1].Call(0)
							}
							_, call, ok := g.Call(0)
							require.True(t, ok)
							require.GreaterOrEqual(t, call.Start, before.Start)
						}
					}
					require.Equal(t, e.plan.Logs[0].Commits, commits)
					syncs, last := len(groups.Groups), format.OpFdatasync
					if !p.Synced {
						if syncs, last = 0, format.OpWrite; p.Placed {
							last = format.OpPwrite64
						}
					}
					require.EqualValues(t, syncs, d.syncs.Load())
					if !p.Placed {
						require.Equal(t, p.Written, d.written.Load())
					}
					c := e.Count()
					require.False(t, c.Interrupted)
					require.EqualValues(t, p.Groups, c.ByOp[last].Regrouped)
					require.Zero(t, c.ByOp[last].Differed)
					for i := range e.Logs {
						require.Equal(t, p.Len(int32(i+1)), e.Logs[i].Len())
					}
				})
			}
		}
	}
}

// Groups stay as recorded where the option says so, or where no time is known.
func TestRecordedCommits(t *testing.T) {
	for _, o := range []Options{{Commits: Recorded}, {Timing: Schedule}, {Order: Thread}, {Recorded: true}} {
		p := commitskit.Random(8, 4, 15)
		o.Speed, o.Threads, o.Memory = 1, 1000, 64<<20
		e := NewStage(NewClock(nil)).NewEngine("", p, p, o)
		require.NoError(t, e.Build(t.Context(), scripted{}))
		require.Nil(t, e.plan)
		require.Empty(t, e.Groups())
	}
}

// A process can sync a new log before anyone writes to it, as PostgreSQL does. That is no commit, and
// the log begins with the first write.
func TestLogSyncedFirst(t *testing.T) {
	p := commitskit.Random(3, 4, 15)
	for thread, waits := range p.AllWaits() {
		for i := range waits {
			if w := &waits[i]; w.For.Kind == format.EdgeLead && w.For.Thread == 0 {
				w.Event++ // from the write to the sync
				require.Equal(t, format.OpFdatasync, p.Record(int32(thread+1), w.Event).Op)
			}
		}
	}
	s := NewStage(NewClock(nil))
	e := s.NewEngine("", p, p, options)
	require.NoError(t, e.Build(t.Context(), scripted{}))
	require.NotNil(t, e.plan)
	require.NoError(t, s.Play(t.Context()))
	require.NotEmpty(t, e.Groups())
}

// Threads that commit wait until another one begins the log. That thread announces the end of its first
// group, so it can wait for one of them that has not woken up yet: that is no deadlock.
func TestFirstGroupIsAnnounced(t *testing.T) {
	p := commitskit.Random(8, 4, 15)
	e := NewStage(NewClock(nil)).NewEngine("", p, p, options)
	require.NoError(t, e.Build(t.Context(), scripted{}))
	require.NotEmpty(t, e.logs)
	for _, q := range e.logs {
		first := q.Groups[0]
		require.Contains(t, e.Workers[first.Thread-1].targets, first.Event)
	}
}

// A sync that ends a group can have a wait of its own. Its thread waits before it commits, and goes on to
// its later waits.
func TestOrderInsideGroup(t *testing.T) {
	p := commitskit.Random(8, 4, 15)
	inside := 0
	for thread, waits := range p.AllWaits() {
		var all []format.Wait
		for i, w := range waits {
			all = append(all, w)
			if last := i+1 == len(waits) || waits[i+1].Event > w.Event+1; last && w.For.Kind == format.EdgeLead && p.Record(int32(thread+1), w.Event+1).Op == format.OpFdatasync {
				all = append(all, format.Wait{Event: w.Event + 1, For: format.Edge{Kind: format.EdgeArrival, Delay: 1}})
				inside++
			}
		}
		p.AllWaits()[thread] = all
	}
	require.NotZero(t, inside)
	s := NewStage(NewClock(nil))
	e := s.NewEngine("", p, p, options)
	require.NoError(t, e.Build(t.Context(), scripted{}))
	require.NotNil(t, e.plan)
	require.NoError(t, s.Play(t.Context()))
	for _, w := range e.Workers {
		require.Equal(t, len(w.waits)-1, w.wait, "waits of thread %d", w.Number)
	}
}

// A trace whose threads wait for each other before a log exists ends with an error.
func TestCommitsDeadlock(t *testing.T) {
	p := commitskit.Random(8, 4, 15)
	waits := p.AllWaits()
	first := waits[0][0]
	for i := range waits { // each thread waits first for the last event of the next
		on := int32((i+1)%len(waits) + 1)
		waits[i] = append([]format.Wait{{Event: 0, For: format.Edge{Thread: on, Kind: format.EdgeWake, Event: p.Len(on) - 1}}}, waits[i]...)
	}
	require.NotZero(t, first)
	s := NewStage(NewClock(nil))
	e := s.NewEngine("", p, p, options)
	require.NoError(t, e.Build(t.Context(), scripted{}))
	require.ErrorContains(t, s.Play(t.Context()), "wait for each other")
	require.Less(t, e.Count().Elapsed, time.Duration(math.MaxInt64))
}

// A leader that waited for the end of a group begins when a processor is free: threads that were ready before
// it compute first, and commit in its group.
func TestLeaderNeedsProcessor(t *testing.T) {
	s := NewStage(NewClock(nil))
	for _, test := range []struct{ turn, wanted, at, begin int64 }{
		{10, 900, 1010, 5000},
		{10, 2000, 2000, 2000}, // it was awake
		{0, 900, 1000, 1000},   // a processor was free
	} {
		o := options
		o.Timing = Compute
		e := s.NewEngine("", nil, nil, o)
		e.processors = newProcessors(1)
		e.processors.take(0, 5000)
		w := &Worker{e: e}
		q := &logQueue{Queue: commits.NewQueue(&commits.Log{}, 2), turn: test.turn, leader: w}
		q.Synced(1000)
		q.Add(commits.Member{Thread: 1, Wanted: test.wanted})
		q.at.Store(test.at)
		require.True(t, w.awaitProcessor(q))
		require.Equal(t, test.begin, q.at.Load(), test)
		_, begin, _ := q.Next(q.turn)
		require.Equal(t, test.begin, begin, "one that comes later does not change it: %v", test)
	}
}
