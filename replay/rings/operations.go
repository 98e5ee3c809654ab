package rings

import (
	"bytes"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
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
	OpFallocate     Op = 17
	OpOpenat        Op = 18
	OpClose         Op = 19
	OpStatx         Op = 21
	OpRead          Op = 22
	OpWrite         Op = 23
	OpFadvise       Op = 24
	OpRenameat      Op = 35
	OpUnlinkat      Op = 36
	OpMkdirat       Op = 37
	OpSymlinkat     Op = 38
	OpLinkat        Op = 39
	OpFtruncate     Op = 55 // Linux 6.9
)

const kernelOpenat2 = 28 // how Openat is played without a jail

// operation is a row of the table of what a queue executes.
type operation struct {
	name    string
	opFlags uint32 // the permitted flags of the operation
	fixed   bool   // can be on a registered file
	moves   bool   // moves bytes: fewer than asked for break a link

	path, newPath pathRule
	lacks, needs  uint32 // of opFlags, so that the end of a path is not followed

	fill func(*sqe, *slot, *Request)    // sets what differs from the common fields
	call func(*pool, *sqe, *slot) int64 // executes it by a system call
	aio  uint16                         // libaio's command (IOCB_CMD_*), plus 1; 0: there is none
}

// pathRule says how a path is kept below its directory without a jail.
type pathRule uint8

const (
	noPath   pathRule = iota
	text              // not a path: the target of a link
	single            // one name, not followed
	resolved          // by openat2
)

const (
	rwFlags    = unix.RWF_HIPRI | unix.RWF_DSYNC | unix.RWF_SYNC | unix.RWF_NOWAIT | unix.RWF_APPEND
	statxFlags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_FORCE_SYNC | unix.AT_STATX_DONT_SYNC
)

// operations is the table of permitted operations. An operation without a name is
// refused.
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
	OpFallocate:     {name: "fallocate", opFlags: 0xff, fixed: true, fill: fillFallocate, call: (*pool).fallocate},
	OpFtruncate:     {name: "ftruncate", fixed: true, fill: fillFtruncate, call: (*pool).ftruncate},

	OpOpenat: {name: "openat", opFlags: ^uint32(0), path: resolved, fill: fillOpenat, call: (*pool).openat},
	OpClose:  {name: "close", fill: fillNothing, call: (*pool).close},

	OpStatx:     {name: "statx", opFlags: statxFlags, path: single, needs: unix.AT_SYMLINK_NOFOLLOW, fill: fillMode, call: (*pool).statx},
	OpUnlinkat:  {name: "unlinkat", opFlags: unix.AT_REMOVEDIR, path: single, fill: fillNothing, call: (*pool).unlinkat},
	OpMkdirat:   {name: "mkdirat", path: single, fill: fillMode, call: (*pool).mkdirat},
	OpRenameat:  {name: "renameat", opFlags: unix.RENAME_NOREPLACE | unix.RENAME_EXCHANGE, path: single, newPath: single, fill: fillNew, call: (*pool).renameat},
	OpLinkat:    {name: "linkat", opFlags: unix.AT_EMPTY_PATH | unix.AT_SYMLINK_FOLLOW, path: single, newPath: single, lacks: unix.AT_SYMLINK_FOLLOW, fill: fillNew, call: (*pool).linkat},
	OpSymlinkat: {name: "symlinkat", path: text, newPath: single, fill: fillNothing, call: (*pool).symlinkat},
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
	case r.FD < 0 && r.Op != OpNop && !t.working(o.path, r.FD):
		return unix.EBADF
	}
	if o.path != noPath || o.newPath != noPath {
		if errno := t.paths(e, s, o, r); errno != 0 {
			return errno
		}
	}
	if len(r.Vector) > maxVector {
		return unix.EINVAL
	}
	o.fill(e, s, r)
	switch {
	case r.Op == OpReadFixed || r.Op == OpWriteFixed:
		return t.buffer(e)
	case r.Op == OpStatx:
		e.off = uint64(t.result)
	case r.Op == OpOpenat && !t.jailed:
		s.how = openHow{flags: uint64(e.opFlags), resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}
		if r.OpFlags&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) != 0 { // else a mode is EINVAL
			s.how.mode = uint64(e.len)
		}
		e.opcode, e.off, e.len, e.opFlags = kernelOpenat2, uint64(address(&s.how)), unix.SizeofOpenHow, 0
	}
	return 0
}

// working reports whether a descriptor is the working directory, and may be.
func (t *tables) working(rule pathRule, fd int32) bool {
	return t.jailed && fd == unix.AT_FDCWD && rule != noPath
}

// paths copies the paths of a request if they are within bounds.
func (t *tables) paths(e *sqe, s *slot, o *operation, r *Request) unix.Errno {
	p, ok := bytesAt(r.Path)
	switch {
	case !ok:
		return unix.ENAMETOOLONG
	case !t.jailed && o.path == single && (!isName(p) || len(p) > 0 && (r.OpFlags&o.needs != o.needs || r.OpFlags&o.lacks != 0)):
		return unix.EXDEV
	}
	e.addr = s.setPath(0, p)
	if o.newPath == noPath {
		return 0
	}
	p, ok = bytesAt(r.NewPath)
	switch {
	case !ok:
		return unix.ENAMETOOLONG
	case !t.jailed && !isName(p):
		return unix.EXDEV
	case o.path == single && r.NewFD < 0 && !t.working(o.newPath, r.NewFD):
		return unix.EBADF
	}
	e.off = s.setPath(1, p)
	return 0
}

// isName reports whether a path leads to nothing but an entry of the directory
// that it starts in.
func isName(p []byte) bool { return bytes.IndexByte(p, '/') < 0 && string(p) != ".." }

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

func fillFallocate(e *sqe, _ *slot, r *Request) {
	e.addr, e.len, e.opFlags = r.Length, r.OpFlags, 0
}

func fillFtruncate(e *sqe, _ *slot, r *Request) { e.addr, e.off = 0, r.Length }

func fillMode(e *sqe, _ *slot, r *Request) {
	if e.off, e.len = 0, r.Mode; r.Op == OpMkdirat {
		e.len &= sandbox.ModeMask
	}
}

func fillOpenat(e *sqe, _ *slot, r *Request) {
	e.off, e.len, e.opFlags = 0, r.Mode&sandbox.ModeMask, r.OpFlags|unix.O_CLOEXEC
}

func fillNew(e *sqe, _ *slot, r *Request) { e.len = uint32(r.NewFD) }
