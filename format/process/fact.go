package process

import "pianola/format"

// Fact is what an event does, with the threads, the descriptors and the files that it
// does it to. It is the only interpretation of operations: who consumes events asks a
// Fact what they did, and a State or a Follower applies it.
//
// The acts of a Fact come from the effect of the operation (format/effects.go), which is a
// set of acts, and its other parts from the columns of the operation's row. So a new
// operation with a new effect is a row in format/ops.go and a set in format/effects.go,
// and every consumer meets it by its acts. Code is needed for what is new about it: a new
// act, which State or Follower follows in one place if it changes what they hold, and how
// compile, replay and memfs do it (compile/apply.go, replay/posix/calls.go, memfs/fs.go).
type Fact struct {
	Event *format.Event
	Did   format.Acts // what the event did: nothing if it failed, except for what it does anyway

	// A Follower tells these. They are from before the event.
	Thread      *Thread
	File        *File        // that the event is about, nil for none
	Description *Description // of it, nil if it is not open
	Read        Moved        // bytes that left a file
	Written     Moved        // bytes that went into a file
}

// Moved is a range of bytes of a file.
type Moved struct {
	File        *File        // nil for none
	Description *Description // nil for mapped memory
	From, To    int64        // To exclusive

	own bool // the offset of the description moves
}

// FactOf returns what an event does. Only Event and Did are set: it knows no threads and no files.
func FactOf(e *format.Event) Fact { return Fact{Event: e, Did: e.Did()} }

// Range returns the first and the last descriptor that the event closes, or sets flags of. The
// last is below the first for none.
func (f *Fact) Range() (first, last uint32) {
	switch fd := f.Event.FD(); {
	case !f.Did.Any(format.Closes | format.Marks):
		return 1, 0
	case fd >= 0:
		return uint32(fd), uint32(fd)
	}
	return uint32(f.Event.Args[0]), uint32(f.Event.Args[1])
}

// Made returns the descriptors that the event makes, -1 for none.
func (f *Fact) Made() (one, other int64) {
	switch e := f.Event; {
	case !f.Did.Any(format.Opens | format.Channels | format.Duplicates):
	case len(e.Op.Info().Args) > 0 && e.Op.Info().Args[0].Kind == format.FDPair:
		return int64(int32(e.Args[0])), e.Args[0] >> 32
	default:
		return e.Ret, -1
	}
	return -1, -1
}

// Pages returns the addresses of the pages that the event maps, unmaps, protects or touches,
// the end exclusive, and false for none.
func (f *Fact) Pages() (from, to int64, ok bool) {
	at := f.Event.Args[0]
	switch {
	case f.Did.Any(format.Maps | format.Remaps):
		at = f.Event.Ret
	case !f.Did.Any(format.InMemory):
		return 0, 0, false
	}
	return pages(at, f.Event.Size())
}

// Moves returns the bytes that the event moves out of its open file, or into it, nil for none. If
// there are two files, it is that of the event's class.
func (f *Fact) Moves() *Moved {
	if m := f.moves(); m.Description != nil && m.To > m.From {
		return m
	}
	return nil
}

// Touches returns the bytes of a mapped file that a fault touches, nil for none.
func (f *Fact) Touches() *Moved {
	if m := f.moves(); f.Did.Any(format.Faults) && m.To > m.From {
		return m
	}
	return nil
}

func (f *Fact) moves() *Moved {
	if f.Event.Op.Info().Class == format.ClassWrite {
		return &f.Written
	}
	return &f.Read
}

// Fact returns what an event does. It is valid until the next call. Apply it before the next
// event.
func (fl *Follower) Fact(e *format.Event) *Fact {
	fl.begin()
	f := fl.newFact(e)
	f.File, f.Description = fl.About(f.Thread, e)
	f.tellMoved()
	return f
}

// Fact returns what an event does to what descriptors and mappings lead to. It is valid until
// the next call.
func (s *State) Fact(e *format.Event) *Fact {
	f := s.newFact(e)
	f.File, f.Description = nil, nil
	if e.Acts().Any(format.InMemory) {
		for m := range f.Thread.Process.Space.Within(e.Args[0], e.Size()) {
			f.File = m.File
			break
		}
	} else if f.Description = f.Thread.Table.At(subject(e)); f.Did.Any(format.Closes) {
		if d := f.Thread.Table.Closing(e.FD()); d != nil {
			f.Description = d.Description
		}
	}
	if f.Description != nil {
		f.File = f.Description.File
	}
	f.tellMoved()
	return f
}

// newFact returns the Fact of an event without its file.
func (s *State) newFact(e *format.Event) *Fact {
	f := &s.fact
	f.Read.reset()
	f.Written.reset()
	f.Event, f.Did, f.Thread = e, e.Did(), s.Thread(e)
	return f
}

// tellMoved tells which bytes an event moved.
func (f *Fact) tellMoved() {
	e := f.Event
	if !f.Did.Any(format.ReadsBytes|format.WritesBytes) || e.Ret < 0 {
		return
	}
	if f.Did.Any(format.Faults) {
		if from := e.Offset(); f.File != nil && from >= 0 && from <= maxOffset && e.Ret <= maxOffset {
			*f.moves() = Moved{File: f.File, From: from, To: from + e.Ret}
		}
		return
	}
	in, out := f.Description, f.Description
	if f.Did.All(format.ReadsBytes | format.WritesBytes) {
		if e.Op.Info().Class == format.ClassRead {
			out = f.Thread.Table.At(e.OutFD())
		} else {
			in = f.Thread.Table.At(e.FD())
		}
	}
	if f.Did.Any(format.ReadsBytes) && in != nil {
		f.Read.of(in, e, e.Offset(), false)
	}
	if f.Did.Any(format.WritesBytes) && out != nil {
		offset := e.OutOffset()
		if e.Op.Info().At.OutFD < 0 {
			offset = e.Offset()
		}
		f.Written.of(out, e, offset, true)
	}
}
