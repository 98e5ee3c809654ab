package process

import (
	"slices"

	"pianola/format"
)

// Description is an open file description. Descriptors of several tables can
// lead to it.
type Description struct {
	File   *File
	Flags  int64           // canonical, those of the open and what fcntl made of them; 0 for what was not opened by a name
	Type   format.FileType // as noted at the open
	Offset int64           // bytes, as far as the recording tells
	Serial int64           // counts descriptions from 1, so that one that is used again can be told from what it was

	// Data belongs to who follows. It stays when the description is used
	// again for another.
	Data any

	refs int32
	next *Description
}

// Append reports whether writes go to the end of the file.
func (d *Description) Append() bool { return d.Flags&format.APPEND != 0 }

// settable are the flags that fcntl can change.
const settable = format.APPEND | format.ASYNC | format.DIRECT | format.NOATIME | format.NONBLOCK

// slot is what a descriptor leads to.
type slot struct {
	*Description // nil where the descriptor is not open
	cloexec      bool
}

// slots are the descriptors of a table, by number. A table and the copies of it
// that forks make share them until one changes something.
type slots struct {
	list   []slot
	tables int // that share it
}

// Table is a table of descriptors.
type Table struct {
	slots *slots // nil for none
	// late holds descriptors whose number was given out anew before the event
	// that closes them: close frees its number before it returns.
	late  map[int32]slot
	users int // threads that share the table
}

// descriptors gives out tables and descriptions.
type descriptors struct {
	slots  int          // of all tables, those that are shared counted once
	opened int64        // descriptions so far
	free   *Description // those that nothing leads to any more
}

// maxSlots bounds the slots of all tables together, 16 MiB of them. What finds
// no room is not followed.
const maxSlots = 1 << 20

// At returns what a descriptor leads to, nil if that is not known.
func (t *Table) At(fd int64) *Description {
	if s := t.all(); fd >= 0 && fd < int64(len(s)) {
		return s[fd].Description
	}
	return nil
}

// all returns the descriptors, which are not to be changed.
func (t *Table) all() []slot {
	if t.slots == nil {
		return nil
	}
	return t.slots.list
}

// own returns the descriptors, to be changed. Where there is no room for a copy
// the table becomes empty.
func (ds *descriptors) own(t *Table) []slot {
	s := t.slots
	if s == nil || s.tables == 1 {
		return t.all()
	}
	s.tables--
	t.slots = nil
	if ds.slots+len(s.list) > maxSlots {
		return nil
	}
	ds.slots += len(s.list)
	t.slots = &slots{list: slices.Clone(s.list), tables: 1}
	for _, s := range t.slots.list {
		if s.Description != nil {
			s.refs++
		}
	}
	return t.slots.list
}

// open returns a description of a file, which must be put into a table.
func (ds *descriptors) open(f *File) *Description {
	ds.opened++
	d := ds.free
	if d == nil {
		d = new(Description)
	} else {
		ds.free = d.next
	}
	*d = Description{File: f, Serial: ds.opened, Data: d.Data}
	return d
}

// set makes a descriptor lead somewhere.
func (fl *Follower) set(t *Table, fd int64, d *Description, cloexec bool) {
	d.refs++
	list := fl.own(t)
	if fd >= int64(len(list)) && !fl.grow(t, fd) || fd < 0 {
		fl.drop(d)
		return
	}
	list = t.slots.list
	if old := list[fd]; old.Description != nil {
		if t.late == nil {
			t.late = make(map[int32]slot)
		}
		if older := t.late[int32(fd)]; older.Description != nil {
			fl.drop(older.Description)
		}
		t.late[int32(fd)] = old
	}
	list[fd] = slot{d, cloexec}
}

// grow makes room for a number in a table of its own, and reports whether it may.
func (ds *descriptors) grow(t *Table, fd int64) bool {
	list := t.all()
	n := max(64, len(list))
	for fd >= int64(n) && n < maxSlots {
		n *= 2
	}
	if fd >= int64(n) || ds.slots+n-len(list) > maxSlots {
		return false
	}
	ds.slots += n - len(list)
	t.slots = &slots{list: append(list, make([]slot, n-len(list))...), tables: 1}
	return true
}

// closing returns what a close of the descriptor is about.
func (t *Table) closing(fd int64) *Description {
	if s := t.late[int32(fd)]; s.Description != nil && int64(int32(fd)) == fd {
		return s.Description
	}
	return t.At(fd)
}

func (fl *Follower) close(t *Table, fd int64) {
	if d := t.closing(fd); d == nil {
		return
	} else if d != t.At(fd) {
		delete(t.late, int32(fd))
		fl.drop(d)
	} else {
		if list := fl.own(t); list != nil {
			list[fd] = slot{}
			fl.drop(d)
		}
	}
}

func (fl *Follower) drop(d *Description) {
	if d.refs--; d.refs == 0 {
		if fl.Dropped != nil {
			fl.Dropped(d)
		}
		d.File = nil
		d.next, fl.free = fl.free, d
	}
}

// closeRange closes descriptors, or marks them to be closed by an exec.
func (fl *Follower) closeRange(t *Table, first, last int64, cloexec bool) {
	list := fl.own(t)
	for fd := max(first, 0); fd <= last && fd < int64(len(list)); fd++ {
		s := &list[fd]
		if s.Description == nil {
			continue
		}
		if s.cloexec = true; !cloexec {
			fl.drop(s.Description)
			*s = slot{}
		}
	}
}

// fork returns a copy of a table.
func fork(t *Table) *Table {
	c := &Table{slots: t.slots, users: 1}
	if t.slots != nil {
		t.slots.tables++
	}
	return c
}

// alone returns a table that its thread shares with no other.
func alone(t *Table) *Table {
	if t.users <= 1 {
		return t
	}
	t.users--
	return fork(t)
}

// exec closes what is close-on-exec.
func (fl *Follower) exec(t *Table) {
	closes := func(s slot) bool { return s.Description != nil && s.cloexec }
	if !slices.ContainsFunc(t.all(), closes) {
		return
	}
	list := fl.own(t)
	for fd, s := range list {
		if closes(s) {
			fl.drop(s.Description)
			list[fd] = slot{}
		}
	}
}

// leave ends the use of a table by a thread.
func (fl *Follower) leave(t *Table) {
	if t.users--; t.users > 0 {
		return
	}
	if s := t.slots; s != nil {
		if s.tables--; s.tables == 0 {
			for _, s := range s.list {
				if s.Description != nil {
					fl.drop(s.Description)
				}
			}
			fl.slots -= len(s.list)
		}
	}
	for _, s := range t.late {
		fl.drop(s.Description)
	}
	t.slots, t.late = nil, nil
}

// copyTo makes a descriptor lead where d does. What it led to before is closed
// if the call says so.
func (fl *Follower) copyTo(t *Table, e *format.Event, d *Description) {
	switch fd := e.FD(); {
	case !e.Copies():
		switch e.Args[1] {
		case format.FSetfd:
			if list := fl.own(t); list != nil {
				list[fd].cloexec = e.Args[2]&1 != 0
			}
		case format.FSetfl:
			d.Flags = d.Flags&^settable | e.Args[2]&settable
		}
		return
	case e.NewFD() == fd:
		return
	case e.NewFD() >= 0:
		if old := t.At(e.Ret); old != nil {
			if list := fl.own(t); list != nil {
				list[e.Ret] = slot{}
				fl.drop(old)
			}
		}
	}
	fl.set(t, e.Ret, d, e.Cloexec())
}
