package bpf

import "unsafe"

// Event is what every record in the ring begins with.
type Event = recorderEvent

// Details is what follows the Event in a rich record.
type Details = recorderDetails

// EventBytes and DetailsBytes are the sizes of the two parts.
const (
	EventBytes   = int(unsafe.Sizeof(Event{}))
	DetailsBytes = int(unsafe.Sizeof(Details{}))
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

// View returns the parts of a record without copying them: d is nil and
// strings empty for a plain one. It reports false for what is no record. All
// results borrow from record, which must be aligned to 8 bytes, as the ring is.
func View(record []byte) (e *Event, d *Details, strings []byte, ok bool) {
	if len(record) < EventBytes {
		return nil, nil, nil, false
	}
	e = (*Event)(unsafe.Pointer(unsafe.SliceData(record)))
	record = record[EventBytes:]
	if e.Flags&FlagRich == 0 {
		return e, nil, nil, true
	}
	if len(record) < DetailsBytes {
		return nil, nil, nil, false
	}
	d = (*Details)(unsafe.Pointer(unsafe.SliceData(record)))
	strings = record[DetailsBytes:]
	if int(d.Len[0])+int(d.Len[1]) > len(strings) {
		return nil, nil, nil, false
	}
	return e, d, strings, true
}
