package compile_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// timeout has thread i wait at a place until the time limit has passed.
func (w *woken) timeout(i, place int) {
	start := w.nows[i] + 1 + w.rng.Int64N(10_000)
	w.nows[i] = start + 30_000 + w.rng.Int64N(100_000)
	w.line(i, start, w.nows[i], "wait(FUTEX, %d) = -1 ETIMEDOUT <0.%09d>", place, w.nows[i]-start)
}

// With waits that could have ended early and did not, events begin as recorded.
func TestTimeoutsAsRecorded(t *testing.T) {
	early := int64(0)
	for seed := range uint64(300) {
		w := &woken{rng: rand.New(rand.NewPCG(seed, 17)), nows: make([]int64, 3)}
		w.call(0, `stat("/w/a", 0x1) = 0`)
		for i := range 2 {
			start := w.nows[0] + 1000
			w.nows[0], w.nows[i+1] = start+1000, start
			w.line(0, start, start+1000, "clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = %d <0.000001000>", 102+i)
		}
		for range 100 {
			i := w.rng.IntN(3)
			switch w.rng.IntN(6) {
			case 0, 1:
				w.wait(i, (i+1+w.rng.IntN(2))%3) // at place 16
			case 2:
				w.timeout(i, 16)
			case 3:
				w.timeout(i, 24) // where nothing wakes it
			case 4:
				w.call(i, `read(0, 0x1000, 10) = 10`) // left out
			default:
				w.call(i, `stat("/w/a", 0x1) = 0`)
			}
		}
		for i := range w.nows {
			w.call(i, `stat("/w/a", 0x1) = 0`)
		}
		recording := w.String()
		s, report := compiled(t, recording, compile.Options{})
		asRecorded(t, s, fmt.Sprintf("seed %d", seed), recording)
		last := int64(0)
		for _, begin := range begins(s, func(*format.Event) int64 { return 0 }) {
			last = max(last, begin)
		}
		require.LessOrEqual(t, report.Floor.Total, last, "seed %d", seed)
		early += last - report.Floor.Total
		require.LessOrEqual(t, report.Floor.Timers, report.Floor.Total, "seed %d", seed)
	}
	require.Positive(t, early)
}

// The wait of a thread before it is woken is in the events in between, or in the edge
// if there are none; if the thread is not woken again, it is the wait of a timer. A
// thread that was blocked all that time waits as long; one that came later does not.
func TestTimeouts(t *testing.T) {
	s, report := compiled(t, `# pianola script 1
# recorder: ebpf
101 0.000001000 stat("/w/a", 0x1) = 0 <0.000001000>
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 102 <0.000001000>
102 0.010000000 wait(FUTEX, 0x10) = -1 ETIMEDOUT <0.100000000>
102 0.110000000 stat("/w/a", 0x1) = 0 <0.000001000>
101 -0.020000000 wait(FUTEX, 0x20) = 0 <0.030000000> {by=102}
101 0.040000000 stat("/w/b", 0x1) = 0 <0.000001000>
101 0.010000000 wait(FUTEX, 0x20) = 0 <0.010000000> {by=102}
101 0.010000000 stat("/w/b", 0x1) = 0 <0.200000000>
102 0.000000000 wait(FUTEX, 0x10) = -1 ETIMEDOUT <0.100000000>
102 0.200000000 wait(FUTEX, 0x10) = 0 <0.010000000> {by=101}
102 0.020000000 stat("/w/a", 0x1) = 0 <0.000001000>
102 0.010000000 wait(FUTEX, 0x10) = -1 ETIMEDOUT <0.100000000>
102 0.110000000 stat("/w/a", 0x1) = 0 <0.000001000>
`, compile.Options{})
	type gap struct {
		thread        int32
		held, expired int64
		kinds         string
	}
	var got []gap
	for _, e := range s.events {
		g := gap{thread: e.TID, held: e.Held, expired: e.Expired}
		for _, edge := range e.Edges {
			g.kinds += " " + edge.Kind.String()
		}
		got = append(got, g)
	}
	const ms = int64(1_000_000)
	require.Equal(t, []gap{
		{thread: 1},
		{thread: 1},
		{thread: 2, expired: 100 * ms, kinds: " birth"},
		{thread: 1, held: 30 * ms, kinds: " timer"},
		{thread: 1, held: 10 * ms, kinds: " untimed"},
		{thread: 2, held: 110 * ms, kinds: " timed"},
		{thread: 2, expired: 100 * ms, kinds: " timer"},
	}, got)
	require.Zero(t, report.Floor.Timers, "it can end early")
}

// A thread that waits for one that only had a timer waits for the timer: the first time after its
// own event before, and then as long after the event that followed the last one. A thread that
// came later met the work by chance, and waits for what it does only.
func TestTimers(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
# recorder: ebpf
101 0.000001000 stat("/w/a", 0x1) = 0 <0.000001000>
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 102 <0.000001000>
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 103 <0.000001000>
102 0.000001000 wait(FUTEX, 0x10) = -1 ETIMEDOUT <0.100000000>
103 0.000001000 wait(FUTEX, 0x20) = 0 <0.101000000> {by=102}
103 0.102000000 stat("/w/e", 0x1) = 0 <0.010000000>
102 -0.001000000 wait(FUTEX, 0x10) = -1 ETIMEDOUT <0.100000000>
101 0.002000000 wait(FUTEX, 0x30) = 0 <0.012000000> {by=103}
101 0.013000000 stat("/w/b", 0x1) = 0 <0.000001000>
103 0.001000000 stat("/w/c", 0x1) = 0 <0.000001000>
103 0.001000000 wait(FUTEX, 0x20) = 0 <0.085000000> {by=102}
103 0.087000000 stat("/w/e", 0x1) = 0 <0.010000000>
101 0.001000000 wait(FUTEX, 0x30) = 0 <0.002000000> {by=102}
101 0.003000000 stat("/w/d", 0x1) = 0 <0.000001000>
`, compile.Options{})
	var got []string
	for _, e := range s.events {
		text := fmt.Sprint(e.TID, " ", e.Op, " ", e.Held/1_000_000, " ", e.Expired/1_000_000)
		for _, edge := range e.Edges {
			if text += " " + edge.Kind.String(); edge.Kind == format.EdgeTick {
				text += fmt.Sprint(" ", edge.Event, " ", edge.Delay/1_000_000)
			}
		}
		got = append(got, text)
	}
	require.Equal(t, []string{
		"1 stat 0 0", "1 clone 0 0", "1 clone 0 0",
		"3 stat 0 99 birth timer",
		"1 stat 12 0 untimed",
		"3 stat 0 0",
		"3 stat 83 0 tick 0 93",
		"1 stat 0 0",
	}, got)
}

// A signal interrupts a wait, and the thread, or the kernel, waits again for the same: they are one
// wait. Without a second one, the cause of the first is unknown.
func TestInterruptedWait(t *testing.T) {
	for again, want := range map[string][2]int64{
		"wait(FUTEX, 0x10) = 0 <0.010000000> {by=11}": {60, 0},
		"wait(OTHER, 0x10) = 0 <0.010000000> {by=11}": {60, 0},
		"wait(FUTEX, 0x20) = 0 <0.010000000> {by=11}": {10, 50},
	} {
		s, report := compiled(t, `# pianola script 1
# recorder: ebpf
10 0.000010000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 11 <0.000001000>
11 0.001000000 stat("/w/a", 0x1) = 0 <0.060000000>
10 0.000001000 wait(FUTEX, 0x10) = -1 EINTR (Interrupted system call) <0.050000000>
10 0.050000000 `+again+`
10 0.011000000 stat("/w/b", 0x1) = 0 <0.000001000>
`, compile.Options{})
		last := s.events[len(s.events)-1]
		require.Equal(t, format.OpStat, last.Op)
		require.Equal(t, want, [2]int64{last.Held / 1_000_000, report.Floor.Waits / 1_000_000}, again)
	}
}

// A replay leaves out the time for which a thread waited in a call that began before the recorder attached.
func TestCallInFlight(t *testing.T) {
	_, report := compiled(t, `# pianola script 1
# recorder: ebpf
# process: 10 parent=1 threads=10 cwd="/w" root="/" umask=0022
10 0.200000000 stat("/w/a", 0x1) = 0 <0.000001000> {storage=150000000}
10 0.200000000 stat("/w/a", 0x1) = 0 <0.000001000> {storage=20000000}
`, compile.Options{})
	require.Equal(t, int64(20), report.Floor.Storage/1_000_000)
	require.Less(t, report.Floor.Total, int64(251_000_000))
}

// A thread that sleeps until it gets a lock sleeps on as long as it did, from when
// another one gave the lock up.
func TestPolling(t *testing.T) {
	const lock, unlock = `fcntl(3, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=0, l_len=9})`, `fcntl(3, F_SETLK, {l_type=F_UNLCK, l_whence=SEEK_SET, l_start=0, l_len=9})`
	s, report := compiled(t, `# pianola script 1
# recorder: ebpf
101 0.000001000 open("/w/a", O_RDWR) = 3 <0.000001000> {type=reg size=0}
101 0.000001000 fork() = 102 <0.000001000>
101 0.001000000 `+lock+` = 0 <0.000001000>
102 0.001000000 `+lock+` = -1 EAGAIN <0.000001000>
102 0.011000000 `+lock+` = -1 EAGAIN <0.000001000> {timer=10000000}
101 0.001000000 fsync(3) = 0 <0.020000000>
101 0.020000000 `+unlock+` = 0 <0.000001000>
102 0.009000000 pread64(3, 0x1, 9, 0) = 0 <0.000001000> {timer=28000000}
102 0.001000000 `+lock+` = 0 <0.000001000>
102 0.011000000 `+lock+` = 0 <0.000001000> {timer=10000000}
`, compile.Options{})
	const ms = int64(1_000_000)
	var second []format.Event
	for _, e := range s.events {
		if e.TID == 2 {
			second = append(second, e)
		}
	}
	require.Len(t, second, 5)
	require.Equal(t, []int64{0, 10 * ms, 28 * ms, 0, 0}, []int64{second[0].Expired, second[1].Expired, second[2].Expired, second[3].Expired, second[4].Expired})
	require.Equal(t, []format.Edge{{Thread: 1, Kind: format.EdgeTimed, Event: 4, Delay: 10*ms - 1000}}, second[3].Edges)
	require.Equal(t, 35*ms-2000, report.Floor.Total, "without the 20 ms of fsync")
	asRecorded(t, s, "polling", "")
}

// twoThreads is the begin of a recording of two threads, which have a file open.
const twoThreads = `# pianola script 1
# recorder: ebpf
# lost: 0
101 0.000001000 openat(AT_FDCWD, "/w/log", O_RDWR|O_CREAT, 0600) = 3 <0.000000100> {type=reg size=0}
101 0.000001000 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 102 <0.000000100>
`

// A thread waits by turns at the two futexes of a condition variable: the wake at one of them
// ends what it waited for at the other.
func TestConditionVariable(t *testing.T) {
	for second, expired := range map[string]bool{"0x14": false, "0x18": true} {
		out, _ := compiled(t, twoThreads+`102 0.000001000 wait(FUTEX, 0x10) = -1 ETIMEDOUT (Connection timed out) <1.000000000>
101 0.100000000 fdatasync(3) = 0 <1.500000000>
102 1.000000000 wait(FUTEX, `+second+`) = 0 <0.500010000> {by=101}
102 0.500020000 pwrite64(3, 0x7f0000001000, 4096, 0) = 4096 <0.000001000>
`, compile.Options{})
		require.Equal(t, expired, strings.Contains(out.String(), "expired="), out)
	}
}
