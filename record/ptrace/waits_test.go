package ptrace

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit/recordkit"
)

// TestWaits records waits of 20 ms, each before a call of its own. A busy machine
// makes waits longer, never shorter.
func TestWaits(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os, select, threading, time",
		"state = '/proc/self/task/%d/stat' % os.getpid()",
		"def asleep(): return open(state).read().rsplit(') ')[1][0] == 'S'",
		"def wake(what):",
		"    while not asleep(): time.sleep(0.001)",
		"    time.sleep(0.02); what()",
		"def later(what): threading.Thread(target=wake, args=(what,)).start()",
		"time.sleep(0.02); os.access('sleep', 0)",
		"select.select([], [], [], 0.02); os.access('select', 0)",
		"e = threading.Event(); later(e.set); e.wait(); os.access('futex', 0)",
		"r, w = os.pipe(); later(lambda: os.write(w, b'x')); select.select([r], [], [], 9); os.access('pipe', 0)")
	o.Dir = t.TempDir()
	_, err := Run(context.Background(), o, &c)
	require.NoError(t, err)
	const nearly = 19_500_000 // clocks differ a little
	for _, name := range []string{"sleep", "select"} {
		require.GreaterOrEqual(t, c.One(t, format.OpAccess, name).Off.Timer, int64(nearly), name)
	}
	var longest [format.WaitSignal + 1]format.Event
	main := c.One(t, format.OpAccess, "futex").TID
	for _, e := range c.Events {
		if e.Op == format.OpWait && e.TID == main && e.Dur > longest[e.Args[0]].Dur {
			longest[e.Args[0]] = e
		}
	}
	require.GreaterOrEqual(t, longest[format.WaitPoll].Dur, int64(nearly))
	futex := longest[format.WaitFutex]
	require.GreaterOrEqual(t, futex.Dur, int64(nearly))
	require.True(t, futex.Notes.Known(format.NotedWaker))
	require.NotEqual(t, main, futex.Notes.Waker)
}
