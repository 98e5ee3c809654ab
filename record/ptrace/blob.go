package ptrace

import (
	"strconv"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/record"
)

// Calls are recorded in the process where that is possible: a call site becomes a jump to a
// stub, and that calls the blob (blob_amd64.s), which makes the system call and writes an
// inlineRecord into a ring that it shares with the tracer. The filter lets calls of the blob
// pass. An inlinePlan for each number says what the blob does.

// The address of the blob in all programs, because the filter has it: below 2 GiB, so that
// programs at low addresses reach it, and above their heap.
const (
	blobAddr  = 0x7000_0000
	blobBytes = 8 << 10 // that the filter lets pass
)

const (
	maxNr        = format.MaxSys
	planShift    = 5 // log2 of the size of inlinePlan
	inlinePieces = 2

	maxString  = 4096 // PATH_MAX
	maxAddress = 112  // more than a struct sockaddr_un has
	maxVector  = 16   // segments; 256 bytes
	maxMinors  = 256  // numbers of devices whose kind the blob knows
)

// inlinePlan is what the blob does for a system call. It is zero for calls that only the
// tracer records.
type inlinePlan struct {
	bits   uint32
	_      uint32
	mask   uint64               // for planMask: a bit for each second argument that the blob takes
	pieces [inlinePieces]uint64 // memory that is copied after the call; 0 for none
}

// The bits of inlinePlan.
const (
	planTakes      = 1 << iota // set in all plans that are not zero
	planMask                   // mask counts
	planVector                 // the third argument is a number of segments, and at most maxVector
	planCreates                // it is openat, which can create a file
	planFinds                  // it is open; one that can create a file is left to the tracer
	planMaps                   // it is mmap of a file, and the blob describes the file
	planOpens                  // its result is a descriptor, and the blob describes the file
	planTyped                  // the type of the descriptor in its first argument is noted
	planCloses                 // it closes its first argument
	planDuplicates             // its result is a copy of a descriptor
)

// The bits of a piece. The next 8 bits are the argument, from 0, that points to it; the upper
// 32 the size of a fixed one.
const (
	copyString  = 1 << iota
	copyFixed   // has a size
	copyVector  // has 16 bytes for each of the third argument
	copyAddress // has as many bytes as the third argument, and none if that is above maxAddress
	copyResult  // has as many bytes as the result, at most maxString
	copyAfter   // only if the call succeeded
	copyLock    // only if the second argument is a number in lockMask
)

// lockMask are the commands of fcntl that are given a struct flock, which they leave as it is.
const (
	lockMask  = 1<<format.FSetlk | 1<<format.FSetlkw | 1<<format.FOfdSetlk | 1<<format.FOfdSetlkw
	lockBytes = 24 // of it, up to its process
)

// The state of a piece: 0 if it was not copied.
const (
	stateNull       = uint32(bpf.CStringStateSTRING_NULL)
	stateUnreadable = uint32(bpf.CStringStateSTRING_UNREADABLE)
	stateWhole      = uint32(bpf.CStringStateSTRING_WHOLE)
	stateCut        = uint32(bpf.CStringStateSTRING_CUT)
)

//lint:ignore U1000 the blob has it
const pseudoType = uint8(bpf.CFileTypeTYPE_PSEUDO)

// The kinds of a device's minor number whose major one is 0.
const (
	minorUnknown = iota
	minorOther
	minorPseudo
)

// inlineRecord is at the begin of a record. The pieces follow, each with its size and state of
// 32 bits, and with bytes up to a multiple of 8. Then, with recordOpened, follow the results of
// statx and cachestat of 64 bits, and what they filled.
type inlineRecord struct {
	size   uint32
	nr     uint16
	bits   uint8
	typ    uint8 // of the descriptor, as in record.Call
	begun  uint64
	ended  uint64
	result uint64
	args   [6]uint64
}

// The bits of inlineRecord.
const (
	recordAbsent = 1 << iota // the name was not there before the call
	recordOpened
)

const (
	ringBytes = 256 << 10
	// maxRecord is above the size of any record: two strings and what describes a file. What
	// remains of the ring's end is left out where that is less.
	maxRecord = 9 << 10
	ringRoom  = ringBytes - 2*maxRecord // the most that is unread where there is room
)

// slot is what a thread of the program shares with the tracer. The register GS has its address.
type slot struct {
	self   uint64 // its address
	plans  uint64 // addresses in the program
	types  uint64
	minors uint64
	zeroes uint64
	ring   uint64
	head   uint64 // bytes that have been written, with those that were left out
	_      uint64

	// The call under way; begun is 0 for none.
	begun  uint64
	nr     uint64
	first  uint64 // arguments
	second uint64

	_    [4]uint64
	tail uint64 // bytes that the tracer has read
}

const (
	frameBytes = 80 // of the blob, below its return address
	markBytes  = 8
)

// The marks in the blob.
const (
	markCalled = 1 + iota // the return of the call
	markFault             // where a piece can't be read
	markDone              // the record is complete
	markCall              // a system call for the tracer
	markEnd
)

// inlineKinds are the pieces of a call, by the column of the table. Other operations with a
// reader are recorded by the tracer only.
var inlineKinds = map[format.Reads]func(*inlinePlan, *format.Info) bool{
	format.ReadNothing: func(*inlinePlan, *format.Info) bool { return true },
	format.ReadWaited:  func(*inlinePlan, *format.Info) bool { return true },
	format.ReadOpened: func(p *inlinePlan, info *format.Info) bool {
		at := &info.At
		p.bits |= planOpens
		switch {
		case at.OpenFlags == 2:
			p.bits |= planCreates
		case at.OpenFlags == 1:
			p.bits |= planFinds
		case at.Paths[0].Arg >= 0:
			return false // creat
		}
		return true
	},
	format.ReadIovec: func(p *inlinePlan, _ *format.Info) bool {
		p.bits |= planVector
		return p.piece(copyVector, 1, 0)
	},
	format.ReadStat: func(p *inlinePlan, info *format.Info) bool {
		return p.piece(copyFixed|copyAfter, int(info.At.Buf), statBytes)
	},
	format.ReadStatx: func(p *inlinePlan, info *format.Info) bool {
		return p.piece(copyFixed|copyAfter, int(info.At.Buf), statxBytes)
	},
	format.ReadTarget: func(p *inlinePlan, info *format.Info) bool {
		return p.piece(copyResult|copyAfter, int(info.At.Buf), 0)
	},
	format.ReadPipe:    func(p *inlinePlan, _ *format.Info) bool { return p.piece(copyFixed|copyAfter, 0, 8) },
	format.ReadAddress: func(p *inlinePlan, _ *format.Info) bool { return p.piece(copyAddress, 1, 0) },
	format.ReadChild:   func(p *inlinePlan, _ *format.Info) bool { return p.piece(copyFixed|copyAfter, 2, 20) },
	format.ReadOffsets: func(p *inlinePlan, info *format.Info) bool {
		for arg := range 6 {
			if info.Synthetic>>arg&1 != 0 && !p.piece(copyFixed, arg, 8) {
				return false
			}
		}
		return true
	},
	format.ReadLock: func(p *inlinePlan, _ *format.Info) bool {
		p.bits |= planMask
		p.mask = ^uint64(1<<format.FGetlk | 1<<format.FOfdGetlk | 1<<unix.F_DUPFD)
		return p.piece(copyFixed|copyLock, 2, lockBytes)
	},
}

const (
	statBytes  = 144 // struct stat
	statxBytes = 256 // struct statx
	cacheBytes = 40  // struct cachestat
)

// piece adds a piece, and reports whether there was room.
func (p *inlinePlan) piece(kind, arg, size int) bool {
	for i := range p.pieces {
		if p.pieces[i] == 0 {
			p.pieces[i] = uint64(kind) | uint64(arg)<<8 | uint64(size)<<32
			return true
		}
	}
	return false
}

// inlinePlans are by the number of the system call.
func inlinePlans(memory bool) (all [maxNr]inlinePlan) {
	for nr := range all {
		p := &plans[nr]
		switch wanted(format.HostArch, nr, memory) {
		case stop, stopUntimed:
			all[nr] = inlineOf(p)
		case stopFile:
			all[nr] = inlinePlan{bits: planTakes | planMaps}
		}
	}
	return all
}

// inlineOf returns the plan of the blob for a call, zero where the tracer must see it.
func inlineOf(p *plan) (in inlinePlan) {
	if p.waits {
		return inlinePlan{bits: planTakes}
	}
	if p.op == format.OpNone || p.ends {
		return in
	}
	info := p.op.Info()
	kind := inlineKinds[info.Reads]
	if kind == nil || info.Acts.Any(format.Execs) {
		return in
	}
	in.bits = planTakes
	for _, arg := range p.args {
		if arg != 0 && !in.piece(copyString, int(arg)-1, 0) {
			return inlinePlan{}
		}
	}
	if !kind(&in, info) {
		return inlinePlan{}
	}
	if p.typed {
		in.bits |= planTyped
	}
	switch {
	case info.Acts.Any(format.Duplicates) && info.Reads != format.ReadLock:
		in.bits |= planDuplicates
	case info.Acts.Any(format.Closes) && info.At.FD >= 0:
		in.bits |= planCloses
	case info.Acts.Any(format.Closes):
		return inlinePlan{}
	}
	return in
}

// jumpAt is a jump, and the code that was there before.
type jumpAt struct{ code, before [5]byte }

// filtersOf returns how many seccomp filters a process has, 0 where the kernel does not say (before
// Linux 5.9).
func filtersOf(pid int32) int {
	n, _ := strconv.Atoi(record.Status(int(pid), "Seccomp_filters"))
	return n
}
