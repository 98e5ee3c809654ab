package compile

import (
	"fmt"
	"math"

	"pianola/format"
	"pianola/format/process"
)

// descriptors is the concern of descriptors: which events made and closed them.
type descriptors struct {
	*pass
}

func (ds *descriptors) enlist() {
	ds.ahead(ds.repair, func(i *format.Info) bool { return i.At.FD >= 0 && i.Class != format.ClassMemory })
	ds.when(factClosed, ds.closed)
	ds.when(factBegan, ds.began)
	ds.always(ds.close, format.Closes)
	ds.always(ds.copied, format.Duplicates)
	ds.always(ds.made, format.Channels)
}

// closed handles each number that the current event closes.
func (ds *descriptors) closed(f fact) {
	t, d, v := f.t, f.d, numberOf(f.fd, f.d)
	if n, ok := t.Table.Data.(*numbers); ok && v != f.fd {
		delete(n.taken, v)
	}
	if f.s.acts().Any(format.Execs) {
		return // no other thread is left
	}
	ds.fds.afterUses(t.Table, d)
	if f.s.out.Op.Info().At.FD < 0 && fileOf(d).isFile() { // close_range
		ds.fds.free(t.Table, v)
	}
}

// began notes that a fork copied a table.
func (ds *descriptors) began(f fact) {
	if f.maker != nil && f.maker.Table != f.t.Table {
		ds.fds.copies(f.maker.Table)
	}
}

// holdsFile reports whether a number from first to last leads to a file.
func holdsFile(t *process.Table, first, last uint32) bool {
	for fd, d := range t.All {
		if uint32(fd) >= first && uint32(fd) <= last && fileOf(d).isFile() {
			return true
		}
	}
	return false
}

// close closes a descriptor.
func (ds *descriptors) close(s *simEvent) {
	e, table := s.e, s.t.Table
	switch {
	case s.out.Op.Info().At.FD < 0:
		ds.closeRange(s)
		return
	case e.Ret == ebadf || s.kept:
		return
	}
	fd := int32(e.FD())
	late := table.Closing(e.FD()) != table.Find(e.FD())
	if !late {
		ds.fds.countClose(table, fd)
	}
	ds.state.Apply(s.t.Thread, e)
	if s.why != reasonNone {
		return
	}
	v := int32(s.out.FD())
	ds.fds.free(table, v)
	if late && table.Find(e.FD()) != nil && numberAt(table, e.FD()) == int64(v) {
		// The close of the descriptor that has the number now comes
		// after this one, which must not close it.
		of := ds.fds.used(table, e.FD())
		of.newest = ds.order.use(of.newest)
	}
}

// closeRange closes a range of descriptors.
func (ds *descriptors) closeRange(s *simEvent) {
	e := s.e
	if e.Ret < 0 {
		s.why = reasonTable
		return
	}
	ds.learned.ranges = ds.learned.ranges || ds.order.planning && (e.Args[0] > firstMoved || e.Args[1] < math.MaxInt32)
	if !holdsFile(s.t.Table, uint32(e.Args[0]), uint32(e.Args[1])) {
		s.why = reasonNoFile
	}
	ds.state.Apply(s.t.Thread, e)
}

// copied handles a call that can make a copy of a descriptor.
func (ds *descriptors) copied(s *simEvent) {
	switch {
	case s.e.Ret < 0:
	case s.e.Copies():
		ds.dup(s)
	default:
		ds.state.Apply(s.t.Thread, s.e)
	}
}

// made makes descriptors that are not of files: both ends of a pipe, or another one.
func (ds *descriptors) made(s *simEvent) {
	does := process.FactOf(s.e)
	one, other := does.Made()
	reads := (*openFile)(nil)
	for _, fd := range [...]int64{one, other} {
		if fd < 0 {
			return
		}
		f := ds.newFile(0)
		if other >= 0 {
			ds.tellMore(factOpened, s, more{file: f, of: reads})
		}
		reads = f
		ds.state.Put(s.t.Table, fd, process.Descriptor{Description: f.Description, Cloexec: s.e.Cloexec()})
	}
}

// dup adds a copy of a descriptor to the table.
func (ds *descriptors) dup(s *simEvent) {
	table, fd := s.t.Table, int32(s.e.Ret)
	replaces := s.e.NewFD() >= 0
	if replaces && s.e.FD() == s.e.Ret {
		return // onto itself
	}
	known, was := table.Find(s.e.FD()) != nil, table.Find(s.e.Ret)
	v, closes := int64(fd), replaces && was != nil && fileOf(was).isFile()
	switch {
	case closes:
		v = numberAt(table, s.e.Ret)
		ds.order.after(numbersOf(table).freed[int32(v)], format.EdgeDescriptor)
		ds.fds.afterUses(table, was)
	case known && s.why == reasonNone:
		v = int64(ds.fds.newNumber(table, s.e.Ret))
	}
	ds.state.Apply(s.t.Thread, s.e)
	if known && s.why == reasonNone && table.Find(s.e.Ret) != nil {
		of := ds.fds.used(table, s.e.Ret)
		of.opened, of.number = ds.order.here, int32(v)
		ds.fds.free(table, of.number)
		if closes && of.number != fd {
			ds.fds.take(ds.fds.ownNumbers(table), of.number) // the close has given it back
		}
	}
	if s.out.Ret = v; replaces {
		s.out.Args[s.out.Op.Info().At.NewFD] = v
	}
	if s.why != reasonNone && closes {
		// The new descriptor replaces a file but is not a file itself. In the trace,
		// the call is a close of that file.
		*s.out = format.Event{Op: format.OpClose, Start: s.e.Start, Dur: s.e.Dur, Args: [format.MaxArgs]int64{v}}
		s.why = reasonNone
	}
}

// stray is a descriptor whose open is not in the recording: it was open before without
// a note of the recorder, or events were lost.
type stray struct {
	process int32
	fd      int32
	closes  int // how often the number was closed before
}

// repair opens a descriptor of unknown origin that is a file, before the first event
// that uses it, so that a replay performs its I/O. The file gets a name of its own.
func (ds *descriptors) repair(s *simEvent) {
	t, e := s.t, s.e
	info, fd := e.Op.Info(), int32(e.FD())
	if fd < 0 || t.Table.Find(int64(fd)) != nil {
		return
	}
	switch e.FileType() {
	case format.TypeFifo, format.TypeSock, format.TypeChr, format.TypePseudo:
		// An accepted socket, an eventfd: the recorder notes at each read and
		// write what it is.
		ds.state.Put(t.Table, int64(fd), process.Descriptor{Description: ds.newFile(0).Description})
		return
	}
	lost := stray{t.proc.num, fd, numbersOf(t.Table).closes[fd]}
	if !ds.learned.strays[lost] {
		if info.Args[info.At.FD].Role == format.RoleFile && e.Ret >= 0 && !ds.learned.closed {
			ds.learned.strays[lost], ds.learned.more = true, true
			ds.learned.bytes += inMap
			ds.budget.take(forNames, inMap)
		}
		return
	}
	ds.report.Repaired++
	ds.simulate(&format.Event{
		Op: format.OpOpen, TID: e.TID, Start: e.Start, Ret: int64(fd), Args: [format.MaxArgs]int64{1: format.RDWR},
		Str: [format.MaxStrings][]byte{fmt.Appendf(nil, "/pianola_unknown_%d_%d_%d", lost.process, lost.fd, lost.closes)},
	})
}
