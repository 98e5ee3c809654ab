package ebpf

import (
	"encoding/binary"
	"unsafe"

	"pianola/bpf"
	"pianola/format"
	"pianola/record"
)

// member is a thread that is followed, as followTree tells of it.
type member = bpf.CMember

// The sizes of records and of what they are made of: a plain record ends
// within the event.
const (
	plainSize   = int(unsafe.Offsetof(bpf.CEvent{}.More))
	eventSize   = int(unsafe.Sizeof(bpf.CEvent{}))
	detailsSize = int(unsafe.Sizeof(bpf.CDetails{}))
)

const (
	durBits   = bpf.CBitsDUR_BITS
	typeShift = bpf.CBitsTYPE_SHIFT
	nrBits    = bpf.CBitsNR_BITS
	flagRich  = record.Flags(bpf.CFlagFLAG_RICH)
	flagWide  = record.Flags(bpf.CFlagFLAG_WIDE)
)

// requestKind tells records of requests from those of calls, by the number where a
// call has its own.
type requestKind uint16

const (
	noRequest requestKind = 0
	submitted requestKind = requestKind(bpf.CNumberNR_SUBMITTED)
	completed requestKind = requestKind(bpf.CNumberNR_COMPLETED)
	faulted   requestKind = requestKind(bpf.CNumberNR_FAULT)
	begun     requestKind = requestKind(bpf.CNumberNR_SPACE)
	mapped    requestKind = requestKind(bpf.CNumberNR_PROGRAM)
	joined    requestKind = requestKind(bpf.CNumberNR_JOINED)
	spanned   requestKind = requestKind(bpf.CNumberNR_SPAN)
)

const (
	submissionSize = int(unsafe.Sizeof(bpf.CSubmission{}))
	completionSize = int(unsafe.Offsetof(bpf.COpened{}.Details))
	faultSize      = int(unsafe.Offsetof(bpf.CFault{}.Off))
	spaceSize      = int(unsafe.Offsetof(bpf.CSpace{}.Address))
	joinedSize     = int(unsafe.Sizeof(bpf.CJoined{}))
	flagAIO        = uint16(bpf.CRequestFlagFLAG_AIO)
	opcodeMask     = 1<<bpf.CBitsOPCODE_BITS - 1
)

// requestIn returns what a record of the ring holds of a request.
func requestIn(b []byte) requestKind {
	if len(b) < joinedSize {
		return noRequest
	}
	nr := requestKind(binary.NativeEndian.Uint16(b[unsafe.Offsetof(bpf.CEvent{}.Nr):]))
	if nr >= spanned && nr <= submitted {
		return nr
	}
	return noRequest
}

// viewFault is view for a record of a fault.
func viewFault(b []byte, f *record.Fault) bool {
	if len(b) < faultSize {
		return false
	}
	var raw bpf.CFault
	copy((*[unsafe.Sizeof(raw)]byte)(unsafe.Pointer(&raw))[:], b)
	*f = record.Fault{Start: int64(raw.Start), Took: int64(raw.Took), Space: raw.Space, Ino: raw.Ino, First: raw.First, Dev: raw.Dev, Pages: raw.Pages,
		Calls: raw.Calls, TID: int32(raw.Tid), Flags: record.FaultFlags(raw.Flags &^ rested)}
	if raw.Flags&rested == 0 {
		return true
	}
	f.Taken = int64(raw.Off[bpf.COffKindOFF_RECORDER])
	parts := f.Off.Parts() // the order is that of enum off_kind
	for i, v := range raw.Off[:bpf.COffKindOFF_RECORDER] {
		*parts[i] = int64(v)
	}
	return len(b) >= int(unsafe.Sizeof(raw))
}

const rested = uint16(bpf.CFaultFlagFAULT_RESTED)

// viewSpace fills s from a record of an address space that begins, or has a new mapping
// of a program.
func viewSpace(b []byte, s *bpf.CSpace) bool {
	return copy((*[unsafe.Sizeof(*s)]byte)(unsafe.Pointer(s))[:], b) >= spaceSize
}

func viaOf(flags uint16) format.Via {
	if flags&flagAIO != 0 {
		return format.ViaAIO
	}
	return format.ViaUring
}

// viewSubmission is view for a record of a request that was submitted.
func viewSubmission(b []byte, s *record.Submission) bool {
	if len(b) < submissionSize {
		return false
	}
	raw := (*bpf.CSubmission)(unsafe.Pointer(unsafe.SliceData(b)))
	*s = record.Submission{ID: record.RequestID{Key: raw.Key, Process: int32(raw.Process)}, Via: viaOf(raw.Flags),
		Unreadable: record.Flags(raw.Flags)&record.FlagUnreadable != 0, Start: int64(raw.Start), Begun: int64(raw.Begun), Batch: int64(raw.Batch),
		TID: int32(raw.Tid), Ring: int32(raw.Ring), Reaped: raw.Reaped, Index: raw.Index, Type: uint32(raw.Flags >> typeShift), Entry: *(*record.Entry)(unsafe.Pointer(&raw.Entry)),
		Len: raw.Len, Text: b[submissionSize:]}
	for i, state := range raw.State {
		s.State[i] = record.StringState(state)
	}
	return int(s.Len[0])+int(s.Len[1]) <= len(s.Text)
}

// viewCompletion is view for a record of a request that is complete.
func viewCompletion(b []byte, c *record.Completion) {
	var raw bpf.COpened
	copy((*[completionSize]byte)(unsafe.Pointer(&raw))[:], b)
	r := &raw.C
	*c = record.Completion{ID: record.RequestID{Key: r.Key, Process: int32(r.Process)}, Via: viaOf(r.Flags), Opcode: uint8(r.Flags & opcodeMask),
		Type: uint32(r.Flags >> typeShift), End: int64(r.End), Ret: r.Ret}
	if b = b[completionSize:]; len(b) >= detailsSize {
		details := (*bpf.CDetails)(unsafe.Pointer(unsafe.SliceData(b)))
		c.Details, c.Created = (*record.Details)(unsafe.Pointer(details)), details.Pad[0] != 0
	}
}

// view takes a record of the ring apart: it fills c. It reports false for what is
// no record. Details and Text of c borrow from b, which must be aligned to 8
// bytes, as the ring is.
func view(b []byte, c *record.Call) bool {
	if len(b) < plainSize {
		return false
	}
	// A plain record is shorter than the type, so no pointer may say that it
	// is one.
	var raw bpf.CEvent
	copy((*[eventSize]byte)(unsafe.Pointer(&raw))[:], b)
	flags := record.Flags(raw.Flags)
	nr, calls := uint32(raw.Nr)&(1<<nrBits-1), uint32(raw.Nr)>>nrBits
	*c = record.Call{Start: int64(raw.Start), Dur: int64(raw.Dur & (1<<durBits - 1)), Faults: uint32(raw.Dur >> durBits), Ret: raw.Ret,
		TID: int32(raw.Tid), Nr: nr, Calls: calls, Flags: flags & (1<<typeShift - 1) &^ (flagRich | flagWide), Type: uint32(flags >> typeShift)}
	c.Args[0], c.Args[1], c.Args[2], c.Args[3] = raw.Args[0], raw.Args[1], raw.Args[2], raw.Args[3]
	if flags&flagWide == 0 {
		return flags&flagRich == 0
	}
	if len(b) < eventSize {
		return false
	}
	c.Args[4], c.Args[5] = raw.More[0], raw.More[1]
	c.Waker, c.Woken = int32(raw.Waker), int64(raw.Woken)
	c.Channel, c.Pos, c.Behind = raw.Channel, raw.Pos, int64(raw.Behind)
	if inSpaces[nr] {
		c.Space, c.Channel = c.Channel, 0
	}
	c.Calls, c.Taken = raw.Calls, int64(raw.Off[bpf.COffKindOFF_RECORDER])
	parts := c.Off.Parts() // the order is that of enum off_kind
	for i, v := range raw.Off[:bpf.COffKindOFF_RECORDER] {
		*parts[i] = int64(v)
	}
	if flags&flagRich == 0 {
		return true
	}
	b = b[eventSize:]
	if len(b) < detailsSize {
		return false
	}
	// The two types have one layout; a test compares them.
	c.Details, c.Text = (*record.Details)(unsafe.Pointer(unsafe.SliceData(b))), b[detailsSize:]
	return int(c.Details.Len[0])+int(c.Details.Len[1]) <= len(c.Text)
}
