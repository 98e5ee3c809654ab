package ebpf

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/record/recordkit"
)

// BenchmarkRequests measures what recording adds to a request of io_uring and of libaio
// that reads 4 KiB from the page cache, 32 at a time: a call of io_uring_enter, or of
// io_submit and io_getevents, for 32 of them is in it. The rounds take turns, and the fastest of
// each counts.
//
//	go test ./record/ebpf -run '^$' -bench Requests -benchtime 15x
func BenchmarkRequests(b *testing.B) {
	recordkit.RequireEBPF(b, MeasureCost)
	program := built(b, "requests")
	data := filepath.Join(b.TempDir(), "data")
	require.NoError(b, os.WriteFile(data, make([]byte, 1<<20), 0o600))

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, way := range []string{"io_uring", "libaio"} {
		b.Run(way, func(b *testing.B) {
			var times [2][]float64
			for b.Loop() {
				for i := range times {
					c := &config{RingBytes: 64 << 20, Type: true, Faults: true, Off: true, Messages: true}
					if i == 0 {
						c = nil
					}
					times[i] = append(times[i], nanosOf(b, c, program, way, data))
				}
			}
			free, recorded := slices.Min(times[0]), slices.Min(times[1])
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(free, "free-ns/request")
			b.ReportMetric(recorded-free, "added-ns/request")
		})
	}
}

// nanosOf runs a program of testdata and returns the nanoseconds that it prints. If c
// is not nil, it records as c says, and reads and drops the events in the meantime.
func nanosOf(b *testing.B, c *config, program string, args ...string) float64 {
	b.Helper()
	cmd := exec.Command(program, args...)
	if c == nil {
		text, err := cmd.Output()
		require.NoError(b, err)
		return parsedNanos(b, text)
	}
	p, err := load(*c)
	require.NoError(b, err)
	defer p.close()
	require.NoError(b, p.attach())
	require.NoError(b, p.attachAdditional())
	r, err := openRing(p.ring())
	require.NoError(b, err)
	defer r.close()
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	cmd.Args = append(cmd.Args, "wait")
	pipe, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	pidfd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	require.NoError(b, err)
	defer unix.Close(pidfd)
	require.NoError(b, p.follow(pidfd))
	_, err = in.Write([]byte("x"))
	require.NoError(b, err)
	done := make(chan []byte, 1)
	go func() {
		text := make([]byte, 64)
		n, _ := pipe.Read(text)
		done <- text[:n]
	}()
	for {
		select {
		case text := <-done:
			_ = in.Close()
			require.NoError(b, cmd.Wait())
			return parsedNanos(b, text)
		case <-time.After(5 * time.Millisecond):
			for {
				record, err := r.read()
				require.NoError(b, err)
				if record == nil {
					break
				}
			}
			r.release()
		}
	}
}

func parsedNanos(b *testing.B, text []byte) float64 {
	b.Helper()
	n, err := strconv.ParseFloat(string(text[:len(text)-1]), 64)
	require.NoError(b, err)
	return n
}
