package replay

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
	"pianola/internal/roottest"
	"pianola/internal/spin"
	"pianola/replay/engine"
	"pianola/replay/sandbox"
)

func TestSlot(t *testing.T) {
	for _, real := range []int64{0, 1, 1<<20 - 1} {
		for _, name := range []int32{0, 7, 1<<31 - 1} {
			for _, marks := range []slot{0, slotExec, slotWrite, slotExec | slotWrite} {
				s := newSlot(real, name, marks)
				require.NotZero(t, s)
				require.Equal(t, uintptr(real), s.real())
				require.Equal(t, name, s.name())
				require.Equal(t, marks, s.marks())
				require.Equal(t, marks&slotExec != 0, s.exec())
			}
		}
	}
}

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
		{errBadFD, 8, 0, 0, func(files *table) { files.empty(3) }},
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
		require.True(t, files.set(3, newSlot(1, 0, 0)))
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

// A close takes what its number led to before, also where another thread gets
// the number at the same moment.
func TestLateCloseRaces(t *testing.T) {
	old, again := newSlot(1, 0, 0), newSlot(2, 0, 0)
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
		require.Equal(t, old, slot(taken.Swap(0)))
		require.Equal(t, again, files.take(3))
	}
}

// The descriptors of a child depend on how it was created.
func TestFork(t *testing.T) {
	const ebadf = -int64(unix.EBADF)
	tests := []struct {
		name          string
		flags         int
		process       int32
		parentsClosed int64 // fstat, in the child, of what the parent has closed since
		childsOpened  int64 // fstat, in the parent, of what the child has opened
	}{
		{"fork", 17, 2, 0, ebadf},
		{"vfork", format.CloneVfork | 0x100, 2, 0, ebadf},
		{"shared files", format.CloneFiles, 2, ebadf, 0},
		{"thread", format.CloneFiles | format.CloneThread, 1, ebadf, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRoll(1)
			if test.flags&format.CloneFiles != 0 && test.process != 1 {
				r.header.Set(format.MetaSharing, "1")
			}
			r.file(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 100, Cached: -1})
			r.add(1, format.OpOpen, 3, "f", format.RDWR)
			r.add(1, format.OpLseek, 40, 3, 40, format.SeekSet)
			child := r.child(test.process, 1)
			r.add(1, format.OpClone, int64(child), test.flags)
			closed := r.add(1, format.OpClose, 0, 3)

			r.wait(child, 1, closed)
			r.add(child, format.OpFstat, test.parentsClosed, 3, 0)
			if test.parentsClosed == 0 {
				// The offset belongs to both.
				r.add(child, format.OpLseek, 40, 3, 0, format.SeekCur)
			}
			opened := r.add(child, format.OpOpen, 8, "f", format.RDONLY)
			r.wait(1, child, opened)
			fstat := r.add(1, format.OpFstat, test.childsOpened, 8, 0)
			r.wait(child, 1, fstat)
			ended := r.add(child, format.OpExit, format.NoResult, 0)
			r.wait(1, child, ended)
			r.add(1, format.OpWait4, int64(child), -1, 0, 0, 0)
			r.add(1, format.OpFstat, test.childsOpened, 8, 0)
			r.add(1, format.OpExitGroup, format.NoResult, 0)
			before := roottest.OpenFiles(t)
			_, res := play(t, r, byOpenat2)
			faultless(t, r, res)
			require.LessOrEqual(t, roottest.OpenFiles(t), before)
		})
	}
}

// An exec in a process that shares its descriptors ends the sharing.
func TestExecUnshares(t *testing.T) {
	r := newRoll(1)
	r.header.Set(format.MetaSharing, "1")
	r.file(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
	r.add(1, format.OpOpen, 3, "f", format.RDWR|format.CLOEXEC)
	r.add(1, format.OpOpen, 4, "f", format.RDWR)
	child := r.child(2, 1)
	r.add(1, format.OpClone, int64(child), format.CloneFiles)
	exec := r.add(child, format.OpExecve, 0, "f")
	r.add(child, format.OpFstat, -int64(unix.EBADF), 3, 0)
	r.add(child, format.OpFstat, 0, 4, 0)
	r.add(child, format.OpClose, 0, 4)
	r.wait(1, child, exec+3)
	r.add(1, format.OpFstat, 0, 3, 0)
	r.add(1, format.OpFstat, 0, 4, 0)
	_, res := play(t, r, byOpenat2)
	faultless(t, r, res)
}

// An unshare ends the sharing for the process that calls it only, whichever process
// made the table.
func TestUnshare(t *testing.T) {
	const ebadf = -int64(unix.EBADF)
	for _, byParent := range []bool{true, false} {
		r := newRoll(1)
		r.header.Set(format.MetaSharing, "2")
		r.file(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: 100, Cached: -1})
		r.add(1, format.OpOpen, 3, "f", format.RDWR|format.CLOEXEC)
		r.add(1, format.OpLseek, 40, 3, 40, format.SeekSet)
		child, other := r.child(2, 1), r.child(3, 1)
		r.add(1, format.OpClone, int64(child), format.CloneFiles)
		created := r.add(1, format.OpClone, int64(other), format.CloneFiles)
		caller, rest := int32(1), child
		if !byParent {
			caller, rest = child, 1
		}
		if caller != 1 {
			r.wait(caller, 1, created)
		}
		r.add(caller, format.OpUnshare, 0, format.CloneFS) // leaves descriptors alone
		r.add(caller, format.OpOpen, 4, "f", format.RDONLY)
		r.add(caller, format.OpUnshare, 0, format.CloneFiles)
		r.add(caller, format.OpUnshare, 0, format.CloneFiles)
		r.add(caller, format.OpLseek, 40, 3, 0, format.SeekCur)
		r.add(caller, format.OpClose, 0, 3)
		last := r.add(caller, format.OpOpen, 5, "f", format.RDONLY)
		r.wait(rest, caller, last)
		r.add(rest, format.OpFstat, 0, 3, 0)
		r.add(rest, format.OpFstat, 0, 4, 0)
		r.add(rest, format.OpFstat, ebadf, 5, 0)
		last = r.add(rest, format.OpClose, 0, 4)
		r.wait(other, rest, last)
		r.add(other, format.OpFstat, 0, 3, 0)
		r.add(other, format.OpFstat, ebadf, 4, 0)
		// An exec of one that shares closes nothing for the other.
		last = r.add(other, format.OpExecve, 0, "f")
		r.add(other, format.OpFstat, ebadf, 3, 0)
		r.wait(rest, other, last)
		r.add(rest, format.OpFstat, 0, 3, 0)
		last = r.add(rest, format.OpFstat, 0, 3, 0)
		r.wait(caller, rest, last)
		r.add(caller, format.OpFstat, 0, 4, 0)
		before := roottest.OpenFiles(t)
		_, res := play(t, r, byOpenat2)
		faultless(t, r, res)
		require.LessOrEqual(t, roottest.OpenFiles(t), before)
	}
}

// A thread that is created twice, by another's clone, or that never was, is no
// harm.
func TestFalseClones(t *testing.T) {
	r := newRoll(2)
	child := r.child(1, 1)
	for _, ret := range []int64{int64(child), int64(child), 2, 1, 77, -1} {
		r.add(1, format.OpClone, ret, 0)
		r.add(2, format.OpClone, ret, 0)
	}
	r.add(child, format.OpMkdir, 0, "once", 0o700)
	_, res := play(t, r, byOpenat2)
	faultless(t, r, res)
}

// Descriptors that were open before the first event.
func TestDescriptorsAtTheStart(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := newRoll(1)
		r.file(format.File{Path: "log", Type: format.TypeReg, Mode: 0o644, Size: 30, Cached: -1})
		r.header.Descriptors = []format.Descriptor{
			{Process: 1, FD: 0, Flags: format.RDONLY, Path: "log"},
			{Process: 1, FD: 1, Flags: format.WRONLY | format.TRUNC, Offset: 12, Path: "log"},
			{Process: 1, FD: 2, Flags: format.WRONLY | format.TRUNC, Offset: 12, Path: "log"},
		}
		r.add(1, format.OpRead, 30, 0, 0, 100)
		r.add(1, format.OpWrite, 5, 1, 0, 5)
		r.add(1, format.OpLseek, 17, 2, 0, format.SeekCur)
		_, res := p.play(t, r)
		faultless(t, r, res)

		// A difference of a descriptor names its path.
		r.add(1, format.OpRead, 99, 0, 0, 99)
		_, res = p.play(t, r)
		require.Len(t, res.Differences, 1)
		res.Differences[0].At = 0 // the clock's
		require.Equal(t, []Difference{{Op: format.OpRead, Recorded: 99, Got: 0, Count: 1, Thread: 1, Event: 3, Path: "log"}}, res.Differences)
		require.Zero(t, res.Failed)
		require.EqualValues(t, 1, res.ByOp[format.OpRead].Differed)
	})
}

// A late close closes the older descriptor of its number, as in the recording, although
// the number is in use again.
func TestLateClose(t *testing.T) {
	m, err := newRegion(4096)
	require.NoError(t, err)
	defer m.free()
	files := newTable(sandbox.Linux, m, 16)
	open := func() slot {
		fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		return newSlot(int64(fd), 0, 0)
	}
	isOpen := func(s slot) bool {
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
	w := &worker{Worker: &engine.Worker{}, process: &process{}, seat: &seat{sys: sandbox.Linux}}
	files := newTable(sandbox.Linux, m, 16)
	w.process.files.Store(files)
	var opened []slot
	isOpen := func(s slot) bool {
		_, err := unix.FcntlInt(s.real(), unix.F_GETFD, 0)
		return err == nil
	}
	open := func(enter func(int64, slot) bool) {
		fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		opened = append(opened, newSlot(int64(fd), 0, 0))
		require.True(t, enter(7, opened[len(opened)-1]))
	}
	open(files.set)
	open(files.set)
	open(func(fd int64, s slot) bool { return files.replace(sandbox.Linux, fd, s) }) // as dup2 does
	require.Equal(t, []bool{true, false, true}, []bool{isOpen(opened[0]), isOpen(opened[1]), isOpen(opened[2])})
	require.Zero(t, callCloseRange(w, &format.Record{Op: format.OpCloseRange, Args: [format.MaxArgs]int64{7, 7}}))
	require.Equal(t, []bool{true, false}, []bool{isOpen(opened[0]), isOpen(opened[2])})
	require.Zero(t, callClose(w, &format.Record{Op: format.OpClose, Args: [format.MaxArgs]int64{7}}))
	require.False(t, isOpen(opened[0]))
	require.EqualValues(t, errBadFD, callClose(w, &format.Record{Op: format.OpClose, Args: [format.MaxArgs]int64{7}}))
}

// Closing descriptors at the end of a process does not count in the time of its last
// call, as in a recording.
func TestExitTakesNoTime(t *testing.T) {
	r := newRoll(1)
	r.file(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644})
	for fd := range 100 {
		r.add(1, format.OpOpen, int64(3+fd), "f", format.RDONLY)
	}
	r.add(1, format.OpExitGroup, format.NoResult, 0)
	_, res := play(t, r, byOpenat2)
	faultless(t, r, res)
	events := make([]format.Event, 200)
	n, err := res.Events().Read(events)
	require.NoError(t, err)
	last := events[n-1]
	require.Equal(t, format.OpExitGroup, last.Op)
	require.Zero(t, last.Dur)
	require.EqualValues(t, last.Start, res.Elapsed)
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
				r := newRoll(1)
				r.child(2, 1)
				e := built(t, r)
				parent, child := e.workers[0], e.workers[1]
				require.True(t, parent.process.files.Load().set(5, newSlot(9, 0, 0)))
				f := &failing{nr: test.call, errno: errno, under: func(_, _, _, _, _, _, _ uintptr) int64 { return 9 }}
				engine.Pinned(func() { test.copy(parent, child, f.call) })
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
	r := newRoll(1)
	r.child(2, 1)
	r.child(3, 1)
	e := built(t, r)
	all := e.workers
	for _, w := range all {
		w.process.own.Load().sys = func(uintptr, uintptr, uintptr, uintptr, uintptr, uintptr, uintptr) int64 {
			spin.Yield() // another worker would leave the table now
			return 9
		}
	}
	all[0].process.files.Load().set(5, newSlot(9, 0, 0))
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
