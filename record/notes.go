package record

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
)

// note returns what the kernel knew and the call did not say; nil for nothing.
// Notes of earlier events stay where they are when the buffer grows.
func (d *decoder) note(info *format.Info, r *bpf.Event, details *bpf.Details, target []byte) []byte {
	from := len(d.notes)
	if details != nil {
		d.noteStrings(info, details)
		d.noteFile(r.Flags, details)
	}
	if r.Flags&bpf.FlagTarget != 0 {
		d.word("target=")
		d.notes = format.AppendQuoted(d.notes, target)
	}
	if r.Flags&bpf.FlagUnreadable != 0 {
		d.word("args=unreadable")
	}
	if r.Flags&bpf.FlagSignal != 0 {
		d.word("signal=")
		d.notes = appendSignal(d.notes, r.Args[1])
	}
	if r.Flags&bpf.FlagKilled != 0 {
		d.word("killed")
	}
	if r.Flags&bpf.FlagRenumbered != 0 {
		d.number("was=", r.Args[5])
	}
	if r.Type != 0 && r.Type != unix.S_IFREG>>12 {
		d.word("type=")
		d.notes = append(d.notes, fileTypes[r.Type&0xf].String()...)
	}
	if r.Faults != 0 {
		d.number("faults=", uint64(r.Faults))
	}
	if r.Off != 0 {
		d.number("off=", r.Off)
	}
	if len(d.notes) == from {
		return nil
	}
	return d.notes[from+1 : len(d.notes) : len(d.notes)] // +1: words begin with a space
}

// noteStrings says of a string that it is not what the call was given.
func (d *decoder) noteStrings(info *format.Info, details *bpf.Details) {
	n := 0
	for i := range info.Args {
		if !info.Args[i].Kind.IsString() {
			continue
		}
		switch details.State[n] {
		case bpf.StringCut:
			d.word(info.Args[i].Name)
			d.notes = append(d.notes, "=cut"...)
		case bpf.StringUnreadable:
			d.word(info.Args[i].Name)
			d.notes = append(d.notes, "=unreadable"...)
		}
		n++
	}
}

// noteFile describes the file that a call opened or asked about, as it was
// when the call returned.
func (d *decoder) noteFile(flags uint32, details *bpf.Details) {
	if flags&bpf.FlagStat == 0 {
		return
	}
	kind := fileTypes[details.Mode>>12&0xf]
	d.word("type=")
	d.notes = append(d.notes, kind.String()...)
	d.word("mode=0")
	d.notes = strconv.AppendUint(d.notes, uint64(details.Mode&0o7777), 8)
	d.number("size=", details.Size)
	if flags&bpf.FlagFile == 0 {
		return
	}
	if kind == format.TypeReg && details.Cached != UnknownCached {
		d.number("cached=", details.Cached)
	}
	d.devices.add(details.Dev)
	d.number("dev=", uint64(bpf.Major(details.Dev)))
	d.notes = append(d.notes, ':')
	d.notes = strconv.AppendUint(d.notes, uint64(bpf.Minor(details.Dev)), 10)
	d.number("ino=", details.Ino)
	d.number("nlink=", uint64(details.Nlink))
	if kind == format.TypeReg && sparse(details) {
		d.word("sparse")
	}
	if flags&bpf.FlagCreated != 0 {
		d.word("new")
	}
}

var pageBytes = uint64(os.Getpagesize())

// sparse reports whether a file certainly has holes. A page in the cache may
// be one that has no block yet because it has not been written back.
func sparse(details *bpf.Details) bool {
	if details.Cached == UnknownCached {
		return details.Blocks*512 < details.Size
	}
	return details.Blocks*512+details.Cached*pageBytes < details.Size
}

// fileTypes are the types by the upper four bits of a mode (S_IFMT).
var fileTypes = [16]format.FileType{
	unix.S_IFREG >> 12:  format.TypeReg,
	unix.S_IFDIR >> 12:  format.TypeDir,
	unix.S_IFLNK >> 12:  format.TypeLnk,
	unix.S_IFIFO >> 12:  format.TypeFifo,
	unix.S_IFSOCK >> 12: format.TypeSock,
	unix.S_IFCHR >> 12:  format.TypeChr,
	unix.S_IFBLK >> 12:  format.TypeBlk,
}

func (d *decoder) word(text string) {
	d.notes = append(append(d.notes, ' '), text...)
}

func (d *decoder) number(key string, v uint64) {
	d.word(key)
	d.notes = strconv.AppendUint(d.notes, v, 10)
}

// appendSignal appends SIGKILL and the like, or the number of a signal that
// has no name.
func appendSignal(dst []byte, n uint64) []byte {
	if name := unix.SignalName(unix.Signal(n)); name != "" {
		return append(dst, name...)
	}
	return strconv.AppendUint(dst, n, 10)
}
