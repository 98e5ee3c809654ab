package profile

// File is what was done to one name: every call that has the name, or a
// descriptor that it was opened as. A file that is renamed goes on under the
// name by which it was opened, for a name that is used again and again for
// another file (a lock, a journal) is one thing to those who read a profile.
//
// A call with two descriptors (copy_file_range, sendfile, splice) counts for the
// one that its category is about, and a call with two names for the first.
type File struct {
	Name string // absolute, or below the root; "pipe", "socket" and the like where there is none
	Usage
	Access [2]Access // Reads and Writes
	Heat   *Heat     // nil where nothing was moved, and where others took more time
}

const (
	// maxFiles bounds the files that are told apart, and maxNames their names,
	// in bytes.
	maxFiles = 1 << 16
	maxNames = 32 << 20
)

// file is a File as it is gathered.
type file struct {
	id       int32
	name     string
	usage    Usage
	accesses [2]accesses
	length   int64 // bytes, as far as the recording tells
	touched  int64 // see sliced
	weight   int64 // time in calls that moved bytes, nanoseconds, and the number of calls
	heat     *heat
}

// othersID is the id of the file that stands for those that are not told apart.
const othersID = 0

// files finds files by their names.
type files struct {
	byName map[string]*file
	all    []*file // by id; the first stands for all others
	bytes  int     // of names
}

func newFiles() files {
	return files{byName: make(map[string]*file), all: []*file{{id: othersID}}}
}

// of returns the file of a name.
func (fs *files) of(name []byte) *file {
	if f := fs.byName[string(name)]; f != nil {
		return f
	}
	if len(fs.all) > maxFiles || fs.bytes+len(name) > maxNames {
		return fs.all[othersID]
	}
	f := &file{id: int32(len(fs.all)), name: string(name)}
	fs.bytes += len(name)
	fs.byName[f.name] = f
	fs.all = append(fs.all, f)
	return f
}

// snapshot returns the files that something was done to, the one that took the
// longest first, the others, and the places of all by their ids.
func (fs *files) snapshot() (list []File, others File, place []int) {
	place = make([]int, len(fs.all))
	order := make([]*file, 0, len(fs.all))
	for _, f := range fs.all {
		place[f.id] = -1
		if f.id != othersID && !f.usage.empty() {
			order = append(order, f)
		}
	}
	sortByTime(order, func(f *file) int64 { return f.usage.IO().Nanos }, func(f *file) string { return f.name })
	for i, f := range order {
		place[f.id] = i
		list = append(list, f.file())
	}
	return list, fs.all[othersID].file(), place
}

func (f *file) file() File {
	out := File{Name: f.name, Usage: f.usage, Heat: f.heat.snapshot()}
	for k := range f.accesses {
		out.Access[k] = f.accesses[k].access()
	}
	return out
}
