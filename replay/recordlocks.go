package replay

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// recordLock makes a call on a record lock. It always uses a lock of the open
// file description: an ordinary one would belong to Pianola's process, in which
// recorded processes could not exclude one another.
func (w *worker) recordLock(s slot, cmd uintptr, r *format.Record) int64 {
	if r.Args[3] < 0 || r.Args[3] > unix.F_UNLCK {
		return errInvalid
	}
	w.flock = unix.Flock_t{Type: int16(r.Args[3]), Whence: unix.SEEK_SET, Start: r.Args[4], Len: r.Args[5]}
	return w.sys.Call(unix.SYS_FCNTL, s.real(), cmd, uintptr(unsafe.Pointer(&w.flock)))
}

// callFlock plays flock, whose locks are those of open file descriptions by
// themselves.
func callFlock(w *worker, s slot, r *format.Record) int64 {
	switch r.Args[1] &^ unix.LOCK_NB {
	case unix.LOCK_UN:
	case unix.LOCK_SH, unix.LOCK_EX:
		if r.Args[1]&unix.LOCK_NB == 0 {
			return w.lockWait(s, r)
		}
	default:
		return errInvalid
	}
	return w.tryLock(s, r)
}

// tryLock makes the call of a record that requests a lock, without waiting.
func (w *worker) tryLock(s slot, r *format.Record) int64 {
	if r.Op == format.OpFlock {
		return w.sys.Call(unix.SYS_FLOCK, s.real(), uintptr(r.Args[1])|unix.LOCK_NB, 0)
	}
	return w.recordLock(s, unix.F_OFD_SETLK, r)
}

// The waits between two tries for a lock, in nanoseconds, and how long a worker
// tries while every other worker sleeps for an event or has ended.
const (
	firstTry   = 2_000
	longestTry = 1_000_000
	lastTry    = 100_000_000
)

// lockWait waits for a lock by trying, so that a stop ends the wait. In the
// replay, the unlock can come after this event although it came before in the
// recording. If no worker is left that could unlock it, the result is EDEADLK.
func (w *worker) lockWait(s slot, r *format.Record) int64 {
	defer w.locking.Store(false)
	var stuckSince int64
	for gap := int64(firstTry); ; gap = min(gap*2, longestTry) {
		got := w.tryLock(s, r)
		if got != -int64(unix.EAGAIN) && got != -int64(unix.EACCES) {
			return got
		}
		if w.e.stopped.Load() {
			return -int64(unix.EINTR)
		}
		w.locking.Store(true)
		now := w.e.now()
		switch {
		case w.e.othersMove(w):
			stuckSince = 0
		case stuckSince == 0:
			stuckSince = now
		case now-stuckSince > lastTry:
			return -int64(unix.EDEADLK)
		}
		w.sleepUntil(now + gap)
	}
}

// othersMove reports whether any other worker is busy, or only waits for its
// due time.
func (e *engine) othersMove(w *worker) bool {
	for _, k := range e.workers {
		if k != w && !k.locking.Load() && k.forThread.Load() == 0 && k.done.Load() != ended {
			return true
		}
	}
	return false
}
