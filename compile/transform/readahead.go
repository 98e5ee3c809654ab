package transform

import (
	"pianola/format"
	"pianola/format/process"
)

var readaheadTransform = Transform{
	Name: "readahead", Arg: Arg{Form: "SIZE"},
	Doc:   "calls readahead for the next SIZE bytes of a file that is read in sequence, when less than half of the last SIZE bytes are left",
	Keeps: "everything",
	New: func(arg string) (Func, error) {
		size, err := parseSize(arg)
		if err != nil {
			return nil, err
		}
		return newStaged(0, func() stage { return readahead(size) }), nil
	},
}

// readahead is the size of one request, in bytes.
type readahead int64

// reading is the progress of sequential reads of a description.
type reading struct {
	serial int64
	next   int64 // offset behind the last read
	ahead  int64 // end of the last request
}

// event implements stage.
func (size readahead) event(s *staged, f *process.Fact) error {
	en := s.push(f.Event)
	if m := f.Moves(); m == &f.Read && isFile(m.Description) && m.Description.Flags&format.DIRECT == 0 {
		size.read(s, en, s.Descriptor(f.Thread, f.Event), m.Description, m.From, m.To)
	}
	s.Apply(f)
	return nil
}

// read inserts a call for the bytes after a read, right after it, but before that
// which submits it.
func (size readahead) read(s *staged, en *entry, fd int64, d *process.Description, from, to int64) {
	r, ok := d.Data.(*reading)
	if !ok {
		r = new(reading)
		d.Data = r
	}
	if r.serial != d.Serial {
		*r = reading{serial: d.Serial, next: 0}
	}
	sequential := from == r.next
	r.next = to
	if !sequential {
		r.ahead = 0
		return
	}
	if r.ahead = max(r.ahead, to); r.ahead-to >= int64(size)/2 {
		return
	}
	ask := format.Event{Op: format.OpReadahead, TID: en.TID, Start: en.End(), Dur: format.Unknown}
	if en.Via != format.ViaCall {
		ask.Start = en.Start
	}
	ask.Args = [format.MaxArgs]int64{fd, r.ahead, to + int64(size) - r.ahead}
	r.ahead = to + int64(size)
	s.put(&ask)
}
