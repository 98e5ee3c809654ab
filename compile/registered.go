package compile

import (
	"pianola/format"
	"pianola/format/process"
)

// registered is a registered file, the zero value an empty place.
type registered struct {
	fd int32
	of *openFile
}

// A ring keeps its registered files open, even after their descriptors are closed, and
// even if a request opened them without a descriptor. The trace has descriptors for
// them. Their numbers start at firstHidden, above all numbers of recordings (the
// kernel's limit, fs.nr_open, is at most 2^30 - 8).
const firstHidden = 1 << 30

// hide returns the number of a descriptor of a table that the recording does not have.
func (rs *rings) hide(t *process.Table) int64 {
	if n := len(rs.hidden); n > 0 && t.Find(int64(rs.hidden[n-1])) == nil {
		fd := rs.hidden[n-1]
		rs.hidden = rs.hidden[:n-1]
		return int64(fd)
	}
	rs.hides++
	return firstHidden + rs.hides
}

// fileAt returns the registered file at a place, and whether there is one.
func (r *ring) fileAt(index int64) (f registered, ok bool) {
	if index >= 0 && index < int64(len(r.files)) {
		f = r.files[index]
	}
	return f, f.of != nil
}

// setFile sets a place of the registered files. A file that was there before, without a
// descriptor in the recording, is closed before the thread's next event.
func (rs *rings) setFile(t *thread, r *ring, index int, f registered) {
	if old, ok := r.fileAt(int64(index)); ok {
		if old.of.slots--; old.of.slots == 0 && old.fd >= firstHidden {
			t.closes = append(t.closes, old.fd)
		}
	}
	if f.of != nil {
		f.of.slots++
	}
	r.files = setAt(rs.budget, r.files, index, f)
}

// keep keeps a file open that a call closes but a ring has registered.
func (rs *rings) keep(s *simEvent) {
	t, fd := s.t, int32(s.e.FD())
	d := t.Table.Closing(int64(fd))
	if fd >= firstHidden && s.e.Ret != ebadf {
		rs.hidden = append(rs.hidden, fd)
	}
	if f := fileOf(d); s.e.Ret < 0 || f == nil || f.slots == 0 || fd >= firstHidden {
		return
	}
	f, v, hidden := fileOf(d), numberOf(fd, d), int32(-1)
	for key, r := range rs.all {
		for i := range r.files {
			if at := &r.files[i]; key.process == t.Process && at.of == f && at.fd == fd {
				if hidden < 0 {
					hidden = int32(rs.hide(t.Table))
					of := rs.fds.used(t.Table, int64(fd))
					rs.state.Put(t.Table, int64(hidden), process.Descriptor{Description: d.Description, Cloexec: d.Cloexec, Data: of})
					of.number = v
				}
				at.fd = hidden
			}
		}
	}
	if hidden < 0 {
		return // only a ring of another process has it
	}
	s.kept, s.why = true, reasonTable
	rs.state.Apply(t.Thread, s.e)
	rs.fds.gives(t.Table, v)
}

// fixed replaces the index of a registered file by the descriptor of the file, and
// returns the index. The descriptor is -1 if none leads to the file.
func (r *ring) fixed(t *thread, e *format.Event) (index int64) {
	at := e.Op.Info().At.FD
	if e.Notes.Request.Flags&format.ReqFixed == 0 || at < 0 {
		return 0
	}
	index = e.Args[at]
	e.Args[at] = r.descriptorOf(t, index)
	return index
}

// descriptorOf returns the descriptor of a registered file, -1 for none.
func (r *ring) descriptorOf(t *thread, index int64) int64 {
	f, ok := r.fileAt(index)
	if d := t.Table.Find(int64(f.fd)); ok && d != nil && fileOf(d) == f.of {
		return int64(f.fd)
	}
	return -1
}

// slotted prepares a request that opens or closes a registered file: in the trace it
// opens or closes a descriptor. It returns false if there is nothing to do.
func (rs *rings) slotted(t *thread, r *ring, e *format.Event) bool {
	slot := int64(e.Notes.Request.Slot)
	switch acts := e.Op.Info().Acts; {
	case acts.Any(format.Opens):
		if e.Ret >= 0 {
			e.Ret = rs.hide(t.Table)
		}
	case acts.Any(format.Closes):
		fd := r.descriptorOf(t, slot)
		if f, ok := r.fileAt(slot); !ok || e.Ret < 0 || fd < firstHidden || f.of.slots > 1 {
			if e.Ret >= 0 {
				rs.setFile(t, r, int(slot), registered{})
			}
			return false
		}
		e.Args[e.Op.Info().At.FD] = fd
	}
	return true
}

// fill records the registered file that a request has opened or closed.
func (rs *rings) fill(t *thread, r *ring, e *format.Event) {
	f := registered{}
	if d := t.Table.Find(e.Ret); d != nil && e.Op.Info().Acts.Any(format.Opens) {
		f = registered{int32(e.Ret), fileOf(d)}
	}
	if slot := int(e.Notes.Request.Slot); e.Ret >= 0 {
		if old, ok := r.fileAt(int64(slot)); ok && f.of == nil {
			old.of.slots, r.files[slot] = 0, f // the request has closed it
			return
		}
		rs.setFile(t, r, slot, f)
	}
}

// register records which files and buffers a call registered.
func (rs *rings) register(s *simEvent, r *ring) reason {
	e, t := s.e, s.t
	op := format.OpRingFiles
	first, list := e.List.First(), e.List
	c := change{list: list}
	switch e.Args[1] {
	case format.RegisterFiles, format.RegisterFiles2:
		c.whole = true
		fallthrough
	case format.RegisterFilesUpdate, format.RegisterFilesUpdate2:
		for i := range list.Len() {
			var f registered
			fd := list.At(i)[0]
			if fd == format.Unchanged {
				continue
			}
			if d := t.Table.Find(fd); d != nil {
				f = registered{int32(fd), fileOf(d)}
			}
			rs.setFile(t, r, first+i, f)
		}
	case format.UnregisterFiles:
		for i := range r.files {
			rs.setFile(t, r, i, registered{})
		}
		r.files, c.whole = nil, true
	case format.RegisterBuffers, format.RegisterBuffers2:
		c.whole = true
		fallthrough
	case format.RegisterBuffersUpdate:
		op = format.OpRingBuffers
		for i := range list.Len() {
			b := list.At(i)
			r.buffers = setAt(rs.budget, r.buffers, first+i, b)
			if rs.out == nil && !rs.options.Bare {
				t.proc.buffers.addMapping(b[0], b[1])
			}
		}
	case format.UnregisterBuffers:
		op, r.buffers, c.whole = format.OpRingBuffers, nil, true
	default:
		return reasonTable
	}
	if r.num == 0 || list.Len() == 0 && !c.whole {
		return reasonTable // the event is added when the ring is created, or changes nothing
	}
	rs.prepares(t, r, op, s.out, c)
	return reasonNone
}

// setAt sets an element of a list, which it makes longer if need be.
func setAt[T any](b *budget, list []T, i int, v T) []T {
	if i >= format.MaxRegistered {
		return list
	}
	if n := i + 1 - len(list); n > 0 {
		list = grow(b, forOrder, list, make([]T, n)...)
	}
	list[i] = v
	return list
}
