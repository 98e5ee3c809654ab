package compile

import (
	"math"

	"pianola/format"
	"pianola/format/process"
)

// A trace has its own descriptor numbers if threads share a table. The kernel gives an
// open the lowest free number, which is often one that another thread has just closed.
// That ties the two threads in the recorded order only by chance, and a replay that
// kept the number would make them wait for each other. So an open keeps the recorded
// number only if the close of that number comes before the open anyway.

// descriptors is the concern of descriptors: which events made and used them, and their numbers.
type descriptors struct {
	*pass
	moved bool // some descriptor has another number in the trace
}

func (ds *descriptors) enlist() {
	ds.ahead(ds.repair, func(i *format.Info) bool { return i.At.FD >= 0 && i.Class != format.ClassMemory })
	ds.when(factClosed, ds.closed)
	ds.when(factBegan, ds.began)
	ds.always(ds.close, format.Closes)
	ds.always(ds.copied, format.Duplicates)
	ds.always(ds.made, format.Channels)
}

// closed is told of each number that the current event closes.
func (ds *descriptors) closed(f fact) {
	t, d, v := f.t, f.d, numberOf(f.fd, f.d)
	if n, ok := t.Table.Data.(*numbers); ok && v != f.fd {
		delete(n.taken, v)
	}
	if f.s.acts().Any(format.Execs) {
		return // no other thread is left
	}
	ds.afterUses(t.Table, d)
	if f.s.out.Op.Info().At.FD < 0 && fileOf(d).isFile() { // close_range
		ds.free(t.Table, v)
	}
}

// began notes that a fork copied a table.
func (ds *descriptors) began(f fact) {
	if f.maker != nil && f.maker.Table != f.t.Table {
		ds.copies(f.maker.Table)
	}
}

// numbers is the state of the descriptor numbers of a table. All fields except closes
// use the numbers of the trace.
type numbers struct {
	freed  map[int32]place    // the newest event that closed each number; an open that returns the number must come after it
	taken  map[int32]struct{} // numbers of open descriptors that differ from the recorded ones
	spare  map[int32][]int32  // numbers that each thread has closed of late
	high   int32              // above all numbers that were used
	closes map[int32]int      // how often each recorded number was closed

	changed []place // the newest event of each thread that added or removed a descriptor
	copied  []place // the newest fork of each thread, which copied the table
}

// maxSpare bounds the numbers that a thread keeps for its next opens.
const maxSpare = 64

// numbersOf returns the numbers of a table, read-only.
func numbersOf(t *process.Table) *numbers {
	if n, ok := t.Data.(*numbers); ok {
		return n
	}
	return &noNumbers
}

var noNumbers numbers

// ownNumbers returns the numbers of a table, to be changed.
func (ds *descriptors) ownNumbers(t *process.Table) *numbers {
	if n, ok := t.Data.(*numbers); ok {
		return n
	}
	n := &numbers{freed: map[int32]place{}, taken: map[int32]struct{}{}, spare: map[int32][]int32{}, closes: map[int32]int{}}
	ds.budget.take(forDescriptors, numbersBytes)
	for fd, d := range t.All {
		v := numberOf(fd, d)
		if v >= firstHidden {
			continue // it gets its number now
		}
		if v != fd {
			ds.take(n, v)
		}
		if n.high = max(n.high, v+1); fd < firstHidden {
			n.high = max(n.high, fd+1)
		}
	}
	t.Data = n
	return n
}

// take records that a number differs from the recorded one.
func (ds *descriptors) take(n *numbers, v int32) {
	n.taken[v] = struct{}{}
	ds.budget.take(forDescriptors, inMap)
}

// numberOf returns the number in the trace of a descriptor, given the recorded one.
func numberOf(fd int32, d *process.Descriptor) int32 {
	if of, ok := d.Data.(*uses); ok && of.number > 0 {
		return of.number
	}
	return fd
}

// numberAt returns the number in the trace for a number in the recording.
func numberAt(t *process.Table, fd int64) int64 {
	if d := t.Find(fd); d != nil {
		return int64(numberOf(int32(fd), d))
	}
	return fd
}

// newNumber returns the number in the trace of a new descriptor, before it is in the
// table. It orders the current event after the uses of the number before.
func (ds *descriptors) newNumber(t *process.Table, fd int64) int32 {
	r, hidden := int32(fd), fd >= firstHidden
	if ds.order.planning || ds.order.alone && !ds.moved && !hidden {
		return r
	}
	n := ds.ownNumbers(t)
	if !hidden {
		n.high = max(n.high, r+1)
	}
	if hidden || r >= firstMoved && !ds.learned.ranges && !ds.isFree(t, n, r) {
		v := ds.otherNumber(t, n)
		n.high = max(n.high, v+1)
		ds.take(n, v)
		ds.moved = true
		return v
	}
	ds.order.after(n.freed[r], format.EdgeDescriptor)
	if d := t.Closing(fd); d != nil {
		ds.afterUses(t, d)
	}
	return r
}

// firstMoved is the lowest number that can differ in the trace. Lower numbers, and
// calls of close_range from there on, are the same as in the recording.
const firstMoved = 3

// otherNumber returns a number for which the current event does not have to wait.
func (ds *descriptors) otherNumber(t *process.Table, n *numbers) int32 {
	own := n.spare[ds.order.self]
	for len(own) > 0 {
		v := own[len(own)-1]
		own = own[:len(own)-1]
		n.spare[ds.order.self] = own
		if ds.isFree(t, n, v) {
			return v
		}
	}
	return n.high
}

// isFree reports whether an open can get a number without waiting for another thread:
// it is closed, and what closed it comes before the current event.
func (ds *descriptors) isFree(t *process.Table, n *numbers, v int32) bool {
	if _, taken := n.taken[v]; taken {
		return false
	}
	for _, d := range [...]*process.Descriptor{t.Find(int64(v)), t.Closing(int64(v))} {
		if d != nil && fileOf(d).isFile() && numberOf(v, d) == v {
			return false
		}
	}
	return ds.order.follows(n.freed[v])
}

// changes records that the current event adds or removes a descriptor.
func (ds *descriptors) changes(t *process.Table) {
	if !ds.order.idle() {
		n := ds.ownNumbers(t)
		n.changed = ds.order.use(n.changed)
	}
}

// copies orders a fork, which copies the table, after what other threads have put into it
// and taken out of it.
func (ds *descriptors) copies(t *process.Table) {
	if !ds.order.idle() {
		n := ds.ownNumbers(t)
		ds.order.afterAll(n.changed, format.EdgeDescriptor)
		n.copied = ds.order.use(n.copied)
	}
}

// free records that the current event closed a number of the trace.
func (ds *descriptors) free(t *process.Table, v int32) {
	n := ds.ownNumbers(t)
	ds.order.afterAll(n.copied, format.EdgeDescriptor)
	ds.changes(t)
	if _, before := n.freed[v]; !before {
		ds.budget.take(forDescriptors, inMap)
	}
	n.freed[v], n.high = ds.order.here, max(n.high, v+1)
	if ds.order.planning || ds.order.alone && !ds.moved || v < firstMoved {
		return
	}
	own := n.spare[ds.order.self]
	switch {
	case own == nil:
		ds.budget.take(forDescriptors, spareBytes)
		own = make([]int32, 0, maxSpare)
	case len(own) == maxSpare:
		own = own[:copy(own, own[maxSpare/2:])]
	}
	n.spare[ds.order.self] = append(own, v)
}

// countClose counts a close of a recorded number.
func (ds *descriptors) countClose(t *process.Table, fd int32) {
	n := ds.ownNumbers(t)
	if _, before := n.closes[fd]; !before {
		ds.budget.take(forDescriptors, inMap)
	}
	n.closes[fd]++
}

// renumber gives an event the numbers of the trace for its descriptors, before they
// change.
func (ds *descriptors) renumber(s *simEvent) {
	if !ds.moved {
		return
	}
	info, table := s.out.Op.Info(), s.t.Table
	at := &info.At
	if info.Acts.Any(format.Closes) {
		if s.e.Ret == ebadf {
			s.out.Args[at.FD] = -1 // no number of the trace is sure to be closed
		} else if d := table.Closing(s.out.FD()); d != nil {
			s.out.Args[at.FD] = int64(numberOf(int32(s.out.FD()), d))
		}
		return
	}
	for _, i := range [...]int8{at.FD, at.OutFD, at.Paths[0].Dir} { // linkat has the file of a descriptor there
		if i >= 0 {
			s.out.Args[i] = numberAt(table, s.out.Args[i])
		}
	}
	if clones(s.out) {
		s.out.Args[2] = numberAt(table, s.out.Args[2])
	}
}

// uses is which events used a descriptor. Copies of a table share it until a
// thread of the copy uses the descriptor.
type uses struct {
	by     *process.Table
	number int32   // in the trace, if that is not the recorded one; else 0
	opened place   // the event that opened it, in its first table
	newest []place // the newest use of each thread
}

// used returns the uses of a descriptor, for the threads of a table to add to.
func (ds *descriptors) used(t *process.Table, fd int64) *uses {
	d := t.Find(fd)
	of, _ := d.Data.(*uses)
	if of != nil && of.by == t {
		return of
	}
	own := &uses{by: t}
	if of != nil {
		own.opened, own.number = of.opened, of.number
	}
	ds.budget.take(forDescriptors, usesBytes)
	ds.state.Own(t, fd).Data = own
	return own
}

// afterUses orders the current event after the open and the uses of a
// descriptor of a table.
func (ds *descriptors) afterUses(t *process.Table, d *process.Descriptor) {
	if of, ok := d.Data.(*uses); ok {
		ds.order.after(of.opened, format.EdgeDescriptor)
		if of.by == t {
			ds.order.afterAll(of.newest, format.EdgeDescriptor)
		}
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
		ds.countClose(table, fd)
	}
	ds.state.Apply(s.t.Thread, e)
	if s.why != reasonNone {
		return
	}
	v := int32(s.out.FD())
	ds.free(table, v)
	if late && table.Find(e.FD()) != nil && numberAt(table, e.FD()) == int64(v) {
		// The close of the descriptor that has the number now comes
		// after this one, which must not close it.
		of := ds.used(table, e.FD())
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

// made makes descriptors of what is no file: both ends of a pipe, or another one.
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
		ds.afterUses(table, was)
	case known && s.why == reasonNone:
		v = int64(ds.newNumber(table, s.e.Ret))
	}
	ds.state.Apply(s.t.Thread, s.e)
	if known && s.why == reasonNone && table.Find(s.e.Ret) != nil {
		of := ds.used(table, s.e.Ret)
		of.opened, of.number = ds.order.here, int32(v)
		ds.free(table, of.number)
		if closes && of.number != fd {
			ds.take(ds.ownNumbers(table), of.number) // the close has given it back
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
