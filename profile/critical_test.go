package profile

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	scripts "pianola/format/script"
)

// criticalOf returns the critical path of a script.
func criticalOf(t *testing.T, lines string) (steps []told, runTime int64) {
	t.Helper()
	p, err := Read(scripts.NewReader(strings.NewReader("# pianola script 1\n# recorder: ebpf\n"+lines), "test"))
	require.NoError(t, err)
	for _, s := range p.Critical {
		steps = append(steps, told{s.Name, s.File, s.Nanos})
	}
	return steps, p.RunTime
}

// told is a step as it is printed.
type told struct {
	name, file string
	nanos      int64
}

// TestCriticalPath has scripts whose critical path is told by hand, in
// microseconds.
func TestCriticalPath(t *testing.T) {
	for _, test := range []struct {
		name, script string
		want         []told
	}{
		{"one thread", `
1 0.000010 open("f", O_RDWR) = 3 <0.000002>
1 0.000100 fsync(3) = 0 <0.000050> {timer=60000 storage=8000}
1 0.000100 exit_group(0) = ?
`, []told{{"compute", "", 90_000}, {"timer", "", 60_000}, {"fsync", "f", 50_000}, {"storage", "", 8000}, {"open", "f", 2000}}},

		// Thread 1 waits for thread 2, which syncs. The earlier work of thread 1 does
		// not count, except the creation of thread 2.
		{"a wait for a thread", `
1 0.000000 open("f", O_RDWR) = 3 <0.000010>
1 0.000010 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000005>
1 0.000005 fsync(3) = 0 <0.000020>
2 0.000010 fdatasync(3) = 0 <0.000500>
1 0.000050 wait(FUTEX, 0x1000) = 0 <0.000490> {by=2}
1 0.000490 write(3, 0x1000, 7) = 7 <0.000030>
1 0.000030 exit_group(0) = ?
`, []told{{"fdatasync", "f", 500_000}, {"compute", "", 55_000}, {"write", "f", 30_000}, {"open", "f", 10_000}}},

		// Thread 2 sleeps for most of the time. That thread 1 once waits for it makes
		// the run no longer by that.
		{"a lock of a thread that works now and then", `
1 0.000000 open("f", O_RDWR) = 3 <0.000010>
1 0.000010 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000010>
1 0.000010 fdatasync(3) = 0 <0.000900>
2 0.000940 write(3, 0x1000, 7) = 7 <0.000040> {timer=930000}
1 0.000020 wait(FUTEX, 0x1000) = 0 <0.000030> {by=2}
2 0.000040 exit(0) = ?
1 0.000080 exit_group(0) = ?
`, []told{{"fdatasync", "f", 900_000}, {"compute", "", 162_858}, {"write", "f", 17_142}, {"clone", "", 10_000}, {"open", "f", 10_000}}},

		// It waits while thread 2 sleeps.
		{"a wait for a thread that sleeps", `
1 0.000000 open("f", O_RDWR) = 3 <0.000010>
1 0.000010 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000010>
2 0.000950 write(3, 0x1000, 7) = 7 <0.000040> {timer=930000}
1 -0.000860 wait(FUTEX, 0x1000) = 0 <0.000910> {by=2}
2 0.000920 exit(0) = ?
1 0.000080 exit_group(0) = ?
`, []told{{"timer", "", 930_000}, {"compute", "", 120_000}, {"write", "f", 40_000}, {"open", "f", 10_000}}},

		// Thread 1 sleeps before it makes thread 2, which has not idled at all. The
		// path of a thread leads through its maker, whatever that did before.
		{"a thread made by one that has slept", `
1 0.000000 open("f", O_RDWR) = 3 <0.000010>
1 0.000510 fsync(3) = 0 <0.000030> {timer=500000}
1 0.000030 vfork() = 2 <0.000100> {by=2}
2 0.000010 fdatasync(3) = 0 <0.000080>
2 0.000090 exit_group(0) = ?
`, []told{{"timer", "", 500_000}, {"fdatasync", "f", 80_000}, {"fsync", "f", 30_000}, {"compute", "", 20_000}, {"open", "f", 10_000}}},

		// Thread 3 does no I/O: it waits for 2, and 1 waits for it. Its time in between
		// is known only when it ends, much later.
		{"a chain", `
1 0.000010 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000001>
1 0.000001 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 3 <0.000001>
2 0.000009 sync() = 0 <0.000100>
3 -0.000008 wait(FUTEX, 0x1000) = 0 <0.000110> {by=2}
1 0.000000 wait(FUTEX, 0x2000) = 0 <0.000130> {by=3}
1 0.000140 sync() = 0 <0.000010>
3 0.000000 exit(0) = ? {ready=15000}
1 0.000010 exit_group(0) = ?
`, []told{{"sync", "", 110_000}, {"compute", "", 42_000}, {"ready", "", 10_000}}},

		// A read of a pipe ends a little after the waking, and 2 is made by a fork.
		{"a call that waits", `
1 0.000010 clone(SIGCHLD) = 2 <0.000010>
2 0.000020 sync() = 0 <0.000200>
2 0.000200 write(4, 0x1000, 1) = 1 <0.000010> {type=fifo}
1 -0.000190 read(3, 0x1000, 1) = 1 <0.000205> {type=fifo by=2+7000}
2 0.000215 exit_group(0) = ?
1 0.000010 exit_group(0) = ?
`, []told{{"sync", "", 200_000}, {"compute", "", 50_000}, {"write", "pipe", 8000}, {"read", "pipe", 7000}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := criticalOf(t, strings.TrimPrefix(test.script, "\n"))
			require.Equal(t, test.want, got)
		})
	}
}

// TestCriticalPathIsUnknown where threads wait for one another, and the recording
// does not tell.
func TestCriticalPathIsUnknown(t *testing.T) {
	got, _ := criticalOf(t, `1 0.000000 clone(CLONE_VM|CLONE_THREAD) = 2 <0.000010>
2 0.000010 sync() = 0 <0.000500>
1 0.000500 exit_group(0) = ?
`)
	require.Nil(t, got)
}

// TestCriticalPathIsAsLongAsTheRun makes up recordings of threads that compute,
// sync, sleep, and wait for one another: whatever they do, the steps add up to the
// run time, and all of them are longer than nothing.
func TestCriticalPathIsAsLongAsTheRun(t *testing.T) {
	for seed := range uint64(200) {
		lines, end := threadsThatWait(rand.New(rand.NewPCG(seed, 1)))
		steps, runTime := criticalOf(t, lines)
		require.Equal(t, end, runTime)
		var sum int64
		for _, s := range steps {
			require.Positive(t, s.nanos)
			sum += s.nanos
		}
		require.InDelta(t, runTime, sum, 1000, "seed %d:\n%s", seed, lines) // proportions are rounded
	}
}

// threadsThatWait makes up a recording, and returns when it ends.
func threadsThatWait(r *rand.Rand) (lines string, end int64) {
	type thread struct {
		clock   int64
		blocked bool
	}
	type line struct {
		start, end int64
		text       string
	}
	var all []line
	threads := []*thread{{}}
	put := func(i int, dur int64, call, notes string) {
		t := threads[i]
		text := fmt.Sprintf("%s <%s>%s", call, format.AppendSeconds(nil, dur), notes)
		all = append(all, line{t.clock, t.clock + dur, fmt.Sprintf("%d %%s %s\n", i+1, text)})
		t.clock += dur
	}
	wake := func(waker, woken int) {
		w, k := threads[woken], threads[waker]
		k.clock += r.Int64N(100)
		dur := max(k.clock-w.clock, 0)
		put(woken, dur, "wait(FUTEX, 0x1000) = 0", fmt.Sprintf(" {by=%d}", waker+1))
		w.blocked = false
	}
	put(0, 10, "sync() = 0", "") // the first line tells which thread was there first
	for range 3 {
		threads[0].clock += 1000
		threads = append(threads, &thread{clock: threads[0].clock})
		put(0, 100, fmt.Sprintf("clone(CLONE_VM|CLONE_THREAD) = %d", len(threads)), "")
	}
	for range 60 {
		i := r.IntN(len(threads))
		t := threads[i]
		if t.blocked {
			continue
		}
		switch r.IntN(5) {
		case 0:
			put(i, 1+r.Int64N(5000), "sync() = 0", "")
		case 1:
			t.clock += r.Int64N(1000)
		case 2:
			slept := r.Int64N(1000)
			t.clock += slept + r.Int64N(100)
			put(i, 1, "sync() = 0", fmt.Sprintf(" {timer=%d}", slept))
		case 3:
			t.blocked = i > 0 // the first wakes the others in the end
		case 4:
			if other := r.IntN(len(threads)); threads[other].blocked && threads[other].clock < t.clock {
				wake(i, other)
			}
		}
	}
	for i, t := range slices.Backward(threads) {
		if t.blocked {
			threads[0].clock = max(threads[0].clock, t.clock)
			wake(0, i)
		}
		put(i, 0, map[bool]string{true: "exit_group(0) = ?", false: "exit(0) = ?"}[i == 0], "")
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(a.end, b.end) })
	before := int64(0)
	for _, l := range all {
		text := l.text
		if strings.HasPrefix(text[strings.Index(text, "%s ")+3:], "exit") {
			text = text[:strings.Index(text, " <")] + "\n"
		}
		lines += fmt.Sprintf(text, format.AppendSeconds(nil, l.start-before))
		before, end = l.start, max(end, l.end)
	}
	return lines, end
}

// pathOf returns the segments of a critical path as text.
func pathOf(t *testing.T, lines string) (list []string) {
	t.Helper()
	for _, s := range timelineOf(t, lines).Segments {
		list = append(list, fmt.Sprintf("%d %d-%d %s", s.TID, s.From, s.To, strings.TrimSpace(s.Name+" "+s.File)))
	}
	return list
}

func timelineOf(t *testing.T, lines string) *Timeline {
	t.Helper()
	p, err := Read(scripts.NewReader(strings.NewReader("# pianola script 1\n# recorder: ebpf\n"+lines), "test"))
	require.NoError(t, err)
	return &p.Timeline
}

// The path goes from thread to thread where one was made or woken, and knows what
// took the most of each part.
func TestCriticalPathByThreads(t *testing.T) {
	require.Equal(t, []string{"1 0-10000 open f", "2 10000-525000 fdatasync f", "1 525000-605000 compute"}, pathOf(t, `1 0.000000 open("f", O_RDWR) = 3 <0.000010>
1 0.000010 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000005>
1 0.000005 fsync(3) = 0 <0.000020>
2 0.000010 fdatasync(3) = 0 <0.000500>
1 0.000010 wait(FUTEX, 0x1000) = 0 <0.000490> {by=2}
1 0.000490 write(3, 0x1000, 7) = 7 <0.000030>
1 0.000080 exit_group(0) = ?
`))
	// What 3 does between its wait and its end, long after it woke 1, is compute
	// and waiting for a processor.
	require.Equal(t, []string{"1 0-10000 compute", "2 10000-122000 sync", "3 122000-142000 ready", "1 142000-302000 sync"}, pathOf(t, `1 0.000010 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000001>
1 0.000001 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 3 <0.000001>
2 0.000009 sync() = 0 <0.000100>
3 -0.000008 wait(FUTEX, 0x1000) = 0 <0.000110> {by=2}
1 0.000000 wait(FUTEX, 0x2000) = 0 <0.000130> {by=3}
1 0.000140 sync() = 0 <0.000150>
3 0.000000 exit(0) = ? {ready=18000}
1 0.000150 exit_group(0) = ?
`))
	require.Equal(t, []string{"1 0-100000 sync"}, pathOf(t, "1 0.00001 sync() = 0 <0.00009>\n"))
}

// Whatever threads do, the parts of the path follow one another from the start to
// the end, and what a lane has is what its thread did.
func TestTimelineIsWhole(t *testing.T) {
	for seed := range uint64(100) {
		lines, end := threadsThatWait(rand.New(rand.NewPCG(seed, 2)))
		p, err := Read(scripts.NewReader(strings.NewReader("# pianola script 1\n# recorder: ebpf\n"+lines), "test"))
		require.NoError(t, err)
		at, on := int64(0), int32(0)
		for _, s := range p.Timeline.Segments {
			require.Equal(t, at, s.From)
			require.NotEqual(t, on, s.TID)
			require.True(t, slices.ContainsFunc(p.Timeline.Lanes, func(l Lane) bool { return l.TID == s.TID }))
			require.NotEmpty(t, s.Name)
			at, on = s.To, s.TID
		}
		require.Equal(t, end, at)
		require.Len(t, p.Timeline.Lanes, len(p.Threads))
		left, cells := map[int32]*Doing{}, 0 // by thread id, of which there can be several
		for i := range p.Threads {
			of := &p.Threads[i]
			if left[of.TID] == nil {
				left[of.TID] = new(Doing)
			}
			for k, nanos := range of.spent() {
				left[of.TID][k] += nanos
			}
		}
		for _, l := range p.Timeline.Lanes {
			cells += len(l.Cells)
			for _, c := range l.Cells {
				for k, nanos := range c.Doing {
					left[l.TID][k] -= nanos
				}
			}
		}
		for tid, rest := range left {
			for k, nanos := range rest {
				require.InDelta(t, 0, nanos, float64(cells), "seed %d, thread %d, %s", seed, tid, Activity(k))
			}
		}
	}
}

// handing are events of threads that wake one another in turn.
func handing(threads, n int) []format.Event {
	var events []format.Event
	for i := range threads - 1 {
		events = append(events, format.Event{Op: format.OpClone, TID: 1, Start: int64(i), Dur: 1, Ret: int64(i + 2), Args: [format.MaxArgs]int64{format.CloneThread | format.CloneFiles}})
	}
	for i := range n {
		by, to := int32(1+i%threads), int32(1+(i+1)%threads)
		start := int64(threads + 1000*i)
		events = append(events, format.Event{Op: format.OpFsync, TID: by, Start: start, Dur: 900, Args: [format.MaxArgs]int64{3}},
			format.Event{Op: format.OpWait, TID: to, Start: start, Dur: 950, Args: [format.MaxArgs]int64{1}, Notes: &format.Notes{Has: format.NotedWaker, Waker: by}})
	}
	return events
}

// For any number of threads and wake-ups, what is
// kept is bounded, and the path goes from the start to the end.
func TestTimelineIsBounded(t *testing.T) {
	h := &format.Header{}
	h.Set(format.MetaTool, "ebpf")
	for _, test := range []struct{ threads, wakes int }{{2, 100_000}, {3000, 20_000}} {
		c := Collector{tracker: newTracker(h, 0)}
		require.NoError(t, c.Write(handing(test.threads, test.wakes)))
		require.LessOrEqual(t, c.tracker.path.legs.made, maxLegs)
		require.LessOrEqual(t, c.tracker.threads.lanes.cells, maxCells)
		p := c.Profile()
		lanes := min(maxLanes, test.threads)
		require.Len(t, p.Timeline.Lanes, lanes)
		require.Equal(t, test.threads-lanes, p.Timeline.Others)
		for _, l := range p.Timeline.Lanes {
			require.LessOrEqual(t, l.First+len(l.Cells), maxColumns)
		}
		list := p.Timeline.Segments
		require.LessOrEqual(t, len(list), maxSegments+2)
		require.Greater(t, len(list), maxSegments/4)
		at := int64(0)
		for _, s := range list {
			require.Equal(t, at, s.From)
			at = s.To
		}
		require.Equal(t, p.RunTime, at)
	}
}

// Threads that did next to nothing have no lane beyond the first few.
func TestTimelineLeavesOutIdleThreads(t *testing.T) {
	events := []format.Event{{Op: format.OpSync, TID: 1, Dur: 1e9}}
	for i := range int32(20) {
		events = append(events, format.Event{Op: format.OpSync, TID: 2 + i, Start: 1e9, Dur: 1000})
	}
	p := read(t, events...)
	require.Len(t, p.Timeline.Lanes, leastLanes)
	require.Equal(t, 13, p.Timeline.Others)
	require.Nil(t, p.Timeline.Segments)
}
