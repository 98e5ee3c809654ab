package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"

	"pianola/bpf"
	"pianola/format"
)

// decoder turns calls into events. Its knowledge of operations comes from their rows in
// the table.
type decoder struct {
	arch  format.Arch
	start int64          // of the clock of the calls, at the event time 0, nanoseconds
	notes []format.Notes // of the events since reset
	text  []byte         // the same

	spans format.SpanMemory // the same

	devices devices
}

var errCall = errors.New("a system call that is not recorded")

// reset frees the memory of the notes and texts of all events decoded before.
func (d *decoder) reset() {
	d.notes, d.text = d.notes[:0], d.text[:0]
	d.spans.Reset()
}

// decode fills e from a call. Strings of e borrow from the call, notes from the
// decoder.
func (d *decoder) decode(c *Call, e *format.Event) error {
	op := OpOf(d.arch, int(c.Nr))
	if op == format.OpNone {
		return errCall
	}
	info := op.Info()
	*e = format.Event{Op: op, TID: c.TID, Start: c.Start - d.start, Dur: c.Dur, Ret: c.Ret}
	if info.Result == format.ResultNone {
		e.Dur, e.Ret = format.Unknown, format.NoResult
	}
	for i := range info.Args {
		e.Args[i] = d.arg(e, info, i, c.Args[i])
	}
	var second []byte
	if details := c.Details; details != nil {
		n, m := int(details.Len[0]), int(details.Len[1])
		e.Str[0] = str(c.Text[:n], details.State[0])
		second = str(c.Text[n:n+m], details.State[1])
		if c.Flags&bpf.CFlagFLAG_TARGET == 0 {
			e.Str[1], second = second, nil
		}
	}
	if info.Reads == format.ReadRegistered {
		e.List, e.Str[0] = d.registered(e.Str[0], c.Args[4]), nil
	}
	if info.Acts.Any(format.Execs) && c.Ret == 0 {
		e.Str[0] = cutDescriptor(e.Str[0], e.Dir(0))
	}
	d.note(e, c, second)
	return nil
}

// arg returns the canonical form of a register. The kernel looks at the lower
// half of what is an int in C, so the upper half has no meaning.
func (d *decoder) arg(e *format.Event, info *format.Info, i int, raw uint64) int64 {
	if set := info.FlagsOf(e, i); set != nil {
		return set.FromNative(d.arch, uint64(uint32(raw)))
	}
	switch info.Args[i].Kind {
	case format.FD, format.DirFD:
		return int64(int32(raw))
	case format.Count:
		return int64(uint32(raw))
	case format.Int:
		// Most are ints, but what fcntl and ioctl take can be an address.
		if raw>>32 == 0 || info.Reads != format.ReadLock && info.Reads != format.ReadRange {
			return int64(int32(raw))
		}
	case format.OptMode:
		// A register that the kernel does not read can hold anything.
		if !format.HasMode(e.Args[i-1]) {
			return 0
		}
		return int64(uint16(raw))
	case format.Mode:
		return int64(uint16(raw))
	case format.Path, format.Text, format.Items:
		return 0
	}
	return int64(raw)
}

// registered returns the list of an io_uring_register: the number of the first entry that it
// replaces, and then descriptors, or addresses and lengths of buffers, of size bytes each;
// nil for an empty list.
func (d *decoder) registered(list []byte, size uint64) *format.List {
	const descriptor, buffer = 4, 16
	if len(list) < 4 || size != descriptor && size != buffer {
		return nil
	}
	from := len(d.spans.Numbers)
	l := format.List{From: int64(binary.NativeEndian.Uint32(list))}
	l.Update = l.From != 0
	if size == buffer {
		l.Of = format.ListRanges
	}
	for list = list[4:]; uint64(len(list)) >= size; list = list[size:] {
		if size == descriptor {
			d.spans.Numbers = append(d.spans.Numbers, int64(int32(binary.NativeEndian.Uint32(list))))
		} else {
			d.spans.Numbers = append(d.spans.Numbers, int64(binary.NativeEndian.Uint64(list)), int64(binary.NativeEndian.Uint64(list[8:])))
		}
	}
	l.Items = d.spans.NumbersFrom(from)
	return d.spans.AddList(l)
}

// str returns a string of a call: nil for a NULL pointer and for one that
// could not be read, which a note then says.
func str(s []byte, state bpf.CStringState) []byte {
	if state == bpf.CStringStateSTRING_WHOLE || state == bpf.CStringStateSTRING_CUT {
		return s
	}
	return nil
}

// cutDescriptor undoes what the kernel does to the name of a program that was
// found from a directory's descriptor: /dev/fd/3/name, or /dev/fd/3 where the
// descriptor is the program itself.
func cutDescriptor(path []byte, dirfd int64) []byte {
	if dirfd < 0 {
		return path
	}
	var buf [32]byte
	prefix := strconv.AppendInt(append(buf[:0], "/dev/fd/"...), dirfd, 10)
	rest, ok := bytes.CutPrefix(path, prefix)
	switch {
	case ok && len(rest) == 0:
		return rest
	case ok && rest[0] == '/':
		return rest[1:]
	}
	return path
}
