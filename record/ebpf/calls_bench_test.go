package ebpf

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/record/recordkit"
)

// BenchmarkCalls measures what recording adds to a call: one whose registers are
// recorded, those with a struct or a name besides, and the opening of a file,
// with its close. Free and recorded rounds take turns, and the fastest of each
// count, for what disturbs the machine only ever adds.
//
//	go test ./record/ebpf -run '^$' -bench Calls -benchtime 9x
func BenchmarkCalls(b *testing.B) {
	recordkit.RequireEBPF(b, MeasureCost)
	file := filepath.Join(b.TempDir(), "file")
	require.NoError(b, os.WriteFile(file, make([]byte, 4096), 0o600))
	fd, err := unix.Open(file, unix.O_RDONLY, 0)
	require.NoError(b, err)
	defer unix.Close(fd)
	buf, st := make([]byte, 4096), new(unix.Stat_t)
	kinds := []struct {
		name string
		call func() error
	}{
		{"pread", func() error { _, err := unix.Pread(fd, buf, 0); return err }},
		{"fstat", func() error { return unix.Fstat(fd, st) }},
		{"stat", func() error { return unix.Stat(file, st) }},
		{"open+close", func() error {
			fd, err := unix.Open(file, unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		}},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r, err := load(config{RingBytes: 32 << 20, Type: true, Faults: true, Off: true})
	require.NoError(b, err)
	defer r.close()
	ring, err := openRing(r.ring())
	require.NoError(b, err)
	defer ring.close()
	const calls, rounds = 1000, 20
	free, recorded := make([][]int64, len(kinds)), make([][]int64, len(kinds))
	measure := func(into [][]int64) {
		for range rounds {
			for i, k := range kinds {
				start := time.Now()
				for range calls {
					if err := k.call(); err != nil {
						b.Fatal(err)
					}
				}
				into[i] = append(into[i], time.Since(start).Nanoseconds()/calls)
				_, err := readDurations(ring, nil)
				require.NoError(b, err)
			}
		}
	}
	for b.Loop() {
		measure(free)
		require.NoError(b, r.attach())
		require.NoError(b, r.followSelf())
		measure(recorded)
		require.NoError(b, r.unfollowSelf())
		require.NoError(b, r.detach())
	}
	b.ReportMetric(0, "ns/op")
	for i, k := range kinds {
		b.ReportMetric(float64(slices.Min(free[i])), k.name+"-free-ns")
		b.ReportMetric(float64(slices.Min(recorded[i])-slices.Min(free[i])), k.name+"-added-ns")
	}
}
