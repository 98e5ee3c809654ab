package posix

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/replaykit"
	"pianola/replay/rings"
)

// submitAs has a worker submit the next requests of ring 2.
func submitAs(w *worker, n int64) {
	callRingSubmit(w, &format.Record{Op: format.OpRingSubmit, Args: [format.MaxArgs]int64{2, n}})
}

// inChild returns a queue that the first process has opened, the worker of a process that
// was forked from it, and a function that submits the next requests of the queue for that.
func inChild(t *testing.T, r *replaykit.Trace, s *scriptedQueue) (q *ring, child *worker, submit func(n int64)) {
	t.Helper()
	number := r.Child(2, 1)
	workers, q := ringOn(t, r, s)
	child = workers[number-1]
	openAs(t, workers[0], 5)
	engine.Pinned(func() { workers[0].fork(child.process, false) })
	return q, child, func(n int64) {
		engine.Pinned(func() { submitAs(child, n) })
		s.flying += int(n)
	}
}

// A process that ends or executes another program waits for its requests in the rings of
// others: until then the kernel uses its memory, and finds its descriptors.
func TestRequestsOutliveNoProcess(t *testing.T) {
	for name, end := range map[string]func(w *worker){
		"exit":   func(w *worker) { w.End() },
		"execve": func(w *worker) { callExecve(w, &format.Record{Op: format.OpExecve}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := replaykit.New(1)
			r.Ring(format.ViaUring, 1)
			for range 3 {
				r.Add(2, format.OpPread64, 10, 5, 0, 10, 0)
			}
			s := &scriptedQueue{}
			q, child, submit := inChild(t, r, s)
			ended := uint64(0)
			s.onReap = func(done []rings.Completion) int {
				require.NotZero(t, child.lookup(5), "its descriptors are open")
				done[0] = rings.Completion{User: ended, Result: 10}
				ended++
				return 1
			}
			submit(2)
			engine.Pinned(func() { submitAs(q.e.workers[0], 1) }) // of the opener: it is not waited for
			s.flying++
			engine.Pinned(func() { end(child) })
			require.EqualValues(t, 2, ended)
			require.EqualValues(t, 2, q.Done())
			require.Equal(t, 1, s.flying)
			require.Empty(t, s.did, "the opener has it")
		})
	}
}

// A process does not wait for requests once the run has stopped: they may not end.
func TestStopEndsWaitForRequests(t *testing.T) {
	r := replaykit.New(1)
	r.Ring(format.ViaUring, 1)
	r.Add(2, format.OpPread64, 10, 5, 0, 10, 0)
	s := &scriptedQueue{}
	q, child, submit := inChild(t, r, s)
	s.onReap = func([]rings.Completion) int {
		child.e.Stop()
		return 0
	}
	submit(1)
	engine.Pinned(child.End)
	require.Zero(t, q.Done())
}

// The same with a queue of the kernel, or of threads, and a request that does not end.
func TestStopEndsWaitForPipe(t *testing.T) {
	ring := func(c rings.Config) (rings.Queue, error) { return rings.OpenRing(c) }
	threads := func(c rings.Config) (rings.Queue, error) {
		c.Kernel = func(nr, a, b, c, d, e, f uintptr) int64 {
			if nr == unix.SYS_IO_URING_SETUP {
				return -int64(unix.EPERM)
			}
			got, _, errno := unix.Syscall6(nr, a, b, c, d, e, f)
			if errno != 0 {
				return -int64(errno)
			}
			return int64(got)
		}
		return rings.OpenRing(c)
	}
	for name, open := range map[string]func(rings.Config) (rings.Queue, error){"kernel": ring, "threads": threads} {
		t.Run(name, func(t *testing.T) {
			r := replaykit.New(1)
			r.Ring(format.ViaUring, 1)
			r.Add(2, format.OpRead, 10, 5, 0, 10)
			under, err := open(rings.Config{Entries: 4})
			require.NoError(t, err)
			workers, q := ringOn(t, r, under)
			w, e := workers[0], workers[0].e
			q.pool = under.Threads() > 0
			var pipe [2]int
			require.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
			require.True(t, w.process.files.Load().set(5, newEntry(int64(pipe[0]), 0, 0)))
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				engine.Pinned(func() {
					w.Submit(&format.Record{Op: format.OpRingSubmit, Args: [format.MaxArgs]int64{2, 1, 1}})
				})
			}()
			for q.InFlight() == 0 {
				runtime.Gosched()
			}
			e.Stop()
			<-ended
			_, err = unix.Write(pipe[1], make([]byte, 10))
			require.NoError(t, err)
			engine.Pinned(func() { q.Ring.Close(w.Worker) })
			require.NoError(t, unix.Close(pipe[1]))
		})
	}
}

// playedQueue is a queue whose requests end with the result 10 once they are submitted.
type playedQueue struct {
	scriptedQueue
	batch, flying []uint64
	onPrepare     func() error
}

func (p *playedQueue) Prepare(r *rings.Request) error {
	if p.onPrepare != nil {
		if err := p.onPrepare(); err != nil {
			return err
		}
	}
	p.batch = append(p.batch, r.User)
	return nil
}

func (p *playedQueue) Submit(int) (int, error) {
	n := len(p.batch)
	p.flying, p.batch = append(p.flying, p.batch...), nil
	return n, nil
}

func (p *playedQueue) InFlight() int { return len(p.flying) }

func (p *playedQueue) Reap(done []rings.Completion) (n int) {
	for n = 0; n < min(len(done), len(p.flying)); n++ {
		done[n] = rings.Completion{User: p.flying[n], Result: 10}
	}
	p.flying = p.flying[n:]
	return n
}

// forked returns the worker that has opened a queue, that of a process that it forks with
// flags, and what the queue does.
func forked(t *testing.T, via format.Via, flags int64) (opener, child *worker, q *ring, did *[]string) {
	t.Helper()
	r := replaykit.New(1)
	r.Ring(via, 1)
	number := r.Child(2, 1)
	r.Str("f") // that all descriptors are of
	r.Add(2, format.OpPread64, 10, 5, 0, 10, 0)
	p := &playedQueue{}
	workers, q := ringOn(t, r, p)
	opener, child = workers[0], workers[number-1]
	openAs(t, opener, 5)
	clone := format.Record{Op: format.OpClone, Ret: int64(number), Args: [format.MaxArgs]int64{flags}}
	engine.Pinned(func() { callClone(opener, &clone) })
	return opener, child, q, &p.did
}

// A queue lives until the last process that has it ends or executes a program.
func TestQueueEndsWithLastProcess(t *testing.T) {
	closed := []string{"close with 0 in flight"}
	exec := func(w *worker) {
		engine.Pinned(func() { callExecve(w, &format.Record{Op: format.OpExecve}) })
	}
	exit := func(w *worker) { engine.Pinned(w.End) }
	for name, c := range map[string]struct {
		via      format.Via
		flags    int64
		outlives bool
	}{
		"io_uring":                         {format.ViaUring, 0, true},
		"io_uring with shared descriptors": {format.ViaUring, format.CloneFiles, true},
		"libaio":                           {format.ViaAIO, 0, false},
		"libaio with shared memory":        {format.ViaAIO, format.CloneVM, true},
	} {
		t.Run(name, func(t *testing.T) {
			opener, child, q, did := forked(t, c.via, c.flags)
			exit(opener)
			if !c.outlives {
				require.Equal(t, closed, *did)
				return
			}
			require.Empty(t, *did)
			engine.Pinned(func() { submitAs(child, 1) })
			require.Zero(t, q.Done(), "it is submitted, not executed as a call")
			exit(child)
			require.EqualValues(t, 1, q.Done())
			require.Equal(t, closed, *did)
		})
	}
	t.Run("exec of the child", func(t *testing.T) {
		opener, child, _, did := forked(t, format.ViaUring, 0)
		exec(child)
		require.Empty(t, *did)
		exit(opener)
		require.Equal(t, closed, *did)
	})
	t.Run("exec of the opener", func(t *testing.T) {
		opener, child, _, did := forked(t, format.ViaUring, 0)
		exit(child)
		exec(opener)
		require.Empty(t, *did, "a request is to come, so the descriptor outlives an exec")
		engine.Pinned(func() { submitAs(opener, 1) })
		exec(opener)
		require.Equal(t, closed, *did)
		exit(opener)
		require.Equal(t, closed, *did)
	})
	t.Run("stop before the child begins", func(t *testing.T) {
		opener, _, q, did := forked(t, format.ViaUring, 0)
		opener.e.Stop()
		exit(opener)
		require.Empty(t, *did)
		opener.e.closeAll()
		require.Equal(t, closed, *did)
		require.Nil(t, q.RequestsFor(opener.Worker))
	})
}

// A process whose table of descriptors in the kernel is its own neither has the queue of
// another, nor closes it: its number is that of another file there.
func TestQueueOfAnotherTableIsNotHeld(t *testing.T) {
	opener, child, q, did := forked(t, format.ViaUring, 0)
	child.process.private = true
	engine.Pinned(func() {
		q.removeHolder(child.process, false)
		submitAs(child, 1) // as a call
		opener.End()
	})
	require.Equal(t, []string{"close with 0 in flight"}, *did)
	engine.Pinned(child.End)
	require.Len(t, *did, 1)
}

// After its exit, a thread has no queue: nothing would wait for its requests.
func TestNoRequestsAfterExit(t *testing.T) {
	_, child, q, _ := forked(t, format.ViaUring, 0)
	engine.Pinned(func() {
		child.End()
		require.EqualValues(t, errInvalid, callRingSubmit(child, &format.Record{Op: format.OpRingSubmit, Args: [format.MaxArgs]int64{2, 1}}))
	})
	require.True(t, q.HasMore())
}
