package posix

import (
	"errors"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/rings"
)

// Translate implements engine.Requests.
func (q *ring) Translate(k *engine.Worker, r *format.Record, how format.How, event int64) (engine.Outcome, int64) {
	switch ok, errno := q.translate(k.Player().(*worker), r, how); {
	case !ok:
		return engine.AsCall, 0
	case errno != 0:
		return engine.Failed, -int64(errno)
	}
	if q.request.Flags&^rings.FixedFile != 0 {
		q.deferred = event + 2 // the next one as well, if it is linked to this one
	}
	return engine.Taken, 0
}

// Prepare implements engine.Requests.
func (q *ring) Prepare(w *engine.Worker, user uint64) (engine.Outcome, int64) {
	if q.maxInFlight > 0 && q.queue.InFlight() >= q.maxInFlight {
		return engine.Busy, 0
	}
	q.request.User = user
	q.enter(w)
	err := q.queue.Prepare(&q.request)
	q.leave(w)
	switch {
	case err == nil:
		return engine.Taken, 0
	case errors.Is(err, rings.ErrFull):
		return engine.Full, 0
	case errors.Is(err, rings.ErrBusy):
		return engine.Busy, 0
	}
	switch errno := errnoOf(err); {
	case errno == unix.EFAULT && (q.request.Op == rings.OpReadFixed || q.request.Op == rings.OpWriteFixed):
		q.request.Op += rings.OpRead - rings.OpReadFixed // the buffer is not at its registered place
		return q.Prepare(w, user)
	case errno == unix.EINVAL: // the queue doesn't have the operation
		return engine.AsCall, 0
	default:
		return engine.Failed, -int64(errno)
	}
}

// errnoOf returns the errno of an error, EIO if it has none.
func errnoOf(err error) (errno unix.Errno) {
	if !errors.As(err, &errno) || errno == 0 {
		return unix.EIO
	}
	return errno
}

// translate fills in the request for a record. It returns false for operations that
// are executed as calls, and an errno for a request that fails at once.
func (q *ring) translate(w *worker, r *format.Record, how format.How) (bool, unix.Errno) {
	if int(r.Op) >= len(ringOps) || ringOps[r.Op] == rings.OpNop {
		return false, 0
	}
	s := w.lookup(r.Args[0])
	if s == 0 {
		return true, unix.EBADF
	}
	req := &q.request
	*req = rings.Request{Op: ringOps[r.Op], Flags: rings.Flags(how.Flags) & (rings.Drain | rings.Link | rings.HardLink | rings.Async), FD: int32(s.real())}
	if q.Via == format.ViaAIO {
		req.Flags = 0
	}
	if how.Flags&format.ReqFixed != 0 && uint64(how.Slot) < uint64(len(q.files)) && q.files[how.Slot] == r.Args[0] {
		req.FD, req.Flags = int32(how.Slot), req.Flags|rings.FixedFile
	}
	switch info := r.Op.Info(); {
	case info.Acts.Any(format.Buffers) && info.At.Vector < 0:
		return q.transfer(w, r, how)
	case info.Acts.Any(format.Buffers):
		return q.vector(w, r, how)
	}
	switch r.Op {
	case format.OpFdatasync:
		req.OpFlags = 1 // IORING_FSYNC_DATASYNC
	case format.OpSyncFileRange:
		req.Offset, req.Length, req.OpFlags = r.Args[1], uint64(max(r.Args[2], 0)), uint32(r.Args[3])
	case format.OpFadvise64:
		req.Offset, req.Length, req.OpFlags = r.Args[1], uint64(max(r.Args[2], 0)), uint32(r.Args[3])
	}
	return true, 0
}

// ringOps are the operations that a queue executes. Others, OpNop here, are executed as
// calls when they are submitted: they change names and tables, and so need the guard.
var ringOps = [...]rings.Op{
	format.OpRead: rings.OpRead, format.OpPread64: rings.OpRead, format.OpWrite: rings.OpWrite, format.OpPwrite64: rings.OpWrite,
	format.OpReadv: rings.OpReadv, format.OpPreadv: rings.OpReadv, format.OpWritev: rings.OpWritev, format.OpPwritev: rings.OpWritev,
	format.OpFsync: rings.OpFsync, format.OpFdatasync: rings.OpFsync,
	format.OpSyncFileRange: rings.OpSyncFileRange, format.OpFadvise64: rings.OpFadvise,
}

// transfer fills in a read or a write of one buffer.
func (q *ring) transfer(w *worker, r *format.Record, how format.How) (bool, unix.Errno) {
	req, m := &q.request, w.process.arena
	writes := req.Op == rings.OpWrite
	if writes {
		m = w.e.pool
	}
	if r.Args[2] < 0 {
		return true, unix.EINVAL
	}
	size := uint64(min(r.Args[2], maxTransfer))
	if size > uint64(len(m)) {
		return false, 0 // the call moves them in pieces
	}
	req.Offset = -1
	if r.Op == format.OpPread64 || r.Op == format.OpPwrite64 {
		if req.Offset = r.Args[3]; req.Offset < 0 {
			return true, unix.EINVAL
		}
	}
	if writes && !q.mayWrite(w, r, r.Args[2]) {
		return true, unix.ENOSPC
	}
	req.Addr, req.Length, req.OpFlags = m.at(uint64(r.Args[1]), size), size, uint32(how.RW)&^unix.RWF_APPEND
	if how.Buf > 0 && q.fixed > 0 {
		req.Op, req.Buffer = req.Op+rings.OpReadFixed-rings.OpRead, uint16(how.Buf-1)
		if writes {
			req.Buffer = uint16(q.fixed)
		}
	}
	return true, 0
}

// vector fills in a read or a write of several buffers.
func (q *ring) vector(w *worker, r *format.Record, how format.How) (bool, unix.Errno) {
	req, m := &q.request, w.process.arena
	size, offset := r.Args[3], int64(-1)
	if r.Op == format.OpPreadv || r.Op == format.OpPwritev {
		if size, offset = r.Args[4], r.Args[3]; offset < 0 {
			return true, unix.EINVAL
		}
	}
	writes := req.Op == rings.OpWritev
	if writes {
		m = w.e.pool
	}
	count := r.Args[2]
	if count < 0 || count > maxSegments || size < 0 {
		return true, unix.EINVAL
	}
	if writes && !q.mayWrite(w, r, size) {
		return true, unix.ENOSPC
	}
	if !m.segments(&q.iov, uint64(r.Args[1]), uint64(min(size, maxTransfer)), uint64(count)) {
		return true, unix.EFAULT
	}
	req.Offset, req.Vector, req.OpFlags = offset, q.iov[:count], uint32(how.RW)&^unix.RWF_APPEND
	return true, 0
}

// mayWrite takes the bytes of a write from the budget.
func (q *ring) mayWrite(w *worker, r *format.Record, size int64) bool {
	if r.Op == format.OpWrite || r.Op == format.OpWritev {
		return w.spend(size)
	}
	return w.spendAt(size)
}
