package compile

import (
	"pianola/format"
	"pianola/format/process"
)

// A trace has its own descriptor numbers if threads share a table. The kernel gives an
// open the lowest free number, which is often one that another thread has just closed.
// That ties the two threads in the recorded order only by chance, and a replay that
// kept the number would make them wait for each other. So an open keeps the recorded
// number only if the close of that number comes before the open anyway.

// numbering is the descriptors of tables: which events used them, and their numbers in the trace.
type numbering struct {
	*pass
	moved bool // some descriptor has another number in the trace
}

// numbers is the state of the descriptor numbers of a table. All fields except closes
// use the numbers of the trace.
type numbers struct {
	freed  map[int32]place    // the newest event that closed each number; an open that returns the number must come after it
	taken  map[int32]struct{} // numbers of open descriptors that differ from the recorded ones
	spare  map[int32][]int32  // numbers that each thread has closed recently
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
func (nb *numbering) ownNumbers(t *process.Table) *numbers {
	if n, ok := t.Data.(*numbers); ok {
		return n
	}
	n := &numbers{freed: map[int32]place{}, taken: map[int32]struct{}{}, spare: map[int32][]int32{}, closes: map[int32]int{}}
	nb.budget.take(forDescriptors, numbersBytes)
	for fd, d := range t.All {
		v := numberOf(fd, d)
		if v >= firstHidden {
			continue // it gets its number now
		}
		if v != fd {
			nb.take(n, v)
		}
		if n.high = max(n.high, v+1); fd < firstHidden {
			n.high = max(n.high, fd+1)
		}
	}
	t.Data = n
	return n
}

// take records that a number differs from the recorded one.
func (nb *numbering) take(n *numbers, v int32) {
	n.taken[v] = struct{}{}
	nb.budget.take(forDescriptors, inMap)
}

// gives records that a table has given a number, which is not the recorded one.
func (nb *numbering) gives(t *process.Table, v int32) {
	nb.take(nb.ownNumbers(t), v)
	nb.moved = true
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
func (nb *numbering) newNumber(t *process.Table, fd int64) int32 {
	r, hidden := int32(fd), fd >= firstHidden
	if nb.order.planning || nb.order.alone && !nb.moved && !hidden {
		return r
	}
	n := nb.ownNumbers(t)
	if !hidden {
		n.high = max(n.high, r+1)
	}
	if hidden || r >= firstMoved && !nb.learned.ranges && !nb.isFree(t, n, r) {
		v := nb.otherNumber(t, n)
		n.high = max(n.high, v+1)
		nb.take(n, v)
		nb.moved = true
		return v
	}
	nb.order.after(n.freed[r], format.EdgeDescriptor)
	if d := t.Closing(fd); d != nil {
		nb.afterUses(t, d)
	}
	return r
}

// firstMoved is the lowest number that can differ in the trace. Lower numbers, and
// calls of close_range from there on, are the same as in the recording.
const firstMoved = 3

// otherNumber returns a number for which the current event does not have to wait.
func (nb *numbering) otherNumber(t *process.Table, n *numbers) int32 {
	own := n.spare[nb.order.self]
	for len(own) > 0 {
		v := own[len(own)-1]
		own = own[:len(own)-1]
		n.spare[nb.order.self] = own
		if nb.isFree(t, n, v) {
			return v
		}
	}
	return n.high
}

// isFree reports whether an open can get a number without waiting for another thread:
// it is closed, and what closed it comes before the current event.
func (nb *numbering) isFree(t *process.Table, n *numbers, v int32) bool {
	if _, taken := n.taken[v]; taken {
		return false
	}
	for _, d := range [...]*process.Descriptor{t.Find(int64(v)), t.Closing(int64(v))} {
		if d != nil && fileOf(d).isFile() && numberOf(v, d) == v {
			return false
		}
	}
	return nb.order.follows(n.freed[v])
}

// changes records that the current event adds or removes a descriptor.
func (nb *numbering) changes(t *process.Table) {
	if !nb.order.idle() {
		n := nb.ownNumbers(t)
		n.changed = nb.order.use(n.changed)
	}
}

// copies orders a fork, which copies the table, after what other threads have put into it
// and taken out of it.
func (nb *numbering) copies(t *process.Table) {
	if !nb.order.idle() {
		n := nb.ownNumbers(t)
		nb.order.afterAll(n.changed, format.EdgeDescriptor)
		n.copied = nb.order.use(n.copied)
	}
}

// free records that the current event closed a number of the trace.
func (nb *numbering) free(t *process.Table, v int32) {
	n := nb.ownNumbers(t)
	nb.order.afterAll(n.copied, format.EdgeDescriptor)
	nb.changes(t)
	if _, before := n.freed[v]; !before {
		nb.budget.take(forDescriptors, inMap)
	}
	n.freed[v], n.high = nb.order.here, max(n.high, v+1)
	if nb.order.planning || nb.order.alone && !nb.moved || v < firstMoved {
		return
	}
	own := n.spare[nb.order.self]
	switch {
	case own == nil:
		nb.budget.take(forDescriptors, spareBytes)
		own = make([]int32, 0, maxSpare)
	case len(own) == maxSpare:
		own = own[:copy(own, own[maxSpare/2:])]
	}
	n.spare[nb.order.self] = append(own, v)
}

// countClose counts a close of a recorded number.
func (nb *numbering) countClose(t *process.Table, fd int32) {
	n := nb.ownNumbers(t)
	if _, before := n.closes[fd]; !before {
		nb.budget.take(forDescriptors, inMap)
	}
	n.closes[fd]++
}

// renumber gives an event the numbers of the trace for its descriptors, before they
// change.
func (nb *numbering) renumber(s *simEvent) {
	if !nb.moved {
		return
	}
	info, table := s.out.Op.Info(), s.t.Table
	at := &info.At
	if at.FD >= 0 && info.Acts.Any(format.Closes) {
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
func (nb *numbering) used(t *process.Table, fd int64) *uses {
	d := t.Find(fd)
	of, _ := d.Data.(*uses)
	if of != nil && of.by == t {
		return of
	}
	own := &uses{by: t}
	if of != nil {
		own.opened, own.number = of.opened, of.number
	}
	nb.budget.take(forDescriptors, usesBytes)
	nb.state.Own(t, fd).Data = own
	return own
}

// afterUses orders the current event after the open and the uses of a
// descriptor of a table.
func (nb *numbering) afterUses(t *process.Table, d *process.Descriptor) {
	if of, ok := d.Data.(*uses); ok {
		nb.order.after(of.opened, format.EdgeDescriptor)
		if of.by == t {
			nb.order.afterAll(of.newest, format.EdgeDescriptor)
		}
	}
}
