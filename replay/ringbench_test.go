package replay

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/replaykit"
	"pianola/replay/rings"
)

// BenchmarkRing is the cost of a read of a cached file by a ring, one at a time and 16 at
// a time: of those that end at their submission, and of those that are waited for,
// because a thread of the kernel makes them. It is the median of the runs.
func BenchmarkRing(b *testing.B) {
	for _, v := range []struct {
		name  string
		via   format.Via
		flags int64
		batch int
	}{
		{"io_uring/at-once/1", format.ViaUring, 0, 1},
		{"io_uring/at-once/16", format.ViaUring, 0, 16},
		{"io_uring/waited/1", format.ViaUring, int64(rings.Async), 1},
		{"io_uring/waited/16", format.ViaUring, int64(rings.Async), 16},
		{"libaio/16", format.ViaAIO, 0, 16},
	} {
		b.Run(v.name, func(b *testing.B) {
			const n = 1 << 15
			r := replaykit.New(1)
			r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600, Size: 1 << 20, Cached: 256})
			q := r.Ring(v.via, 1)
			r.Add(1, format.OpOpen, 3, "f", format.RDONLY)
			r.Add(1, format.OpRingOpen, 0, q, 64, 0, 128, 0)
			for i := 0; i < n; i += v.batch {
				for range v.batch {
					r.How(int32(q), format.How{Flags: v.flags})
					r.Add(int32(q), format.OpPread64, 4096, 3, 4096, 4096, 8192)
				}
				r.Add(1, format.OpRingSubmit, 0, q, v.batch, v.batch, i, 0)
			}
			var costs []float64
			for b.Loop() {
				costs = append(costs, float64(perform(b, r, AFAP).Elapsed)/n)
			}
			slices.Sort(costs)
			require.NotEmpty(b, costs)
			b.ReportMetric(costs[len(costs)/2], "ns/request")
			b.ReportMetric(0, "ns/op")
		})
	}
}
