package replay

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
)

// A thread that waits for any of several processes continues when the first one has
// ended, even if another one was first in the recording.
func TestAnyProcess(t *testing.T) {
	r := replaykit.New(3)
	anyOf := func(event int64, thread int32) format.Wait {
		return format.Wait{Event: event, For: format.Edge{Thread: thread, Kind: format.EdgeAny}}
	}
	r.Threads[0].Waits = []format.Wait{anyOf(0, 2), anyOf(1, 3)}
	r.Add(1, format.OpMkdir, 0, "a")
	r.Add(1, format.OpRmdir, 0, "a")
	r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "c")
	r.Last(2).Compute = int64(time.Hour)
	r.Add(3, format.OpRmdir, -int64(unix.ENOENT), "d")
	root := filepath.Join(t.TempDir(), "root")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, r, Options{Root: root, Timing: Compute, Keep: true})
		ended <- err
	}()
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(root, "a"))
		return err == nil
	}, time.Minute, time.Millisecond)
	cancel()
	<-ended
	require.DirExists(t, filepath.Join(root, "a"), "the second wait is for both")
}

// It waits for as many as the recorded thread did, also if a process ends without the
// event of its end, or if other threads wait for the same one.
func TestAnyProcessOfFew(t *testing.T) {
	for _, o := range []Options{{}, {Timing: AFAP}, {Order: Total}, {Order: Thread}} {
		o.Backend = Memory
		r := replaykit.New(4)
		for _, thread := range []int32{2, 3, 3} {
			p := &r.Threads[0]
			p.Waits = append(p.Waits, format.Wait{Event: int64(len(p.Records)), For: format.Edge{Thread: thread, Kind: format.EdgeAny, Delay: 1000}})
			r.Add(1, format.OpRmdir, -int64(unix.ENOENT), "a")
		}
		// A wait that no process of the trace ends.
		r.Threads[0].Waits = append(r.Threads[0].Waits, format.Wait{Event: 2, For: format.Edge{Kind: format.EdgeAny}})
		r.Threads[3].Waits = []format.Wait{{For: format.Edge{Thread: 2, Kind: format.EdgeAny}}}
		r.Add(4, format.OpRmdir, -int64(unix.ENOENT), "a")
		r.Add(2, format.OpRmdir, -int64(unix.ENOENT), "a")
		r.Add(3, format.OpRmdir, -int64(unix.ENOENT), "a")
		res, err := Run(t.Context(), r, o)
		require.NoError(t, err)
		require.EqualValues(t, 6, res.Executed)
	}
}
