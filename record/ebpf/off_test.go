package ebpf

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/record"
	"pianola/record/recordkit"
)

// TestTimeOffTheProcessor records waits of 20 ms, each before a stat of its own.
// On a busy machine a thread can lose its processor on the way to sleep, and is ready
// all the time that it would have slept: then the recording is repeated.
func TestTimeOffTheProcessor(t *testing.T) {
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
	attempts(t, o, checkOff)
}

// asleep is a function of Python that sleeps. A thread that loses its processor on the
// way to sleep does not, if the time has come when it gets it back: then it has not given
// its processor away, and sleeps again.
const asleep = `import resource, time
def given(): return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
def sleep():
  before = given()
  while given() == before: time.sleep(0.02)`

// attempts records a program until the check of a recording finds nothing wrong, which
// needs a processor that is free in time; ten times at most.
func attempts(t *testing.T, o record.Options, check func(*attempt, *recordkit.Collect)) {
	t.Helper()
	var a attempt
	for range 10 {
		a = attempt{}
		o.Dir = t.TempDir()
		var c recordkit.Collect
		recordLong(t, o, &c)
		if check(&a, &c); a == (attempt{}) {
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
// is handed on by a thread that does no I/O. On a busy machine they can come when no
// thread waits for them yet: then the recording is repeated.
func TestWaker(t *testing.T) {
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
	attempts(t, o, checkWakers)
}

func checkWakers(t *attempt, c *recordkit.Collect) {
	wakers := map[int32][]int32{} // by woken thread
	var read *format.Event
	main := int32(0)
	for i := range c.Events {
		e := &c.Events[i]
		switch {
		case e.Op == format.OpRead && e.Args[2] == 1:
			read = e
		case e.Op == format.OpAccess && string(e.Str[0]) == "end":
			main = e.TID
		case e.Op == format.OpWait:
			wakers[e.TID] = append(wakers[e.TID], e.Notes.Waker)
			assert.Less(t, e.Dur, int64(time.Minute))
		}
	}
	if !assert.NotNil(t, read) || !assert.True(t, read.Notes.Known(format.NotedWaker)) {
		return
	}
	assert.Less(t, read.Notes.Woken, read.Dur)
	assert.NotEqual(t, read.TID, read.Notes.Waker)
	if !assert.NotEmpty(t, wakers[main]) {
		return
	}
	between := wakers[main][len(wakers[main])-1] // by the thread that waited for the other one
	assert.NotEmpty(t, wakers[between])
	assert.NotContains(t, wakers[between], between)
}
