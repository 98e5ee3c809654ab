package profile

import "pianola/format"

// description is an open file description. Descriptors of several tables can
// lead to it.
type description struct {
	file   *file
	refs   int32
	append bool
	offset int64
	runs   [2]run // of Reads and Writes
	next   *description
}

// slot is what a descriptor leads to.
type slot struct {
	*description // nil where the descriptor is not open
	cloexec      bool
}

// table is a table of descriptors.
type table struct {
	slots []slot // by number
	// late holds descriptors whose number was given out anew before the event
	// that closes them: close frees its number before it returns.
	late  map[int32]slot
	users int // threads that share the table
}

// descriptors gives out tables and descriptions.
type descriptors struct {
	slots int          // of all tables
	free  *description // those that nothing leads to any more
}

// maxSlots bounds the slots of all tables together, 16 MiB of them. What finds
// no room is not followed.
const maxSlots = 1 << 20

// at returns what a descriptor leads to, nil if that is not known.
func (t *table) at(fd int64) *description {
	if fd < 0 || fd >= int64(len(t.slots)) {
		return nil
	}
	return t.slots[fd].description
}

// open returns a description of a file, which must be put into a table.
func (ds *descriptors) open(f *file) *description {
	d := ds.free
	if d == nil {
		d = new(description)
	} else {
		ds.free = d.next
	}
	*d = description{file: f}
	return d
}

// set makes a descriptor lead somewhere.
func (ds *descriptors) set(t *table, fd int64, d *description, cloexec bool) {
	d.refs++
	if fd >= int64(len(t.slots)) && !ds.grow(t, fd) || fd < 0 {
		ds.drop(d)
		return
	}
	if old := t.slots[fd]; old.description != nil {
		if t.late == nil {
			t.late = make(map[int32]slot)
		}
		if older := t.late[int32(fd)]; older.description != nil {
			ds.drop(older.description)
		}
		t.late[int32(fd)] = old
	}
	t.slots[fd] = slot{d, cloexec}
}

// grow makes room for a number, and reports whether it may.
func (ds *descriptors) grow(t *table, fd int64) bool {
	n := max(64, len(t.slots))
	for fd >= int64(n) && n < maxSlots {
		n *= 2
	}
	if fd >= int64(n) || ds.slots+n-len(t.slots) > maxSlots {
		return false
	}
	ds.slots += n - len(t.slots)
	t.slots = append(t.slots, make([]slot, n-len(t.slots))...)
	return true
}

// closing returns what a close of the descriptor is about.
func (t *table) closing(fd int64) *description {
	if s := t.late[int32(fd)]; s.description != nil && int64(int32(fd)) == fd {
		return s.description
	}
	return t.at(fd)
}

func (ds *descriptors) close(t *table, fd int64) {
	if d := t.closing(fd); d == nil {
		return
	} else if d != t.at(fd) {
		delete(t.late, int32(fd))
		ds.drop(d)
	} else {
		t.slots[fd] = slot{}
		ds.drop(d)
	}
}

func (ds *descriptors) drop(d *description) {
	if d.refs--; d.refs == 0 {
		d.file = nil
		d.next, ds.free = ds.free, d
	}
}

// closeRange closes descriptors, or marks them to be closed by an exec.
func (ds *descriptors) closeRange(t *table, first, last int64, cloexec bool) {
	for fd := max(first, 0); fd <= last && fd < int64(len(t.slots)); fd++ {
		s := &t.slots[fd]
		if s.description == nil {
			continue
		}
		if s.cloexec = true; !cloexec {
			ds.drop(s.description)
			*s = slot{}
		}
	}
}

// fork returns a copy of a table.
func (ds *descriptors) fork(t *table) *table {
	c := &table{users: 1}
	if ds.slots+len(t.slots) > maxSlots {
		return c
	}
	ds.slots += len(t.slots)
	c.slots = append(c.slots, t.slots...)
	for _, s := range c.slots {
		if s.description != nil {
			s.refs++
		}
	}
	return c
}

// own returns a table that its thread shares with no other.
func (ds *descriptors) own(t *table) *table {
	if t.users <= 1 {
		return t
	}
	t.users--
	return ds.fork(t)
}

// exec closes what is close-on-exec.
func (ds *descriptors) exec(t *table) {
	for fd := range t.slots {
		if s := t.slots[fd]; s.description != nil && s.cloexec {
			ds.drop(s.description)
			t.slots[fd] = slot{}
		}
	}
}

// leave ends the use of a table by a thread.
func (ds *descriptors) leave(t *table) {
	if t.users--; t.users > 0 {
		return
	}
	for _, s := range t.slots {
		if s.description != nil {
			ds.drop(s.description)
		}
	}
	for _, s := range t.late {
		ds.drop(s.description)
	}
	ds.slots -= len(t.slots)
	t.slots, t.late = nil, nil
}

// copyTo makes a descriptor lead where d does. What it led to before is closed
// if the call says so.
func (ds *descriptors) copyTo(t *table, e *format.Event, d *description) {
	cloexec := false
	switch e.Op {
	case format.OpDup3:
		cloexec = e.Args[2]&format.CLOEXEC != 0
		fallthrough
	case format.OpDup2:
		if e.Args[0] == e.Args[1] {
			return
		}
		if old := t.at(e.Ret); old != nil {
			t.slots[e.Ret] = slot{}
			ds.drop(old)
		}
	case format.OpFcntl:
		switch fd := e.Args[0]; e.Args[1] {
		case format.FSetfd:
			t.slots[fd].cloexec = e.Args[2]&1 != 0
			return
		case format.FSetfl:
			// The argument is a native word; O_APPEND is the same everywhere.
			d.append = format.OpenFlags.FromNative(format.AMD64, uint64(e.Args[2]))&format.APPEND != 0
			return
		case format.FDupfdCloexec:
			cloexec = true
		case format.FDupfd:
		default:
			return
		}
	}
	ds.set(t, e.Ret, d, cloexec)
}
