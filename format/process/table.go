package process

import (
	"maps"
	"slices"
	"unsafe"

	"pianola/format"
)

// Description is an open file description. Descriptors of several tables can
// lead to it.
type Description struct {
	File   *File           // nil if the caller does not use it
	Flags  int64           // canonical flags, from the open and later fcntls; 0 if it was not opened by a name
	Type   format.FileType // as noted at the open
	Kind   Kind            // as far as a Follower knows
	Offset int64           // bytes, as far as the recording tells
	Serial int64           // counts descriptions from 1, and identifies a reused Description

	// Data is for the caller. It stays when the Description is reused.
	Data any

	refs int32 // descriptors in pages and late ones that lead to it
	next *Description
}

// Append reports whether writes go to the end of the file.
func (d *Description) Append() bool { return d.Flags&format.APPEND != 0 }

// settable are the flags that fcntl can change.
const settable = format.APPEND | format.ASYNC | format.DIRECT | format.NOATIME | format.NONBLOCK

// Descriptor is a descriptor of a table.
type Descriptor struct {
	*Description // nil if the number is closed
	Cloexec      bool

	// Data is for the caller. Copies of the table, made by forks, share it, so
	// it must identify its table, or be immutable.
	Data any
}

// Table is a table of descriptors, shared by threads that were cloned with
// CLONE_FILES. It consists of pages, which a table shares with its copies, made
// by forks, until one of them changes a page.
type Table struct {
	Data any // for the caller; nil in a copy of the table

	index *index // nil for none
	users int    // threads that share the table

	// late holds descriptors whose number was reused before the event that
	// closes them: close frees its number before it returns, and events are in
	// the order in which calls return. See State.Put.
	late map[int32]*Descriptor
}

// index finds the pages of tables.
type index struct {
	low    []*page         // the first, by number / pageFDs
	high   map[int32]*page // those beyond lowPages
	tables int             // how many share it
}

// page is the descriptors of consecutive numbers.
type page struct {
	fds     [pageFDs]Descriptor
	indexes int // how many share it
}

const (
	pageFDs  = 32
	lowPages = 64
)

// The sizes of parts of a table in bytes, as passed to State.Took.
const (
	tableBytes = int(unsafe.Sizeof(Table{}) + unsafe.Sizeof(index{}))
	pageBytes  = int(unsafe.Sizeof(page{}))
	lateBytes  = 2 * int(unsafe.Sizeof(Descriptor{}))
	lowBytes   = 16 // a pointer in a slice that grows by doubling
	highBytes  = 48 // a number and a pointer in a map that is three fifths full
)

// DescriptionBytes is the size of a Description in bytes.
const DescriptionBytes = int(unsafe.Sizeof(Description{}))

func (x *index) page(n int32) *page {
	if int(n) < len(x.low) {
		return x.low[n]
	}
	return x.high[n] // low has none of them
}

// setPage sets a page, nil for none.
func (x *index) setPage(n int32, p *page) {
	switch {
	case n < lowPages:
		for int(n) >= len(x.low) {
			x.low = append(x.low, nil)
		}
		x.low[n] = p
	case p == nil:
		delete(x.high, n)
	default:
		if x.high == nil {
			x.high = make(map[int32]*page)
		}
		x.high[n] = p
	}
}

// bytes returns the memory that an index refers to.
func (x *index) bytes() int { return len(x.low)*lowBytes + len(x.high)*highBytes }

// pages yields the pages in their order, with the numbers of their first
// descriptors.
func (x *index) pages(yield func(first int32, p *page) bool) {
	for n, p := range x.low {
		if p != nil && !yield(int32(n)*pageFDs, p) {
			return
		}
	}
	if len(x.high) == 0 {
		return
	}
	for _, n := range slices.Sorted(maps.Keys(x.high)) {
		if !yield(n*pageFDs, x.high[n]) {
			return
		}
	}
}

// Find returns the descriptor with the number in the lower 32 bits of fd, nil
// for none. It must not be changed, and is valid until the table changes.
func (t *Table) Find(fd int64) *Descriptor {
	n := int32(fd)
	if n < 0 || t.index == nil {
		return nil
	}
	p := t.index.page(n / pageFDs)
	if p == nil || p.fds[n%pageFDs].Description == nil {
		return nil
	}
	return &p.fds[n%pageFDs]
}

// At returns the description that a descriptor leads to, nil if unknown.
func (t *Table) At(fd int64) *Description {
	if d := t.Find(fd); d != nil {
		return d.Description
	}
	return nil
}

// Closing returns the descriptor that a close of a number closes: the oldest
// one that was not closed yet, nil for none. It must not be changed.
func (t *Table) Closing(fd int64) *Descriptor {
	if d := t.late[int32(fd)]; d != nil {
		return d
	}
	return t.Find(fd)
}

// All yields the open descriptors in the order of their numbers. They must not
// be changed, but the table may.
func (t *Table) All(yield func(fd int32, d *Descriptor) bool) {
	if t.index == nil {
		return
	}
	for first, p := range t.index.pages {
		for i := range p.fds {
			if p.fds[i].Description != nil && !yield(first+int32(i), &p.fds[i]) {
				return
			}
		}
	}
}

// Hold adds the bytes of a table, and calls each for its descriptors. It skips
// parts for which first returns false, because they are already counted.
func (t *Table) Hold(first func(any) bool, add func(bytes int), each func(*Descriptor)) {
	if first(t) {
		add(tableBytes + len(t.late)*lateBytes)
		for _, d := range t.late {
			each(d)
		}
	}
	if t.index == nil || !first(t.index) {
		return
	}
	add(t.index.bytes())
	for _, p := range t.index.pages {
		if !first(p) {
			continue
		}
		add(pageBytes)
		for i := range p.fds {
			if p.fds[i].Description != nil {
				each(&p.fds[i])
			}
		}
	}
}

// tables creates tables and descriptions.
type tables struct {
	// Closed is called for each number of the thread's table that a call
	// closes. It may not change the table. It is not called when a table ends
	// with its last thread. It can be nil.
	Closed func(t *Thread, fd int32, d Descriptor)

	// Dropped is called for each description after its last descriptor was
	// closed. It can be nil.
	Dropped func(*Description)

	// Took is called with the bytes that tables allocate. It can be nil.
	Took func(bytes int)

	held   int          // bytes of pages and indexes; shared ones count once
	most   int          // limit of held; descriptors beyond it are not followed
	opened int64        // descriptions so far
	free   *Description // for reuse
}

func (ts *tables) take(bytes int) {
	if ts.Took != nil {
		ts.Took(bytes)
	}
}

// hold takes memory that is given back.
func (ts *tables) hold(bytes int) {
	ts.held += bytes
	ts.take(bytes)
}

func (ts *tables) newTable(users int) *Table {
	ts.take(tableBytes)
	return &Table{users: users}
}

// Open returns a new description, which must be Put into a table.
func (ts *tables) Open(f *File, flags int64) *Description {
	ts.opened++
	d := ts.free
	if d == nil {
		d = new(Description)
	} else {
		ts.free = d.next
	}
	*d = Description{File: f, Flags: flags, Serial: ts.opened, Data: d.Data}
	return d
}

// drop removes a reference to a description.
func (ts *tables) drop(d *Description) {
	if d.refs--; d.refs > 0 {
		return
	}
	if ts.Dropped != nil {
		ts.Dropped(d)
	}
	d.File = nil
	d.next, ts.free = ts.free, d
}

// own returns the page of a number, to be changed. It returns nil if there is
// no room for the page; then its numbers are not followed.
func (ts *tables) own(t *Table, fd int32) *page {
	n := fd / pageFDs
	if t.index != nil && t.index.tables == 1 {
		if p := t.index.page(n); p != nil && p.indexes == 1 {
			return p
		}
	}
	room := ts.held+pageBytes+highBytes <= ts.most
	if x := t.index; x == nil {
		t.index = &index{tables: 1}
	} else if x.tables > 1 {
		x.tables--
		t.index = &index{tables: 1}
		if room = ts.held+x.bytes()+pageBytes+highBytes <= ts.most; !room {
			return nil
		}
		t.index.low, t.index.high = slices.Clone(x.low), maps.Clone(x.high)
		ts.take(tableBytes)
		ts.hold(t.index.bytes())
		for _, p := range t.index.pages {
			p.indexes++
		}
	}
	old, before, c := t.index.page(n), t.index.bytes(), (*page)(nil)
	if room {
		c = &page{indexes: 1}
		ts.hold(pageBytes)
	}
	if old != nil && c != nil {
		c.fds = old.fds
		for i := range c.fds {
			if d := c.fds[i].Description; d != nil {
				d.refs++
			}
		}
	}
	if old != nil || c != nil {
		t.index.setPage(n, c)
		ts.hold(t.index.bytes() - before)
	}
	if old != nil {
		ts.release(old)
	}
	return c
}

// Own returns the descriptor of a number, to be changed, nil for none.
func (ts *tables) Own(t *Table, fd int64) *Descriptor {
	if t.Find(fd) == nil {
		return nil
	}
	n := int32(fd)
	p := ts.own(t, n)
	if p == nil {
		return nil
	}
	return &p.fds[n%pageFDs]
}

// Put adds a descriptor with a number. If the table has a descriptor with that
// number, a call whose event is yet to come has closed it, because the kernel
// returns only free numbers. That event will be about the old descriptor.
//
// Rejected: to move the close before the open. The open, and everything that
// depends on it, would have to wait for the event of the close. A slow file
// system can delay it by seconds, and it never comes if events were lost. So
// the table remembers the old descriptor.
func (ts *tables) Put(t *Table, fd int64, d Descriptor) {
	d.refs++
	n := int32(fd)
	p := (*page)(nil)
	if n >= 0 {
		p = ts.own(t, n)
	}
	if p == nil {
		ts.drop(d.Description)
		return
	}
	at := &p.fds[n%pageFDs]
	if at.Description != nil {
		if t.late == nil {
			t.late = make(map[int32]*Descriptor)
		}
		if older := t.late[n]; older != nil {
			ts.drop(older.Description)
			*older = *at
		} else {
			ts.take(lateBytes)
			old := *at
			t.late[n] = &old
		}
	}
	*at = d
}

// remove removes the descriptor of a number.
func (s *State) remove(t *Thread, fd int32) {
	d := s.Own(t.Table, int64(fd))
	if d == nil {
		return
	}
	was := *d
	*d = Descriptor{}
	s.closed(t, fd, was)
}

func (s *State) closed(t *Thread, fd int32, d Descriptor) {
	if s.Closed != nil {
		s.Closed(t, fd, d)
	}
	s.drop(d.Description)
}

// close applies a close, whose number may have been reused.
func (s *State) close(t *Thread, fd int32) {
	if d := t.Table.late[fd]; d != nil {
		delete(t.Table.late, fd)
		s.closed(t, fd, *d)
		return
	}
	s.remove(t, fd)
}

// dup adds a copy of a descriptor with the number that the call returned. If
// the number was an argument (dup2), the call closed the descriptor that has
// the number now; a late close is about an older one.
func (s *State) dup(t *Thread, e *format.Event) {
	from, n := t.Table.Find(e.FD()), int32(e.Ret)
	if int64(n) == e.FD() && e.NewFD() >= 0 {
		return
	}
	to := (*Description)(nil)
	if from != nil {
		to = from.Description
		to.refs++ // Put can drop the last reference
	}
	if e.NewFD() >= 0 || to == nil {
		s.remove(t, n)
	}
	if to != nil {
		s.Put(t.Table, e.Ret, Descriptor{Description: to, Cloexec: e.Cloexec()})
		s.drop(to)
	}
}

// mark closes descriptors, or sets flags of them or of what they lead to.
func (s *State) mark(t *Thread, f *Fact) {
	e := f.Event
	switch first, last := f.Range(); {
	case e.FD() >= 0 && f.Did.Any(format.Closes):
		s.close(t, int32(first))
	case e.FD() >= 0: // fcntl
		if d := t.Table.Find(e.FD()); d == nil {
			return
		} else if e.Args[1] == format.FSetfl {
			d.Flags = d.Flags&^settable | e.Args[2]&settable
		} else if d.Cloexec != (e.Args[2]&1 != 0) {
			s.setCloexec(t, e.FD(), !d.Cloexec)
		}
	default:
		for fd, d := range t.Table.All {
			switch {
			case uint32(fd) < first || uint32(fd) > last:
			case f.Did.Any(format.Closes):
				s.remove(t, fd)
			case !d.Cloexec:
				s.setCloexec(t, int64(fd), true)
			}
		}
	}
}

func (s *State) setCloexec(t *Thread, fd int64, on bool) {
	if d := s.Own(t.Table, fd); d != nil {
		d.Cloexec = on
	}
}

// fork returns a copy of a table.
func (ts *tables) fork(t *Table) *Table {
	c := ts.newTable(1)
	if c.index = t.index; t.index != nil {
		t.index.tables++
	}
	return c
}

// alone gives a thread a table of its own.
func (s *State) alone(t *Thread) {
	if t.Table.users > 1 {
		t.Table.users--
		t.Table = s.fork(t.Table)
	}
}

// exec closes descriptors that are close-on-exec.
func (s *State) exec(t *Thread) {
	s.alone(t)
	for fd, d := range t.Table.All {
		if d.Cloexec {
			s.remove(t, fd)
		}
	}
}

// leave ends the use of a table by a thread.
func (ts *tables) leave(t *Table) {
	if t.users--; t.users > 0 {
		return
	}
	if x := t.index; x != nil {
		if x.tables--; x.tables == 0 {
			ts.held -= x.bytes()
			for _, p := range x.pages {
				ts.release(p)
			}
		}
	}
	for _, fd := range slices.Sorted(maps.Keys(t.late)) {
		ts.drop(t.late[fd].Description)
	}
	t.index, t.late, t.Data = nil, nil, nil // the caller can still hold the table
}

// release removes an index from those that share a page.
func (ts *tables) release(p *page) {
	if p.indexes--; p.indexes > 0 {
		return
	}
	ts.held -= pageBytes
	for i := range p.fds {
		if d := p.fds[i].Description; d != nil {
			ts.drop(d)
		}
	}
}
