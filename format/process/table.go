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
	File   *File           // nil where who follows has no use for it
	Flags  int64           // canonical, those of the open and what fcntl made of them; 0 for what was not opened by a name
	Type   format.FileType // as noted at the open
	Offset int64           // bytes, as far as the recording tells
	Serial int64           // counts descriptions from 1, so that one that is used again can be told from what it was

	// Data belongs to who follows. It stays when the description is used
	// again for another.
	Data any

	refs int32 // pages, and late descriptors, that lead to it
	next *Description
}

// Append reports whether writes go to the end of the file.
func (d *Description) Append() bool { return d.Flags&format.APPEND != 0 }

// settable are the flags that fcntl can change.
const settable = format.APPEND | format.ASYNC | format.DIRECT | format.NOATIME | format.NONBLOCK

// Descriptor is what a number of a table leads to.
type Descriptor struct {
	*Description // nil where the number is not open
	Cloexec      bool

	// Data belongs to who follows. Copies of a table that forks make share
	// it, so it must say whose it is, or not change.
	Data any
}

// Table is a table of descriptors, shared by threads that were cloned with
// CLONE_FILES. Numbers lie in pages, which a table and the copies of it that
// forks make share until one changes something in them.
type Table struct {
	Data any // belongs to who follows; a copy of the table begins without

	index *index // nil for none
	users int    // threads that share the table

	// late holds descriptors whose number was given out anew before the event
	// that closes them: close frees its number before it returns, and events
	// come in the order in which calls return. See State.Put.
	late map[int32]*Descriptor
}

// index finds the pages of tables.
type index struct {
	low    []*page         // the first, by number / pageFDs
	high   map[int32]*page // those beyond lowPages
	tables int             // that share it
}

// page is the descriptors of consecutive numbers.
type page struct {
	fds     [pageFDs]Descriptor
	indexes int // that share it
}

const (
	pageFDs  = 32
	lowPages = 64
)

// What parts of a table take, in bytes, as State.Took is told.
const (
	tableBytes = int(unsafe.Sizeof(Table{}) + unsafe.Sizeof(index{}))
	pageBytes  = int(unsafe.Sizeof(page{}))
	lateBytes  = 2 * int(unsafe.Sizeof(Descriptor{}))
	lowBytes   = 16 // of a pointer, in a list that grows by doubling
	highBytes  = 48 // of a number and a pointer, in a map that is three fifths full
)

// DescriptionBytes is what a Description takes, in bytes.
const DescriptionBytes = int(unsafe.Sizeof(Description{}))

func (x *index) page(n int32) *page {
	if int(n) < len(x.low) {
		return x.low[n]
	}
	return x.high[n] // none among them is low
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

// bytes returns what an index takes besides itself.
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

// Find returns what a descriptor, of which the lower 32 bits count, leads to. It
// must not be changed, and is valid until the table changes; nil for none.
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

// At returns the description that a descriptor leads to, nil if that is not
// known.
func (t *Table) At(fd int64) *Description {
	if d := t.Find(fd); d != nil {
		return d.Description
	}
	return nil
}

// Closing returns what a close of a number is about: the oldest that it led to
// and that was not closed yet, nil for none. It must not be changed.
func (t *Table) Closing(fd int64) *Descriptor {
	if d := t.late[int32(fd)]; d != nil {
		return d
	}
	return t.Find(fd)
}

// All yields the descriptors in the order of their numbers, without those that
// are late to be closed. They must not be changed, but the table may.
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

// Hold adds the bytes that a table takes, and calls each for its descriptors,
// but for what first says is counted already.
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

// tables makes tables and descriptions.
type tables struct {
	// Closed is called for each number that a call closes: of the table of
	// the thread, which may not be changed meanwhile. It is not called where
	// a table ends with its last thread. It can be nil.
	Closed func(t *Thread, fd int32, d Descriptor)

	// Dropped is called for each description that no descriptor leads to any
	// more, as it was. It can be nil.
	Dropped func(*Description)

	// Took is called for memory that tables take, in bytes. It can be nil.
	Took func(bytes int)

	held   int          // bytes of pages and indexes, those that are shared counted once
	most   int          // bytes that they may take; what finds no room is not followed
	opened int64        // descriptions so far
	free   *Description // those that nothing leads to any more
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

// Open returns a description, which must be Put into a table.
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

// drop takes one off the references of a description.
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

// own returns the page of a number, to be changed. Where there is no room for one
// its numbers lead nowhere, and it returns nil.
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

// Own returns what a number leads to, to be changed; nil for none.
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

// Put makes a number lead to a descriptor. What the number led to was closed by a
// call whose event has not come yet, for the kernel gives out no number that is
// open: that event will be about it.
//
// To put such a close before the open, as it was, the order of events would have
// to be made up: the open, and all that depends on it, held back until the close
// has come, which a slow file system can make late by seconds, and which never
// comes where events were lost. So it is the table that remembers.
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

// remove takes away what a number leads to now.
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

// close does what close did: its number may lead elsewhere by now.
func (s *State) close(t *Thread, fd int32) {
	if d := t.Table.late[fd]; d != nil {
		delete(t.Table.late, fd)
		s.closed(t, fd, *d)
		return
	}
	s.remove(t, fd)
}

// closeRange closes descriptors, or marks them to be closed by an exec.
func (s *State) closeRange(t *Thread, first, last uint32, cloexec bool) {
	for fd, d := range t.Table.All {
		switch {
		case uint32(fd) < first || uint32(fd) > last:
		case !cloexec:
			s.remove(t, fd)
		case !d.Cloexec:
			if d := s.Own(t.Table, int64(fd)); d != nil {
				d.Cloexec = true
			}
		}
	}
}

// dup makes the number that the call returned lead where another does. What it
// led to before is closed if the call gave the number: then it is what is open
// now that the kernel closed, while a close that is late is about an older one.
func (s *State) dup(t *Thread, e *format.Event) {
	from, n := t.Table.Find(e.FD()), int32(e.Ret)
	if int64(n) == e.FD() && e.NewFD() >= 0 {
		return
	}
	to := (*Description)(nil)
	if from != nil {
		to = from.Description
		to.refs++ // it can go meanwhile
	}
	if e.NewFD() >= 0 || to == nil {
		s.remove(t, n)
	}
	if to != nil {
		s.Put(t.Table, e.Ret, Descriptor{Description: to, Cloexec: e.Cloexec()})
		s.drop(to)
	}
}

// fcntl sets the flags of a descriptor or a description.
func (s *State) fcntl(t *Thread, e *format.Event) {
	fd := e.FD()
	switch e.Args[1] {
	case format.FSetfd:
		if d := t.Table.Find(fd); d != nil && d.Cloexec != (e.Args[2]&1 != 0) {
			if d := s.Own(t.Table, fd); d != nil {
				d.Cloexec = !d.Cloexec
			}
		}
	case format.FSetfl:
		if d := t.Table.At(fd); d != nil {
			d.Flags = d.Flags&^settable | e.Args[2]&settable
		}
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

// alone gives a thread a table that it shares with no other.
func (s *State) alone(t *Thread) {
	if t.Table.users > 1 {
		t.Table.users--
		t.Table = s.fork(t.Table)
	}
}

// exec closes what is close-on-exec.
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
	t.index, t.late, t.Data = nil, nil, nil // who follows can still have the table
}

// release takes one off the indexes that share a page.
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
