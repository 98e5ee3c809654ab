package ptrace

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
	"pianola/record"
)

const benchReads = 20_000

// BenchmarkTrace measures what recording adds to a cached pread of 4 KiB, in a
// child that does nothing else, and what strace adds. One iteration runs the
// child free, recorded to a script, and under strace; the medians are
// compared, so that what disturbs the machine disturbs all of them. The rest
// is what is left of the cost that the recorder has measured and says.
//
//	go test ./record/ptrace -run '^$' -bench Trace -benchtime 9x
func BenchmarkTrace(b *testing.B) {
	var free, traced, straced, claimed []float64
	strace, _ := exec.LookPath("strace")
	for b.Loop() {
		free = append(free, readWith(b))
		nanos, cost := readTraced(b)
		traced, claimed = append(traced, nanos), append(claimed, float64(cost.Inside+cost.Outside))
		if strace != "" {
			straced = append(straced, readWith(b, strace, "-f", "-o", os.DevNull))
		}
	}
	base := middle(free)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(base, "free-ns/read")
	b.ReportMetric(middle(traced)-base, "added-ns/read")
	b.ReportMetric(middle(claimed), "claimed-ns/read")
	if strace != "" {
		b.ReportMetric(middle(straced)-base, "strace-added-ns/read")
	}
}

func middle(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// readWith runs the child as the last arguments of a command.
func readWith(tb testing.TB, command ...string) float64 {
	exe, err := os.Executable()
	require.NoError(tb, err)
	command = append(command, exe)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), childVariable+"="+strconv.Itoa(benchReads))
	output, err := cmd.Output()
	require.NoError(tb, err)
	return nanosPerRead(tb, output)
}

func readTraced(tb testing.TB) (float64, format.Cost) {
	in, out, err := os.Pipe()
	require.NoError(tb, err)
	defer in.Close()
	exe, err := os.Executable()
	require.NoError(tb, err)
	env := append(os.Environ(), childVariable+"="+strconv.Itoa(benchReads))
	r, err := Run(context.Background(), record.Options{Command: []string{exe}, Env: env, Stdout: out}, script.NewWriter(io.Discard))
	require.NoError(tb, err)
	require.NoError(tb, out.Close())
	require.Zero(tb, r.Status)
	require.GreaterOrEqual(tb, r.Events, int64(benchReads))
	output, err := io.ReadAll(in)
	require.NoError(tb, err)
	return nanosPerRead(tb, output), r.Cost
}

func nanosPerRead(tb testing.TB, output []byte) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(string(output)), 64)
	require.NoError(tb, err)
	return v
}
