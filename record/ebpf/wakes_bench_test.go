package ebpf

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/record/recordkit"
)

// BenchmarkWakes measures what recording adds when a thread hands on to another
// one through a futex, on one processor: two calls that are not
// recorded, a waking, a switch, and the line of the wait. It is taken apart by
// what is attached. The rounds take turns, and the quickest of each count.
//
//	go test ./record/ebpf -run '^$' -bench Wakes -benchtime 15x
func BenchmarkWakes(b *testing.B) {
	recordkit.RequireEBPF(b, MeasureCost)
	p, err := load(config{RingBytes: 32 << 20, Type: true, Faults: true, Off: true})
	require.NoError(b, err)
	defer p.close()
	ring, err := openRing(p.ring())
	require.NoError(b, err)
	defer ring.close()
	nothing := func() error { return nil }
	variants := []struct {
		name     string
		programs []string
		followed bool
	}{
		{name: "free"},
		{name: "others", programs: attached},
		{name: "switch+waking", programs: []string{bpf.CProgSchedSwitch, bpf.CProgSchedWaking}, followed: true},
		{name: "all", programs: attached, followed: true},
	}
	times := make([][]float64, len(variants))
	for b.Loop() {
		for i, v := range variants {
			require.NoError(b, p.link(v.programs))
			begin, end := nothing, nothing
			if v.followed {
				begin, end = p.followSelf, p.unfollowSelf
			}
			for range 10 {
				times[i] = append(times[i], handNanos(b, 2000, begin, end))
				_, err := readDurations(ring, nil)
				require.NoError(b, err)
			}
			require.NoError(b, p.detach())
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(slices.Min(times[0]), "free-ns/hand-over")
	for i, v := range variants[1:] {
		b.ReportMetric(slices.Min(times[i+1])-slices.Min(times[0]), v.name+"-added-ns/hand-over")
	}
}

// handNanos returns how long it takes a thread to hand on to another one on its
// processor, which hands back, n times. Both threads call begin before and end
// after.
func handNanos(tb testing.TB, n int, begin, end func() error) float64 {
	var turn [2]atomic.Uint32
	var errs [2][2]error
	done := make(chan time.Duration, 2)
	for i := range turn {
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends, for its processor is bound
			var one unix.CPUSet
			one.Set(0)
			_ = unix.SchedSetaffinity(0, &one)
			errs[i][0] = begin()
			mine, other := &turn[i], &turn[1-i]
			start := time.Now()
			for range n {
				if i == 0 {
					wakeFutex(other)
				}
				for mine.Load() == 0 {
					_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(mine)), futexWait, 0, 0, 0, 0)
				}
				mine.Store(0)
				if i == 1 {
					wakeFutex(other)
				}
			}
			took := time.Since(start)
			errs[i][1] = end()
			done <- took
		}()
	}
	took := max(<-done, <-done)
	for _, err := range errs {
		require.NoError(tb, err[0])
		require.NoError(tb, err[1])
	}
	return float64(took.Nanoseconds()) / float64(2*n)
}

// Of linux/futex.h, private to the process.
const (
	futexWait = 128
	futexWake = 129
)

func wakeFutex(word *atomic.Uint32) {
	word.Store(1)
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1, 0, 0, 0)
}
