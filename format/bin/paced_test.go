package bin

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// startsAt returns the events of a trace at a pace, by thread.
func startsAt(t *testing.T, tr *Trace, p format.Pace) map[int32][]format.Event {
	t.Helper()
	r, err := tr.EventsAt(p)
	require.NoError(t, err)
	events, err := every(r, 3)
	require.NoError(t, err)
	require.True(t, slices.IsSortedFunc(events, func(a, b format.Event) int { return int(a.Start - b.Start) }))
	by := map[int32][]format.Event{}
	for _, e := range events {
		by[e.TID] = append(by[e.TID], e)
	}
	return by
}

// Compute is divided by the speed, and calls take their recorded time.
func TestEventsAtOneThread(t *testing.T) {
	tr := opened(t, compiled(t, &format.Header{Threads: []format.Thread{{Process: 1, Start: 600}}}, []format.Event{
		{Op: format.OpFsync, TID: 1, Compute: 400, Dur: 70, Off: format.Off{Ready: 100}},
		{Op: format.OpFsync, TID: 1, Compute: 1000, Dur: format.Unknown},
		{Op: format.OpFsync, TID: 1, Compute: 200, Dur: 5},
	}))
	for _, test := range []struct {
		pace format.Pace
		want []int64
	}{
		{format.Pace{}, []int64{1000, 2070, 2270}},
		{format.Pace{Speed: 1}, []int64{1000, 2070, 2270}},
		{format.Pace{Speed: 2}, []int64{500, 1070, 1170}},
		{format.Pace{Speed: 0.5}, []int64{2000, 4070, 4470}},
		{format.Pace{Speed: 2, Unordered: true}, []int64{500, 1070, 1170}},
		{format.Pace{Speed: 2, Schedule: true}, []int64{500, 1035, 1135}},
		{format.Pace{Speed: 1e18, Schedule: true}, []int64{0, 70, 70}},
		{format.Pace{Speed: 1e-18}, []int64{1 << 61, 1 << 61, 1 << 61}},
	} {
		var got []int64
		for _, e := range startsAt(t, tr, test.pace)[1] {
			got = append(got, e.Start)
		}
		require.Equal(t, test.want, got, "%+v", test.pace)
	}
	require.EqualValues(t, 50, startsAt(t, tr, format.Pace{Speed: 2})[1][0].Off.Ready)
}

// A thread that waits for another one's I/O waits no less at twice the speed: the run takes
// as long as the longest chain.
func TestEventsAtEdges(t *testing.T) {
	tr := opened(t, compiled(t, &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 2, Parent: 1}}}, []format.Event{
		{Op: format.OpClone, TID: 1, Compute: 100, Dur: 0, Ret: 2},
		{Op: format.OpFsync, TID: 2, Compute: 200, Dur: 1000},
		{Op: format.OpExit, TID: 2, Compute: 40, Dur: 0},
		// As recorded, it began long before what it waits for ended.
		{Op: format.OpWait, TID: 1, Compute: 10, Dur: 1230, Ret: 2, Edges: []format.Edge{{Thread: 2, Event: 1, Kind: format.EdgeExit}}},
		{Op: format.OpFsync, TID: 1, Compute: 60, Held: 40, Dur: 500, Edges: []format.Edge{{Thread: 2, Event: 1, Kind: format.EdgeWake, Delay: 30}}},
	}))
	at := startsAt(t, tr, format.Pace{Speed: 2})
	require.EqualValues(t, 50, at[1][0].Start)
	require.EqualValues(t, 150, at[2][0].Start)
	require.EqualValues(t, 1170, at[2][1].Start)
	require.EqualValues(t, 1170, at[1][1].Start)
	require.Zero(t, at[1][1].Dur, "a replay makes no call")
	require.EqualValues(t, 1185, at[1][2].Start, "after the other one's exit and the delay")
	require.EqualValues(t, 500, at[1][2].Dur)

	at = startsAt(t, tr, format.Pace{Speed: 2, Unordered: true})
	require.EqualValues(t, 55, at[1][1].Start)
	require.EqualValues(t, 85, at[1][2].Start, "all of its compute, as nothing accounts for a part")
}

// Messages of clients come after replies, or at their times.
func TestEventsAtClients(t *testing.T) {
	tr := opened(t, compiled(t, &format.Header{Threads: []format.Thread{{Process: 1}}}, []format.Event{
		{Op: format.OpFsync, TID: 1, Compute: 0, Dur: 100},
		{Op: format.OpFsync, TID: 1, Compute: 4000, Held: 4000, Dur: 100, Edges: []format.Edge{
			{Thread: 1, Event: 0, Kind: format.EdgeReply, Delay: 3000}, {Thread: 0, Kind: format.EdgeArrival, Delay: 4100}}},
	}))
	require.EqualValues(t, 1600, startsAt(t, tr, format.Pace{Speed: 2})[1][1].Start)
	require.EqualValues(t, 2050, startsAt(t, tr, format.Pace{Speed: 2, Timed: true})[1][1].Start)
}

// A call that waits for requests ends as long after them as recorded, and requests begin
// with the call that submits them.
func TestEventsAtRequests(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1, Ring: format.ViaUring}}}
	submit := func(compute, dur, number, least, reaped, since int64) format.Event {
		return format.Event{Op: format.OpRingSubmit, TID: 1, Compute: compute, Dur: dur, Args: [format.MaxArgs]int64{2, number, least, reaped, since}}
	}
	tr := opened(t, compiled(t, h, []format.Event{
		submit(1000, 10, 2, 0, 0, 0), // from 1000 to 1010
		{Op: format.OpPread64, Via: format.ViaUring, TID: 2, Compute: 1004, Dur: 600, Ret: 1}, // to 1604
		{Op: format.OpPread64, Via: format.ViaUring, TID: 2, Compute: 2, Dur: 900, Ret: 1},    // to 1906
		submit(400, 520, 0, 2, 0, 0), // from 1410 to 1930, 24 after the last
		submit(100, 10, 1, 0, 2, 80), // from 2030
		{Op: format.OpPread64, Via: format.ViaUring, TID: 2, Compute: 1025, Dur: 50, Ret: 1}, // from 2031
	}))
	recorded := startsAt(t, tr, format.Pace{})
	require.EqualValues(t, 2031, recorded[2][2].Start)
	at := startsAt(t, tr, format.Pace{Speed: 2})
	require.EqualValues(t, 500, at[1][0].Start)
	require.EqualValues(t, 504, at[2][0].Start)
	require.EqualValues(t, 506, at[2][1].Start)
	require.EqualValues(t, 710, at[1][1].Start)
	require.EqualValues(t, 1406+24+50, at[1][2].Start)
	require.EqualValues(t, at[1][2].Start+1, at[2][2].Start)
}

// For any waits, each event comes once, in the order of its thread, after the thread's last
// event has ended.
func TestEventsAtAll(t *testing.T) {
	rnd := rand.New(rand.NewSource(7))
	for range 300 {
		h := &format.Header{}
		var events []format.Event
		threads := 1 + rnd.Intn(5)
		lengths := make([]int, threads)
		for i := range lengths {
			lengths[i] = 1 + rnd.Intn(6)
		}
		for i := range threads {
			h.Threads = append(h.Threads, format.Thread{Process: int32(i + 1), Parent: int32(rnd.Intn(i + 1)), Start: rnd.Int63n(1000)})
			for n := range lengths[i] {
				e := format.Event{Op: format.OpFsync, TID: int32(i + 1), Compute: rnd.Int63n(1000), Dur: rnd.Int63n(1000)}
				if rnd.Intn(3) == 0 {
					e.Op, e.Ret = format.OpClone, int64(rnd.Intn(threads+1))
				}
				for range rnd.Intn(3) { // any waits, also invalid ones and cycles
					k := rnd.Intn(threads)
					edge := format.Edge{Thread: int32(k + 1), Event: int64(rnd.Intn(lengths[k])), Delay: rnd.Int63n(100)}
					if edge.Valid(int32(i+1), int64(n)) {
						e.Edges = append(e.Edges, edge)
					}
				}
				events = append(events, e)
			}
		}
		tr := opened(t, compiled(t, h, events))
		want := startsAt(t, tr, format.Pace{})
		got := startsAt(t, tr, format.Pace{Speed: 0.1 + 10*rnd.Float64(), Schedule: rnd.Intn(2) == 0})
		require.Len(t, got, len(want))
		for thread, all := range got {
			require.Len(t, all, len(want[thread]))
			for i := range all {
				require.Equal(t, want[thread][i].Op, all[i].Op)
				require.Equal(t, want[thread][i].Ret, all[i].Ret)
				if i > 0 {
					require.GreaterOrEqual(t, all[i].Start, all[i-1].End())
				}
			}
		}
	}
}

// PaceOf reads the pace of a replay from its log.
func TestPaceOf(t *testing.T) {
	log := func(value string) *format.Header {
		h := &format.Header{}
		h.Set(format.MetaReplay, value)
		return h
	}
	require.Equal(t, format.Pace{}, format.PaceOf(&format.Header{}))
	require.Equal(t, format.Pace{Speed: 2}, format.PaceOf(log("timing=compute speed=2 wait=auto order=resource backend=posix")))
	require.Equal(t, format.Pace{Speed: 0.5, Schedule: true, Unordered: true, Timed: true}, format.PaceOf(log("timing=schedule speed=0.5 order=thread outside=timed")))
	for _, text := range []string{"timing=compute speed=1", "timing=afap speed=2", "timing=compute", "speed=x", "speed=-1", "speed=NaN", "speed=Inf", "speed=0"} {
		p := format.PaceOf(log(text))
		require.True(t, p.Recorded(), text)
	}
	p := format.Pace{Speed: math.SmallestNonzeroFloat64}
	require.EqualValues(t, 1<<60, p.Scale(1))
	require.Zero(t, p.Scale(-5))
}
