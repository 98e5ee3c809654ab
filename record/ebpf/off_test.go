package ebpf

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit/recordkit"
)

// TestTimeOffTheProcessor records waits of 20 ms, each before a stat of its own.
// A busy machine makes waits longer, never shorter.
func TestTimeOffTheProcessor(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os, select, threading, time",
		"def done(name):",
		"  try: os.stat(name)",
		"  except OSError: pass",
		"def later(what): threading.Thread(target=lambda: (time.sleep(0.02), what())).start()",
		"done('begin')",
		"time.sleep(0.02); done('sleep')",
		"select.select([], [], [], 0.02); done('select')",
		"e = threading.Event(); e.wait(0.02); done('futex timeout')",
		"later(e.set); e.wait(); done('futex')",
		"r, w = os.pipe(); later(lambda: os.write(w, b'x')); select.select([r], [], [], 9); done('pipe')",
		"os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])",
		"r, w = os.pipe()",
		"if os.fork() == 0:", // it spins on the same processor, until its parent has seen that
		"  end = time.thread_time() + 0.05",
		"  while time.thread_time() < end: pass",
		"  os._exit(0)",
		"end = time.thread_time() + 0.05",
		"while time.thread_time() < end: pass",
		"done('own')")
	o.Dir = t.TempDir()
	recordLong(t, o, &c)
	off := func(name string) format.Off {
		for i := range c.Events {
			if e := &c.Events[i]; string(e.Str[0]) == name {
				return e.Off
			}
		}
		require.Fail(t, "no call", name)
		return format.Off{}
	}
	const nearly = 19_500_000 // clocks differ a little
	for _, name := range []string{"sleep", "select", "futex timeout"} {
		require.GreaterOrEqual(t, off(name).Timer, int64(nearly), name)
	}
	for _, name := range []string{"futex", "pipe"} {
		require.GreaterOrEqual(t, off(name).Wait, int64(nearly/2), name) // the other thread may have begun before
		require.Zero(t, off(name).Timer, name)
	}
	require.Positive(t, off("own").Own)
}
