package export

import (
	"bytes"

	"pianola/format"
	"pianola/format/process"
)

// apply returns the effects of an event, and updates the files.
func (f *files) apply(e *format.Event) (s effects) {
	t := f.Thread(e)
	in, out := t.Table.At(e.FD()), t.Table.At(e.OutFD())
	effect := e.Op.Info().Effect
	if effect == format.EffectClose {
		if d := t.Table.Closing(e.FD()); d != nil {
			in = d.Description
		}
	}
	s.file, s.outFile = fileOf(in), fileOf(out)
	if effect == format.EffectFault || effect == format.EffectSyncMapped {
		for m := range t.Process.Space.Within(e.Args[0], e.Size()) {
			s.file = m.File.Data.(*file)
			break
		}
	}
	f.Apply(t, e)
	if e.Ret == format.NoResult || e.Failed() {
		return s
	}
	switch effect {
	case format.EffectMap:
		if in != nil && e.MapsFile() {
			f.Map(t, e, process.Mapping{Offset: e.Offset(), File: in.File})
		}
	case format.EffectFault:
		switch moves := (moved{s.file, e.Offset(), e.Ret}); {
		case s.file == nil || e.Offset() < 0 || e.Offset() > maxOffset || e.Ret > maxOffset:
		case e.Op == format.OpMapWrite:
			s.written = moves
		default:
			s.read = moves
		}
	case format.EffectRead:
		s.read = move(in, e, e.Offset(), false)
	case format.EffectWrite:
		s.written = move(in, e, e.Offset(), true)
	case format.EffectCopy:
		s.read = move(in, e, e.Offset(), false)
		s.written = move(out, e, e.OutOffset(), true)
	case format.EffectOpen:
		if path := unmarked(e.Path(0)); path != nil {
			s.file = f.open(t, e, path)
		}
	case format.EffectSeek, format.EffectTruncate, format.EffectAllocate:
		if in != nil {
			in.Adjust(e)
		} else if path := unmarked(e.Path(0)); path != nil {
			f.lookup(path).Length = e.Size()
		}
	case format.EffectMkdir:
		f.lookup(unmarked(e.Path(0))).dir = true
	case format.EffectUnlink, format.EffectRmdir:
		f.forget(string(unmarked(e.Path(0))))
	case format.EffectRename:
		f.rename(string(unmarked(e.Path(0))), string(unmarked(e.Path(1))), e.Exchanges())
	case format.EffectLink:
		f.name(string(unmarked(e.Path(1))), f.lookup(unmarked(e.Path(0))))
	}
	return s
}

// maxOffset bounds the offsets and sizes of faults, so that sums don't overflow.
const maxOffset = 1 << 61

// fileOf returns the file of a description, nil for none.
func fileOf(d *process.Description) *file {
	if d == nil {
		return nil
	}
	return d.File.Data.(*file)
}

// move returns the range of a successful read or write, and moves the offset.
func move(d *process.Description, e *format.Event, offset int64, writes bool) moved {
	if d == nil {
		return moved{}
	}
	from, to, ok := d.Move(e, offset, writes)
	if !ok {
		return moved{}
	}
	return moved{fileOf(d), from, to - from}
}

// open adds the descriptor that an open returned.
func (f *files) open(t *process.Thread, e *format.Event, path []byte) *file {
	var at *file
	flags := e.OpenFlags()
	if flags&format.TMPFILE != 0 {
		at = newFile(string(path) + "/") // the file has no name
	} else {
		at = f.lookup(path)
	}
	if flags&(format.DIRECTORY|format.TMPFILE) == format.DIRECTORY {
		at.dir = true
	}
	if flags&(format.TRUNC|format.PATH) == format.TRUNC {
		at.Length = 0
	}
	f.Put(t.Table, e.Ret, process.Descriptor{Description: f.describe(at, flags), Cloexec: e.Cloexec()})
	return at
}

// describe returns a new description of a file.
func (f *files) describe(at *file, flags int64) *process.Description {
	if isOpen(flags) {
		at.opens++
		if at.opens == 1 && f.opened != nil {
			f.opened(at)
		}
	}
	return f.Open(&at.File, flags)
}

// dropped is called when the last descriptor of a description is closed.
func (f *files) dropped(d *process.Description) {
	if !isOpen(d.Flags) {
		return
	}
	at := fileOf(d)
	at.opens--
	if at.opens == 0 && f.closed != nil {
		f.closed(at)
	}
}

// isOpen reports whether an open with these flags allows reading or writing.
func isOpen(flags int64) bool { return flags&format.PATH == 0 }

// unmarked returns a path of a compiled trace without the "//" that marks the
// directory where it began in the application (docs/reference/script.md).
func unmarked(path []byte) []byte {
	i := bytes.Index(path, []byte("//"))
	if i < 0 {
		return path
	}
	return append(append(make([]byte, 0, len(path)), path[:i]...), path[i+1:]...)
}
