package replay

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// Compile orders calls on conflicting locks as they were recorded, so a lock is
// mostly free when its turn comes. The exception is a call whose predecessor
// gave the lock up before, but returned after it: no edge says so. It waits for
// the lock itself, and so does every call in a replay without these edges.

// recordLock makes a call on a record lock. Locks of a process belong to the
// kernel's table of descriptors: if recorded processes share a table, locks of
// open file descriptions stand in for them, because the processes could not
// exclude one another.
func (w *worker) recordLock(s slot, r *format.Record) int64 {
	if r.Args[3] < 0 || r.Args[3] > unix.F_UNLCK {
		return errInvalid
	}
	own := w.process.alone
	cmd := uintptr(unix.F_OFD_SETLK)
	switch r.Args[1] {
	case format.FGetlk, format.FOfdGetlk:
		cmd = unix.F_OFD_GETLK
		if own && r.Args[1] == format.FGetlk {
			cmd = unix.F_GETLK
		}
	case format.FSetlk, format.FSetlkw:
		if own {
			cmd = unix.F_SETLK
		}
	}
	w.flock = unix.Flock_t{Type: int16(r.Args[3]), Whence: unix.SEEK_SET, Start: r.Args[4], Len: r.Args[5]}
	return w.sys.Call(unix.SYS_FCNTL, s.real(), cmd, uintptr(unsafe.Pointer(&w.flock)))
}

// ownLocks decides which processes have locks of their own.
func (e *engine) ownLocks() {
	sharing := 0
	for _, p := range e.processes {
		if !p.private {
			sharing++
		}
	}
	for _, p := range e.processes {
		p.alone = e.Backend == Posix && (p.private || sharing == 1)
	}
}

// callFlock plays flock, whose locks are those of open file descriptions by
// themselves.
func callFlock(w *worker, s slot, r *format.Record) int64 {
	switch r.Args[1] &^ unix.LOCK_NB {
	case unix.LOCK_UN, unix.LOCK_SH, unix.LOCK_EX:
		return w.lock(s, r)
	}
	return errInvalid
}

// lock makes a call that takes a lock or gives it up. If it got the lock in the
// recording, it waits until it gets it.
func (w *worker) lock(s slot, r *format.Record) int64 {
	got := w.tryLock(s, r)
	switch {
	case got != -int64(unix.EAGAIN) && got != -int64(unix.EACCES):
		return got
	case r.Ret == 0:
		return w.lockWait(s, r)
	case r.Ret == -int64(unix.EDEADLK):
		return r.Ret // it would have waited, for one that waits for it
	}
	return got
}

// tryLock makes the call of a record that requests a lock, without waiting.
func (w *worker) tryLock(s slot, r *format.Record) int64 {
	if r.Op == format.OpFlock {
		return w.sys.Call(unix.SYS_FLOCK, s.real(), uintptr(r.Args[1])|unix.LOCK_NB, 0)
	}
	return w.recordLock(s, r)
}

// The waits between two tries for a lock, in nanoseconds, and how long a worker
// tries while every other worker sleeps for an event or has ended.
const (
	firstTry   = 2_000
	longestTry = 1_000_000
	lastTry    = 100_000_000
)

// lockWait waits for a lock by trying, so that a stop ends the wait. If no
// worker is left that could give the lock up, the result is EDEADLK.
func (w *worker) lockWait(s slot, r *format.Record) int64 {
	defer w.locking.Store(false)
	var stuckSince int64
	for gap := int64(firstTry); ; gap = min(gap*2, longestTry) {
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
		got := w.tryLock(s, r)
		if got != -int64(unix.EAGAIN) && got != -int64(unix.EACCES) {
			return got
		}
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
