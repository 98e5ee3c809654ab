package ebpf

import (
	"unsafe"

	"pianola/format"
)

// Event is what a record says of a system call, and what every recorder says
// of one to package decode.
type Event struct {
	Start  uint64 // nanoseconds, CLOCK_MONOTONIC
	Dur    uint64 // nanoseconds
	Off    uint64 // nanoseconds that the thread was off the processor since its last event
	Ret    int64
	Args   [format.MaxArgs]uint64 // registers, or what the operation has in their place
	Tid    uint32
	Nr     uint32 // number of the system call
	Flags  uint32
	Faults uint32 // page faults within the call, of reads and writes
	Type   uint32 // of the descriptor of reads and writes, as the upper four bits of a mode; 0 if not known
}

// Details is what a rich record has besides.
type Details = recorderDetails

// Member is a thread that is followed, as Members tells of it.
type Member = recorderMember

// The sizes of records and of what they are made of: a plain record ends
// within the event.
const (
	PlainBytes   = int(unsafe.Offsetof(recorderEvent{}.More))
	EventBytes   = int(unsafe.Sizeof(recorderEvent{}))
	DetailsBytes = int(unsafe.Sizeof(Details{}))
)

const (
	durBits   = 48
	typeShift = 12
	flagWide  = uint32(recorderFlagFLAG_WIDE)
)

// The bits of Event.Flags.
const (
	FlagRich       = uint32(recorderFlagFLAG_RICH)       // Details and strings follow
	FlagStat       = uint32(recorderFlagFLAG_STAT)       // Mode and Size are set
	FlagFile       = uint32(recorderFlagFLAG_FILE)       // all of Details is set
	FlagCreated    = uint32(recorderFlagFLAG_CREATED)    // the call created the file
	FlagTarget     = uint32(recorderFlagFLAG_TARGET)     // string 1 is what a symbolic link holds
	FlagUnreadable = uint32(recorderFlagFLAG_UNREADABLE) // what an argument points to could not be read
	FlagSignal     = uint32(recorderFlagFLAG_SIGNAL)     // the thread was ended by the signal Args[1]
	FlagKilled     = uint32(recorderFlagFLAG_KILLED)     // the thread was ended by another of its process
	FlagRenumbered = uint32(recorderFlagFLAG_RENUMBERED) // execve gave the thread a new id; Args[5] is the old one
)

// The values of Details.State.
const (
	StringNull       = uint8(recorderStringStateSTRING_NULL)       // a NULL pointer, or no such string
	StringWhole      = uint8(recorderStringStateSTRING_WHOLE)      //
	StringCut        = uint8(recorderStringStateSTRING_CUT)        // longer than any path can be
	StringUnreadable = uint8(recorderStringStateSTRING_UNREADABLE) // not in memory, or not the caller's
)

// Major and Minor take a device number of the kernel apart.
func Major(dev uint32) uint32 { return dev >> 20 }
func Minor(dev uint32) uint32 { return dev & (1<<20 - 1) }

// View takes a record apart: it fills e, and returns the details, nil for a
// record that has none, and the strings. It reports false for what is no
// record. The results borrow from record, which must be aligned to 8 bytes, as
// the ring is; e does not.
func View(record []byte, e *Event) (d *Details, strings []byte, ok bool) {
	if len(record) < PlainBytes {
		return nil, nil, false
	}
	// A plain record is shorter than the type, so no pointer may say that it
	// is one.
	var raw recorderEvent
	copy((*[EventBytes]byte)(unsafe.Pointer(&raw))[:], record)
	flags := uint32(raw.Flags)
	*e = Event{Start: raw.Start, Dur: raw.Dur & (1<<durBits - 1), Faults: uint32(raw.Dur >> durBits), Ret: raw.Ret,
		Tid: raw.Tid, Nr: uint32(raw.Nr), Flags: flags & (1<<typeShift - 1) &^ flagWide, Type: flags >> typeShift}
	e.Args[0], e.Args[1], e.Args[2], e.Args[3] = raw.Args[0], raw.Args[1], raw.Args[2], raw.Args[3]
	if flags&flagWide == 0 {
		return nil, nil, flags&FlagRich == 0
	}
	if len(record) < EventBytes {
		return nil, nil, false
	}
	e.Args[4], e.Args[5], e.Off = raw.More[0], raw.More[1], raw.Off
	if flags&FlagRich == 0 {
		return nil, nil, true
	}
	record = record[EventBytes:]
	if len(record) < DetailsBytes {
		return nil, nil, false
	}
	d = (*Details)(unsafe.Pointer(unsafe.SliceData(record)))
	strings = record[DetailsBytes:]
	if int(d.Len[0])+int(d.Len[1]) > len(strings) {
		return nil, nil, false
	}
	return d, strings, true
}
