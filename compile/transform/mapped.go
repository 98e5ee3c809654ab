package transform

import (
	"fmt"

	"pianola/format"
	"pianola/format/process"
)

var mmapTransform = Transform{
	Name: "mmap", Arg: Arg{Form: "read"},
	Doc:   "turns page faults of mapped files into reads and writes of the pages",
	Keeps: "the data that are read and written, one page per call",
	Needs: "a compiled trace has no buffer addresses for the reads and writes",
	New: func(arg string) (Func, error) {
		if arg != "read" {
			return nil, fmt.Errorf("expected read, not %q", arg)
		}
		return newStaged(0, func() stage { return new(mappedReads) }), nil
	},
}

// mappedReads gives each mapping of a file its own descriptor: mmap duplicates the
// descriptor that it maps, and the last munmap closes the duplicate. The data of a
// mapping is the number of its descriptor. Descriptors of mappings that exist until the
// process ends stay open.
type mappedReads struct{ mappings int64 }

// firstCopy is the lowest number of such a descriptor, and copies how many
// different ones there are. An application with so many descriptors of its own is
// rare.
const (
	firstCopy = 1 << 15
	copies    = 1 << 14
)

// event implements stage.
func (u *mappedReads) event(s *staged, f *process.Fact) error {
	e := f.Event
	en := s.push(e)
	space := f.Thread.Process.Space
	first := int64(0) // offset in the file
	var fds []int64   // of the mappings that the event is about
	for m := range space.Within(address(e), max(e.Size(), 1)) {
		if fd, ok := m.Data.(int64); ok && (len(fds) == 0 || fds[len(fds)-1] != fd) {
			if len(fds) == 0 {
				first = m.Offset + max(e.Args[0]-m.From, 0)
			}
			fds = append(fds, fd)
		}
	}
	acts := e.Acts()
	maps := acts.Any(format.MapsFiles) && f.Description != nil && isFile(f.Description)
	s.Apply(f)
	switch {
	case maps && e.Failed():
		en.verdict = Spare
	case maps:
		if m := space.At(e.Ret); m != nil {
			fd := firstCopy + u.mappings%copies
			m.Data = fd
			u.mappings++
			en.become(format.OpFcntl, fd, e.FD(), format.FDupfdCloexec)
		}
	case len(fds) == 0:
	case acts.Any(format.Faults):
		u.transfer(en, e, f.File, fds[0])
	case acts.Any(format.Syncs):
		en.become(format.OpFdatasync, e.Ret, fds[0])
	case f.Did.Any(format.Unmaps):
		en.verdict = Spare
		for _, fd := range fds {
			if isUsed(space, fd) {
				continue
			}
			last := en
			if en.verdict == Keep {
				last = s.push(e)
				last.made, last.Dur = true, format.Unknown
			}
			last.verdict = Keep
			last.become(format.OpClose, 0, fd)
		}
	case acts.Any(format.Advises) && e.Args[2] >= 0 && e.Args[2] <= willNeed: // the numbers are the same
		en.become(format.OpFadvise64, e.Ret, fds[0], first, e.Size(), e.Args[2])
	default:
		en.verdict = Spare
	}
	return nil
}

// address returns the address that a call on memory or a fault is about, 0 for any
// other event.
func address(e *format.Event) int64 {
	if e.Acts().Any(format.InMemory) {
		return e.Args[0]
	}
	return 0
}

// become makes an event another one, at its time.
func (en *entry) become(op format.Op, ret int64, args ...int64) {
	en.Op, en.Ret, en.Args, en.Notes = op, ret, [format.MaxArgs]int64{}, nil
	copy(en.Args[:], args)
}

// transfer makes a fault a read or a write. A write to a private mapping reads the
// page, which the process then has for itself.
func (u *mappedReads) transfer(en *entry, e *format.Event, f *process.File, fd int64) {
	op, moved := format.OpPread64, e.Size()
	if e.Op == format.OpMapWrite && !e.Notes.Known(format.NotedCow) {
		op = format.OpPwrite64
	}
	if f.Length > 0 {
		moved = min(moved, f.Length-e.Offset())
	}
	if moved = max(moved, 0); e.Failed() {
		op, moved = format.OpPread64, 0 // the file ends before the page
	}
	asked := e.Size()
	if op == format.OpPwrite64 {
		asked = moved // no fault makes a file longer
	}
	en.become(op, moved, fd, e.Args[0], asked, e.Offset())
}

// isUsed reports whether a mapping has the descriptor.
func isUsed(s *process.Space, fd int64) bool {
	for m := range s.All {
		if m.Data == fd {
			return true
		}
	}
	return false
}
