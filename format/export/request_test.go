package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// A request in a recording is told from a call by its name, and takes no time of its
// thread: in Perfetto it is asynchronous.
func TestRequests(t *testing.T) {
	events := []format.Event{
		{Op: format.OpIOSubmit, TID: 1, Start: 1000, Dur: 500, Ret: 1},
		{Op: format.OpPwrite64, Via: format.ViaAIO, TID: 1, Start: 1200, Dur: 9000, Ret: 4096, Args: [6]int64{3, 0, 4096}},
		{Op: format.OpFsync, TID: 1, Start: 2000, Dur: 100, Args: [6]int64{3}},
	}
	csv := string(exported(t, "csv", &format.Header{}, events))
	require.Contains(t, csv, "aio:pwrite64,write")
	require.Contains(t, csv, "fsync,sync,0.000002000,0.000000100,0.000000500,", "compute from the end of io_submit on")

	perfetto := string(exported(t, "perfetto", &format.Header{}, events))
	require.Contains(t, perfetto, `"name":"aio:pwrite64","ph":"b","pid":1,"tid":1,"cat":"write","id":1,"ts":1.200`)
	require.Contains(t, perfetto, `"name":"aio:pwrite64","ph":"e","pid":1,"tid":1,"cat":"write","id":1,"ts":10.200`)
	require.Contains(t, perfetto, `"name":"fsync","ph":"X"`)
}
