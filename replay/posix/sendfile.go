package posix

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// The calls that move bytes between two descriptors within the kernel. One side
// can be a pipe, a socket or a terminal, which a trace does not have. A sink
// replaces it as output, and the pool as input, with as many bytes as in the
// recording, because these depend on the other side and not on storage.
//
// sendfile to the sink costs what splice into a pipe costs. Writing from the
// pool costs about 0.8 of what splice from a pipe costs, the rest being what
// the kernel does for the pipe's buffers. A pipe of the worker's own would have
// to be drained or filled within the event: 1.8 and 1.2 of those costs.

// noFile is the recorded number of a descriptor that is not a file of the trace.
const noFile = -1

// offsetPointer returns the address of an offset that the kernel takes by a pointer.
// For -1 it is NULL, which means the descriptor's own.
func (w *worker) offsetPointer(i int, offset int64) uintptr {
	if offset == -1 {
		return 0
	}
	w.offsets[i] = offset
	return uintptr(unsafe.Pointer(&w.offsets[i]))
}

func callCopyFileRange(w *worker, r *format.Record) int64 {
	if r.Args[0] == noFile || r.Args[2] == noFile {
		return r.Ret
	}
	in, out := w.lookup(r.Args[0]), w.lookup(r.Args[2])
	if in == 0 || out == 0 {
		return errBadFD
	}
	if r.Args[4] < 0 {
		return errInvalid
	}
	if r.Args[3] != -1 && !w.spendMove() {
		return errNoSpace
	}
	n := w.reserve(r.Args[4])
	got := w.sys(unix.SYS_COPY_FILE_RANGE, in.real(), w.offsetPointer(0, r.Args[1]), out.real(), w.offsetPointer(1, r.Args[3]), uintptr(n), uintptr(r.Args[5]))
	return w.settle(r.Args[4], n, got)
}

func callSendfile(w *worker, r *format.Record) int64 {
	if r.Args[1] == noFile {
		return r.Ret
	}
	in := w.lookup(r.Args[1])
	if r.Args[0] == noFile {
		return w.discard(in, r.Args[2], r.Args[3], r.Ret)
	}
	out := w.lookup(r.Args[0])
	if in == 0 || out == 0 {
		return errBadFD
	}
	if r.Args[3] < 0 {
		return errInvalid
	}
	n := w.reserve(r.Args[3])
	return w.settle(r.Args[3], n, w.send(out.real(), in.real(), w.offsetPointer(0, r.Args[2]), n))
}

// send makes one call of sendfile, or several for more bytes than sendAtOnce,
// so that a stop need not wait long: when a file is sent to its own end, the
// kernel goes on byte by byte.
func (w *worker) send(out, in, offset uintptr, n int64) (sent int64) {
	for {
		k := min(n-sent, sendAtOnce)
		got := w.sys(unix.SYS_SENDFILE, out, in, offset, uintptr(k), 0, 0)
		if got < 0 && sent == 0 {
			return got
		}
		sent += max(got, 0)
		if got < k || sent == n || w.e.Stopped() {
			return sent
		}
	}
}

const sendAtOnce = 1 << 20

func callSplice(w *worker, r *format.Record) int64 {
	switch {
	case r.Args[0] == noFile && r.Args[2] == noFile:
		return r.Ret
	case r.Args[2] == noFile:
		return w.discard(w.lookup(r.Args[0]), r.Args[1], r.Args[4], r.Ret)
	case r.Args[0] == noFile:
		return w.writeFromPool(r.Args[2], r.Args[3], r.Ret)
	case w.lookup(r.Args[0]) == 0 || w.lookup(r.Args[2]) == 0:
		return errBadFD
	}
	return errInvalid // neither is a pipe
}

// openSink opens /dev/null. It returns -1 if that is missing or no such device,
// because few traces need it.
func openSink() int {
	fd, err := unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != unix.Mkdev(1, 3) {
		_ = unix.Close(fd)
		return -1
	}
	return fd
}

// discard moves bytes from a file into the sink: as many as the recorded result
// says, or as were requested if that is 0, the end of the file. A recorded error
// is kept, because it can be the other side's.
func (w *worker) discard(in fdEntry, offset, size, recorded int64) int64 {
	switch {
	case in == 0:
		return errBadFD
	case recorded < 0:
		return recorded
	case recorded > 0:
		size = recorded
	}
	size = min(max(size, 0), maxTransfer)
	if w.e.sink < 0 {
		w.Failf("event %d of thread %d copies bytes from the trace's files to another target, which needs /dev/null: it is missing or not the null device", w.Event, w.Number)
		return errInvalid
	}
	return w.send(uintptr(w.e.sink), in.real(), w.offsetPointer(0, offset), size)
}

// writeFromPool moves bytes from the pool into a file, as many as the recorded result
// says. A recorded error is kept.
func (w *worker) writeFromPool(fd, offset, recorded int64) int64 {
	if recorded < 0 {
		return recorded
	}
	if offset != -1 && !w.spendMove() {
		return errNoSpace
	}
	n := w.reserve(recorded)
	write := format.Record{Args: [format.MaxArgs]int64{fd, 0, n}}
	var got int64
	if offset == -1 {
		got = w.transfer(unix.SYS_WRITE, unix.SYS_WRITEV, w.e.pool, &write, 0)
	} else {
		got = w.transfer(unix.SYS_PWRITE64, unix.SYS_PWRITEV, w.e.pool, &write, uintptr(offset))
	}
	return w.settle(recorded, n, got)
}
