package rings

import "golang.org/x/sys/unix"

// Structs and numbers of include/uapi/linux/io_uring.h and aio_abi.h. Package
// unix has only the numbers of the system calls. Addresses are numbers: what
// they point to is not in the Go heap.

// sqe is struct io_uring_sqe.
type sqe struct {
	opcode   uint8
	flags    uint8
	_        uint16 // priority
	fd       int32
	off      uint64 // or addr2
	addr     uint64
	len      uint32
	opFlags  uint32
	userData uint64
	bufIndex uint16
	_        uint16 // personality
	_        uint32 // a file's place or a splice's source
	_        [2]uint64
}

// cqe is struct io_uring_cqe.
type cqe struct {
	userData uint64
	res      int32
	_        uint32 // flags
}

// ringParams is struct io_uring_params.
type ringParams struct {
	sqEntries, cqEntries uint32
	flags                uint32
	threadCPU            uint32
	threadIdle           uint32
	features             uint32
	_                    [4]uint32
	sq                   struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

// iovec is struct iovec.
type iovec struct{ base, len uint64 }

// filesUpdate is struct io_uring_files_update.
type filesUpdate struct {
	offset uint32
	_      uint32
	fds    uint64
}

// syncCancel is struct io_uring_sync_cancel_reg.
type syncCancel struct {
	_     uint64 // address
	fd    int32
	flags uint32
	_     [2]int64 // time limit of the wait: 0
	_     [4]uint64
}

// closing is the arguments of Close and WaitFor for the kernel: struct io_uring_sync_cancel_reg,
// struct io_uring_getevents_arg with its time limit, and struct pollfd.
type closing struct {
	cancel syncCancel
	arg    struct {
		_, _  uint64
		limit uint64
	}
	limit unix.Timespec
	poll  unix.PollFd
}

const (
	mapSQ   = 0
	mapCQ   = 0x8000000
	mapSQEs = 0x10000000

	featSingleMap    = 1 << 0
	featNoDrop       = 1 << 1
	featSubmitStable = 1 << 2
	featThreadNonfix = 1 << 7
	featTimeLimit    = 1 << 8                                        // EXT_ARG, Linux 5.11
	requiredFeatures = featSingleMap | featNoDrop | featSubmitStable // Linux 5.5

	sqNeedWakeup = 1 << 0
	sqOverflow   = 1 << 1
	sqTaskrun    = 1 << 2

	enterGetEvents = 1 << 0
	enterWakeup    = 1 << 1
	enterSQWait    = 1 << 2
	enterTimeLimit = 1 << 3 // EXT_ARG

	registerBuffers     = 0
	unregisterBuffers   = 1
	registerFiles       = 2
	unregisterFiles     = 3
	registerFilesUpdate = 6
	registerSyncCancel  = 24

	cancelAny = 1 << 2
)

// iocb is struct iocb of little-endian machines.
type iocb struct {
	data    uint64
	_       uint32 // key, written by the kernel
	rwFlags uint32
	opcode  uint16
	_       int16 // priority
	fd      uint32
	buf     uint64
	nbytes  uint64
	offset  int64
	_       uint64
	_       [2]uint32 // flags, descriptor of an event
}

// aioRing is struct aio_ring (fs/aio.c): the head of the memory that the kernel shares
// with the process of a context. The events follow after headerBytes.
type aioRing struct {
	id, entries              uint32
	head, tail               uint32 // in entries; the process moves the head
	magic                    uint32
	compatible, incompatible uint32 // features
	headerBytes              uint32
}

const aioRingMagic = 0xa10a10a1

// aioEvent is struct io_event.
type aioEvent struct {
	data uint64
	_    uint64 // address of the iocb
	res  int64
	_    int64
}
