package export

import (
	"bytes"
	"maps"
	"slices"

	"pianola/format"
)

// apply returns what an event is about, and follows what it does.
func (f *files) apply(e *format.Event) (s step) {
	sh := &shapes[e.Op]
	t := f.table(e.TID)
	in, out := t.at(e, sh.fd), t.at(e, sh.outFD)
	s.file, s.outFile = in.of(), out.of()
	switch class := e.Op.Info().Class; {
	case e.Ret == format.NoResult || e.Failed():
		// Only close does something nevertheless, and exit never returns.
		if e.Op != format.OpClose && e.Op != format.OpExit && e.Op != format.OpExitGroup {
			return s
		}
	case sh.outFD >= 0:
		s.read = in.move(e, sh.offset, false)
		s.written = out.move(e, sh.outOffset, true)
		return s
	case class == format.ClassRead:
		s.read = in.move(e, sh.offset, false)
		return s
	case class == format.ClassWrite:
		s.written = in.move(e, sh.offset, true)
		return s
	}
	switch e.Op.Info().Effect {
	case format.EffectNone:
		f.change(e, in)
	case format.EffectOpen:
		if sh.paths[0] >= 0 && sh.flags >= 0 {
			s.file = f.open(t, e, e.Args[sh.flags])
		}
	case format.EffectClose:
		f.close(t, int32(e.Args[0]))
	case format.EffectCloseRange:
		f.closeRange(t, e)
	case format.EffectDup, format.EffectFcntl:
		f.dup(t, e, in)
	case format.EffectFork:
		f.fork(t, e)
	case format.EffectExec:
		t = f.own(e.TID)
		for _, fd := range numbers(t.fds) {
			if d := t.fds[fd]; d.cloexec {
				delete(t.fds, fd)
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
	}
	return s
}

// at returns what the descriptor at an argument leads to.
func (t *table) at(e *format.Event, arg int8) *description {
	if arg < 0 {
		return nil
	}
	fd := int32(e.Args[arg])
	if d, ok := t.late[fd]; ok && e.Op == format.OpClose {
		return d.description
	}
	return t.fds[fd].description
}

func (d *description) of() *file {
	if d == nil {
		return nil
	}
	return d.file
}

// move moves as many bytes as the result, which is no error, says. At the end
// of a file these are none.
func (d *description) move(e *format.Event, offsetArg int8, write bool) moved {
	if d == nil {
		return moved{}
	}
	m := moved{file: d.file, offset: d.offset, bytes: e.Ret}
	given := offsetArg >= 0 && e.Args[offsetArg] >= 0
	if given {
		m.offset = e.Args[offsetArg]
	}
	if write && (d.append || e.Op == format.OpPwritev2 && e.Args[5]&rwfAppend != 0) {
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

// rwfAppend and fallocKeepSize are values of format.ReadWriteFlags and
// format.FallocateMode.
const (
	rwfAppend      = 0x10
	fallocKeepSize = 1
)

// change follows the calls that change offsets, sizes and names.
func (f *files) change(e *format.Event, d *description) {
	switch e.Op {
	case format.OpLseek:
		if d != nil {
			d.offset = e.Ret
		}
	case format.OpFtruncate:
		if d != nil {
			d.file.length = e.Args[1]
		}
	case format.OpTruncate:
		f.lookup(plain(e.Str[0])).length = e.Args[1]
	case format.OpFallocate:
		if d != nil && e.Args[1]&fallocKeepSize == 0 {
			d.file.length = max(d.file.length, e.Args[2]+e.Args[3])
		}
	case format.OpMkdir:
		f.lookup(plain(e.Str[0])).dir = true
	case format.OpUnlink, format.OpRmdir:
		f.forget(string(plain(e.Str[0])))
	case format.OpRename, format.OpRenameat2:
		exchange := e.Op == format.OpRenameat2 && e.Args[4]&format.RenameExchange != 0
		f.rename(string(plain(e.Str[0])), string(plain(e.Str[1])), exchange)
	case format.OpLink:
		f.name(string(plain(e.Str[1])), f.lookup(plain(e.Str[0])))
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
	f.set(t, int32(e.Ret), descriptor{d, flags&format.CLOEXEC != 0})
	return at
}

func (f *files) closeRange(t *table, e *format.Event) {
	for _, fd := range numbers(t.fds) {
		d := t.fds[fd]
		if int64(fd) < e.Args[0] || int64(fd) > e.Args[1] {
			continue
		}
		if e.Args[2]&format.CloseRangeCloexec != 0 {
			d.cloexec = true
			t.fds[fd] = d
		} else {
			delete(t.fds, fd)
			f.drop(d)
		}
	}
}

// dup copies a descriptor, or changes its flags.
func (f *files) dup(t *table, e *format.Event, from *description) {
	if from == nil {
		return
	}
	cloexec := false
	switch e.Op {
	case format.OpDup3:
		cloexec = e.Args[2]&format.CLOEXEC != 0
		fallthrough
	case format.OpDup2:
		if e.Args[0] == e.Args[1] {
			return
		}
		f.close(t, int32(e.Args[1]))
	case format.OpFcntl:
		fd := int32(e.Args[0])
		switch e.Args[1] {
		case format.FSetfd:
			t.fds[fd] = descriptor{from, e.Args[2]&1 != 0}
			return
		case format.FSetfl:
			// The argument is a native word; O_APPEND is the same everywhere.
			from.append = format.OpenFlags.FromNative(format.AMD64, uint64(e.Args[2]))&format.APPEND != 0
			return
		case format.FDupfdCloexec:
			cloexec = true
		case format.FDupfd:
		default:
			return
		}
	}
	f.set(t, int32(e.Ret), descriptor{from, cloexec})
}

// fork gives the thread that a clone made its table.
func (f *files) fork(t *table, e *format.Event) {
	i := e.Ret - 1
	if i < 0 || i >= int64(len(f.tables)) || f.tables[i] != nil {
		return
	}
	shared := e.Op.Info().ArgIndex("flags") == 0 && e.Args[0]&format.CloneFiles != 0
	if !shared {
		t = f.copied(t)
	}
	t.threads++
	f.tables[i] = t
}

// numbers returns the descriptors of a table in their order, so that the same
// trace gives the same output.
func numbers(fds map[int32]descriptor) []int32 { return slices.Sorted(maps.Keys(fds)) }

func (f *files) copied(t *table) *table {
	c := newTable()
	for fd, d := range t.fds {
		c.fds[fd] = d
		f.take(d)
	}
	return c
}

// own gives a thread a table that no other shares.
func (f *files) own(thread int32) *table {
	t, i := f.table(thread), int(thread)-1
	if t.threads > 1 && i >= 0 && i < len(f.tables) {
		t.threads--
		t = f.copied(t)
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
	for _, fds := range []map[int32]descriptor{t.late, t.fds} {
		for _, fd := range numbers(fds) {
			d := fds[fd]
			delete(fds, fd)
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
