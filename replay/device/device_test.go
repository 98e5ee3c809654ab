package device

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

const (
	us = 1_000
	ms = 1_000_000
)

// model makes a model of rules.
func model(t *testing.T, rules ...string) *Model {
	t.Helper()
	m := &Model{}
	for _, r := range rules {
		require.NoError(t, m.AddLatency(r))
	}
	return m
}

func TestLatency(t *testing.T) {
	d := model(t, "sync:x2", "write:+200us", "fdatasync:x0.5", "metadata:x3").Start(false)
	for _, test := range []struct {
		op           format.Op
		result, took int64
		want         int64
	}{
		{format.OpFsync, 0, ms, 2 * ms},
		{format.OpFdatasync, 0, ms, ms / 2}, // the operation's own rule
		{format.OpPwrite64, 4096, 100 * us, 300 * us},
		{format.OpPread64, 4096, 100 * us, 100 * us}, // no rule
		{format.OpOpen, 3, us, 3 * us},
		{format.OpClose, 0, us, 3 * us},
		{format.OpUnlink, 0, us, 3 * us},
		{format.OpPwrite64, 4096, 9 * us, 9 * us},           // the page cache's
		{format.OpPwrite64, 1 << 20, 260 * us, 260 * us},    // the same
		{format.OpPwrite64, 1 << 20, 2 * ms, 2*ms + 200*us}, // the device's
		{format.OpPwrite64, -5, 100 * us, 300 * us},         // an error is not a length
		{format.OpMmap, 0, us, us},                          // not on files
		{format.OpClone, 0, us, us},
	} {
		require.Equal(t, 7*ms+test.want, d.End(test.op, Demand{}, test.result, 7*ms, test.took), "%s of %d", test.op.Info().Name, test.took)
	}
}

// Calls draw from a distribution: its percentiles come true.
func TestDistribution(t *testing.T) {
	for _, replaces := range []bool{true, false} {
		d := model(t, "sync:p10:100us,p50:200us,p99:2ms").Start(replaces)
		var took []int64
		for range 10_000 {
			took = append(took, d.End(format.OpFsync, Demand{}, 0, 0, 150*us))
		}
		slices.Sort(took)
		require.InEpsilon(t, 200*us, took[5000], 0.05)
		require.InEpsilon(t, 2*ms, took[9900], 0.1)
		require.Equal(t, int64(2*ms), took[9999])
		if replaces {
			require.Equal(t, int64(100*us), took[0])
		} else {
			require.Equal(t, int64(150*us), took[0], "no less than it took")
		}
	}
	// The same calls have the same draws.
	m := model(t, "sync:p1:1us,p99:1s")
	a, b := m.Start(true), m.Start(true)
	for range 100 {
		require.Equal(t, a.End(format.OpFsync, Demand{}, 0, 0, 0), b.End(format.OpFsync, Demand{}, 0, 0, 0))
	}
}

// The servers are shared: concurrent requests of two threads are served one after the
// other, and idle time is not saved.
func TestServers(t *testing.T) {
	m := &Model{}
	require.NoError(t, m.SetBandwidth("1MB/s")) // 1 µs a byte
	d := m.Start(false)
	require.EqualValues(t, 1000*us, d.End(format.OpPread64, Demand{}, 1000, 0, 10*us))
	require.EqualValues(t, 3000*us, d.End(format.OpPwrite64, Demand{}, 2000, 500*us, 10*us))
	require.EqualValues(t, 10_010*us, d.End(format.OpFsync, Demand{}, 0, 10_000*us, 10*us), "a sync moves nothing")
	require.EqualValues(t, 21_000*us, d.End(format.OpPread64, Demand{}, 1000, 20_000*us, 10*us))

	m = &Model{}
	require.NoError(t, m.SetIOPS("1000"))
	d = m.Start(false)
	for i := range int64(3) {
		require.Equal(t, (i+1)*ms, d.End(format.OpPread64, Demand{}, 10, 0, 20*us))
	}
	require.EqualValues(t, 4*ms, d.End(format.OpFsync, Demand{}, 0, 0, 20*us))
	require.EqualValues(t, 20*us, d.End(format.OpUnlink, Demand{}, 0, 0, 20*us), "names are no requests")
	require.EqualValues(t, 5*us, d.End(format.OpPread64, Demand{}, 10, 0, 5*us), "the page cache's")

	m = model(t, "read:x2")
	require.NoError(t, m.SetQueue("2"))
	d = m.Start(false)
	require.EqualValues(t, 200*us, d.End(format.OpPread64, Demand{}, 10, 0, 100*us))
	require.EqualValues(t, 220*us, d.End(format.OpPread64, Demand{}, 10, 20*us, 100*us))
	require.EqualValues(t, 400*us, d.End(format.OpPread64, Demand{}, 10, 30*us, 100*us), "waits for the first")
	require.EqualValues(t, 420*us, d.End(format.OpPread64, Demand{}, 10, 210*us, 100*us))
	require.EqualValues(t, 1200*us, d.End(format.OpPread64, Demand{}, 10, 1000*us, 100*us))
}

func TestErrors(t *testing.T) {
	for _, text := range []string{"", "sync", "sync:", "sync:2", "sync:x", "sync:x-1", "sync:xNaN", "sync:+", "sync:+-1s", "sync:+2h", "sync:p50", "sync:p50:x",
		"sync:p101:1s", "sync:p50:1s,50:2s", "sync:p50:1s,p50:2s", "sync:p50:2s,p99:1s", "nosuch:x2", "mmap:x2", "clone:x2", "ring_submit:x2"} {
		require.Error(t, new(Model).AddLatency(text), text)
	}
	m := model(t, "sync:x2", "fsync:x2")
	require.Error(t, m.AddLatency("sync:x3"))
	require.Error(t, m.AddLatency("fsync:x3"))
	for _, text := range []string{"", "200", "200MB", "/s", "0/s", "-1MB/s", "xMB/s"} {
		require.Error(t, m.SetBandwidth(text), text)
	}
	for text, want := range map[string]int64{"200MB/s": 200e6, "1GiB/s": 1 << 30, "5000B/s": 5000, "5000/s": 5000, "1.5GB/s": 15e8, "2G/s": 2 << 30} {
		require.NoError(t, m.SetBandwidth(text))
		require.Equal(t, want, m.Bandwidth, text)
	}
	for _, text := range []string{"", "0", "-1", "Inf", "NaN", "x"} {
		require.Error(t, m.SetIOPS(text), text)
	}
	for _, text := range []string{"", "0", "-1", "1025", "x"} {
		require.Error(t, m.SetQueue(text), text)
	}
	require.NoError(t, model(t, "sync:x1", "read:+1ms", "write:p50:1us").SlowerOnly())
	require.ErrorIs(t, model(t, "fsync:x0.5").SlowerOnly(), ErrFaster)

	one := model(t, "sync:x2")
	other := one.Clone()
	require.NoError(t, other.AddLatency("read:x2"))
	require.NoError(t, one.AddLatency("read:x3"), "a copy is apart")
	require.NotNil(t, (*Model)(nil).Clone())
}

func BenchmarkEnd(b *testing.B) {
	m := &Model{Bandwidth: 1e9, IOPS: 1e5, Queue: 32}
	_ = m.AddLatency("read:p50:100us,p99:2ms")
	d := m.Start(true)
	b.ReportAllocs()
	for i := range b.N {
		d.End(format.OpPread64, Demand{}, 4096, int64(i)*1000, 100*us)
	}
}
