package rings

import (
	"golang.org/x/sys/unix"
)

// Op is an operation; the numbers are those of io_uring (IORING_OP_*).
type Op uint8

// The operations.
const (
	OpNop           Op = 0
	OpReadv         Op = 1
	OpWritev        Op = 2
	OpFsync         Op = 3
	OpReadFixed     Op = 4
	OpWriteFixed    Op = 5
	OpSyncFileRange Op = 8
	OpRead          Op = 22
	OpWrite         Op = 23
	OpFadvise       Op = 24
)

// operation is a row of the table of operations.
type operation struct {
	name    string
	opFlags uint32 // the permitted flags of the operation
	fixed   bool   // can be on a registered file
	moves   bool   // moves bytes: fewer than requested break a link

	fill func(*sqe, *slot, *Request)    // sets what differs from the common fields
	call func(*pool, *sqe, *slot) int64 // executes it by a system call
	aio  uint16                         // libaio's command (IOCB_CMD_*), plus 1; 0: there is none
}

const rwFlags = unix.RWF_HIPRI | unix.RWF_DSYNC | unix.RWF_SYNC | unix.RWF_NOWAIT | unix.RWF_APPEND

// operations is the table of permitted operations. An operation without a name is
// refused. None takes a path, makes a descriptor or closes one.
var operations = [...]operation{
	OpNop: {name: "nop", fill: fillNothing, call: func(*pool, *sqe, *slot) int64 { return 0 }},

	OpRead:       {name: "read", opFlags: rwFlags, fixed: true, moves: true, fill: fillBuffer, call: (*pool).read, aio: 0 + 1},
	OpWrite:      {name: "write", opFlags: rwFlags, fixed: true, moves: true, fill: fillBuffer, call: (*pool).write, aio: 1 + 1},
	OpReadFixed:  {name: "read_fixed", opFlags: rwFlags, fixed: true, moves: true, fill: fillFixed, call: (*pool).read},
	OpWriteFixed: {name: "write_fixed", opFlags: rwFlags, fixed: true, moves: true, fill: fillFixed, call: (*pool).write},
	OpReadv:      {name: "readv", opFlags: rwFlags, fixed: true, moves: true, fill: fillVector, call: (*pool).readv, aio: 7 + 1},
	OpWritev:     {name: "writev", opFlags: rwFlags, fixed: true, moves: true, fill: fillVector, call: (*pool).writev, aio: 8 + 1},

	OpFsync:         {name: "fsync", opFlags: fsyncData, fixed: true, fill: fillRange, call: (*pool).fsync, aio: 2 + 1},
	OpSyncFileRange: {name: "sync_file_range", opFlags: 7, fixed: true, fill: fillRange, call: (*pool).syncFileRange},
	OpFadvise:       {name: "fadvise", opFlags: 7, fixed: true, fill: fillFadvise, call: (*pool).fadvise},
}

const (
	fsyncData   = 1 // IORING_FSYNC_DATASYNC
	aioFsync    = 2 // IOCB_CMD_FSYNC
	aioDataSync = 3 // IOCB_CMD_FDSYNC
)

// String returns the kernel's name in lower case, without its prefix.
func (op Op) String() string {
	if o := op.info(); o != nil {
		return o.name
	}
	return "?"
}

// info returns the row of an operation, nil if there is none.
func (op Op) info() *operation {
	if int(op) < len(operations) && operations[op].name != "" {
		return &operations[op]
	}
	return nil
}

// encode turns a request into an entry, or returns why the request is refused. Memory
// that the entry points to is in the slot. It guards all queues: each field of an entry
// is 0 or set here.
func (t *tables) encode(e *sqe, s *slot, r *Request) unix.Errno {
	o := r.Op.info()
	if o == nil || r.Flags&^allFlags != 0 || r.OpFlags&^o.opFlags != 0 {
		return unix.EINVAL
	}
	*e = sqe{opcode: uint8(r.Op), flags: uint8(r.Flags), fd: r.FD, off: uint64(r.Offset), addr: uint64(r.Addr), opFlags: r.OpFlags, userData: r.User}
	switch {
	case r.Flags&FixedFile != 0:
		if errno := t.file(e, o.fixed); errno != 0 {
			return errno
		}
	case r.FD < 0 && r.Op != OpNop:
		return unix.EBADF
	}
	if len(r.Vector) > maxVector {
		return unix.EINVAL
	}
	o.fill(e, s, r)
	if r.Op == OpReadFixed || r.Op == OpWriteFixed {
		return t.buffer(e)
	}
	return 0
}

func fillNothing(*sqe, *slot, *Request) {}

func fillBuffer(e *sqe, _ *slot, r *Request) { e.len = uint32(min(r.Length, maxBytes)) }

func fillFixed(e *sqe, s *slot, r *Request) {
	fillBuffer(e, s, r)
	e.bufIndex = r.Buffer
}

func fillVector(e *sqe, s *slot, r *Request) {
	e.addr, e.len = s.setVector(r.Vector), uint32(len(r.Vector))
}

// setVector copies a vector, and returns its address.
func (s *slot) setVector(v []unix.Iovec) uint64 {
	copy(s.vector[:], numbers(v))
	return uint64(address(&s.vector[0]))
}

func fillRange(e *sqe, _ *slot, r *Request) { e.addr, e.len = 0, uint32(min(r.Length, 1<<32-1)) }

func fillFadvise(e *sqe, s *slot, r *Request) {
	if fillRange(e, s, r); uint64(e.len) != r.Length { // Linux 6.10
		e.addr, e.len = r.Length, 0
	}
}
