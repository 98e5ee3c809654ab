package posix

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/spin"
	"pianola/replay/engine"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

// A copy that lacks a descriptor is an error: the kernel refuses to duplicate one, or the
// table of the child has no room. A descriptor that was closed meanwhile is none.
func TestCopyErrors(t *testing.T) {
	for _, test := range []struct {
		duplicate int64
		length    int64
		want      int64
		closed    int
		meanwhile func(files *table) // by another thread
	}{
		{5, 8, 0, 0, nil},
		{errBadFD, 8, errBadFD, 0, nil},
		{errBadFD, 8, 0, 0, func(files *table) { files.remove(3) }},
		{-int64(unix.ENFILE), 8, -int64(unix.ENFILE), 0, nil},
		{5, 2, errNoFD, 1, nil},
	} {
		closed := 0
		sys := sandbox.Kernel(func(nr, _, _, _, _, _, _ uintptr) int64 {
			require.EqualValues(t, unix.SYS_CLOSE, nr)
			closed++
			return 0
		})
		files := newTable(sys, make(region, 8*8), 8)
		require.True(t, files.set(3, newEntry(1, 0, 0)))
		child := newTable(sys, make(region, 8*8), test.length)
		require.Equal(t, test.want, files.copyTo(child, func(real uintptr) int64 {
			if test.meanwhile != nil {
				test.meanwhile(files)
			}
			return test.duplicate
		}))
		require.Equal(t, test.duplicate == 5 && test.want == 0, child.get(3) != 0)
		require.Equal(t, test.closed, closed, "a duplicate without a place is closed")
	}
}

func TestGrowKernelTable(t *testing.T) {
	require.NoError(t, growKernelTable())

	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	status, err := os.Open("/proc/self/status")
	require.NoError(t, err)
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "FDSize:"); ok {
			size, err := strconv.ParseUint(strings.TrimSpace(v), 10, 64)
			require.NoError(t, err)
			require.GreaterOrEqual(t, size, min(limit.Cur, maxGrown))
			require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: limit.Max}))
			defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) }()
			require.ErrorIs(t, growKernelTable(), unix.EMFILE)
			return
		}
	}
	t.Fatal("/proc/self/status has no FDSize")
}

// A late close closes the older descriptor of its number, as in the recording, although
// the number is in use again.
func TestLateClose(t *testing.T) {
	m, err := newRegion(4096)
	require.NoError(t, err)
	defer m.free()
	files := newTable(sandbox.Linux, m, 16)
	open := func() fdEntry {
		fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		return newEntry(int64(fd), 0, 0)
	}
	isOpen := func(s fdEntry) bool {
		_, err := unix.FcntlInt(s.real(), unix.F_GETFD, 0)
		return err == nil
	}
	first, second, third := open(), open(), open()
	require.True(t, files.set(7, first))
	require.True(t, files.set(7, second))
	require.Equal(t, second, files.get(7))
	require.Equal(t, first, files.take(7))
	require.Zero(t, first.close(sandbox.Linux))
	require.Equal(t, second, files.get(7))
	require.True(t, isOpen(second))
	require.True(t, files.replace(sandbox.Linux, 7, third), "dup2 closes what it replaces")
	require.False(t, isOpen(second))
	require.True(t, files.set(7, open()))
	files.release()
	require.False(t, isOpen(third))
	require.Zero(t, files.get(7))
}

// dup2 and close_range close what a number stands for by then. A close that is late
// is about an older descriptor.
func TestLateCloseOfWhatWasReplaced(t *testing.T) {
	m, err := newRegion(4096)
	require.NoError(t, err)
	defer m.free()
	w := &worker{Worker: &engine.Worker{}, process: &process{}, slotState: &slotState{sys: sandbox.Linux}}
	files := newTable(sandbox.Linux, m, 16)
	w.process.files.Store(files)
	var opened []fdEntry
	isOpen := func(s fdEntry) bool {
		_, err := unix.FcntlInt(s.real(), unix.F_GETFD, 0)
		return err == nil
	}
	open := func(enter func(int64, fdEntry) bool) {
		fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		opened = append(opened, newEntry(int64(fd), 0, 0))
		require.True(t, enter(7, opened[len(opened)-1]))
	}
	open(files.set)
	open(files.set)
	open(func(fd int64, s fdEntry) bool { return files.replace(sandbox.Linux, fd, s) }) // as dup2 does
	require.Equal(t, []bool{true, false, true}, []bool{isOpen(opened[0]), isOpen(opened[1]), isOpen(opened[2])})
	require.Zero(t, callCloseRange(w, &format.Record{Op: format.OpCloseRange, Args: [format.MaxArgs]int64{7, 7}}))
	require.Equal(t, []bool{true, false}, []bool{isOpen(opened[0]), isOpen(opened[2])})
	require.Zero(t, callClose(w, &format.Record{Op: format.OpClose, Args: [format.MaxArgs]int64{7}}))
	require.False(t, isOpen(opened[0]))
	require.EqualValues(t, errBadFD, callClose(w, &format.Record{Op: format.OpClose, Args: [format.MaxArgs]int64{7}}))
}

// A close takes what its number led to before, also where another thread gets
// the number at the same moment.
func TestLateCloseRaces(t *testing.T) {
	old, again := newEntry(1, 0, 0), newEntry(2, 0, 0)
	files := newTable(nil, make(region, 8*8), 8)
	const rounds = 50_000
	var ready, taken atomic.Int64
	defer ready.Store(rounds)
	go func() {
		for i := range int64(rounds) {
			for ready.Load() <= i {
				runtime.Gosched()
			}
			taken.Store(int64(files.take(3)))
		}
	}()
	for range rounds {
		require.True(t, files.set(3, old))
		ready.Add(1)
		files.set(3, again)
		for taken.Load() == 0 {
			runtime.Gosched()
		}
		require.Equal(t, old, fdEntry(taken.Swap(0)))
		require.Equal(t, again, files.take(3))
	}
}

func TestSlot(t *testing.T) {
	for _, real := range []int64{0, 1, 1<<20 - 1} {
		for _, name := range []int32{0, 7, 1<<31 - 1} {
			for _, marks := range []fdEntry{0, entryExec, entryWrite, entryExec | entryWrite} {
				s := newEntry(real, name, marks)
				require.NotZero(t, s)
				require.Equal(t, uintptr(real), s.real())
				require.Equal(t, name, s.name())
				require.Equal(t, marks, s.marks())
				require.Equal(t, marks&entryExec != 0, s.exec())
			}
		}
	}
}

// A process that can't get the descriptors of its parent ends the run.
func TestDescriptorsThatCannotBeCopied(t *testing.T) {
	for _, test := range []struct {
		name string
		call uintptr
		copy func(parent, child *worker, k sandbox.Kernel)
	}{
		{"fork", unix.SYS_FCNTL, func(parent, child *worker, k sandbox.Kernel) {
			parent.process.files.Load().sys = k
			callClone(parent, &format.Record{Op: format.OpClone, Ret: int64(child.Number)})
		}},
		{"unshare", unix.SYS_FCNTL, func(parent, child *worker, k sandbox.Kernel) {
			parent.process.files.Load().sys = k
			parent.fork(child.process, true)
			callUnshare(child, &format.Record{Args: [format.MaxArgs]int64{format.CloneFiles}})
		}},
		{"exec", unix.SYS_FCNTL, func(parent, child *worker, k sandbox.Kernel) {
			parent.process.files.Load().sys = k
			parent.fork(child.process, true)
			callExecve(child, &format.Record{})
		}},
		{"handed over", unix.SYS_PIDFD_GETFD, func(parent, child *worker, k sandbox.Kernel) {
			child.forkedFrom, child.sys = parent, k
			child.inherit()
		}},
		{"handed over by a thread", unix.SYS_PIDFD_OPEN, func(parent, child *worker, k sandbox.Kernel) {
			child.forkedFrom, child.sys = parent, k
			child.inherit()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, errno := range []unix.Errno{unix.EMFILE, unix.EBADF} {
				r := replaykit.New(1)
				r.Child(2, 1)
				e := built(t, r)
				parent, child := e.workers[0], e.workers[1]
				require.True(t, parent.process.files.Load().set(5, newEntry(9, 0, 0)))
				f := &replaykit.Failing{Nr: test.call, Errno: errno, Under: func(_, _, _, _, _, _, _ uintptr) int64 { return 9 }}
				engine.Pinned(func() { test.copy(parent, child, f.Call) })
				err := e.Err()
				for _, p := range e.processes { // which have no real descriptors
					p.files.Store(nil)
				}
				require.ErrorIs(t, err, errno)
				require.ErrorContains(t, err, "copy the descriptors of a process")
			}
		})
	}
}

// However processes that share a table leave it at the same time, each has one of its own
// afterwards.
func TestUnshareRaces(t *testing.T) {
	r := replaykit.New(1)
	r.Child(2, 1)
	r.Child(3, 1)
	e := built(t, r)
	all := e.workers
	for _, w := range all {
		w.process.own.Load().sys = func(uintptr, uintptr, uintptr, uintptr, uintptr, uintptr, uintptr) int64 {
			spin.Yield() // another worker would leave the table now
			return 9
		}
	}
	all[0].process.files.Load().set(5, newEntry(9, 0, 0))
	for range 1000 {
		for _, w := range all[1:] {
			w.process.files.Store(nil)
			all[0].fork(w.process, true)
		}
		var begin atomic.Int32
		var group sync.WaitGroup
		for _, w := range all {
			group.Go(func() {
				for begin.Add(1); begin.Load() < int32(len(all)); {
					runtime.Gosched()
				}
				engine.Pinned(func() { w.unshare() })
			})
		}
		group.Wait()
		used := map[*table]bool{}
		for _, w := range all {
			files := w.process.files.Load()
			require.NotNil(t, files)
			require.False(t, used[files], "two processes use a table")
			require.EqualValues(t, 1, files.users.Load())
			require.Same(t, files, w.process.own.Load())
			used[files] = true
		}
	}
}
