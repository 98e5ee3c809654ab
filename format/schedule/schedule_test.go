package schedule_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/commits"
	"pianola/format/commits/commitskit"
	"pianola/format/schedule"
)

// trace is a compiled trace in memory.
type trace struct {
	header format.Header
	events [][]event
	waits  [][]format.Wait
}

type event struct {
	record format.Record
	nanos  int64
}

func (t *trace) Header() *format.Header                    { return &t.header }
func (t *trace) Len(thread int32) int64                    { return int64(len(t.events[thread-1])) }
func (t *trace) Waits(thread int32) ([]format.Wait, error) { return t.waits[thread-1], nil }

// source has the events of a thread that are left.
type source struct{ left []event }

func (s *source) Peek() (*format.Record, int64, error) {
	if len(s.left) == 0 {
		return nil, 0, io.EOF
	}
	return &s.left[0].record, s.left[0].nanos, nil
}

// play returns the schedule of a trace.
func (t *trace) play(tb testing.TB, o schedule.Options) (all []schedule.Event) {
	sources := make([]source, len(t.events))
	s, err := schedule.New(t, o, func(thread int32) (schedule.Source, error) {
		sources[thread-1].left = t.events[thread-1]
		return &sources[thread-1], nil
	})
	require.NoError(tb, err)
	for {
		e, err := s.Next()
		if err != nil {
			require.ErrorIs(tb, err, io.EOF)
			return all
		}
		left := &sources[e.Thread-1].left
		*left = (*left)[1:]
		all = append(all, e)
	}
}

// add adds an event of a thread that has waits.
func (t *trace) add(thread int32, op format.Op, compute, nanos, ret int64, waits ...format.Edge) {
	of := &t.events[thread-1]
	for _, edge := range waits {
		t.waits[thread-1] = append(t.waits[thread-1], format.Wait{Event: int64(len(*of)), For: edge})
	}
	*of = append(*of, event{format.Record{Op: op, Compute: compute, Ret: ret}, nanos})
}

func newTrace(threads ...format.Thread) *trace {
	n := max(len(threads), 1)
	return &trace{header: format.Header{Threads: threads}, events: make([][]event, n), waits: make([][]format.Wait, n)}
}

// A thread that waits for any of several processes goes on after as many ends as it had
// reaped, whichever they are: here the second process ends first on another device.
func TestAnyChild(t *testing.T) {
	any := func(thread int32) format.Edge { return format.Edge{Thread: thread, Event: 1, Kind: format.EdgeAny} }
	tr := newTrace(format.Thread{Process: 1}, format.Thread{Process: 2, Parent: 1}, format.Thread{Process: 3, Parent: 1})
	tr.add(1, format.OpClone, 0, 0, 2)
	tr.add(1, format.OpClone, 0, 0, 3)
	tr.add(1, format.OpWait4, 0, 0, 0, any(2))
	tr.add(1, format.OpWait4, 0, 0, 0, any(3))
	for i := range int32(2) {
		tr.add(2+i, format.OpFsync, 0, int64(100+100*i), 0)
		tr.add(2+i, format.OpExitGroup, 0, 0, 0)
	}
	reaped := func(o schedule.Options) (at []int64) {
		for _, e := range tr.play(t, o) {
			if e.Record.Op == format.OpWait4 {
				at = append(at, e.Start)
			}
		}
		return at
	}
	require.Equal(t, []int64{100, 200}, reaped(schedule.Options{}))
	slowFirst := func(e *schedule.Event, recorded int64) int64 {
		if e.Thread == 2 && e.Record.Op == format.OpFsync {
			return 1000
		}
		return recorded
	}
	require.Equal(t, []int64{200, 1000}, reaped(schedule.Options{Duration: slowFirst}))
}

// A trace without a thread table has one thread.
func TestNoThreads(t *testing.T) {
	tr := newTrace()
	require.Empty(t, tr.play(t, schedule.Options{}))
	tr.add(1, format.OpFsync, 5, 7, 0)
	tr.add(1, format.OpFsync, 1, format.Unknown, 0)
	all := tr.play(t, schedule.Options{})
	require.Len(t, all, 2)
	require.Equal(t, [4]int64{5, 12, 13, 13}, [4]int64{all[0].Start, all[0].End, all[1].Start, all[1].End})
}

// The child of a call that waits for it (vfork) begins with the call. The rest of the call
// is no time of a replay, which makes no such call.
func TestChild(t *testing.T) {
	tr := newTrace(format.Thread{Process: 1}, format.Thread{Process: 2, Parent: 1, Start: 1000})
	tr.add(1, format.OpClone, 100, 500, 2)
	tr.add(1, format.OpFsync, 10, 20, 0, format.Edge{Thread: 2, Event: 0, Kind: format.EdgeExit, Delay: 3})
	tr.add(2, format.OpFsync, 30, 40, 0, format.Edge{Thread: 1, Event: 0, Kind: format.EdgeBirth})
	all := tr.play(t, schedule.Options{})
	require.Equal(t, int64(100), all[0].End)
	require.Equal(t, int32(2), all[1].Thread)
	require.Equal(t, int64(130), all[1].Start)
	require.Equal(t, int64(173), all[2].Start)
}

// submit adds a call that submits requests of a ring, or that waits for so many completions.
func (t *trace) submit(thread, ring int32, compute, nanos, number, least int64) {
	t.add(thread, format.OpRingSubmit, compute, nanos, 0)
	of := t.events[thread-1]
	of[len(of)-1].record.Args = [format.MaxArgs]int64{int64(ring), number, least}
}

// A call that waits for a request of another thread begins before it, ends as long after it
// as recorded, and only then releases others.
func TestWaitForRequest(t *testing.T) {
	for _, factor := range []int64{1, 3} {
		tr := newTrace(format.Thread{Process: 1}, format.Thread{Process: 1}, format.Thread{Process: 1, Parent: 1, Ring: format.ViaUring}, format.Thread{Process: 1})
		tr.submit(1, 3, 100, 5, 1, 0)
		tr.submit(2, 3, 20, 1090, 0, 1) // from 20 to 1110, 10 after the request
		tr.waits[1] = append(tr.waits[1], format.Wait{For: format.Edge{Thread: 1, Event: 0, Kind: format.EdgeMessage}})
		tr.add(3, format.OpFsync, 100, 1000, 0)
		tr.add(4, format.OpFsync, 0, 7, 0, format.Edge{Thread: 2, Event: 0, Kind: format.EdgeWake, Delay: 2})
		all := tr.play(t, schedule.Options{Duration: func(e *schedule.Event, recorded int64) int64 {
			if e.Thread == 3 {
				return recorded * factor
			}
			return recorded
		}})
		require.Len(t, all, 4)
		require.Equal(t, [2]int64{2, 20}, [2]int64{int64(all[0].Thread), all[0].Start})
		require.Equal(t, [2]int64{3, 100}, [2]int64{int64(all[2].Thread), all[2].Start})
		require.Equal(t, [2]int64{4, 112 + 1000*factor}, [2]int64{int64(all[3].Thread), all[3].Start})
	}
}

// A wait that ended by its time limit ends earlier if the thread is woken, or if another
// thread waits for what comes after it.
func TestTimeLimit(t *testing.T) {
	for _, test := range []struct {
		woken  int64 // when the waker ends
		needed bool
		timer  bool
		by     format.EdgeKind
		want   int64
	}{
		{30, false, false, 0, 30}, {1, false, false, 0, 20}, {500, false, false, 0, 100}, {500, true, false, format.EdgeBytes, 20}, {500, true, false, format.EdgeTimer, 100},
		{30, false, true, 0, 100}, {500, true, true, format.EdgeWake, 100}, {500, true, true, format.EdgeUntimed, 20}, {500, true, true, format.EdgeBytes, 20},
	} {
		tr := newTrace(make([]format.Thread, 3)...)
		tr.waits[0] = append(tr.waits[0], format.Wait{Expired: 80})
		if test.timer {
			tr.waits[0][0].For.Kind = format.EdgeTimer
		}
		tr.add(1, format.OpFsync, 100, 1, 0)
		tr.add(1, format.OpFsync, 1, 1, 0, format.Edge{Thread: 2, Event: 0, Kind: format.EdgeTimed, Delay: 5})
		tr.add(2, format.OpFsync, 0, test.woken, 0)
		if test.needed {
			tr.add(3, format.OpFsync, 0, 1, 0, format.Edge{Thread: 1, Event: 0, Kind: test.by})
		}
		var got int64
		for _, e := range tr.play(t, schedule.Options{}) {
			if e.Thread == 1 && e.Number == 0 {
				got = e.Start
			}
		}
		require.Equal(t, test.want, got, "%+v", test)
	}
}

// A tick of another thread's timer begins an event, unless another strand waits for what follows.
func TestTick(t *testing.T) {
	for by, want := range map[format.EdgeKind]int64{format.EdgeWake: 110, format.EdgeTimer: 110, format.EdgeUntimed: 30} {
		tr := newTrace(make([]format.Thread, 2)...)
		tr.add(1, format.OpFsync, 0, 10, 0)
		tr.add(1, format.OpFsync, 20, 1, 0, format.Edge{Thread: 1, Event: 0, Kind: format.EdgeTick, Delay: 100})
		tr.add(2, format.OpFsync, 0, 1, 0, format.Edge{Thread: 1, Event: 1, Kind: by})
		for _, e := range tr.play(t, schedule.Options{}) {
			if e.Thread == 1 && e.Number == 1 {
				require.Equal(t, want, e.Start, "%v", by)
			}
		}
	}
}

// An error of a source ends the schedule.
func TestBrokenSource(t *testing.T) {
	broken := errors.New("broken")
	tr := newTrace(format.Thread{Process: 1})
	tr.add(1, format.OpFsync, 0, 0, 0)
	s, err := schedule.New(tr, schedule.Options{}, func(int32) (schedule.Source, error) { return nil, broken })
	require.NoError(t, err)
	_, err = s.Next()
	require.ErrorIs(t, err, broken)
}

// random returns a trace whose edges all lead to events that were added before, or with
// cycles anywhere.
func random(rnd *rand.Rand, cycles bool) *trace {
	threads := make([]format.Thread, 1+rnd.IntN(5))
	for i := range threads {
		threads[i] = format.Thread{Process: int32(i + 1), Start: rnd.Int64N(100)}
	}
	tr := newTrace(threads...)
	lengths := make([]int, len(threads))
	for i := range lengths {
		lengths[i] = 1 + rnd.IntN(8)
	}
	for left := 8 * len(threads); left > 0; left-- {
		i := rnd.IntN(len(threads))
		if len(tr.events[i]) == lengths[i] {
			continue
		}
		var edges []format.Edge
		for range rnd.IntN(3) {
			k := rnd.IntN(len(threads))
			n := len(tr.events[k])
			if cycles {
				n = lengths[k]
			}
			if k != i && n > 0 {
				edges = append(edges, format.Edge{Thread: int32(k + 1), Event: rnd.Int64N(int64(n)), Kind: format.EdgeBytes, Delay: rnd.Int64N(10)})
			}
		}
		tr.add(int32(i+1), format.OpFsync, rnd.Int64N(50), rnd.Int64N(50), 0, edges...)
	}
	return tr
}

// Each event comes once, in the order of its thread, at the earliest time that its thread
// and its edges allow.
func TestRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		tr := random(rnd, false)
		all := tr.play(t, schedule.Options{})
		require.True(t, slices.IsSortedFunc(all, func(a, b schedule.Event) int { return int(a.Start - b.Start) }))
		ends := make([][]int64, len(tr.events))
		total := 0
		for _, own := range tr.events {
			total += len(own)
		}
		require.Len(t, all, total)
		for _, e := range all {
			of := &ends[e.Thread-1]
			require.EqualValues(t, len(*of), e.Number)
			earliest := tr.header.Threads[e.Thread-1].Start
			if e.Number > 0 {
				earliest = (*of)[e.Number-1]
			}
			earliest += e.Record.Compute
			for _, w := range tr.waits[e.Thread-1] {
				if w.Event == e.Number {
					earliest = max(earliest, ends[w.For.Thread-1][w.For.Event]+w.For.Delay)
				}
			}
			require.Equal(t, earliest, e.Start)
			require.Equal(t, earliest+tr.events[e.Thread-1][e.Number].nanos, e.End)
			*of = append(*of, e.End)
		}
	}
}

// A trace whose threads wait for each other still comes to an end.
func TestCycles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		tr := random(rnd, true)
		for _, o := range []schedule.Options{{}, {Pace: format.Pace{Speed: 2}}, {Pace: format.Pace{Speed: 2, Schedule: true}}, {Pace: format.Pace{Unordered: true}}, {AFAP: true}} {
			next := make([]int64, len(tr.events))
			now := int64(0)
			for _, e := range tr.play(t, o) {
				require.Equal(t, next[e.Thread-1], e.Number)
				require.GreaterOrEqual(t, e.Start, now)
				next[e.Thread-1], now = e.Number+1, e.Start
			}
			for i := range next {
				require.EqualValues(t, len(tr.events[i]), next[i])
			}
		}
	}
}

func BenchmarkSchedule(b *testing.B) {
	tr := newTrace(format.Thread{Process: 1}, format.Thread{Process: 1}, format.Thread{Process: 1})
	const events = 10_000
	for n := range int64(events) {
		for thread := range int32(3) {
			var edges []format.Edge
			if n > 0 {
				edges = append(edges, format.Edge{Thread: (thread+1)%3 + 1, Event: n - 1})
			}
			tr.add(thread+1, format.OpFsync, 10, 10, 0, edges...)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		require.Len(b, tr.play(b, schedule.Options{}), 3*events)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*3*events), "ns/event")
}

// Threads that commit to a log form groups by how long syncs take. Each event of the trace comes
// once, as one of a thread or as one whose place a group took, and groups follow one another.
func TestCommits(t *testing.T) {
	for seed := range uint64(40) {
		p := commitskit.Random(seed, 2+int(seed%7), 20)
		plan, err := commits.Find(p, p.Process, p.AllWaits())
		require.NoError(t, err)
		if plan == nil {
			continue // one thread has led
		}
		for _, factor := range []int64{0, 1, 10} {
			sources := make([]source, len(p.AllWaits()))
			s, err := schedule.New(ordered{p}, schedule.Options{Plan: plan, Duration: func(_ *schedule.Event, nanos int64) int64 { return factor * nanos }},
				func(thread int32) (schedule.Source, error) {
					records, nanos := make([]format.Record, p.Len(thread)), make([]int64, p.Len(thread))
					_, err := p.Records(thread).Read(records)
					require.NoError(t, err)
					_, err = p.Durations(thread).Read(nanos)
					require.NoError(t, err)
					for i := range records {
						sources[thread-1].left = append(sources[thread-1].left, event{records[i], nanos[i]})
					}
					return &sources[thread-1], nil
				})
			require.NoError(t, err)
			numbers, ends, free, durable, now := make([]int64, len(sources)), make([]int64, len(sources)), int64(0), int64(0), int64(0)
			for {
				e, err := s.Next()
				if err != nil {
					require.ErrorIs(t, err, io.EOF)
					break
				}
				require.GreaterOrEqual(t, e.Start, now)
				now = e.Start
				if e.Group != nil {
					require.GreaterOrEqual(t, e.Start, free)
					if free = e.End; e.Group.Ends {
						durable += e.Group.Commits
					}
					continue
				}
				k := e.Thread - 1
				require.Equal(t, numbers[k], e.Number)
				require.GreaterOrEqual(t, e.Start, ends[k])
				numbers[k], ends[k] = numbers[k]+1, e.End
				sources[k].left = sources[k].left[1:]
			}
			require.Equal(t, plan.Logs[0].Commits, durable)
			for k := range numbers {
				require.Equal(t, p.Len(int32(k+1)), numbers[k])
			}
		}
	}
}

// ordered is a trace without the waits that commits replace.
type ordered struct{ *commitskit.Program }

func (ordered) Waits(int32) ([]format.Wait, error) { return nil, nil }
