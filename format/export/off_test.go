package export

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"pianola/format"
)

// An export has the parts of the time off the processor and their sum.
func TestTimeOffTheProcessor(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}}}
	events := []format.Event{
		{Op: format.OpSync, TID: 1, Start: 100, Dur: 5, Compute: 100, Off: format.Off{Ready: 1, Own: 2, Wait: 3, Timer: 4, Storage: 5, Other: 6}},
		{Op: format.OpSync, TID: 1, Start: 200, Dur: 5, Compute: 95, Off: format.Off{Other: 7}},
	}
	out := make(map[string][]byte)
	for _, kind := range []string{"csv", "json", "parquet"} {
		var b bytes.Buffer
		w, err := New(kind, &b, h)
		require.NoError(t, err)
		require.NoError(t, w.Write(events))
		require.NoError(t, w.Close())
		out[kind] = b.Bytes()
	}
	require.Contains(t, string(out["csv"]), "compute,off_cpu,ready,own,wait,timer,storage,held,result,")
	require.Contains(t, string(out["csv"]), ",0.000000100,0.000000021,0.000000001,0.000000002,0.000000003,0.000000004,0.000000005,,0,")
	require.Contains(t, string(out["csv"]), ",0.000000095,0.000000007,,,,,,,0,")
	require.Contains(t, string(out["json"]), `"off_cpu":0.000000021,"ready":0.000000001,"own":0.000000002,"wait":0.000000003,"timer":0.000000004,"storage":0.000000005,"result":0}`)
	require.Contains(t, string(out["json"]), `"off_cpu":0.000000007,"result":0}`)
	type columns struct {
		Index   int64  `parquet:"index"`
		Op      string `parquet:"op"`
		Start   int64  `parquet:"start_nanos"`
		Compute int64  `parquet:"compute_nanos"`
		OffCPU  int64  `parquet:"off_cpu_nanos"`
		Ready   *int64 `parquet:"ready_nanos,optional"`
		Own     *int64 `parquet:"own_nanos,optional"`
		Wait    *int64 `parquet:"wait_nanos,optional"`
		Timer   *int64 `parquet:"timer_nanos,optional"`
		Storage *int64 `parquet:"storage_nanos,optional"`
	}
	rows, err := parquet.Read[columns](bytes.NewReader(out["parquet"]), int64(len(out["parquet"])))
	require.NoError(t, err)
	is := func(n int64) *int64 { return &n }
	require.Equal(t, []columns{
		{Op: "sync", Start: 100, Compute: 100, OffCPU: 21, Ready: is(1), Own: is(2), Wait: is(3), Timer: is(4), Storage: is(5)},
		{Index: 1, Op: "sync", Start: 200, Compute: 95, OffCPU: 7},
	}, rows)
}
