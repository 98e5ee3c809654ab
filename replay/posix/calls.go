package posix

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
)

// call executes one record and returns its result: that of the system call, or -errno.
// The arguments are in the order of the operation's row in package format. They are not
// trusted.
type call func(*worker, *format.Record) int64

// calls is the table of all calls that a replay can make. Compile resolves the
// operations that are missing here, or turns them into others.
var calls = [format.NumOps]call{
	format.OpOpen:       callOpen,
	format.OpOpenm:      callOpen,
	format.OpReopen:     onDescriptor(callReopen),
	format.OpClose:      callClose,
	format.OpCloseRange: callCloseRange,

	format.OpRead:     callRead,
	format.OpWrite:    callWrite,
	format.OpPread64:  callPread64,
	format.OpPwrite64: callPwrite64,
	format.OpReadv:    callReadv,
	format.OpWritev:   callWritev,
	format.OpPreadv:   callPreadv,
	format.OpPwritev:  callPwritev,
	format.OpPreadv2:  callPreadv2,
	format.OpPwritev2: callPwritev2,

	format.OpLseek:     onDescriptor(callLseek),
	format.OpFtruncate: onDescriptor(callFtruncate),
	format.OpTruncate:  callTruncate,
	format.OpFallocate: onDescriptor(callFallocate),

	format.OpStat:       callStat,
	format.OpLstat:      callLstat,
	format.OpFstat:      intoScratch(unix.SYS_FSTAT),
	format.OpStatx:      callStatx,
	format.OpFstatx:     onDescriptor(callFstatx),
	format.OpAccess:     callAccess,
	format.OpFaccessat2: callFaccessat2,
	format.OpFaccess:    onDescriptor(callFaccess),
	format.OpGetdents64: onDescriptor(callGetdents64),

	format.OpMkdir:     callMkdir,
	format.OpRmdir:     callRmdir,
	format.OpUnlink:    callUnlink,
	format.OpRename:    callRename,
	format.OpRenameat2: callRenameat2,
	format.OpLink:      callLink,
	format.OpLinkat:    callLinkat,
	format.OpSymlink:   callSymlink,
	format.OpReadlink:  callReadlink,

	format.OpDup:   callDup,
	format.OpDup2:  callDup2,
	format.OpDup3:  callDup3,
	format.OpFcntl: onDescriptor(callFcntl),

	format.OpClone:     callClone,
	format.OpExecve:    callExecve,
	format.OpExit:      asRecorded,
	format.OpExitGroup: asRecorded,
	format.OpWait4:     asRecorded,
	format.OpUnshare:   callUnshare,
	format.OpPipeRead:  asRecorded, // waits by its edges
	format.OpPipeWrite: asRecorded,

	format.OpClientRequest: asRecorded,
	format.OpClientReply:   asRecorded,

	format.OpFsync:         direct(unix.SYS_FSYNC),
	format.OpFdatasync:     direct(unix.SYS_FDATASYNC),
	format.OpSync:          callSync,
	format.OpSyncfs:        direct(unix.SYS_SYNCFS),
	format.OpSyncFileRange: direct(unix.SYS_SYNC_FILE_RANGE),
	format.OpMsync:         callMsync,
	format.OpFadvise64:     direct(unix.SYS_FADVISE64),
	format.OpReadahead:     direct(unix.SYS_READAHEAD),

	format.OpCopyFileRange: callCopyFileRange,
	format.OpSendfile:      callSendfile,
	format.OpSplice:        callSplice,
	format.OpFlock:         onDescriptor(callFlock),

	format.OpSetxattr:     setxattr(follow),
	format.OpLsetxattr:    setxattr(noFollow),
	format.OpFsetxattr:    setxattr(byFD),
	format.OpGetxattr:     getxattr(follow),
	format.OpLgetxattr:    getxattr(noFollow),
	format.OpFgetxattr:    getxattr(byFD),
	format.OpListxattr:    listxattr(follow),
	format.OpLlistxattr:   listxattr(noFollow),
	format.OpFlistxattr:   listxattr(byFD),
	format.OpRemovexattr:  removexattr(follow),
	format.OpLremovexattr: removexattr(noFollow),
	format.OpFremovexattr: removexattr(byFD),

	format.OpChmod:     callChmod,
	format.OpFchmod:    onDescriptor(callFchmod),
	format.OpFchmodat2: callFchmodat2,
	format.OpChown:     callChown,
	format.OpFchown:    onDescriptor(callFchown),
	format.OpLchown:    callLchown,
	format.OpUtimens:   callUtimens,
	format.OpFutimens:  onDescriptor(callFutimens),
	format.OpMknod:     callMknod,
	format.OpBind:      callBind,
	format.OpStatfs:    callStatfs,
	format.OpFstatfs:   intoScratch(unix.SYS_FSTATFS),
	format.OpIoctl:     onDescriptor(callIoctl),

	format.OpRingOpen:    callRingOpen,
	format.OpRingFiles:   onRing((*ring).setFiles),
	format.OpRingBuffers: onRing((*ring).registerBuffers),
	format.OpRingSubmit:  callRingSubmit,

	format.OpBrk:     callBrk,
	format.OpMmap:    callMmap,
	format.OpMunmap:  callMunmap,
	format.OpMremap:  callMremap,
	format.OpMadvise: callMadvise,

	format.OpMprotect: callMprotect,
	format.OpMapRead:  callFault,
	format.OpMapWrite: callFault,
}

const (
	errBadFD   = -int64(unix.EBADF)
	errInvalid = -int64(unix.EINVAL)
	errExists  = -int64(unix.EEXIST)
	errFault   = -int64(unix.EFAULT)
	errNoFD    = -int64(unix.EMFILE)

	errNoMemory = -int64(unix.ENOMEM)
)

// asRecorded returns the recorded result, without a system call.
func asRecorded(_ *worker, r *format.Record) int64 { return r.Ret }

// lookup returns the entry of a recorded descriptor, 0 if it is not open. Then
// the result is EBADF, and no call is made, because the number could be one of
// Pianola's own descriptors.
func (w *worker) lookup(fd int64) fdEntry {
	if files := w.process.files.Load(); files != nil {
		return files.get(fd)
	}
	return 0
}

// onDescriptor returns a call on the descriptor that the first argument refers to.
func onDescriptor(play func(*worker, fdEntry, *format.Record) int64) call {
	return func(w *worker, r *format.Record) int64 {
		s := w.lookup(r.Args[0])
		if s == 0 {
			return errBadFD
		}
		return play(w, s, r)
	}
}

// direct makes a call of a descriptor and numbers that are the same in a record. The
// call ignores numbers that it does not have.
func direct(nr uintptr) call {
	return onDescriptor(func(w *worker, s fdEntry, r *format.Record) int64 {
		return w.sys(nr, s.real(), uintptr(r.Args[1]), uintptr(r.Args[2]), uintptr(r.Args[3]), 0, 0)
	})
}

// intoScratch makes a call about a descriptor whose result buffer is not read.
func intoScratch(nr uintptr) call {
	return onDescriptor(func(w *worker, s fdEntry, _ *format.Record) int64 {
		return w.sys.Call(nr, s.real(), w.scratchPointer(), 0)
	})
}

// transfer makes a call that moves size bytes between a descriptor and a buffer
// at a place in m. If the region is too small, the vector call moves them to
// the same bytes repeatedly.
func (w *worker) transfer(nr, vector uintptr, m region, r *format.Record, offset uintptr) int64 {
	s := w.lookup(r.Args[0])
	if s == 0 {
		return errBadFD
	}
	if r.Args[2] < 0 {
		return errInvalid
	}
	size := uint64(min(r.Args[2], maxTransfer))
	if size <= uint64(len(m)) {
		return w.sys(nr, s.real(), m.at(uint64(r.Args[1]), size), uintptr(size), offset, 0, 0)
	}
	n := (size + uint64(len(m)) - 1) / uint64(len(m))
	if n > maxSegments || !m.segments(&w.iov, 0, size, n) {
		return errFault
	}
	return w.sys(vector, s.real(), uintptr(unsafe.Pointer(&w.iov)), uintptr(n), offset, 0, 0)
}

func callRead(w *worker, r *format.Record) int64 {
	return w.transfer(unix.SYS_READ, unix.SYS_READV, w.process.arena, r, 0)
}

func callPread64(w *worker, r *format.Record) int64 {
	return w.transfer(unix.SYS_PREAD64, unix.SYS_PREADV, w.process.arena, r, uintptr(r.Args[3]))
}

func callWrite(w *worker, r *format.Record) int64 {
	if !w.spend(r.Args[2]) {
		return errNoSpace
	}
	return w.transfer(unix.SYS_WRITE, unix.SYS_WRITEV, w.e.pool, r, 0)
}

func callPwrite64(w *worker, r *format.Record) int64 {
	if !w.spendAt(r.Args[2]) {
		return errNoSpace
	}
	return w.transfer(unix.SYS_PWRITE64, unix.SYS_PWRITEV, w.e.pool, r, uintptr(r.Args[3]))
}

// vector makes a call that moves size bytes through count segments. Their sizes
// are not recorded, so they are equal.
func (w *worker) vector(nr uintptr, m region, r *format.Record, size int64, offset, flags uintptr) int64 {
	s := w.lookup(r.Args[0])
	if s == 0 {
		return errBadFD
	}
	count := r.Args[2]
	if count < 0 || count > maxSegments || size < 0 {
		return errInvalid
	}
	if !m.segments(&w.iov, uint64(r.Args[1]), uint64(min(size, maxTransfer)), uint64(count)) {
		return errFault
	}
	// The offset has two registers. A 64-bit kernel takes all of it from the
	// first.
	return w.sys(nr, s.real(), uintptr(unsafe.Pointer(&w.iov)), uintptr(count), offset, 0, flags)
}

func callReadv(w *worker, r *format.Record) int64 {
	return w.vector(unix.SYS_READV, w.process.arena, r, r.Args[3], 0, 0)
}

func callPreadv(w *worker, r *format.Record) int64 {
	return w.vector(unix.SYS_PREADV, w.process.arena, r, r.Args[4], uintptr(r.Args[3]), 0)
}

func callPreadv2(w *worker, r *format.Record) int64 {
	return w.vector(unix.SYS_PREADV2, w.process.arena, r, r.Args[4], uintptr(r.Args[3]), uintptr(r.Args[5]))
}

func callWritev(w *worker, r *format.Record) int64 {
	if !w.spend(r.Args[3]) {
		return errNoSpace
	}
	return w.vector(unix.SYS_WRITEV, w.e.pool, r, r.Args[3], 0, 0)
}

func callPwritev(w *worker, r *format.Record) int64 {
	if !w.spendAt(r.Args[4]) {
		return errNoSpace
	}
	return w.vector(unix.SYS_PWRITEV, w.e.pool, r, r.Args[4], uintptr(r.Args[3]), 0)
}

func callPwritev2(w *worker, r *format.Record) int64 {
	if !w.spendAt(r.Args[4]) {
		return errNoSpace
	}
	return w.vector(unix.SYS_PWRITEV2, w.e.pool, r, r.Args[4], uintptr(r.Args[3]), uintptr(r.Args[5]))
}

// callLseek moves an offset. The positions of data and holes depend on the file system.
// So a seek for them may lead to another offset. In that case the offset is set to the
// recorded one, because the following calls read and write there.
func callLseek(w *worker, s fdEntry, r *format.Record) int64 {
	if s.marks()&entryWrite != 0 && (r.Args[1] != 0 || r.Args[2] != unix.SEEK_CUR) && !w.spendMove() {
		return errNoSpace
	}
	seek := func(offset int64, whence int) int64 {
		return w.sys.Call(unix.SYS_LSEEK, s.real(), uintptr(offset), uintptr(whence))
	}
	to, searches := r.Ret, r.Args[2] == unix.SEEK_DATA || r.Args[2] == unix.SEEK_HOLE
	if searches && to < 0 {
		to = seek(0, unix.SEEK_CUR)
	}
	got := seek(r.Args[1], int(r.Args[2]))
	if searches && got != r.Ret && (got >= 0 || r.Ret >= 0) {
		seek(to, unix.SEEK_SET)
	}
	return got
}

func callFtruncate(w *worker, s fdEntry, r *format.Record) int64 {
	if !w.allowLength(r.Args[1]) || !w.spendMove() {
		return errNoSpace
	}
	return w.sys.Call(unix.SYS_FTRUNCATE, s.real(), uintptr(r.Args[1]), 0)
}

func callFallocate(w *worker, s fdEntry, r *format.Record) int64 {
	const frees = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_COLLAPSE_RANGE
	if r.Args[1]&frees == 0 && !w.spendAt(r.Args[3]) {
		return errNoSpace
	}
	return w.sys(unix.SYS_FALLOCATE, s.real(), uintptr(r.Args[1]), uintptr(r.Args[2]), uintptr(r.Args[3]), 0, 0)
}

func callFstatx(w *worker, s fdEntry, r *format.Record) int64 {
	flags := r.Args[1]&statxFlags | unix.AT_EMPTY_PATH
	return w.sys(unix.SYS_STATX, s.real(), sandbox.Pointer(sandbox.Empty), uintptr(flags), uintptr(r.Args[2]), w.scratchPointer(), 0)
}

func callGetdents64(w *worker, s fdEntry, r *format.Record) int64 {
	if r.Args[2] < 0 {
		return errInvalid
	}
	if r.Args[1]&format.Listing != 0 {
		return w.list(s, r)
	}
	size := min(uint64(r.Args[2]), uint64(len(w.process.arena)))
	return w.sys.Call(unix.SYS_GETDENTS64, s.real(), w.process.arena.at(uint64(r.Args[1]), size), uintptr(size))
}

// callSync syncs only the file systems of the root and of maps. A sync of all file
// systems would also wait for data that do not belong to the replay.
func callSync(w *worker, _ *format.Record) int64 {
	got := w.sys.Call(unix.SYS_SYNCFS, w.guard.Root, 0, 0)
	for _, b := range w.guard.Branches {
		got = min(got, w.sys.Call(unix.SYS_SYNCFS, b.Root, 0, 0))
	}
	return got
}
