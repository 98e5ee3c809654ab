package ptrace

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"pianola/format/script"
	"pianola/internal/stats"
	"pianola/record/recordkit"
)

const benchReads = 20_000

// BenchmarkTrace measures what recording adds to a cached pread of 4 KiB, in a
// child that does nothing else, and what strace adds. One iteration runs the
// child free, recorded to a script, and under strace; the medians are
// compared, so that what disturbs the machine disturbs all of them. The cost
// that the recorder has measured itself stands beside what it really adds.
//
//	go test ./record/ptrace -run '^$' -bench Trace -benchtime 9x
func BenchmarkTrace(b *testing.B) {
	var free, traced, straced, claimed []float64
	strace, _ := exec.LookPath("strace")
	for b.Loop() {
		free = append(free, recordkit.ReadNanos(b, benchReads))
		nanos, r := recordkit.ReadNanosRecorded(b, benchReads, Run, script.NewWriter(io.Discard))
		traced, claimed = append(traced, nanos), append(claimed, float64(r.Cost.Inside+r.Cost.Outside))
		if strace != "" {
			straced = append(straced, recordkit.ReadNanos(b, benchReads, strace, "-f", "-o", os.DevNull))
		}
	}
	base := stats.Median(free)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(base, "free-ns/read")
	b.ReportMetric(stats.Median(traced)-base, "added-ns/read")
	b.ReportMetric(stats.Median(claimed), "claimed-ns/read")
	if strace != "" {
		b.ReportMetric(stats.Median(straced)-base, "strace-added-ns/read")
	}
}
