package format

import "slices"

// Via is how a thread asks for an operation.
type Via uint8

// The ways.
const (
	ViaCall  Via = iota // by a system call, which returns when the operation is done
	ViaUring            // by a request of io_uring
	ViaAIO              // by a request of libaio
	NumVias
)

var viaNames = [NumVias]string{ViaUring: "io_uring", ViaAIO: "aio"}

// String returns the word before the operation in a script, "" for a call.
func (v Via) String() string {
	if v >= NumVias {
		return "?"
	}
	return viaNames[v]
}

// Name returns the operation of an event as a script has it: with the way before
// it and a colon, if it is a request.
func (e *Event) Name() string {
	if e.Via == ViaCall {
		return e.Op.String()
	}
	return e.Via.String() + ":" + e.Op.String()
}

// ParseVia returns the way of that name.
func ParseVia(name []byte) (Via, bool) {
	v := slices.Index(viaNames[1:], string(name))
	return Via(v + 1), v >= 0
}

// Request is the data of a request besides its operation. Calls that make
// rings, submit or wait have Ring, those that submit or wait also Batch.
type Request struct {
	Ring      int32  // number of the ring or of the context of libaio, from 1, unique in a recording
	Reaped    uint32 // completions that the application had reaped when it was submitted (cq.head, which wraps); the head of the ring in a context
	Batch     int64  // number of the call, or of the round of the polling thread, that submitted it; unique in a recording
	Submitted int64  // nanoseconds from the start of that to the submission
	Flags     int64  // canonical word of RequestFlags
	RW        int64  // canonical word of ReadWriteFlags, of a read or a write
	Order     int64  // with NotedPlaced: number of its completion in the recording, from 1; 0 for none
	Chain     int32  // with NotedPlaced: number of its chain of links in its batch, from 1; 0 for none
	Slot      uint32 // index of the registered file that it opens or closes, in place of a descriptor
	Buf       uint16 // index of the fixed buffer; with ReqSelect the group of buffers
}

// OnRegistered reports whether an event is a request on a registered file. Its
// descriptor is an index.
func (e *Event) OnRegistered() bool {
	return e.Via != ViaCall && e.Notes.Known(NotedFlags|NotedRing) && e.Notes.Request.Flags&ReqFixed != 0
}

// How is how a request of a trace is made. The zero How is that of most.
type How struct {
	Flags int64 // canonical word of RequestFlags
	RW    int64 // canonical word of ReadWriteFlags, of a read or a write
	Slot  int64 // with ReqFixed the index of the registered file; the descriptor is the one that was registered
	Buf   int64 // one more than the index of the fixed buffer, 0 for none
}

// The flags of RequestFlags that change what others mean.
const (
	ReqFixed    = 1  // the descriptor is an index into the files that the ring has registered
	ReqDrain    = 2  // it begins after all before, and those behind it begin after it
	ReqLink     = 4  // the next request begins after it
	ReqHardLink = 8  // also if it fails
	ReqSelect   = 32 // the kernel selects the buffer
	ReqSkip     = 64 // a success posts no completion

	ReqLinks = ReqLink | ReqHardLink
)

var (
	// RequestFlags are the flags of any request of io_uring (IOSQE_…).
	RequestFlags = &FlagSet{Flags: same("fixed", ReqFixed, "drain", ReqDrain, "link", ReqLink, "hardlink", ReqHardLink, "async", 16, "select", ReqSelect, "skip", ReqSkip)}
	// UringSetupFlags are the flags of io_uring_setup.
	UringSetupFlags = &FlagSet{Flags: same("IORING_SETUP_IOPOLL", 1, "IORING_SETUP_SQPOLL", 2, "IORING_SETUP_SQ_AFF", 4, "IORING_SETUP_CQSIZE", 8,
		"IORING_SETUP_CLAMP", 0x10, "IORING_SETUP_ATTACH_WQ", 0x20, "IORING_SETUP_R_DISABLED", 0x40, "IORING_SETUP_SUBMIT_ALL", 0x80,
		"IORING_SETUP_COOP_TASKRUN", 0x100, "IORING_SETUP_TASKRUN_FLAG", 0x200, "IORING_SETUP_SQE128", 0x400, "IORING_SETUP_CQE32", 0x800,
		"IORING_SETUP_SINGLE_ISSUER", 0x1000, "IORING_SETUP_DEFER_TASKRUN", 0x2000, "IORING_SETUP_NO_MMAP", 0x4000, "IORING_SETUP_REGISTERED_FD_ONLY", 0x8000,
		"IORING_SETUP_NO_SQARRAY", 0x10000, "IORING_SETUP_HYBRID_IOPOLL", 0x20000)}
	// UringEnterFlags are the flags of io_uring_enter.
	UringEnterFlags = &FlagSet{Flags: same("IORING_ENTER_GETEVENTS", 1, "IORING_ENTER_SQ_WAKEUP", 2, "IORING_ENTER_SQ_WAIT", 4, "IORING_ENTER_EXT_ARG", 8,
		"IORING_ENTER_REGISTERED_RING", 0x10, "IORING_ENTER_ABS_TIMER", 0x20, "IORING_ENTER_EXT_ARG_REG", 0x40, "IORING_ENTER_NO_IOWAIT", 0x80)}
	// UringRegister is what io_uring_register registers.
	UringRegister = &FlagSet{Enum: true, Flags: same("IORING_REGISTER_BUFFERS", RegisterBuffers, "IORING_UNREGISTER_BUFFERS", UnregisterBuffers, "IORING_REGISTER_FILES", RegisterFiles,
		"IORING_UNREGISTER_FILES", UnregisterFiles, "IORING_REGISTER_EVENTFD", 4, "IORING_UNREGISTER_EVENTFD", 5, "IORING_REGISTER_FILES_UPDATE", RegisterFilesUpdate,
		"IORING_REGISTER_EVENTFD_ASYNC", 7, "IORING_REGISTER_PROBE", 8, "IORING_REGISTER_PERSONALITY", 9, "IORING_UNREGISTER_PERSONALITY", 10,
		"IORING_REGISTER_RESTRICTIONS", 11, "IORING_REGISTER_ENABLE_RINGS", 12, "IORING_REGISTER_FILES2", RegisterFiles2,
		"IORING_REGISTER_FILES_UPDATE2", RegisterFilesUpdate2, "IORING_REGISTER_BUFFERS2", RegisterBuffers2, "IORING_REGISTER_BUFFERS_UPDATE", RegisterBuffersUpdate,
		"IORING_REGISTER_IOWQ_AFF", 17, "IORING_UNREGISTER_IOWQ_AFF", 18, "IORING_REGISTER_IOWQ_MAX_WORKERS", 19, "IORING_REGISTER_RING_FDS", 20,
		"IORING_UNREGISTER_RING_FDS", 21, "IORING_REGISTER_PBUF_RING", 22, "IORING_UNREGISTER_PBUF_RING", 23, "IORING_REGISTER_SYNC_CANCEL", 24,
		"IORING_REGISTER_FILE_ALLOC_RANGE", 25, "IORING_REGISTER_PBUF_STATUS", 26, "IORING_REGISTER_NAPI", 27, "IORING_UNREGISTER_NAPI", 28,
		"IORING_REGISTER_CLOCK", 29, "IORING_REGISTER_CLONE_BUFFERS", 30, "IORING_REGISTER_SEND_MSG_RING", 31, "IORING_REGISTER_RESIZE_RINGS", 33,
		"IORING_REGISTER_MEM_REGION", 34)}
)

// The lists of io_uring_register: descriptors or buffers.
const (
	RegisterBuffers       = 0
	UnregisterBuffers     = 1
	RegisterFiles         = 2
	UnregisterFiles       = 3
	RegisterFilesUpdate   = 6
	RegisterFiles2        = 13
	RegisterFilesUpdate2  = 14
	RegisterBuffers2      = 15
	RegisterBuffersUpdate = 16
)

// Place is where a request has an argument of its operation.
type Place uint8

// The places. An entry is struct io_uring_sqe, or struct iocb with its fields where
// that has them.
const (
	PlaceNone Place = iota // nowhere; the argument is 0
	PlaceFD
	PlaceOff   // also a second address
	PlaceAddr  // an address, also of a name
	PlaceLen   // also a second descriptor, or a mode
	PlaceFlags // of the operation
	PlaceFD2   // splice_fd_in
	PlaceAddr3
	PlaceSum      // of the lengths of the vector
	PlaceOffOrLen // PlaceOff, which is newer, unless that is 0
	PlaceAddrOrLen
)

// TakesSlot reports whether a request can name a registered file in place of
// a descriptor that the operation makes or closes.
func (a *Asked) TakesSlot() bool {
	effect := a.Op.Info().Effect
	return effect == EffectOpen || effect == EffectClose
}

// Asked is an operation that a request asks for, and where its arguments are.
type Asked struct {
	Op   Op
	Args [MaxArgs]Place
}

// Opcode is a row of a table of requests.
type Opcode struct {
	Asked

	// Here replaces the operation if the offset is that of the descriptor, Data if the
	// request syncs only data. Their Op is OpNone for most operations.
	Here, Data Asked
}

// dataOnly is IORING_FSYNC_DATASYNC.
const dataOnly = 1

// For returns what a request asks for, given its offset and the flags of the
// operation.
func (o *Opcode) For(offset uint64, flags uint32) *Asked {
	switch {
	case o.Here.Op != OpNone && int64(offset) == -1:
		return &o.Here
	case o.Data.Op != OpNone && flags&dataOnly != 0:
		return &o.Data
	}
	return &o.Asked
}

// Strings returns where the addresses of the strings are, PlaceNone for those that it
// does not have.
func (a *Asked) Strings() (at [MaxStrings]Place) {
	n := 0
	for i, arg := range a.Op.Info().Args {
		if arg.Kind.IsString() {
			at[n] = a.Args[i]
			n++
		}
	}
	return at
}

// transfer is the row of a read or a write at an offset, and of the same at that
// of the descriptor.
func transfer(at, here Op) Opcode {
	if vectored[at] {
		return Opcode{Asked: asked(at, PlaceFD, PlaceAddr, PlaceLen, PlaceOff, PlaceSum), Here: asked(here, PlaceFD, PlaceAddr, PlaceLen, PlaceSum)}
	}
	return Opcode{Asked: asked(at, PlaceFD, PlaceAddr, PlaceLen, PlaceOff), Here: asked(here, PlaceFD, PlaceAddr, PlaceLen)}
}

var vectored = map[Op]bool{OpPreadv: true, OpPwritev: true}

func asked(op Op, args ...Place) (a Asked) {
	a.Op = op
	copy(a.Args[:], args)
	return a
}

func row(op Op, args ...Place) Opcode { return Opcode{Asked: asked(op, args...)} }

// NumOpcodes bounds the opcodes of both tables.
const NumOpcodes = 64

// opcodes has, by the way and the opcode, what is asked for. A row without an
// operation is not recorded. include/uapi/linux/io_uring.h, aio_abi.h of Linux.
var opcodes = [NumVias][NumOpcodes]Opcode{
	ViaUring: {
		1:  transfer(OpPreadv, OpReadv),
		2:  transfer(OpPwritev, OpWritev),
		3:  {Asked: asked(OpFsync, PlaceFD), Data: asked(OpFdatasync, PlaceFD)},
		4:  transfer(OpPread64, OpRead), // READ_FIXED
		5:  transfer(OpPwrite64, OpWrite),
		8:  row(OpSyncFileRange, PlaceFD, PlaceOff, PlaceLen, PlaceFlags),
		9:  row(OpSendmsg, PlaceFD, PlaceAddr, PlaceFlags),
		10: row(OpRecvmsg, PlaceFD, PlaceAddr, PlaceFlags),
		17: row(OpFallocate, PlaceFD, PlaceLen, PlaceOff, PlaceAddr),
		18: row(OpOpenat, PlaceFD, PlaceAddr, PlaceFlags, PlaceLen),
		19: row(OpClose, PlaceFD),
		21: row(OpStatx, PlaceFD, PlaceAddr, PlaceFlags, PlaceLen, PlaceOff),
		22: transfer(OpPread64, OpRead),
		23: transfer(OpPwrite64, OpWrite),
		24: row(OpFadvise64, PlaceFD, PlaceOff, PlaceAddrOrLen, PlaceFlags),
		25: row(OpMadvise, PlaceAddr, PlaceOffOrLen, PlaceFlags),
		26: row(OpSendto, PlaceFD, PlaceAddr, PlaceLen, PlaceFlags),
		27: row(OpRecvfrom, PlaceFD, PlaceAddr, PlaceLen, PlaceFlags),
		30: row(OpSplice, PlaceFD2, PlaceAddr, PlaceFD, PlaceOff, PlaceLen, PlaceFlags),
		35: row(OpRenameat2, PlaceFD, PlaceAddr, PlaceLen, PlaceOff, PlaceFlags),
		36: row(OpUnlinkat, PlaceFD, PlaceAddr, PlaceFlags),
		37: row(OpMkdirat, PlaceFD, PlaceAddr, PlaceLen),
		38: row(OpSymlinkat, PlaceAddr, PlaceFD, PlaceOff),
		39: row(OpLinkat, PlaceFD, PlaceAddr, PlaceLen, PlaceOff, PlaceFlags),
		41: row(OpFsetxattr, PlaceFD, PlaceAddr, PlaceOff, PlaceLen, PlaceFlags),
		42: row(OpSetxattr, PlaceAddr3, PlaceAddr, PlaceOff, PlaceLen, PlaceFlags),
		43: row(OpFgetxattr, PlaceFD, PlaceAddr, PlaceOff, PlaceLen),
		44: row(OpGetxattr, PlaceAddr3, PlaceAddr, PlaceOff, PlaceLen),
		55: row(OpFtruncate, PlaceFD, PlaceOff),
		58: transfer(OpPreadv, OpReadv), // READV_FIXED
		59: transfer(OpPwritev, OpWritev),
	},
	ViaAIO: {
		0: row(OpPread64, PlaceFD, PlaceAddr, PlaceLen, PlaceOff),
		1: row(OpPwrite64, PlaceFD, PlaceAddr, PlaceLen, PlaceOff),
		2: row(OpFsync, PlaceFD),
		3: row(OpFdatasync, PlaceFD),
		7: row(OpPreadv, PlaceFD, PlaceAddr, PlaceLen, PlaceOff, PlaceSum),
		8: row(OpPwritev, PlaceFD, PlaceAddr, PlaceLen, PlaceOff, PlaceSum),
	},
}

// asks has the operations that requests ask for.
var asks = func() (has [NumVias][NumOps]bool) {
	for v := range opcodes {
		for i := range opcodes[v] {
			o := &opcodes[v][i]
			for _, op := range [...]Op{o.Op, o.Here.Op, o.Data.Op} {
				has[v][op] = op != OpNone
			}
		}
	}
	return has
}()

// Asks reports whether requests can ask for an operation.
func (v Via) Asks(op Op) bool { return v < NumVias && asks[v][op] }

// fixedBuffer are the opcodes of io_uring whose buffer is one that the ring has
// registered.
var fixedBuffer = [NumOpcodes]bool{4: true, 5: true, 58: true, 59: true}

// FixedBuffer reports whether requests of an opcode of io_uring use a registered
// buffer.
func FixedBuffer(opcode uint8) bool { return opcode < NumOpcodes && fixedBuffer[opcode] }

// OpcodeOf returns the row of an opcode, nil for a request that is not recorded.
func OpcodeOf(v Via, opcode uint8) *Opcode {
	if v >= NumVias || opcode >= NumOpcodes || opcodes[v][opcode].Op == OpNone {
		return nil
	}
	return &opcodes[v][opcode]
}
