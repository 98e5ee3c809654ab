package transform

import (
	"pianola/format"
	"pianola/format/process"
)

var directTransform = Transform{
	Name:  "direct",
	Doc:   "opens files with O_DIRECT; fcntl clears the flag for calls that are not aligned to 4 KiB",
	Keeps: "everything, on file systems that support O_DIRECT",
	New: func(string) (Func, error) {
		return newStaged(lookAhead, func() stage { return &direct{batches: batches{}} }), nil
	},
}

var bufferedTransform = Transform{
	Name:  "buffered",
	Doc:   "takes O_DIRECT off",
	Keeps: "everything",
	New:   func(string) (Func, error) { return Each(buffered), nil },
}

// alignment is the alignment of offsets, sizes and buffers with O_DIRECT, in
// bytes. No file system needs more.
const alignment = 4096

// direct switches a descriptor for each call that needs it, and for the requests of a
// batch together: those on a file are direct if all of them can be.
type direct struct{ batches }

// event implements stage.
func (o *direct) event(s *staged, f *process.Fact) error {
	t, e, d := f.Thread, f.Event, f.Description
	info := e.Op.Info()
	if e.Via == format.ViaCall {
		o.settle(s, o.take(e.TID), e)
	}
	class := info.Class
	moves := (class == format.ClassRead || class == format.ClassWrite) && e.Ret != format.NoResult
	switch {
	case moves && info.Acts.All(format.ReadsBytes|format.WritesBytes):
		for i, a := range info.Args {
			if a.Kind == format.FD {
				s.direct(e, e.Args[i], t.Table.At(e.Args[i]), false)
			}
		}
		s.push(e)
	case moves && d != nil:
		from := e.Offset()
		if from < 0 {
			from = d.Offset
		}
		appends := class == format.ClassWrite && d.Append()
		if appends {
			from = d.File.Length
		}
		// A vector can be cut into segments of any length.
		aligned := info.At.Buf >= 0 && (from|e.Size())%alignment == 0 && !appends
		if e.Via != format.ViaCall {
			o.add(&queued{entry: s.push(e), of: d, serial: d.Serial, fd: s.Descriptor(t, e), aligned: aligned})
			break
		}
		s.direct(e, e.FD(), d, aligned)
		if en := s.push(e); d.Flags&format.DIRECT != 0 {
			en.Args[1] &^= alignment - 1
		}
	default:
		en := s.push(e)
		if at := info.At.OpenFlags; at >= 0 && !e.Failed() && opensFile(e, e.OpenFlags()) {
			en.Args[at] |= format.DIRECT
		}
		f.Event = &en.Event
	}
	s.Apply(f)
	return nil
}

// direct inserts a call before an event that sets or clears O_DIRECT of a
// descriptor of the event, if necessary.
func (s *staged) direct(e *format.Event, fd int64, d *process.Description, on bool) {
	if set, ok := switched(e, fd, d, on); ok {
		s.put(&set)
	}
}

// switched returns the call before an event that sets or clears O_DIRECT of a
// descriptor, and false if none is necessary.
func switched(e *format.Event, fd int64, d *process.Description, on bool) (set format.Event, ok bool) {
	if d == nil || !isFile(d) || on == (d.Flags&format.DIRECT != 0) {
		return set, false
	}
	d.Flags ^= format.DIRECT
	set = format.Event{Op: format.OpFcntl, TID: e.TID, Start: e.Start, Dur: format.Unknown}
	set.Args[0], set.Args[1], set.Args[2] = fd, format.FSetfl, d.Flags&settable
	moveTime(e, &set)
	return set, true
}

// settle lets the requests of a batch go that are submitted by a call, with the calls
// before them that switch descriptors. The call is nil at the end.
func (o *direct) settle(s *staged, batch []*queued, call *format.Event) {
	for i, q := range batch {
		if q.held = false; q.of.Serial != q.serial {
			continue // another thread has closed it
		}
		if call == nil {
			call = &format.Event{TID: q.TID, Start: q.Start}
		}
		aligned, first := true, true
		for k, other := range batch {
			if other.of == q.of {
				aligned, first = aligned && other.aligned, first && k >= i
			}
		}
		if first {
			if set, ok := switched(call, q.fd, q.of, aligned); ok {
				s.insert(batch[0].prev, &set).made = true
			}
		}
		if q.of.Flags&format.DIRECT != 0 && q.Op.Info().At.Buf >= 0 {
			q.Args[1] &^= alignment - 1
		}
	}
}

// decide implements holding.
func (o *direct) decide(s *staged, first *entry) { o.settle(s, o.take(first.TID), nil) }

// end implements ending.
func (o *direct) end(s *staged) {
	for _, tid := range o.threads() {
		o.settle(s, o.take(tid), nil)
	}
}

// settable is what a word of flags for F_SETFL says: the access mode, which
// stays, and the flags that can be changed.
const settable = format.RDONLY | format.WRONLY | format.RDWR |
	format.APPEND | format.ASYNC | format.DIRECT | format.NOATIME | format.NONBLOCK

// buffered clears O_DIRECT in an event that sets it.
func buffered(_ *format.Header, e *format.Event) Verdict {
	switch acts, at := e.Acts(), e.Op.Info().At.OpenFlags; {
	case acts.Any(format.Opens) && at >= 0:
		e.Args[at] &^= format.DIRECT
	case acts.Any(format.Marks) && e.FD() >= 0 && e.Args[1] == format.FSetfl:
		e.Args[2] &^= format.DIRECT
	}
	return Keep
}
