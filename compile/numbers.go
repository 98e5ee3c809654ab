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
func (m *model) ownNumbers(t *process.Table) *numbers {
	if n, ok := t.Data.(*numbers); ok {
		return n
	}
	n := &numbers{freed: map[int32]place{}, taken: map[int32]struct{}{}, spare: map[int32][]int32{}, closes: map[int32]int{}}
	m.budget.take(forDescriptors, numbersBytes)
	for fd, d := range t.All {
		v := numberOf(fd, d)
		if v >= firstHidden {
			continue // it gets its number now
		}
		if v != fd {
			m.take(n, v)
		}
		if n.high = max(n.high, v+1); fd < firstHidden {
			n.high = max(n.high, fd+1)
		}
	}
	t.Data = n
	return n
}

// take records that a number differs from the recorded one.
func (m *model) take(n *numbers, v int32) {
	n.taken[v] = struct{}{}
	m.budget.take(forDescriptors, inMap)
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
func (m *model) newNumber(t *process.Table, fd int64) int32 {
	r, hidden := int32(fd), fd >= firstHidden
	if m.order.planning || m.order.alone && !m.moved && !hidden {
		return r
	}
	n := m.ownNumbers(t)
	if !hidden {
		n.high = max(n.high, r+1)
	}
	if hidden || r >= firstMoved && !m.learned.ranges && !m.isFree(t, n, r) {
		v := m.otherNumber(t, n)
		n.high = max(n.high, v+1)
		m.take(n, v)
		m.moved = true
		return v
	}
	m.order.after(n.freed[r], format.EdgeDescriptor)
	if d := t.Closing(fd); d != nil {
		m.afterUses(t, d)
	}
	return r
}

// firstMoved is the lowest number that can differ in the trace. Lower numbers, and
// calls of close_range from there on, are the same as in the recording.
const firstMoved = 3

// otherNumber returns a number for which the current event does not have to wait.
func (m *model) otherNumber(t *process.Table, n *numbers) int32 {
	own := n.spare[m.order.self]
	for len(own) > 0 {
		v := own[len(own)-1]
		own = own[:len(own)-1]
		n.spare[m.order.self] = own
		if m.isFree(t, n, v) {
			return v
		}
	}
	return n.high
}

// isFree reports whether an open can get a number without waiting for another thread:
// it is closed, and what closed it comes before the current event.
func (m *model) isFree(t *process.Table, n *numbers, v int32) bool {
	if _, taken := n.taken[v]; taken {
		return false
	}
	for _, d := range [...]*process.Descriptor{t.Find(int64(v)), t.Closing(int64(v))} {
		if d != nil && fileOf(d).isFile() && numberOf(v, d) == v {
			return false
		}
	}
	return m.order.follows(n.freed[v])
}

// changes records that the current event adds or removes a descriptor.
func (m *model) changes(t *process.Table) {
	if !m.order.idle() {
		n := m.ownNumbers(t)
		n.changed = m.order.use(n.changed)
	}
}

// copies orders a fork, which copies the table, after what other threads have put into it
// and taken out of it.
func (m *model) copies(t *process.Table) {
	if !m.order.idle() {
		n := m.ownNumbers(t)
		m.order.afterAll(n.changed, format.EdgeDescriptor)
		n.copied = m.order.use(n.copied)
	}
}

// free records that the current event closed a number of the trace.
func (m *model) free(t *process.Table, v int32) {
	n := m.ownNumbers(t)
	m.order.afterAll(n.copied, format.EdgeDescriptor)
	m.changes(t)
	if _, before := n.freed[v]; !before {
		m.budget.take(forDescriptors, inMap)
	}
	n.freed[v], n.high = m.order.here, max(n.high, v+1)
	if m.order.planning || m.order.alone && !m.moved || v < firstMoved {
		return
	}
	own := n.spare[m.order.self]
	switch {
	case own == nil:
		m.budget.take(forDescriptors, spareBytes)
		own = make([]int32, 0, maxSpare)
	case len(own) == maxSpare:
		own = own[:copy(own, own[maxSpare/2:])]
	}
	n.spare[m.order.self] = append(own, v)
}

// countClose counts a close of a recorded number.
func (m *model) countClose(t *process.Table, fd int32) {
	n := m.ownNumbers(t)
	if _, before := n.closes[fd]; !before {
		m.budget.take(forDescriptors, inMap)
	}
	n.closes[fd]++
}

// renumber gives an event the numbers of the trace for its descriptors, before they
// change.
func (m *model) renumber(s *simEvent) {
	if !m.moved {
		return
	}
	info, table := s.out.Op.Info(), s.t.Table
	at := &info.At
	if info.Effect == format.EffectClose {
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
