package record

import (
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/bpftest"
	"pianola/record/ebpf"
)

// discard takes events and drops them.
type discard struct{}

func (discard) Write([]format.Event) error       { return nil }
func (discard) WriteHeader(*format.Header) error { return nil }

const benchReads = 300_000

// BenchmarkRecord measures what recording adds to a cached pread of 4 KiB, in
// a child that does nothing else. One iteration runs the child free, with the
// program attached but following others, recorded to nowhere and recorded to
// a script; the medians are compared, so that what disturbs the machine
// disturbs all of them.
//
//	go test ./record -run '^$' -bench Record -benchtime 9x
func BenchmarkRecord(b *testing.B) {
	bpftest.Require(b)
	var free, other, dropped, printed []float64
	var lost int64
	for b.Loop() {
		free = append(free, readFree(b))
		other = append(other, readOther(b))
		n, l := readRecorded(b, discard{})
		dropped, lost = append(dropped, n), lost+l
		n, l = readRecorded(b, script.NewWriter(io.Discard))
		printed, lost = append(printed, n), lost+l
	}
	base := middle(free)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(base, "free-ns/read")
	b.ReportMetric(middle(other)-base, "others-added-ns/read")
	b.ReportMetric(middle(dropped)-base, "added-ns/read")
	b.ReportMetric(middle(printed)-base, "script-added-ns/read")
	b.ReportMetric(float64(lost)/float64(b.N), "lost/op")
}

func middle(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

func nanosPerRead(tb testing.TB, output []byte) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(string(output)), 64)
	require.NoError(tb, err)
	return v
}

func readFree(tb testing.TB) float64 {
	command, env := readCommand(tb, benchReads)
	cmd := exec.Command(command[0])
	cmd.Env = env
	output, err := cmd.Output()
	require.NoError(tb, err)
	return nanosPerRead(tb, output)
}

func readOther(tb testing.TB) float64 {
	r, err := ebpf.Load(ebpf.Config{RingBytes: os.Getpagesize()})
	require.NoError(tb, err)
	defer func() { require.NoError(tb, r.Close()) }()
	require.NoError(tb, r.Attach())
	return readFree(tb)
}

func readRecorded(tb testing.TB, s Sink) (nanos float64, lost int64) {
	in, out, err := os.Pipe()
	require.NoError(tb, err)
	defer in.Close()
	command, env := readCommand(tb, benchReads)
	r, err := Run(context.Background(), Options{Command: command, Env: env, Stdout: out}, s)
	require.NoError(tb, err)
	require.NoError(tb, out.Close())
	require.Zero(tb, r.Status)
	require.GreaterOrEqual(tb, r.Events+r.Lost, int64(benchReads))
	output, err := io.ReadAll(in)
	require.NoError(tb, err)
	return nanosPerRead(tb, output), r.Lost
}
