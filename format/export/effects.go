package export

import (
	"bytes"

	"pianola/format"
	"pianola/format/process"
)

// apply returns the effects of an event, and updates the files.
func (f *files) apply(e *format.Event) (s effects) {
	at := f.Fact(e)
	in, out := at.File, at.Thread.Table.At(e.OutFD())
	if out != nil {
		s.outFile = fileOf(out.File)
		if in = nil; at.Read.File != nil {
			in = at.Read.File
		} else if d := at.Thread.Table.At(e.FD()); d != nil {
			in = d.File
		}
	}
	s.file, s.read, s.written = fileOf(in), move(&at.Read), move(&at.Written)
	f.ApplyFact(at)
	path := func(n int8) string { return string(unmarked(e.Path(int(n)))) }
	switch did, places := at.Did, &e.Op.Info().At; {
	case did.Any(format.MapsFiles):
		if in != nil {
			f.Map(at.Thread, e, process.Mapping{Offset: e.Offset(), File: in})
		}
	case did.Any(format.Opens):
		if path := unmarked(e.Path(0)); path != nil {
			s.file = f.open(at.Thread, e, path)
		}
	case did.Any(format.Cuts):
		if path := unmarked(e.Path(0)); path != nil {
			f.lookup(path).Length = e.Size()
		}
	case did.Any(format.Removes):
		f.forget(path(places.Gone))
	case did.Any(format.Renames):
		f.rename(path(places.Gone), path(places.Came), did.Any(format.Exchanges))
	case did.Any(format.Links):
		f.name(path(places.Came), f.lookup(unmarked(e.Path(0))))
	case did.Any(format.Directories):
		f.lookup(unmarked(e.Path(0))).dir = true
	}
	return s
}

// fileOf returns the file that the caller of process knows as f, nil for none.
func fileOf(f *process.File) *file {
	if f == nil {
		return nil
	}
	return f.Data.(*file)
}

// move returns the range of a read or a write.
func move(m *process.Moved) moved { return moved{fileOf(m.File), m.From, m.To - m.From} }

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
	at := fileOf(d.File)
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
