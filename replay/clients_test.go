package replay

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/replaykit"
)

// The last reply to a client ends the replay of a server, whose timers would go on for an hour.
func TestLastReplyEndsTheReplay(t *testing.T) {
	for _, backend := range []Backend{Posix, Memory, Null, Simulated} {
		t.Run(backend.String(), func(t *testing.T) {
			r := replaykit.New(3)
			for n := range int32(2) {
				for range 3 + n {
					r.Add(n+1, format.OpClientRequest, 0, int(n+1), 10)
					r.Add(n+1, format.OpClientReply, 0, int(n+1), 20)
					r.Last(n + 1).Compute = int64(time.Millisecond)
				}
				r.Add(n+1, format.OpClientRequest, 0, int(n+1), 10)
				r.Last(n + 1).Compute = int64(time.Hour)
			}
			for range 3 {
				r.Add(3, format.OpSync, 0)
				r.Last(3).Compute = int64(time.Hour)
			}
			r.Head.Threads = []format.Thread{{Process: 1, Replies: 3}, {Process: 1, Replies: 4}, {Process: 1}}
			for i := range r.Threads {
				for k := range r.Threads[i].Durations {
					r.Threads[i].Durations[k] = 0
				}
			}
			res, err := Run(context.Background(), r, Options{Backend: backend, Root: t.TempDir()})
			require.NoError(t, err)
			require.False(t, res.Interrupted)
			require.EqualValues(t, 7, res.ByOp[format.OpClientReply].Executed)
			require.Less(t, res.Elapsed, time.Hour)
			require.GreaterOrEqual(t, res.Elapsed, 4*time.Millisecond)
			require.Len(t, readAll(t, res.Events()), int(res.Executed))
		})
	}
}

// Threads of a server take turns on its processors, and other threads do not.
func TestThreadsCompeteForProcessors(t *testing.T) {
	const each, events = 2 * time.Millisecond, 20
	for _, test := range []struct {
		processors string
		least      time.Duration
	}{{"1", 3 * events * each}, {"2", 3 * events * each / 2}, {"", events * each}} {
		r := replaykit.New(3)
		for range events {
			for n := range int32(3) {
				r.Add(n+1, format.OpSync, 0)
				r.Last(n + 1).Compute = int64(each)
			}
		}
		if test.processors != "" {
			r.Head.Set(format.MetaProcessors, test.processors)
		}
		res, err := Run(context.Background(), r, Options{Backend: Null, Root: t.TempDir()})
		require.NoError(t, err)
		require.GreaterOrEqual(t, res.Elapsed, test.least, "%q processors", test.processors)
		floor, ok := res.Events().Header().ReplayFloor()
		require.Equal(t, test.processors != "", ok)
		require.True(t, !ok || floor.Total >= int64(test.least), floor)
	}
}
