package ebpf

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit/recordkit"
)

// TestTimeOffTheProcessor records waits of 20 ms, each before a stat of its own.
// On a busy machine a thread can lose its processor on the way to sleep, and is ready
// all the time that it would have slept: then the recording is repeated.
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
		"r, w = os.pipe(); p = select.epoll(); p.register(r); p.poll(0.02); done('epoll timeout')",
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
		"done('own')",
		"if os.fork() == 0:",
		"  end = time.thread_time() + 0.1",
		"  while time.thread_time() < end: pass",
		"  os._exit(0)",
		"f = os.open('zeros', os.O_RDWR | os.O_CREAT); b = bytearray(1 << 24)",
		"end = time.thread_time() + 0.1",
		"while time.thread_time() < end: os.pwrite(f, b, 0)")
	var a attempt
	for range 10 {
		a = attempt{}
		c = recordkit.Collect{}
		o.Dir = t.TempDir()
		recordLong(t, o, &c)
		if checkOff(&a, &c); a == (attempt{}) {
			return
		}
	}
	require.Fail(t, a.first)
}

// attempt keeps the first of what is wrong.
type attempt struct{ first string }

func (a *attempt) Errorf(form string, args ...any) {
	if a.first == "" {
		a.first = fmt.Sprintf(form, args...)
	}
}

func checkOff(t *attempt, c *recordkit.Collect) {
	off := func(name string) format.Off {
		for i := range c.Events {
			if e := &c.Events[i]; string(e.Str[0]) == name {
				return e.Off
			}
		}
		assert.Fail(t, "no call", name)
		return format.Off{}
	}
	const nearly = 19_500_000 // clocks differ a little
	for _, name := range []string{"sleep", "select"} {
		assert.GreaterOrEqual(t, off(name).Timer, int64(nearly), name)
	}
	for name, kind := range map[string]int64{"futex timeout": format.WaitFutex, "epoll timeout": format.WaitPoll} {
		w := waitBefore(t, c, name)
		assert.True(t, w.TimedOut(), name)
		assert.False(t, w.Notes.Known(format.NotedWaker), name)
		assert.GreaterOrEqual(t, w.Dur, int64(nearly), name)
		assert.Equal(t, kind, w.Args[0], name)
		assert.Less(t, off(name).Timer, int64(nearly), name)
	}
	// The other thread may have begun to sleep before.
	for name, kind := range map[string]int64{"futex": 1, "pipe": 2} {
		w := waitBefore(t, c, name)
		assert.GreaterOrEqual(t, w.Dur, int64(nearly/2), name)
		assert.Equal(t, kind, w.Args[0], name)
		assert.NotEqual(t, w.TID, w.Notes.Waker, name)
		assert.Zero(t, off(name).Timer, name)
	}
	assert.Positive(t, off("own").Own)
	behind := int64(0)
	for i := range c.Events {
		e := &c.Events[i]
		assert.LessOrEqual(t, e.Behind, max(e.Dur, 0), "%s", e.Op)
		if e.Op == format.OpPwrite64 {
			behind += e.Behind
		}
	}
	assert.GreaterOrEqual(t, behind, int64(10_000_000), "of the 100 ms that the other process computed")
}

// waitBefore returns the longest wait of the thread that makes the call on a name,
// between that and its call before.
func waitBefore(t assert.TestingT, c *recordkit.Collect, name string) (longest format.Event) {
	i := slices.IndexFunc(c.Events, func(e format.Event) bool { return string(e.Str[0]) == name })
	if !assert.Positive(t, i, name) {
		return longest
	}
	for _, e := range slices.Backward(c.Events[:i]) {
		switch {
		case e.TID != c.Events[i].TID:
		case e.Op != format.OpWait && e.Op != format.OpClone && e.Op != format.OpClone3 && e.Op != format.OpPipe2:
			assert.Positive(t, longest.Dur, name)
			return longest
		case e.Op == format.OpWait && e.Dur > longest.Dur:
			longest = e
		}
	}
	return longest
}

// TestWaker records a read of a pipe that another process ends, and a futex that
// is handed on by a thread that does no I/O.
func TestWaker(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os, threading, time",
		"r, w = os.pipe()",
		"p = os.fork()",
		"if p == 0: time.sleep(0.02); os.write(w, b'x'); os._exit(0)",
		"os.read(r, 1)",
		"a, b = threading.Event(), threading.Event()",
		"threading.Thread(target=lambda: (a.wait(), b.set())).start()",
		"threading.Thread(target=lambda: (time.sleep(0.02), a.set())).start()",
		"b.wait()",
		"os.access('end', 0)")
	o.Dir = t.TempDir()
	recordLong(t, o, &c)
	wakers := map[int32][]int32{} // by woken thread
	var read *format.Event
	for i := range c.Events {
		e := &c.Events[i]
		if e.Op == format.OpRead && e.Args[2] == 1 {
			read = e
		}
		if e.Op == format.OpWait {
			wakers[e.TID] = append(wakers[e.TID], e.Notes.Waker)
			require.Less(t, e.Dur, int64(time.Minute))
		}
	}
	require.NotNil(t, read)
	require.True(t, read.Notes.Known(format.NotedWaker))
	require.Less(t, read.Notes.Woken, read.Dur)
	require.NotEqual(t, read.TID, read.Notes.Waker)
	main := c.One(t, format.OpAccess, "end").TID
	require.NotEmpty(t, wakers[main])
	between := wakers[main][len(wakers[main])-1] // by the thread that waited for the other one
	require.NotEmpty(t, wakers[between])
	require.NotContains(t, wakers[between], between)
}

// TestEveryBlockIsExplained records two processes that hand a byte to and fro so
// quickly that some wakings come before the other one has left the processor.
func TestEveryBlockIsExplained(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os, select",
		"r1, w1 = os.pipe(); r2, w2 = os.pipe()",
		"if os.fork() == 0:",
		"  for i in range(20000): select.select([r1], [], []); os.read(r1, 1); os.write(w2, b'x')",
		"  os._exit(0)",
		"for i in range(20000): os.write(w1, b'x'); select.select([r2], [], []); os.read(r2, 1)",
		"os.wait()")
	o.Dir, o.RingBytes = t.TempDir(), 64<<20 // none is to be lost
	recordLong(t, o, &c)
	var handed, unexplained int64
	for i := range c.Events {
		e := &c.Events[i]
		if e.Op == format.OpWait && e.Args[0] == format.WaitPoll {
			handed++
		}
		if e.Off.Wait > 1 {
			unexplained++
		}
	}
	require.Positive(t, handed)
	require.Zero(t, unexplained)
}
