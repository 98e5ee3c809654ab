package posix

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// A process of one thread does not share its table of descriptors, so the
// kernel finds a file in it without counting users, which saves 50 to 100 ns of
// each call. All threads of a Go program share one table. So the thread that
// replays such a process unshares it, and opens and closes the process's
// descriptors in its own.
//
// A fork then has to carry descriptors from one table to another. The child's
// thread fetches them while the parent waits, as it would in fork.

// pidfdThread is PIDFD_THREAD (Linux 6.9): a descriptor of a thread, not of its
// process.
const pidfdThread = unix.O_EXCL

// choosePrivateTables decides which processes get a table of their own.
func (e *Executor) choosePrivateTables() {
	if !e.InMemory {
		e.pools = e.refusedQueues()
	}
	if _, sharing := e.Trace.Header().Value(format.MetaSharing); sharing || e.InMemory {
		return
	}
	err := unix.Unshare(0) // containers forbid it, even without flags
	if err == nil && len(e.processes) > 1 {
		err = threadsCanFetch()
	}
	switch {
	case err == nil:
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL): // a container, an older kernel
		return
	default:
		e.Note(fmt.Sprintf("all processes share one descriptor table, in which calls take longer: %v", err))
		return
	}
	for _, p := range e.processes {
		p.private = p.threads.Load() == 1
	}
	if e.pools > 0 {
		for _, w := range e.workers {
			if w != nil && w.OwnRing() != nil {
				w.process.private = false // threads of a pool use its descriptors
			}
		}
	}
}

// threadsCanFetch returns an error unless a thread can take descriptors from another's
// table. The kernel may lack pidfds of threads, and a container may forbid one of the two
// calls.
func threadsCanFetch() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, err := unix.PidfdOpen(unix.Gettid(), pidfdThread)
	if err != nil {
		return fmt.Errorf("pidfd_open of a thread (Linux 6.9): %w", err)
	}
	defer unix.Close(thread)
	twin, err := unix.PidfdGetfd(thread, thread, 0)
	if err != nil {
		return fmt.Errorf("pidfd_getfd: %w", err)
	}
	return unix.Close(twin)
}

// unshareTable gives the thread of a slot a table of its own. It closes the
// descriptors of processes in it, because only the last close of a file releases
// its locks and its space.
func (e *Executor) unshareTable() error {
	if err := unix.Unshare(unix.CLONE_FILES); err != nil {
		return fmt.Errorf("separate the descriptors of a process: %w", err)
	}
	if e.spares.kept == nil {
		return nil
	}
	from := uintptr(0)
	for _, fd := range e.spares.kept {
		if fd > from {
			if got := e.guard.Kernel.Call(unix.SYS_CLOSE_RANGE, from, fd-1, 0); got < 0 { // a container can forbid it
				e.Note(fmt.Sprintf("files of other processes stay open in a process with its own descriptor table, so that their locks and space are released late: close_range: %v", unix.Errno(-got)))
				return nil
			}
		}
		from = fd + 1
	}
	return nil
}

// keepDescriptors records the descriptors that belong to no replayed process, before
// the start. It is not needed if no other descriptors are open when slots get their own
// tables: those of processes without one, or of files that they open later. Slots close
// all others, so it is an error if the kernel does not report which are open.
func (s *spares) keepDescriptors(e *Executor, late bool) error {
	private, shared := false, make(map[uintptr]bool)
	for _, p := range e.processes {
		private = private || p.private
		files := p.files.Load()
		if files == nil || p.private {
			continue
		}
		late = true
		for fd := range files.high.Load() {
			if s := files.get(fd); s != 0 {
				shared[s.real()] = true
			}
		}
	}
	if !private || !late {
		return nil
	}
	for fd := range uintptr(maxGrown) {
		switch got := e.guard.Kernel.Call(unix.SYS_FCNTL, fd, unix.F_GETFD, 0); {
		case got == errBadFD || shared[fd]:
		case got < 0:
			return fmt.Errorf("find the descriptors of this program: %w", unix.Errno(-got))
		default:
			s.kept = append(s.kept, fd)
		}
	}
	s.kept = append(s.kept, math.MaxUint32)
	return nil
}

// handOver starts the child's thread, and waits until it has fetched the
// descriptors of the worker's process.
func (w *worker) handOver(child *worker, share bool) {
	if share {
		w.Failf("event %d of thread %d creates a process that shares descriptors, but the trace header does not say so", w.Event, w.Number)
		return
	}
	if w.process.files.Load() == nil || child.process.files.Load() != nil {
		child.Start()
		return
	}
	child.forkedFrom = w
	child.Start()
	for !child.inherited.Load() && !w.e.Stopped() {
		seq := child.WakeUp.Value()
		if child.inherited.Load() || w.e.Stopped() {
			return
		}
		w.Unpin()
		child.WakeUp.Wait(seq, 0)
		w.Pin()
	}
}

// inherit fetches the descriptors of the process that forked this one.
func (w *worker) inherit() {
	from := w.forkedFrom
	if from == nil {
		return
	}
	files, own := from.process.files.Load(), w.process.own.Load()
	if files == nil {
		return // the run has stopped
	}
	if !w.chargeCopies(files) {
		return
	}
	thread := w.sys.Call(unix.SYS_PIDFD_OPEN, uintptr(from.tid), pidfdThread, 0)
	if !w.checkCopies(min(thread, 0)) {
		return
	}
	got := files.copyTo(own, func(real uintptr) int64 { return w.sys.Call(unix.SYS_PIDFD_GETFD, uintptr(thread), real, 0) })
	w.sys.Call(unix.SYS_CLOSE, uintptr(thread), 0, 0)
	if !w.checkCopies(got) {
		return
	}
	w.process.files.Store(own)
	w.inherited.Store(true)
	w.WakeUp.Advance()
}
