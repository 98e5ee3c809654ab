package follow

// File is what goes by one name. A file that is renamed goes on under the name
// by which it was opened.
type File struct {
	ID     int32  // counts names, from 0
	Name   string // absolute, or below the root; "pipe", "socket" and the like where there is none
	Length int64  // bytes, as far as the recording tells
	Data   any    // belongs to who follows
}

const (
	// MaxFiles bounds the files that are told apart, besides the one that
	// stands for all others, and maxNames their names, in bytes.
	MaxFiles = 1 << 16
	maxNames = 32 << 20
)

// Others is the id of the file that stands for those that are not told apart.
const Others = 0

// files finds files by their names.
type files struct {
	byName map[string]*File
	others *File
	bytes  int // of names
}

func newFiles() files {
	return files{byName: make(map[string]*File), others: &File{ID: Others}}
}

// of returns the file of a name.
func (fs *files) of(name []byte) *File {
	if f := fs.byName[string(name)]; f != nil {
		return f
	}
	if len(fs.byName) >= MaxFiles || fs.bytes+len(name) > maxNames {
		return fs.others
	}
	f := &File{ID: int32(len(fs.byName) + 1), Name: string(name)}
	fs.bytes += len(name)
	fs.byName[f.Name] = f
	return f
}
