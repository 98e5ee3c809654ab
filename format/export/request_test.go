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

// The rows of a request, and of the call for it, say which ring they are about.
func TestRingColumns(t *testing.T) {
	notes := &format.Notes{Has: format.NotedRing | format.NotedBatch | format.NotedReaped | format.NotedFlags, Request: format.Request{Ring: 3, Batch: 7, Reaped: 5, Flags: format.ReqLink}}
	call := &format.Notes{Has: format.NotedRing | format.NotedBatch, Request: format.Request{Ring: 3, Batch: 7}}
	csv := string(exported(t, "csv", &format.Header{}, []format.Event{
		{Op: format.OpFsync, Via: format.ViaUring, TID: 1, Start: 1200, Dur: 9000, Args: [6]int64{3}, Notes: notes},
		{Op: format.OpUringEnter, TID: 1, Start: 1000, Dur: 500, Ret: 1, Notes: call},
	}))
	require.Contains(t, csv, ",3,7,5,link,,,\r\n")
	require.Contains(t, csv, ",3,7,,,,,\r\n")

	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1, Ring: format.ViaUring}}}
	events := []format.Event{
		{Op: format.OpPread64, Via: format.ViaUring, TID: 2, Start: 1000, Dur: 500, Ret: 4096, Args: [6]int64{3, 0, 4096}, How: format.How{Flags: 2}},
		{Op: format.OpRingSubmit, TID: 1, Start: 900, Dur: 700, Args: [6]int64{2, 1, 1, 12}},
	}
	csv = string(exported(t, "csv", h, events))
	require.Contains(t, csv, ",2,,,drain,,,\r\n")
	require.Contains(t, csv, ",2,,12,,,,\r\n")
	perfetto := string(exported(t, "perfetto", h, events))
	require.Contains(t, perfetto, `"tid":2,"args":{"name":"io_uring ring 2"}`)
	require.Contains(t, perfetto, `"name":"io_uring:pread64","ph":"b","pid":1,"tid":2`)
	require.Contains(t, perfetto, `"name":"ring_submit","ph":"X","pid":1,"tid":1`)
	require.NotContains(t, perfetto, `thread 2`)
}
