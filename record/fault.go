package record

import (
	"pianola/bpf"
	"pianola/format"
)

const efault = 14

// Program notes a mapping of a program, a library, or what else is a file only in passing, of
// size bytes at an address. Its call is not recorded, and of its faults only those that waited.
func (w *Writer) Program(space, address, size, offset uint64, dev uint32, ino uint64) {
	w.spaces.program(space, address, size, offset, inodeOf(dev, ino))
}

func inodeOf(dev uint32, ino uint64) format.Inode {
	return format.Inode{Dev: format.Device{Major: major(dev), Minor: minor(dev)}, Ino: ino}
}

// Learn notes what is mapped in the address space of a thread already.
func (w *Writer) Learn(space uint64, tid int32) { w.spaces.learn(w.spaces.of(space), tid) }

// Name notes the names of the files that a thread's process has mapped.
func (w *Writer) Name(tid int32) { w.spaces.learn(&space{}, tid) }

// Fork notes that an address space begins as a copy of another one.
func (w *Writer) Fork(space, parent uint64) { w.spaces.begin(space, parent) }

// Fault adds a page fault on a mapping of a file to the batch and reports whether that is full,
// as Add does. off and taken are as in Call. A fault that failed where no file is mapped is none
// of a file, and left out.
func (w *Writer) Fault(f *bpf.CFault, off format.Off, taken int64) (full bool) {
	e := &w.batch[w.n]
	if !w.decodeFault(f, e) {
		return false
	}
	e.Off, e.Cut = off, taken
	if f.Flags&bpf.CFaultFlagFAULT_PROGRAM == 0 {
		account(&w.account, e)
	}
	w.n++
	return w.n == len(w.batch)
}

// decodeFault fills e from a fault, and reports whether it is one of a file.
func (w *Writer) decodeFault(f *bpf.CFault, e *format.Event) bool {
	d := &w.decoder
	op := format.OpMapRead
	if f.Flags&bpf.CFaultFlagFAULT_WRITE != 0 {
		op = format.OpMapWrite
	}
	*e = format.Event{Op: op, TID: int32(f.Tid), Start: int64(f.Start) - d.start, Dur: int64(f.Took), Ret: int64(f.Pages) * int64(pageBytes),
		Calls: int64(f.Calls)}
	file := inodeOf(f.Dev, f.Ino)
	offset := f.First * pageBytes
	var m *mapping
	if f.Flags&bpf.CFaultFlagFAULT_FAILED != 0 {
		e.Ret = -efault
		address := f.First &^ (pageBytes - 1)
		if m = w.spaces.known(f, func(s *space) *mapping { return s.at(address) }, format.Inode{}); m == nil {
			return false
		}
		offset, file = address-m.start+m.offset, m.file
	} else {
		m = w.spaces.known(f, func(s *space) *mapping { return s.find(file, offset) }, file)
	}
	e.Args[1], e.Args[2] = int64(pageBytes), int64(offset)
	var n format.Notes
	if f.Flags&bpf.CFaultFlagFAULT_FILLED != 0 {
		n.Has |= format.NotedFilled
	}
	if m == nil || m.unrecorded {
		if path := w.spaces.paths[file]; path != "" {
			n.Path, n.Has = []byte(path), n.Has|format.NotedPath
		} else {
			n.Dev, n.Ino, n.Has = file.Dev, file.Ino, n.Has|format.NotedDev|format.NotedIno
		}
	}
	if m != nil {
		e.Args[0] = int64(m.start + offset - m.offset)
		// A read would have mapped the pages around this one, too.
		if f.Flags&^bpf.CFaultFlagFAULT_RESTED == bpf.CFaultFlagFAULT_PAGE && m.private && m.writable {
			n.Has |= format.NotedCow
		}
	}
	if n.Has != 0 {
		d.notes = append(d.notes, n)
		e.Notes = &d.notes[len(d.notes)-1]
	}
	return true
}

// populated returns how many bytes of a file with storage a call of mmap read at once.
func populated(e *format.Event) int64 {
	flags := e.Word(format.MmapFlags)
	if e.Failed() || !e.Notes.Known(format.NotedIno|format.NotedSize) || flags&(format.MapPopulate|format.MapLocked) == 0 || flags&format.MapNonblock != 0 {
		return 0
	}
	return max(min(e.Size(), e.Notes.Size-e.Offset()), 0)
}
