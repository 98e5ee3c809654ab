package rings

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// As many requests are executed at a time as there are threads.
func TestDepth(t *testing.T) {
	const depth = 8
	q := opened(t, kinds[5], Config{Entries: 16, Depth: depth})
	require.Equal(t, depth, q.Threads())
	r, w := pipe(t)
	mem := mapping(t, 4096)
	for i := range uint64(depth - 1) {
		prepare(t, q, Request{Op: OpRead, FD: r, Addr: addr(mem) + uintptr(i), Length: 1, Offset: -1, User: i})
	}
	// The last thread is left for this one, which releases all others.
	prepare(t, q, Request{Op: OpWrite, FD: w, Addr: addr(mem) + 100, Length: depth - 1, Offset: -1, User: depth})
	n, err := q.Submit(depth)
	require.NoError(t, err)
	require.Equal(t, depth, n)
	reap(t, q, depth)
}

// A pool has a bounded number of threads, and says so.
func TestManyThreads(t *testing.T) {
	c := Config{Kernel: scheduled, Entries: 4, Depth: maxThreads + 1}
	require.Equal(t, maxThreads, c.PoolThreads())
	q, err := threadsOf(c)
	require.NoError(t, err)
	require.Equal(t, maxThreads, q.Threads())
	require.Equal(t, []string{"threads: 256 for 257 requests in flight"}, q.Notes())
	require.NoError(t, q.Close())
}

// Each thread is bound before its first request. A pool whose threads can't be is
// not opened.
func TestEnter(t *testing.T) {
	var bound atomic.Int32
	q, err := threadsOf(Config{Kernel: scheduled, Entries: 3, Enter: func() error { bound.Add(1); return nil }})
	require.NoError(t, err)
	require.EqualValues(t, 3, bound.Load())
	require.NoError(t, q.Close())

	before := runtime.NumGoroutine()
	why := errors.New("no jail")
	_, err = threadsOf(Config{Kernel: scheduled, Entries: 3, Enter: func() error {
		if bound.Add(1) == 5 {
			return why
		}
		return nil
	}})
	require.ErrorIs(t, err, why)
	for runtime.NumGoroutine() > before { // those that have left the pool end
		runtime.Gosched()
	}
}

// Close waits for what is being executed, and drops what is not.
func TestClosePool(t *testing.T) {
	queue, err := threadsOf(Config{Kernel: scheduled, Entries: 4, Depth: 1})
	require.NoError(t, err)
	q := queue.(*pool)
	r, w := pipe(t)
	fd := file(t, 0)
	mem := mapping(t, 4096)
	prepare(t, q, Request{Op: OpRead, FD: r, Addr: addr(mem), Length: 1, Offset: -1, User: 1},
		Request{Op: OpWrite, FD: fd, Addr: addr(mem), Length: 1, User: 2})
	_, err = q.Submit(0)
	require.NoError(t, err)
	state := func(is func() bool) {
		for ok := false; !ok; runtime.Gosched() {
			q.lock.Lock()
			ok = is()
			q.lock.Unlock()
		}
	}
	state(func() bool { return q.running == 1 })
	released := make(chan error)
	go func() {
		state(func() bool { return q.closing })
		_, err := unix.Write(int(w), []byte("x"))
		released <- err
	}()
	require.NoError(t, q.Close())
	require.NoError(t, <-released)
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(int(fd), &st))
	require.Zero(t, st.Size)
	require.NoError(t, q.Close())
}

// A stop of all goroutines doesn't wait for what a pool executes: a thread that
// is stopped could be the one that the call waits for.
func TestStopOfAll(t *testing.T) {
	runtime.LockOSThread()
	q, err := threadsOf(Config{Entries: 4, Depth: 2}) // with its own way of calling
	require.NoError(t, err)
	defer func() { require.NoError(t, q.Close()) }()
	r, w := pipe(t)
	mem := mapping(t, 4096)
	for range 10 {
		prepare(t, q, Request{Op: OpRead, FD: r, Addr: addr(mem), Length: 1, Offset: -1, User: 1})
		_, err := q.Submit(0)
		require.NoError(t, err)
		runtime.GC()
		require.Zero(t, q.Reap(make([]Completion, 1)))
		require.Equal(t, map[uint64]int64{1: 1, 2: 1}, func() map[uint64]int64 {
			prepare(t, q, Request{Op: OpWrite, FD: w, Addr: addr(mem), Length: 1, Offset: -1, User: 2})
			_, err := q.Submit(2)
			require.NoError(t, err)
			results := make(map[uint64]int64)
			for _, c := range reap(t, q, 2) {
				results[c.User] = c.Result
			}
			return results
		}())
	}
}

// When all places are taken by what was not reaped, a pool asks for that.
func TestBusyPool(t *testing.T) {
	q := opened(t, kinds[5], Config{Entries: 4}).(*pool)
	n := 0
	for ; len(q.free) > 0; n++ {
		prepare(t, q, Request{Op: OpNop})
		_, err := q.Submit(1)
		require.NoError(t, err)
	}
	require.Equal(t, 8, n)
	require.Equal(t, ErrBusy, q.Prepare(&Request{}))
	reap(t, q, n)
	require.Zero(t, one(t, q, Request{Op: OpNop}))
}
