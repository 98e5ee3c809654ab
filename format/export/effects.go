package export

import (
	"bytes"
	"maps"
	"slices"

	"pianola/format"
)

// apply returns what an event is about, and follows what it does.
func (f *files) apply(e *format.Event) (s step) {
	t := f.table(e.TID)
	in, out := t.at(e, e.FD()), t.at(e, e.OutFD())
	s.file, s.outFile = in.of(), out.of()
	effect := e.Op.Info().Effect
	if e.Ret == format.NoResult || e.Failed() {
		switch effect { // Only close does something nevertheless, and exit never returns.
		case format.EffectClose, format.EffectExit, format.EffectExitGroup:
		default:
			return s
		}
	}
	switch effect {
	case format.EffectRead:
		s.read = in.move(e, e.Offset(), false)
	case format.EffectWrite:
		s.written = in.move(e, e.Offset(), true)
	case format.EffectCopy:
		s.read = in.move(e, e.Offset(), false)
		s.written = out.move(e, e.OutOffset(), true)
	case format.EffectOpen:
		if e.Path(0) != nil {
			s.file = f.open(t, e, e.OpenFlags())
		}
	case format.EffectClose:
		f.close(t, int32(e.FD()))
	case format.EffectCloseRange:
		f.closeRange(t, e)
	case format.EffectDup, format.EffectFcntl:
		f.dup(t, e, in)
	case format.EffectFork:
		f.fork(t, e)
	case format.EffectExec:
		t = f.own(e.TID)
		for _, fd := range numbers(t.of) {
			if d := t.of[fd]; d.cloexec {
				delete(f.change(t), fd)
				f.drop(d)
			}
		}
	case format.EffectUnshare:
		if e.Args[0]&format.CloneFiles != 0 {
			f.own(e.TID)
		}
	case format.EffectExit:
		f.exit(e.TID - 1)
	case format.EffectExitGroup:
		f.exit(e.TID - 1)
		for _, i := range f.members[f.process(e.TID)] {
			f.exit(i)
		}
	default:
		f.alter(e, in)
	}
	return s
}

// at returns what a descriptor of an event leads to.
func (t *table) at(e *format.Event, fd int64) *description {
	if d, ok := t.late[int32(fd)]; ok && e.Op.Info().Effect == format.EffectClose {
		return d.description
	}
	return t.of[int32(fd)].description
}

func (d *description) of() *file {
	if d == nil {
		return nil
	}
	return d.file
}

// move moves as many bytes as the result, which is no error, says. At the end
// of a file these are none.
func (d *description) move(e *format.Event, offset int64, write bool) moved {
	if d == nil {
		return moved{}
	}
	m := moved{file: d.file, offset: d.offset, bytes: e.Ret}
	given := offset >= 0
	if given {
		m.offset = offset
	}
	if write && (d.append || e.Word(format.ReadWriteFlags)&format.RwfAppend != 0) {
		m.offset = d.file.length
	}
	if !given {
		d.offset = m.offset + m.bytes
	}
	if write && m.bytes > 0 {
		d.file.length = max(d.file.length, m.offset+m.bytes)
	}
	return m
}

// alter follows the calls that change offsets, sizes and names.
func (f *files) alter(e *format.Event, d *description) {
	path, to := plain(e.Path(0)), plain(e.Path(1))
	switch e.Op.Info().Effect {
	case format.EffectSeek:
		if d != nil {
			d.offset = e.Ret
		}
	case format.EffectTruncate:
		if path != nil {
			f.lookup(path).length = e.Size()
		} else if d != nil {
			d.file.length = e.Size()
		}
	case format.EffectAllocate:
		if d != nil && e.Word(format.FallocateMode)&format.FallocKeepSize == 0 {
			d.file.length = max(d.file.length, e.Offset()+e.Size())
		}
	case format.EffectMkdir:
		f.lookup(path).dir = true
	case format.EffectUnlink, format.EffectRmdir:
		f.forget(string(path))
	case format.EffectRename:
		f.rename(string(path), string(to), e.Exchanges())
	case format.EffectLink:
		f.name(string(to), f.lookup(path))
	}
}

// open adds the descriptor that an open returned.
func (f *files) open(t *table, e *format.Event, flags int64) *file {
	var at *file
	if flags&format.TMPFILE != 0 {
		at = &file{path: string(plain(e.Str[0])) + "/"} // it has no name of its own
	} else {
		at = f.lookup(plain(e.Str[0]))
	}
	if flags&(format.DIRECTORY|format.TMPFILE) == format.DIRECTORY {
		at.dir = true
	}
	if flags&(format.TRUNC|format.PATH) == format.TRUNC {
		at.length = 0
	}
	d := &description{file: at, append: flags&format.APPEND != 0, bare: flags&format.PATH != 0}
	f.set(t, int32(e.Ret), descriptor{d, e.Cloexec()})
	return at
}

func (f *files) closeRange(t *table, e *format.Event) {
	for _, fd := range numbers(t.of) {
		d := t.of[fd]
		if int64(fd) < e.Args[0] || int64(fd) > e.Args[1] {
			continue
		}
		if e.Args[2]&format.CloseRangeCloexec != 0 {
			d.cloexec = true
			f.change(t)[fd] = d
		} else {
			delete(f.change(t), fd)
			f.drop(d)
		}
	}
	t.fds = newTable().fds
}

// dup copies a descriptor, or changes its flags.
func (f *files) dup(t *table, e *format.Event, from *description) {
	if from == nil {
		return
	}
	switch {
	case !e.Copies():
		switch e.Args[1] {
		case format.FSetfd:
			f.change(t)[int32(e.FD())] = descriptor{from, e.Args[2]&1 != 0}
		case format.FSetfl:
			from.append = e.Args[2]&format.APPEND != 0
		}
		return
	case e.NewFD() == e.FD():
		return
	case e.NewFD() >= 0:
		f.close(t, int32(e.NewFD()))
	}
	f.set(t, int32(e.Ret), descriptor{from, e.Cloexec()})
}

// fork gives the thread that a clone made its table.
func (f *files) fork(t *table, e *format.Event) {
	i := e.Ret - 1
	if i < 0 || i >= int64(len(f.tables)) || f.tables[i] != nil {
		return
	}
	if e.CloneFlags()&format.CloneFiles == 0 {
		t = copied(t)
	}
	t.threads++
	f.tables[i] = t
}

// numbers returns the descriptors of a table in their order, so that the same
// trace gives the same output.
func numbers(fds map[int32]descriptor) []int32 { return slices.Sorted(maps.Keys(fds)) }

// copied returns a copy of a table.
func copied(t *table) *table {
	t.fds.tables++
	return &table{fds: t.fds}
}

// change returns the descriptors of a table, to be changed.
func (f *files) change(t *table) map[int32]descriptor {
	if t.fds.tables > 1 {
		t.fds.tables--
		t.fds = &fds{of: maps.Clone(t.of), tables: 1}
		for _, d := range t.of {
			f.take(d)
		}
	}
	return t.of
}

// own gives a thread a table that no other shares.
func (f *files) own(thread int32) *table {
	t, i := f.table(thread), int(thread)-1
	if t.threads > 1 && i >= 0 && i < len(f.tables) {
		t.threads--
		t = copied(t)
		t.threads = 1
		f.tables[i] = t
	}
	return t
}

// exit ends a thread, given by its index, and with the last one its table.
func (f *files) exit(i int32) {
	if i < 0 || int(i) >= len(f.tables) || f.tables[i] == nil {
		return
	}
	t := f.tables[i]
	f.tables[i] = nil
	if t.threads--; t.threads > 0 {
		return
	}
	left := []map[int32]descriptor{t.late}
	if t.fds.tables--; t.fds.tables == 0 {
		left = append(left, t.of)
	}
	for _, of := range left {
		for _, fd := range numbers(of) {
			d := of[fd]
			delete(of, fd)
			f.drop(d)
		}
	}
}

// plain returns a path of a compiled trace without the mark of where it began
// in the application (docs/compile.md).
func plain(path []byte) []byte {
	i := bytes.Index(path, []byte("//"))
	if i < 0 {
		return path
	}
	return append(append(make([]byte, 0, len(path)), path[:i]...), path[i+1:]...)
}
