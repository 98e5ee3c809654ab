package process

// File is the file of a name. A renamed file keeps the name that it was opened
// by.
type File struct {
	ID     int32  // counts names, from 0
	Name   string // absolute, or below the root; "pipe", "socket" and the like where there is none
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
	others *File
	max    int
	bytes  int  // of names
	full   bool // there are files beyond the limit
}

func newFiles(max int) files {
	return files{byName: make(map[string]*File), others: &File{ID: Others}, max: max}
}

// Full reports whether there were more files than the limit.
func (fs *files) Full() bool { return fs.full }

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
