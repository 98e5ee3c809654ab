package replay

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/rings"
)

// ring adds a ring to the trace, and returns its number.
func (t *roll) ring(via format.Via, parent int32) int {
	n := t.child(1, parent)
	t.header.Threads[n-1].Ring = via
	return int(n)
}

// how says how the thread's next event is made.
func (t *roll) how(thread int32, how format.How) {
	p := &t.threads[thread-1]
	p.ways = append(p.ways, format.Way{Event: int64(len(p.records)), How: how})
}

// eachVia runs a test for rings of io_uring and contexts of libaio, with each backend.
func eachVia(t *testing.T, test func(t *testing.T, p player, via format.Via)) {
	for _, via := range []format.Via{format.ViaUring, format.ViaAIO} {
		t.Run(via.String(), func(t *testing.T) {
			eachBackend(t, func(t *testing.T, p player) { test(t, p, via) })
		})
	}
}

// Requests have the recorded results, and what follows them by edges finds what they
// did.
func TestRingReplay(t *testing.T) {
	eachVia(t, func(t *testing.T, p player, via format.Via) {
		r := newRoll(1)
		q := r.ring(via, 1)
		ring := int32(q)
		r.add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		const n = 20
		for i := range n {
			r.add(ring, format.OpPwrite64, 4096, 3, 4096, 4096, i*4096)
			r.add(1, format.OpRingSubmit, 0, q, 1, 0, max(i-7, 0), 0)
		}
		r.add(1, format.OpRingSubmit, 0, q, 0, 8, n-8, 0)
		r.wait(ring, ring, n-1)
		for i := range n { // more than the ring has room for
			r.add(ring, format.OpPread64, 4096, 3, 4096, 4096, i*4096)
		}
		r.add(ring, format.OpFsync, 0, 3)
		r.add(ring, format.OpPread64, -9, 7, 4096, 4096, 0)
		r.add(1, format.OpRingSubmit, 0, q, n+2, 0, n, 0)
		r.wait(1, ring, 2*n+1)
		r.add(1, format.OpClose, 0, 3)
		dir, res := p.play(t, r)
		faultless(t, r, res)
		require.EqualValues(t, n, res.ByOp[format.OpPwrite64].Executed)
		require.EqualValues(t, n+1, res.ByOp[format.OpPread64].Executed)
		stat, err := os.Stat(filepath.Join(dir, "made"))
		require.NoError(t, err)
		require.EqualValues(t, n*4096, stat.Size())
		require.Empty(t, res.Notes)

		var flights int
		events := res.Events()
		for batch := make([]format.Event, 7); ; {
			k, err := events.Read(batch)
			for _, e := range batch[:k] {
				if e.Via != format.ViaCall {
					require.Equal(t, via, e.Via)
					require.EqualValues(t, 1, e.TID)
					flights++
				}
			}
			if err != nil {
				break
			}
		}
		require.Equal(t, 2*n+2, flights)
	})
}

// Links, registered files and registered buffers are played as they are.
func TestRingWays(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := newRoll(1)
		q := r.ring(format.ViaUring, 1)
		ring := int32(q)
		r.add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.add(1, format.OpRingFiles, 0, q, "-1,3")
		r.add(1, format.OpRingBuffers, 0, q, "4096+8192")
		link := format.How{Flags: 4 | format.ReqFixed, Slot: 1, Buf: 1}
		r.how(ring, link)
		r.add(ring, format.OpPwrite64, 4096, 3, 4096, 4096, 0)
		r.how(ring, link)
		r.add(ring, format.OpFdatasync, 0, 3)
		r.how(ring, format.How{Flags: format.ReqFixed, Slot: 1, Buf: 1})
		r.add(ring, format.OpPread64, 4096, 3, 8192, 4096, 0)
		r.how(ring, format.How{Flags: format.ReqFixed, Slot: 1, Buf: 9}) // which is not registered
		r.add(ring, format.OpPwritev, 200, 3, 4096, 2, 0, 200)
		r.add(1, format.OpRingSubmit, 0, q, 4, 4, 0, 0)
		_, res := p.play(t, r)
		faultless(t, r, res)
	})
}

// A thread can wait for what another one submits, and take the completions.
func TestRingOfTwoThreads(t *testing.T) {
	eachVia(t, func(t *testing.T, p player, via format.Via) {
		r := newRoll(2)
		q := r.ring(via, 1)
		ring := int32(q)
		r.add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		const n = 200
		for i := range n {
			r.add(ring, format.OpPwrite64, 512, 3, 4096, 512, i*512)
			submits := r.add(1, format.OpRingSubmit, 0, q, 1, 0, max(i-3, 0), 0)
			r.wait(2, 1, submits)
			r.add(2, format.OpRingSubmit, 0, q, 0, 1, i, 0)
		}
		_, res := p.play(t, r)
		faultless(t, r, res)
	})
}

// A process with a descriptor table of its own uses the ring of another: not in the
// kernel, because neither the ring nor the files of its requests are in that table.
func TestRingOfAnotherTable(t *testing.T) {
	eachVia(t, func(t *testing.T, p player, via format.Via) {
		r := newRoll(2)
		child := r.child(2, 1)
		q := r.ring(via, 1)
		ring := int32(q)
		r.add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.add(1, format.OpClone, int64(child), 0)
		r.add(ring, format.OpPwrite64, 512, 3, 4096, 512, 0)
		r.add(child, format.OpOpenm, 4, "other", format.RDWR|format.CREAT, 0o644)
		r.add(ring, format.OpPwrite64, 512, 4, 4096, 512, 0)
		submits := r.add(child, format.OpRingSubmit, 0, q, 2, 2, 0, 0)
		r.wait(2, child, submits)
		r.add(2, format.OpRingSubmit, 0, q, 1, 1, 2, 0)
		r.add(ring, format.OpPread64, 512, 3, 4096, 512, 0)
		dir, res := p.play(t, r)
		faultless(t, r, res)
		for _, name := range []string{"made", "other"} {
			stat, err := os.Stat(filepath.Join(dir, name))
			require.NoError(t, err)
			require.EqualValues(t, 512, stat.Size())
		}
	})
}

// A trace that makes no sense ends: it waits for what was never submitted, submits
// what it does not have, or uses a ring that is none.
func TestRingNonsense(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := newRoll(1)
		q := r.ring(format.ViaUring, 1)
		r.wait(1, int32(q), 0)
		r.add(1, format.OpRingSubmit, 0, q, 0, 5, 7, 0)
		r.add(1, format.OpRingSubmit, 0, q, 9, 5, 7, 0)
		r.add(1, format.OpRingSubmit, -22, 1, 1, 1, 1, 0)
		r.add(1, format.OpRingFiles, -22, 99, "-7,1099511627776,x")
		r.add(1, format.OpRingOpen, -22, q, 1<<40, -1, -1, -1) // it was used before
		r.add(1, format.OpRingBuffers, 0, q, "9,x+1")
		r.add(int32(q), format.OpPread64, -9, 3, 0, 10, 0)
		_, res := p.play(t, r)
		require.Zero(t, res.Failed)
		require.False(t, res.Interrupted)
	})
}

// A request can't be one that makes requests, or a thread.
func TestRingOfRings(t *testing.T) {
	for _, op := range []format.Op{format.OpRingSubmit, format.OpClone, format.OpExit} {
		r := newRoll(1)
		q := r.ring(format.ViaUring, 1)
		r.add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.add(1, format.OpRingSubmit, 0, q, 1, 1, 0, 0)
		r.add(int32(q), op, 0, q, 1, 1, 0, 0)
		_, err := run(t.Context(), r, Options{Root: filepath.Join(t.TempDir(), "root"), Timing: AFAP}, byOpenat2)
		require.ErrorContains(t, err, "can't be a request")
	}
}

// All orders and timings play requests, and a run that is repeated or stopped ends.
func TestRingOrders(t *testing.T) {
	for _, o := range []Options{{Order: Thread}, {Order: Total}, {Timing: Schedule}, {Timing: AFAP}, {Speed: 2}} {
		r := newRoll(1)
		q := r.ring(format.ViaUring, 1)
		r.add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		for i := range 50 {
			r.add(int32(q), format.OpPwrite64, 512, 3, 4096, 512, i*512)
			r.add(1, format.OpRingSubmit, 0, q, 1, 1, i, 100)
			r.last(1).Compute = 1000
		}
		r.wait(1, int32(q), 49)
		r.add(1, format.OpClose, 0, 3)
		o.Root = filepath.Join(t.TempDir(), "root")
		res, err := run(t.Context(), r, o, byOpenat2)
		require.NoError(t, err)
		faultless(t, r, res)
	}
}

// Registered buffers take no more than the memory limit. Requests of the others are
// played without.
func TestRingBuffersLimit(t *testing.T) {
	r := newRoll(1)
	q := r.ring(format.ViaUring, 1)
	r.add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
	r.add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
	const limit = 1 << 20 // an arena of a half or less
	r.add(1, format.OpRingBuffers, 0, q, "0+9999999,0+9999999,0+9999999,0+9999999,0+9999999,0+9999999")
	r.how(int32(q), format.How{Buf: 6})
	r.add(int32(q), format.OpPwrite64, 512, 3, 4096, 512, 0)
	r.how(int32(q), format.How{Buf: 6})
	r.add(int32(q), format.OpPread64, 512, 3, 4096, 512, 0)
	r.add(1, format.OpRingSubmit, 0, q, 1, 1, 0, 0)
	r.add(1, format.OpRingSubmit, 0, q, 1, 1, 1, 0)
	o := Options{Root: filepath.Join(t.TempDir(), "root"), Timing: AFAP}
	o.Limits.Memory = limit
	res, err := run(t.Context(), r, o, byOpenat2)
	require.NoError(t, err)
	faultless(t, r, res)
	require.Equal(t, []string{"registered buffers beyond 1048576 bytes are replayed as normal buffers"}, res.Notes)
}

// A request with flags that is executed as a call waits for those before it, not for
// itself.
func TestRingCallInChain(t *testing.T) {
	eachVia(t, func(t *testing.T, p player, via format.Via) {
		r := newRoll(1)
		q := r.ring(via, 1)
		ring := int32(q)
		r.add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.how(ring, format.How{Flags: format.ReqLink})
		r.add(ring, format.OpPwrite64, 4096, 3, 4096, 4096, 0)
		r.how(ring, format.How{Flags: format.ReqLink})
		r.add(ring, format.OpOpenm, 4, "other", format.RDWR|format.CREAT, 0o644)
		r.add(ring, format.OpPwrite64, 4096, 3, 4096, 4096, 4096)
		r.add(1, format.OpRingSubmit, 0, q, 3, 3, 0, 0)
		_, res := p.play(t, r)
		faultless(t, r, res)
	})
}

// A thread whose creator is a ring would wait for it without an end.
func TestRingsCreateNoThreads(t *testing.T) {
	for _, by := range []Backend{Posix, Memory, Null} {
		r := newRoll(1)
		ring := r.ring(format.ViaUring, 1)
		r.add(1, format.OpMkdir, 0, "a", 0o700)
		r.add(r.child(1, int32(ring)), format.OpRmdir, 0, "a")
		_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Backend: by})
		require.EqualError(t, err, "thread 3: its parent, thread 2, is a ring, and rings create no threads")
	}
}

// submitAs has a worker submit the next requests of ring 2.
func submitAs(w *worker, n int64) {
	callRingSubmit(w, &format.Record{Op: format.OpRingSubmit, Args: [format.MaxArgs]int64{2, n}})
}

// inChild returns a queue that the first process has opened, the worker of a process that
// was forked from it, and a function that submits the next requests of the queue for that.
func inChild(t *testing.T, r *roll, s *scriptedQueue) (q *ring, child *worker, submit func(n int64)) {
	t.Helper()
	number := r.child(2, 1)
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
			r := newRoll(1)
			r.ring(format.ViaUring, 1)
			for range 3 {
				r.add(2, format.OpPread64, 10, 5, 0, 10, 0)
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
	r := newRoll(1)
	r.ring(format.ViaUring, 1)
	r.add(2, format.OpPread64, 10, 5, 0, 10, 0)
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
			r := newRoll(1)
			r.ring(format.ViaUring, 1)
			r.add(2, format.OpRead, 10, 5, 0, 10)
			under, err := open(rings.Config{Entries: 4})
			require.NoError(t, err)
			workers, q := ringOn(t, r, under)
			w, e := workers[0], workers[0].e
			q.pool = under.Threads() > 0
			var pipe [2]int
			require.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
			require.True(t, w.process.files.Load().set(5, newSlot(int64(pipe[0]), 0, 0)))
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
	r := newRoll(1)
	r.ring(via, 1)
	number := r.child(2, 1)
	r.str("f") // that all descriptors are of
	r.add(2, format.OpPread64, 10, 5, 0, 10, 0)
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
		require.Nil(t, q.Reach(opener.Worker))
	})
}

// A process whose table of descriptors in the kernel is its own neither has the queue of
// another, nor closes it: its number is that of another file there.
func TestQueueOfAnotherTableIsNotHeld(t *testing.T) {
	opener, child, q, did := forked(t, format.ViaUring, 0)
	child.process.private = true
	engine.Pinned(func() {
		q.giveUp(child.process, false)
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

// A forked process uses the ring of its parent after the parent's exit.
func TestRingOutlivesItsOpener(t *testing.T) {
	eachVia(t, func(t *testing.T, p player, via format.Via) {
		r := newRoll(1)
		r.header.Set(format.MetaSharing, "1") // so that all use one table in the kernel
		child := r.child(2, 1)
		q := r.ring(via, 1)
		ring := int32(q)
		r.add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.add(1, format.OpClone, int64(child), format.CloneVM)
		r.add(ring, format.OpPwrite64, 4096, 3, 4096, 4096, 0)
		r.add(1, format.OpRingSubmit, 0, q, 1, 0, 0, 0)
		exit := r.add(1, format.OpExit, format.NoResult, 0)
		r.wait(ring, ring, 0)
		r.wait(child, 1, exit)
		for i := range 20 {
			r.add(ring, format.OpPread64, 4096, 3, 4096, 4096, 0)
			r.add(child, format.OpRingSubmit, 0, q, 1, 1, i+1, 0)
		}
		_, res := p.play(t, r)
		faultless(t, r, res)
		require.Empty(t, res.Notes)
	})
}
