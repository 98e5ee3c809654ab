package ptrace

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/record/recordkit"
)

// TestWaits records waits of 20 ms, each before a call of its own. On a busy machine
// one can begin after the event that it waits for. Then the test records again.
func TestWaits(t *testing.T) {
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
	wrong := ""
	for range 10 {
		o.Dir = t.TempDir()
		var c recordkit.Collect
		_, err := Run(context.Background(), o, &c)
		require.NoError(t, err)
		if wrong = wrongWait(t, &c); wrong == "" {
			return
		}
	}
	require.Fail(t, wrong)
}

// wrongWait returns the first missing wait of TestWaits in a recording.
func wrongWait(t *testing.T, c *recordkit.Collect) string {
	const nearly = 19_500_000 // clocks differ a little
	for _, name := range []string{"sleep", "select"} {
		if c.One(t, format.OpAccess, name).Off.Timer < nearly {
			return "the time of " + name
		}
	}
	var longest [format.WaitSignal + 1]format.Event
	main := c.One(t, format.OpAccess, "futex").TID
	for _, e := range c.Events {
		if e.Op == format.OpWait && e.TID == main && e.Dur > longest[e.Args[0]].Dur {
			longest[e.Args[0]] = e
		}
	}
	futex := longest[format.WaitFutex]
	switch {
	case longest[format.WaitPoll].Dur < nearly:
		return "the time of poll"
	case futex.Dur < nearly:
		return "the time of the futex"
	case !futex.Notes.Known(format.NotedWaker) || futex.Notes.Waker == main:
		return "who woke the futex"
	}
	return ""
}
