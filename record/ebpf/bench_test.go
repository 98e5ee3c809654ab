package ebpf

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format/script"
	"pianola/internal/stats"
	"pianola/record"
	"pianola/record/recordkit"
)

const benchReads = 300_000

// BenchmarkRecord measures what recording adds to a cached pread of 4 KiB, in
// a child that does nothing else. One iteration runs the child free, with the
// program attached but following others, recorded to nowhere and recorded to
// a script; the medians are compared, so that what disturbs the machine
// disturbs all of them.
//
//	go test ./record/ebpf -run '^$' -bench Record -benchtime 9x
func BenchmarkRecord(b *testing.B) {
	recordkit.RequireEBPF(b, MeasureCost)
	var free, other, dropped, printed []float64
	var lost int64
	recorded := func(s record.Sink) float64 {
		nanos, r := recordkit.ReadNanosRecorded(b, benchReads, Run, s)
		lost += r.Lost
		return nanos
	}
	for b.Loop() {
		free = append(free, recordkit.ReadNanos(b, benchReads))
		other = append(other, readOther(b))
		dropped = append(dropped, recorded(recordkit.Discard{}))
		printed = append(printed, recorded(script.NewWriter(io.Discard)))
	}
	base := stats.Median(free)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(base, "free-ns/read")
	b.ReportMetric(stats.Median(other)-base, "others-added-ns/read")
	b.ReportMetric(stats.Median(dropped)-base, "added-ns/read")
	b.ReportMetric(stats.Median(printed)-base, "script-added-ns/read")
	b.ReportMetric(float64(lost)/float64(b.N), "lost/op")
}

func readOther(tb testing.TB) float64 {
	p, err := load(config{RingBytes: os.Getpagesize()})
	require.NoError(tb, err)
	defer func() { require.NoError(tb, p.close()) }()
	require.NoError(tb, p.attach())
	return recordkit.ReadNanos(tb, benchReads)
}
