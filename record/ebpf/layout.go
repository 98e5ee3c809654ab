package ebpf

import (
	"unsafe"

	"pianola/record"
)

// member is a thread that is followed, as followTree tells of it.
type member = recorderMember

// The sizes of records and of what they are made of: a plain record ends
// within the event.
const (
	plainSize   = int(unsafe.Offsetof(recorderEvent{}.More))
	eventSize   = int(unsafe.Sizeof(recorderEvent{}))
	detailsSize = int(unsafe.Sizeof(recorderDetails{}))
)

const (
	durBits   = 48
	typeShift = 12
	nrBits    = 9
	flagRich  = record.Flags(recorderFlagFLAG_RICH)
	flagWide  = record.Flags(recorderFlagFLAG_WIDE)
)

// view takes a record of the ring apart: it fills c. It reports false for what is
// no record. Details and Text of c borrow from b, which must be aligned to 8
// bytes, as the ring is.
func view(b []byte, c *record.Call) bool {
	if len(b) < plainSize {
		return false
	}
	// A plain record is shorter than the type, so no pointer may say that it
	// is one.
	var raw recorderEvent
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
	c.Calls, c.Taken = raw.Calls, int64(raw.Off[recorderOffKindOFF_RECORDER])
	parts := c.Off.Parts() // the order is that of enum off_kind
	for i, v := range raw.Off[:recorderOffKindOFF_RECORDER] {
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
