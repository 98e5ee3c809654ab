package process

// File is what goes by one name. A file that is renamed goes on under the name
// by which it was opened.
type File struct {
	ID     int32  // counts names, from 0
	Name   string // absolute, or below the root; "pipe", "socket" and the like where there is none
	Length int64  // bytes, as far as the recording tells
	Data   any    // belongs to who follows
}

// NameBytes bounds the names of files, in bytes for each file that is told apart.
const NameBytes = 512

// Others is the id of the file that stands for those that are not told apart.
const Others = 0

// files finds files by their names.
type files struct {
	byName map[string]*File
	others *File
	max    int
	bytes  int  // of names
	full   bool // others stands for some
}

func newFiles(max int) files {
	return files{byName: make(map[string]*File), others: &File{ID: Others}, max: max}
}

// Full reports whether there were more files than are told apart.
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
	fs.bytes += len(name)
	fs.byName[f.Name] = f
	return f
}
