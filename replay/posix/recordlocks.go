package posix

import (
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/spin"
	"pianola/replay/sandbox"
)

// Compile orders calls on conflicting locks as they were recorded, so a lock is usually
// free when a call requests it. The exception is a call whose predecessor released the
// lock before, but returned after it: there is no edge for that. Such a call waits for
// the lock itself, and so does every call in a replay without these edges.

// recordLock makes a call on a record lock. Locks of a process belong to the kernel's
// table of descriptors. So they are made as recorded if the process has its own kernel
// table. If not, see lockFile.
func (w *worker) recordLock(s fdEntry, r *format.Record) int64 {
	if r.Args[3] < 0 || r.Args[3] > unix.F_UNLCK {
		return errInvalid
	}
	whence, start := int16(format.LockWhence(r.Args[2])), r.Args[4]
	fd, asks := s.real(), r.Args[1] == format.FGetlk || r.Args[1] == format.FOfdGetlk
	cmd := uintptr(unix.F_OFD_SETLK)
	if asks {
		cmd = unix.F_OFD_GETLK
	}
	switch r.Args[1] {
	case format.FGetlk, format.FSetlk, format.FSetlkw:
		switch {
		case w.process.ownsLocks && asks:
			cmd = unix.F_GETLK
		case w.process.ownsLocks:
			cmd = unix.F_SETLK
		case !w.mayLock(s, r.Args[3], asks):
			return errBadFD
		default:
			own := w.lockFile(s)
			if own < 0 {
				return own
			}
			fd = uintptr(own)
			if whence == unix.SEEK_CUR { // its own offset is another one
				at := w.e.guard.Kernel.Call(unix.SYS_LSEEK, s.real(), 0, unix.SEEK_CUR)
				if at < 0 {
					return at
				}
				if start > math.MaxInt64-at {
					return errOverflow
				}
				whence, start = unix.SEEK_SET, start+at
			}
		}
	}
	if !asks && !w.chargeLock(costLocks) {
		return errNoLock
	}
	w.flock = unix.Flock_t{Type: int16(r.Args[3]), Whence: whence, Start: start, Len: r.Args[5]}
	return w.sys.Call(unix.SYS_FCNTL, fd, cmd, uintptr(unsafe.Pointer(&w.flock)))
}

const (
	errNoLock   = -int64(unix.ENOLCK)
	errOverflow = -int64(unix.EOVERFLOW)
)

// maxUnmapped is how many descriptors of files a process keeps that it has unmapped. Beyond
// that, its locks on a file can be released too early.
const maxUnmapped = 1024

// chargeLock is chargeKernel for locks.
func (w *worker) chargeLock(n int64) bool {
	if !w.e.kernel.locks.Load() {
		w.e.kernel.locks.Store(true)
	}
	if p := w.process; p.private && !p.locks {
		p.locks = true
		w.Unpin()
		p.unmapped = make([]uintptr, 0, maxUnmapped)
		w.Pin()
	}
	return w.chargeKernel(n)
}

// mayLock reports whether a descriptor is open in a mode that permits a lock of a type,
// or a query of locks.
func (w *worker) mayLock(s fdEntry, kind int64, asks bool) bool {
	flags := w.e.guard.Kernel.Call(unix.SYS_FCNTL, s.real(), unix.F_GETFL, 0)
	if flags < 0 || flags&unix.O_PATH != 0 {
		return false
	}
	mode := flags & unix.O_ACCMODE
	return asks || kind == unix.F_UNLCK || mode == unix.O_RDWR || (kind == unix.F_WRLCK) == (mode == unix.O_WRONLY)
}

// lockFiles are the files on which a table of descriptors has record locks, if several
// recorded processes share one of the kernel's tables. Locks of open file descriptions
// replace the locks of the process. Each table has its own description for each file.
// So all descriptors of a process have the same locks, and two processes never do, even
// through an inherited descriptor.
type lockFiles struct {
	spin.Lock
	n     atomic.Int32
	e     *Executor // of the files; set before the first one
	open  []lockFile
	stat  unix.Stat_t // memory whose address the kernel gets, as the next
	flock unix.Flock_t
}

type lockFile struct {
	dev, ino uint64
	fd       uintptr
}

// identify identifies the file of a descriptor. It returns its index in the list, -1 if it
// is not in it.
func (l *lockFiles) identify(sys sandbox.Kernel, fd uintptr) (f lockFile, index int, got int64) {
	if got = sys.Call(unix.SYS_FSTAT, fd, uintptr(unsafe.Pointer(&l.stat)), 0); got < 0 {
		return f, -1, got
	}
	f = lockFile{dev: uint64(l.stat.Dev), ino: l.stat.Ino}
	return f, slices.IndexFunc(l.open, func(o lockFile) bool { return o.dev == f.dev && o.ino == f.ino }), 0
}

// lockFile returns the descriptor for locks of the worker's process on the file of
// another descriptor, or -errno. Without /proc, a file that is no longer reachable by
// its name gets a duplicate, which shares its locks with all processes that share the
// descriptor.
func (w *worker) lockFile(s fdEntry) int64 {
	files := w.process.files.Load()
	if files == nil {
		return errBadFD
	}
	sys := w.e.guard.Kernel
	l := &files.locks
	l.Take()
	defer l.Give()
	file, i, got := l.identify(sys, s.real())
	if i >= 0 {
		return int64(l.open[i].fd)
	}
	if got < 0 {
		return got
	}
	fd := errBadFD
	for _, mode := range []uintptr{unix.O_RDWR, unix.O_RDONLY, unix.O_WRONLY} {
		mode |= unix.O_NONBLOCK | unix.O_CLOEXEC
		if w.guard.LacksFiles() {
			fd = w.guard.Open(&w.e.names[s.name()], mode, 0)
		} else {
			fd = w.guard.Reopen(s.real(), mode)
		}
		if fd >= 0 {
			break
		}
	}
	w.FirstCall, w.LastCall = 0, 0 // no call of the event
	if fd >= 0 {
		other, _, got := l.identify(sys, uintptr(fd))
		if got < 0 || other != file {
			sys.Call(unix.SYS_CLOSE, uintptr(fd), 0, 0)
			fd = errBadFD
		}
		if got < 0 {
			return got
		}
	}
	twin := fd < 0
	if twin {
		fd = sys.Call(unix.SYS_FCNTL, s.real(), unix.F_DUPFD_CLOEXEC, 0)
	}
	if fd < 0 {
		return fd
	}
	file.fd = uintptr(fd)
	w.Unpin()
	if l.e = w.e; twin {
		w.e.Note("record locks on a file that can't be opened again by its name or in /proc are shared by the processes that inherit a descriptor of it")
	}
	l.open = append(l.open, file)
	w.Pin()
	l.n.Store(int32(len(l.open)))
	return fd
}

// unlockAndClose closes the real descriptor of an entry, if any, and with it the locks that the
// process has on the file by any descriptor.
func (t *table) unlockAndClose(sys sandbox.Kernel, s fdEntry) int64 {
	if t.locks.n.Load() > 0 && s != 0 {
		t.unlock(sys, s)
	}
	return s.close(sys)
}

// unlock releases the locks on the file of an entry. If it can't, the run ends, because
// other processes would find the file locked.
func (t *table) unlock(sys sandbox.Kernel, s fdEntry) {
	l := &t.locks
	if got := l.drop(sys, s.real()); got < 0 {
		l.e.Fail(unlockError(-got))
	}
}

// drop releases the locks on the file of a descriptor, if there are any. It returns 0 or
// -errno.
func (l *lockFiles) drop(sys sandbox.Kernel, fd uintptr) int64 {
	l.Take()
	defer l.Give()
	_, i, got := l.identify(sys, fd)
	if i < 0 {
		return got
	}
	l.flock = unix.Flock_t{Type: unix.F_UNLCK} // a duplicate keeps them
	got = sys.Call(unix.SYS_FCNTL, l.open[i].fd, unix.F_OFD_SETLK, uintptr(unsafe.Pointer(&l.flock)))
	sys.Call(unix.SYS_CLOSE, l.open[i].fd, 0, 0)
	l.open = slices.Delete(l.open, i, i+1)
	l.n.Store(int32(len(l.open)))
	return got
}

// unlockError is the error of record locks that could not be released. A pinned worker can make it.
type unlockError unix.Errno

func (e unlockError) Error() string {
	return "release the record locks of a process: " + e.Unwrap().Error()
}
func (e unlockError) Unwrap() error { return unix.Errno(e) }

// ownLocks decides which processes have their own locks.
func (e *Executor) ownLocks() {
	sharing := 0
	for _, p := range e.processes {
		if !p.private {
			sharing++
		}
	}
	for _, p := range e.processes {
		p.ownsLocks = !e.InMemory && (p.private || sharing == 1)
	}
}

// callFlock executes flock, whose locks belong to open file descriptions anyway.
func callFlock(w *worker, s fdEntry, r *format.Record) int64 {
	if r.Args[1]&format.FlockMandatory != 0 {
		return r.Ret
	}
	switch r.Args[1] &^ unix.LOCK_NB {
	case unix.LOCK_UN, unix.LOCK_SH, unix.LOCK_EX:
		return w.lock(s, r)
	}
	return errInvalid
}

// lock makes a call that takes or releases a lock. If the call got the lock in the
// recording, it waits until it gets it.
func (w *worker) lock(s fdEntry, r *format.Record) int64 {
	got := w.tryLock(s, r)
	switch {
	case got != -int64(unix.EAGAIN) && got != -int64(unix.EACCES):
		return got
	case r.Ret == 0:
		return w.lockWait(s, r)
	case r.Ret == -int64(unix.EDEADLK):
		return r.Ret // it would have waited, for a worker that waits for it
	}
	return got
}

// tryLock makes the call of a record that requests a lock, without waiting.
func (w *worker) tryLock(s fdEntry, r *format.Record) int64 {
	if r.Op == format.OpFlock {
		if r.Args[1]&unix.LOCK_UN == 0 && !w.chargeLock(sizeLock) {
			return errNoLock
		}
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

// lockWait waits for a lock by polling, so that a stop ends the wait. If no worker is
// left that could release the lock, the result is EDEADLK.
func (w *worker) lockWait(s fdEntry, r *format.Record) int64 {
	defer w.locking.Store(false)
	var stuckSince int64
	for gap := int64(firstTry); ; gap = min(gap*2, longestTry) {
		if w.e.Stopped() {
			return -int64(unix.EINTR)
		}
		w.locking.Store(true)
		now := w.e.Now()
		switch {
		case w.e.othersActive(w):
			stuckSince = 0
		case stuckSince == 0:
			stuckSince = now
		case now-stuckSince > lastTry:
			return -int64(unix.EDEADLK)
		}
		w.SleepUntil(now + gap)
		got := w.tryLock(s, r)
		if got != -int64(unix.EAGAIN) && got != -int64(unix.EACCES) {
			return got
		}
	}
}

// othersActive reports whether any other worker is busy, or only waits for its
// due time.
func (e *Executor) othersActive(w *worker) bool {
	for _, k := range e.workers {
		if k != nil && k != w && !k.locking.Load() && k.IsBusy() {
			return true
		}
	}
	return false
}
