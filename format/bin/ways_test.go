package bin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// A trace holds how requests are made where that is not as for most, and its events
// begin where they were submitted, although they overlap.
func TestWays(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1, Start: 100, Ring: format.ViaAIO}}}
	request := func(compute, start, dur int64, how format.How) format.Event {
		return format.Event{Op: format.OpFsync, Via: format.ViaAIO, TID: 2, Compute: compute, Start: start, Dur: dur, How: how}
	}
	linked, fixed := format.How{Flags: 4}, format.How{Flags: format.ReqFixed, RW: 8, Slot: 3, Buf: 1<<16 + 1}
	want := []format.Event{
		request(10, 110, 900, linked),
		request(5, 115, 2, format.How{}),
		request(0, 115, 1, fixed),
		{Op: format.OpSync, TID: 1, Compute: 500, Start: 500, Dur: 1},
	}
	file := compiled(t, h, want)
	require.Contains(t, tagsOf(t, file), "reqs 2")
	require.NotContains(t, tagsOf(t, file), "reqs 1")
	tr := opened(t, file)
	got, err := testkit.ReadAll(tr.Events(), 2)
	require.NoError(t, err)
	require.Equal(t, want, got)

	var ways [5]format.Way
	n, err := tr.Ways(2).Read(ways[:])
	require.NoError(t, err)
	require.Equal(t, []format.Way{{Event: 0, How: linked}, {Event: 2, How: fixed}}, ways[:n])
	_, err = tr.Ways(1).Read(ways[:])
	require.Error(t, err)
	require.NotEmpty(t, kinds[kindRequests].wrong(nil, 1, []uint64{0, 0, 0, 1 << 32, 0}))
}
