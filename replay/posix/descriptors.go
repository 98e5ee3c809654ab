package posix

import (
	"golang.org/x/sys/unix"

	"pianola/format"
)

// The calls that change which files descriptors refer to.

// opened adds a new descriptor to the table, with the recorded number, and returns that
// number. If the recorded call failed, there is no number, and opened closes the
// descriptor, as it does if the process has ended.
func (w *worker) opened(r *format.Record, fd int64, name int32, marks fdEntry) int64 {
	if fd < 0 {
		return fd
	}
	w.chargeKernel(costDescriptor)
	s := newEntry(fd, name, marks)
	files := w.process.files.Load()
	switch {
	case r.Ret < 0:
		s.close(w.sys)
		return fd
	case files == nil:
		s.close(w.sys)
		return errBadFD
	}
	fits := false
	if r.Op.Info().At.NewFD >= 0 {
		fits = files.replace(w.sys, r.Ret, s)
	} else {
		fits = files.set(r.Ret, s)
	}
	if !fits {
		return errNoFD
	}
	return r.Ret
}

func callClose(w *worker, r *format.Record) int64 {
	files := w.process.files.Load()
	if files == nil {
		return errBadFD
	}
	return files.unlockAndClose(w.sys, files.take(r.Args[0]))
}

func callCloseRange(w *worker, r *format.Record) int64 {
	files := w.process.files.Load()
	if files == nil || r.Args[0] < 0 || r.Args[1] < r.Args[0] {
		return errInvalid
	}
	first, end := r.Args[0], min(r.Args[1], files.high.Load()-1)
	for fd := first; fd <= end; fd++ {
		if r.Args[2]&format.CloseRangeCloexec != 0 {
			files.mark(fd, true)
		} else if s := files.remove(fd); s != 0 {
			files.unlockAndClose(w.sys, s)
		}
	}
	return 0
}

// mark sets whether an exec closes a descriptor.
func (t *table) mark(fd int64, exec bool) {
	for t != nil {
		s := t.get(fd)
		if s == 0 {
			return
		}
		to := s &^ entryExec
		if exec {
			to |= entryExec
		}
		if t.entries[fd].CompareAndSwap(int64(s), int64(to)) {
			return
		}
	}
}

// dup duplicates the recorded descriptor of the first argument. The copy has
// its own close-on-exec flag.
func (w *worker) dup(r *format.Record, exec bool) int64 {
	s := w.lookup(r.Args[0])
	if s == 0 {
		return errBadFD
	}
	fd := w.sys.Call(unix.SYS_FCNTL, s.real(), unix.F_DUPFD_CLOEXEC, 0)
	marks := s.marks() &^ entryExec
	if exec {
		marks |= entryExec
	}
	return w.opened(r, fd, s.name(), marks)
}

func callDup(w *worker, r *format.Record) int64 { return w.dup(r, false) }

func callDup2(w *worker, r *format.Record) int64 {
	if r.Args[0] == r.Args[1] && r.Ret == r.Args[1] {
		if w.lookup(r.Args[0]) == 0 {
			return errBadFD
		}
		return r.Ret // changes nothing, not even close-on-exec
	}
	return w.dup(r, false)
}

func callDup3(w *worker, r *format.Record) int64 {
	if r.Args[0] == r.Args[1] {
		return errInvalid
	}
	return w.dup(r, r.Args[2]&format.CLOEXEC != 0)
}

// callFcntl executes the commands that concern files. Other commands (owners, signals,
// leases, pipes, seals, hints) return the recorded result: they would affect Pianola
// itself, or have no effect.
func callFcntl(w *worker, s fdEntry, r *format.Record) int64 {
	switch cmd := r.Args[1]; cmd {
	case format.FDupfd, format.FDupfdCloexec:
		return w.dup(r, cmd == format.FDupfdCloexec)
	case unix.F_GETFD:
		if got := w.sys.Call(unix.SYS_FCNTL, s.real(), unix.F_GETFD, 0); got < 0 {
			return got
		}
		return int64(s & entryExec)
	case format.FSetfd:
		w.process.files.Load().mark(r.Args[0], r.Args[2]&unix.FD_CLOEXEC != 0)
		// The real descriptor is always close-on-exec.
		return w.sys.Call(unix.SYS_FCNTL, s.real(), unix.F_SETFD, unix.FD_CLOEXEC)
	case unix.F_GETFL:
		return w.sys.Call(unix.SYS_FCNTL, s.real(), unix.F_GETFL, 0)
	case format.FSetfl:
		const allowed = format.APPEND | format.NONBLOCK | format.DIRECT | format.NOATIME
		flags := openFlags(r.Args[2]&allowed) &^ unix.O_CLOEXEC
		return w.sys.Call(unix.SYS_FCNTL, s.real(), unix.F_SETFL, flags)
	case format.FGetlk, format.FOfdGetlk:
		return w.recordLock(s, r)
	case format.FSetlk, format.FOfdSetlk, format.FSetlkw, format.FOfdSetlkw:
		return w.lock(s, r)
	}
	return r.Ret
}
