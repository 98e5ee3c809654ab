package record

import (
	"os"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
)

// note gives an event what the kernel knew and the call did not say. target is
// what a link holds.
func (d *decoder) note(e *format.Event, c *Call, target []byte) {
	e.Faults, e.Off, e.Calls, e.Cut, e.Behind = int64(c.Faults), c.Off, int64(c.Calls), c.Taken, c.Behind
	if c.Details == nil && c.Flags == 0 && c.Waker == 0 && c.Channel == 0 && (c.Type == 0 || c.Type == unix.S_IFREG>>12) {
		return // most calls
	}
	var n format.Notes
	if c.Details != nil {
		noteStates(&n, c.Details.State)
		d.noteFile(&n, c.Flags, c.Details)
		if e.Acts().Any(format.Maps) { // the open has the rest
			n.Has &^= format.NotedMode | format.NotedLinks | format.NotedSparse
			n.Mode, n.Links = 0, 0
		}
	}
	if c.Flags&bpf.CFlagFLAG_TARGET != 0 {
		n.Target, n.Has = target, n.Has|format.NotedTarget
	}
	if c.Flags&bpf.CFlagFLAG_UNREADABLE != 0 {
		n.Has |= format.NotedUnreadable
	}
	if c.Flags&bpf.CFlagFLAG_SIGNAL != 0 {
		n.Signal, n.Has = int32(c.Args[1]), n.Has|format.NotedSignal
	}
	if c.Waker != 0 {
		n.Waker, n.Woken, n.Has = c.Waker, c.Woken, n.Has|format.NotedWaker
	}
	if c.Flags&bpf.CFlagFLAG_BATCH != 0 {
		n.Request.Ring, n.Has = int32(c.Pos), n.Has|format.NotedRing
		if c.Channel != 0 {
			n.Request.Batch, n.Has = int64(c.Channel), n.Has|format.NotedBatch
		}
	} else if c.Channel != 0 {
		n.Channel, n.Pos, n.Has = c.Channel, c.Pos, n.Has|format.NotedMessage
		if c.Flags&bpf.CFlagFLAG_UNIX != 0 {
			n.ChannelKind = format.ChannelUNIX
		}
		if c.Flags&bpf.CFlagFLAG_CONNECTED != 0 {
			n.Has |= format.NotedConnected
		}
	}
	if c.Flags&bpf.CFlagFLAG_KILLED != 0 {
		n.Has |= format.NotedKilled
	}
	if c.Flags&bpf.CFlagFLAG_RENUMBERED != 0 {
		n.Was, n.Has = int32(c.Args[5]), n.Has|format.NotedWas
	}
	if c.Type != 0 && c.Type != unix.S_IFREG>>12 && !n.Known(format.NotedType) {
		n.Type, n.Has = fileTypes[c.Type&0xf], n.Has|format.NotedType
	}
	if n.Has != 0 || n.Strings != [format.MaxStrings]format.StringState{} {
		d.notes = append(d.notes, n)
		e.Notes = &d.notes[len(d.notes)-1]
	}
}

// noteStates says of strings that they are not what the call was given.
func noteStates(n *format.Notes, states [format.MaxStrings]bpf.CStringState) {
	for i, state := range states {
		switch state {
		case bpf.CStringStateSTRING_CUT:
			n.Strings[i] = format.StringCut
		case bpf.CStringStateSTRING_UNREADABLE:
			n.Strings[i] = format.StringUnreadable
		}
	}
}

// noteFile describes the file that a call opened or asked about, as it was
// when the call returned.
func (d *decoder) noteFile(n *format.Notes, flags bpf.CFlag, details *bpf.CDetails) {
	if flags&bpf.CFlagFLAG_STAT == 0 {
		return
	}
	n.Type, n.Mode, n.Size = fileTypes[details.Mode>>12&0xf], details.Mode&0o7777, int64(details.Size)
	n.Has |= format.NotedType | format.NotedMode | format.NotedSize
	if flags&bpf.CFlagFLAG_FILE == 0 {
		return
	}
	if n.Type == format.TypeReg && details.Cached != UnknownCached {
		n.Cached, n.Has = int64(details.Cached), n.Has|format.NotedCached
	}
	d.devices.add(details.Dev)
	n.Dev = format.Device{Major: major(details.Dev), Minor: minor(details.Dev)}
	n.Ino, n.Links = details.Ino, int64(details.Nlink)
	n.Has |= format.NotedDev | format.NotedIno | format.NotedLinks
	if all := allocated(details); n.Type == format.TypeReg && all < details.Size {
		n.Allocated, n.Has = int64(all), n.Has|format.NotedSparse|format.NotedAllocated
	}
	if details.Created != 0 {
		n.Has |= format.NotedNew
	}
}

var pageBytes = uint64(os.Getpagesize())

// allocated returns how many bytes of a file can be allocated. A page in the cache
// may be one that has no block yet because it has not been written back.
func allocated(details *bpf.CDetails) uint64 {
	if details.Cached == UnknownCached {
		return details.Blocks * 512
	}
	return details.Blocks*512 + details.Cached*pageBytes
}

// fileTypes are the types by the upper four bits of a mode (S_IFMT).
var fileTypes = [16]format.FileType{
	unix.S_IFREG >> 12:       format.TypeReg,
	unix.S_IFDIR >> 12:       format.TypeDir,
	unix.S_IFLNK >> 12:       format.TypeLnk,
	unix.S_IFIFO >> 12:       format.TypeFifo,
	unix.S_IFSOCK >> 12:      format.TypeSock,
	unix.S_IFCHR >> 12:       format.TypeChr,
	unix.S_IFBLK >> 12:       format.TypeBlk,
	bpf.CFileTypeTYPE_PSEUDO: format.TypePseudo,
}
