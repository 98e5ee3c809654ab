package process

import "pianola/format"

// File is the file of a name. A renamed file keeps the name that it was opened
// by.
type File struct {
	ID     int32  // counts names, from 0
	Name   string // the application's, which is absolute; below the root in a trace without these; "pipe", "socket" and the like where there is none
	Length int64  // bytes, as far as the recording shows
	Kind   Kind   // as far as the name tells
	Data   any    // for the caller
}

// NameBytes bounds the memory of names, in bytes per file of the limit.
const NameBytes = 512

// Others is the id of the file that stands for all files beyond the limit.
const Others = 0

// files finds files by their names.
type files struct {
	byName map[string]*File
	byPath map[string]*File // by the path below the root, where that has another name
	names  *format.AppNames
	name   []byte // memory
	paths  int    // bytes of byPath
	others *File
	max    int
	bytes  int  // of names
	full   bool // there are files beyond the limit
}

func newFiles(h *format.Header, max int) files {
	fs := files{byName: make(map[string]*File), names: h.AppNames(), others: &File{ID: Others}, max: max}
	if fs.names != nil {
		fs.byPath = make(map[string]*File)
	}
	return fs
}

// Full reports whether there were more files than the limit.
func (fs *files) Full() bool { return fs.full }

// at returns the file of a path: in a trace or a log that has the application's
// names, the one of the name that the path has.
func (fs *files) at(path []byte) *File {
	if fs.names == nil {
		return fs.of(path)
	}
	if f := fs.byPath[string(path)]; f != nil {
		return f
	}
	fs.name = fs.names.Append(fs.name[:0], path)
	f := fs.of(fs.name)
	if f != fs.others && len(fs.byPath) < fs.max && fs.paths+len(path) <= NameBytes*fs.max { // several paths can have one name
		fs.byPath[string(path)] = f
		fs.paths += len(path)
	}
	return f
}

// of returns the file of a name.
func (fs *files) of(name []byte) *File {
	if f := fs.byName[string(name)]; f != nil {
		return f
	}
	if len(fs.byName) >= fs.max || fs.bytes+len(name) > NameBytes*fs.max {
		fs.full = true
		return fs.others
	}
	f := &File{ID: int32(len(fs.byName) + 1), Name: string(name)}
	f.Kind = kindOfName(f.Name)
	fs.bytes += len(name)
	fs.byName[f.Name] = f
	return f
}
