package replay

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
)

// steady is a trace that repeats one record without copies of it.
type steady struct {
	*replaykit.Trace
	record format.Record
	n      int64
}

func (s steady) Len(int32) int64 { return s.n }
func (s steady) Records(int32) format.RecordReader {
	return &steadyReader{s.Trace.Records(1), s.record, s.n}
}

type steadyReader struct {
	first  format.RecordReader
	record format.Record
	left   int64
}

func (r *steadyReader) Read(batch []format.Record) (int, error) {
	n, err := r.first.Read(batch)
	if err == nil {
		r.left -= int64(n)
		return n, nil
	}
	if r.left == 0 {
		return 0, err
	}
	n = int(min(r.left, int64(len(batch))))
	for i := range batch[:n] {
		batch[i] = r.record
	}
	r.left -= int64(n)
	return n, nil
}

// cached is a trace of 4 KiB reads of a file in the page cache.
func cached(n, compute int64) steady {
	r := replaykit.New(1)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600, Size: 1 << 20, Cached: 256})
	r.Add(1, format.OpOpen, 3, "f", format.RDONLY)
	read := format.Record{Op: format.OpPread64, Compute: compute, Ret: 4096, Args: [6]int64{3, 0, 4096, 8192}}
	return steady{r, read, n}
}

func perform(b *testing.B, trace format.Trace, timing Timing) *Result {
	res, err := Run(b.Context(), trace, Options{Root: b.TempDir(), Timing: timing})
	require.NoError(b, err)
	require.Zero(b, res.Differed)
	return res
}

// BenchmarkRead compares reads as fast as possible with a loop that does
// nothing else, and with one that also reads the clock once: the median of
// each, taken in turns.
func BenchmarkRead(b *testing.B) {
	const n = 200_000
	f, err := os.CreateTemp(b.TempDir(), "")
	require.NoError(b, err)
	defer f.Close()
	_, err = f.Write(make([]byte, 1<<20))
	require.NoError(b, err)
	m := make([]byte, 4096)
	var bare, timed, engine, share []float64
	for b.Loop() {
		fd, buf := f.Fd(), uintptr(unsafe.Pointer(&m[0]))
		begin := time.Now()
		for range n {
			_, _, _ = syscall.RawSyscall6(unix.SYS_PREAD64, fd, buf, 4096, 8192, 0, 0)
		}
		bare = append(bare, float64(time.Since(begin))/n)
		begin = time.Now()
		var last time.Duration
		for range n {
			_, _, _ = syscall.RawSyscall6(unix.SYS_PREAD64, fd, buf, 4096, 8192, 0, 0)
			last = time.Since(begin)
		}
		timed = append(timed, float64(last)/n)
		engine = append(engine, float64(perform(b, cached(n, 0), AFAP).Elapsed)/n)
		share = append(share, bare[len(bare)-1]/engine[len(engine)-1])
	}
	report := func(v []float64, unit string) {
		slices.Sort(v)
		b.ReportMetric(v[len(v)/2], unit)
	}
	report(bare, "bare-ns/event")
	report(timed, "timed-ns/event")
	report(engine, "engine-ns/event")
	report(share, "of-bare-rate")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkEngine measures the cost of an event without its call: reads that are
// no-ops.
func BenchmarkEngine(b *testing.B) {
	for _, timing := range []Timing{AFAP, Compute} {
		b.Run(timing.String(), func(b *testing.B) {
			const n = 1_000_000
			var costs []float64
			for b.Loop() {
				res, err := Run(b.Context(), cached(n, 0), Options{Backend: Null, Timing: timing})
				require.NoError(b, err)
				costs = append(costs, float64(res.Elapsed)/n)
			}
			slices.Sort(costs)
			b.ReportMetric(costs[len(costs)/2], "ns/event")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkLateness measures how exactly events are issued at steady gaps.
func BenchmarkLateness(b *testing.B) {
	for _, gap := range []time.Duration{time.Millisecond, 100 * time.Microsecond, 20 * time.Microsecond} {
		b.Run(fmt.Sprint(gap), func(b *testing.B) {
			var p50, p99, worst, drift float64
			n := int64(time.Second / gap / 2)
			for b.Loop() {
				res := perform(b, cached(n, int64(gap)), Compute)
				p50 += float64(res.Lateness.P50)
				p99 += float64(res.Lateness.P99)
				worst = max(worst, float64(res.Lateness.Max))
				ideal := (n - 1) * int64(gap)
				for _, e := range readAll(b, res.Events()) {
					if e.Op == format.OpPread64 || e.Op == format.OpOpen {
						ideal += e.Dur
					}
				}
				drift += 100 * float64(int64(res.Elapsed)-ideal) / float64(ideal)
			}
			b.ReportMetric(p50/float64(b.N), "p50-ns")
			b.ReportMetric(p99/float64(b.N), "p99-ns")
			b.ReportMetric(worst, "max-ns")
			b.ReportMetric(drift/float64(b.N), "drift-%")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkEdge measures the time from the end of an event to the start of an event
// in another thread that waited for it.
func BenchmarkEdge(b *testing.B) {
	r := replaykit.New(2)
	const rounds = 20_000
	for i := range int64(rounds) {
		if i > 0 {
			r.Wait(1, 2, i-1)
		}
		r.Add(1, format.OpWait4, 1)
		r.Wait(2, 1, i)
		r.Add(2, format.OpWait4, 1)
	}
	var elapsed time.Duration
	for b.Loop() {
		elapsed += perform(b, r, AFAP).Elapsed
	}
	b.ReportMetric(float64(elapsed.Nanoseconds())/float64(2*b.N*rounds), "ns/edge")
	b.ReportMetric(0, "ns/op")
}
