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
func criticalOf(t *testing.T, lines string) (steps []Step, runTime int64) {
	t.Helper()
	p, err := Read(scripts.NewReader(strings.NewReader("# pianola script 1\n# recorder: ebpf\n"+lines), "test"))
	require.NoError(t, err)
	return p.Critical, p.RunTime
}

// TestCriticalPath has scripts whose critical path is told by hand, in
// microseconds.
func TestCriticalPath(t *testing.T) {
	for _, test := range []struct {
		name, script string
		want         []Step
	}{
		{"one thread", `
1 0.000010 open("f", O_RDWR) = 3 <0.000002>
1 0.000100 fsync(3) = 0 <0.000050> {timer=60000 storage=8000}
1 0.000100 exit_group(0) = ?
`, []Step{{"compute", "", 90_000}, {"timer", "", 60_000}, {"fsync", "f", 50_000}, {"storage", "", 8000}, {"open", "f", 2000}}},

		// Thread 1 waits for thread 2, which syncs. What thread 1 did before does
		// not count, but for what made thread 2.
		{"a wait for a thread", `
1 0.000000 open("f", O_RDWR) = 3 <0.000010>
1 0.000010 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000005>
1 0.000005 fsync(3) = 0 <0.000020>
2 0.000010 fdatasync(3) = 0 <0.000500>
1 0.000050 wait(FUTEX, 0x1000) = 0 <0.000490> {by=2}
1 0.000490 write(3, 0x1000, 7) = 7 <0.000030>
1 0.000030 exit_group(0) = ?
`, []Step{{"fdatasync", "f", 500_000}, {"compute", "", 55_000}, {"write", "f", 30_000}, {"open", "f", 10_000}}},

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
`, []Step{{"fdatasync", "f", 900_000}, {"compute", "", 162_858}, {"write", "f", 17_142}, {"clone", "", 10_000}, {"open", "f", 10_000}}},

		// It waits while thread 2 sleeps.
		{"a wait for a thread that sleeps", `
1 0.000000 open("f", O_RDWR) = 3 <0.000010>
1 0.000010 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000010>
2 0.000950 write(3, 0x1000, 7) = 7 <0.000040> {timer=930000}
1 -0.000860 wait(FUTEX, 0x1000) = 0 <0.000910> {by=2}
2 0.000920 exit(0) = ?
1 0.000080 exit_group(0) = ?
`, []Step{{"timer", "", 930_000}, {"compute", "", 120_000}, {"write", "f", 40_000}, {"open", "f", 10_000}}},

		// Thread 3 does no I/O: it waits for 2, and 1 waits for it. What it does
		// between is known only when it ends, long after.
		{"a chain", `
1 0.000010 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 2 <0.000001>
1 0.000001 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 3 <0.000001>
2 0.000009 sync() = 0 <0.000100>
3 -0.000008 wait(FUTEX, 0x1000) = 0 <0.000110> {by=2}
1 0.000000 wait(FUTEX, 0x2000) = 0 <0.000130> {by=3}
1 0.000140 sync() = 0 <0.000010>
3 0.000000 exit(0) = ? {ready=15000}
1 0.000010 exit_group(0) = ?
`, []Step{{"sync", "", 110_000}, {"compute", "", 42_000}, {"ready", "", 10_000}}},

		// A read of a pipe ends a little after the waking, and 2 is made by a fork.
		{"a call that waits", `
1 0.000010 clone(SIGCHLD) = 2 <0.000010>
2 0.000020 sync() = 0 <0.000200>
2 0.000200 write(4, 0x1000, 1) = 1 <0.000010> {type=fifo}
1 -0.000190 read(3, 0x1000, 1) = 1 <0.000205> {type=fifo by=2+7000}
2 0.000215 exit_group(0) = ?
1 0.000010 exit_group(0) = ?
`, []Step{{"sync", "", 200_000}, {"compute", "", 50_000}, {"write", "pipe", 8000}, {"read", "pipe", 7000}}},
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
			require.Positive(t, s.Nanos)
			sum += s.Nanos
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
