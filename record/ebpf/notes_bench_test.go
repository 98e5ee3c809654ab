package ebpf

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/stats"
	"pianola/record/recordkit"
)

// BenchmarkNotes measures what each note of the program adds to a cached pread of 4
// KiB, and to a switch between two threads, followed and not. The rounds of the
// variants take turns. For reads the fastest round counts, because disturbances only
// add time; for switches the median counts, because a round without switches would be
// the fastest.
//
//	go test ./record/ebpf -run '^$' -bench Notes -benchtime 15x
func BenchmarkNotes(b *testing.B) {
	recordkit.RequireEBPF(b, MeasureCost)
	variants := []struct {
		name     string
		attached bool
		followed bool
		config   config
	}{
		{name: "free"},
		{name: "others", attached: true},
		{name: "others+off", attached: true, config: config{Off: true}},
		{name: "plain", attached: true, followed: true},
		{name: "type", attached: true, followed: true, config: config{Type: true}},
		{name: "faults", attached: true, followed: true, config: config{Faults: true}},
		{name: "off", attached: true, followed: true, config: config{Off: true}},
		{name: "all", attached: true, followed: true, config: config{Type: true, Faults: true, Off: true}},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	reads, switches := make([][]float64, len(variants)), make([][]float64, len(variants))
	for b.Loop() {
		for i, v := range variants {
			var r *program
			if v.attached {
				v.config.RingBytes = 8 << 20
				var err error
				r, err = load(v.config)
				require.NoError(b, err)
				require.NoError(b, r.attach())
			}
			if v.followed {
				require.NoError(b, r.followSelf())
			}
			for range 5 {
				reads[i] = append(reads[i], preadNanos(b, 10_000))
				switches[i] = append(switches[i], switchNanos(b, 4_000))
			}
			if v.attached {
				require.NoError(b, r.close())
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(slices.Min(reads[0]), "free-ns/read")
	b.ReportMetric(stats.Median(switches[0]), "free-ns/switch")
	for i, v := range variants[1:] {
		b.ReportMetric(slices.Min(reads[i+1])-slices.Min(reads[0]), v.name+"-added-ns/read")
		b.ReportMetric(stats.Median(switches[i+1])-stats.Median(switches[0]), v.name+"-added-ns/switch")
	}
}

func preadNanos(tb testing.TB, n int) float64 {
	fd, err := unix.MemfdCreate("bench", unix.MFD_CLOEXEC)
	require.NoError(tb, err)
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	_, err = unix.Pwrite(fd, buf, 0)
	require.NoError(tb, err)
	start := time.Now()
	for range n {
		if _, err := unix.Pread(fd, buf, 0); err != nil {
			tb.Fatal(err)
		}
	}
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

// switchNanos returns how long a switch to another thread takes: two on one
// processor that yield to one another. Yielding is no call that is recorded.
func switchNanos(tb testing.TB, n int) float64 {
	var all, one unix.CPUSet
	require.NoError(tb, unix.SchedGetaffinity(0, &all))
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	require.NoError(tb, unix.SchedSetaffinity(0, &one))
	defer func() { require.NoError(tb, unix.SchedSetaffinity(0, &all)) }()
	ready, stop, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends, for its processor is bound
		_ = unix.SchedSetaffinity(0, &one)
		close(ready)
		for {
			select {
			case <-stop:
				return
			default:
				_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
			}
		}
	}()
	<-ready
	start := time.Now()
	for range n {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	nanos := float64(time.Since(start).Nanoseconds()) / float64(n)
	close(stop)
	<-done
	return nanos / 2
}
