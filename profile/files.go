package profile

import (
	"pianola/format"
	"pianola/format/process"
)

// File is the calls on one name: every call with the name, or with a descriptor
// that it was opened as. A renamed file keeps the name that it was opened by. A
// name that is reused for other files (a lock, a journal) is one File.
//
// A call with two descriptors (copy_file_range, sendfile, splice) counts for the
// one that its category is about, and a call with two names for the first.
type File struct {
	Name string // absolute, or below the root; "pipe", "socket" and the like where there is none
	Usage
	Access [2]Access // Reads and Writes
	Flags  int64     // canonical flags that all descriptors have by which it was read or written
	Synced Total     // those of its writes that moved bytes through descriptors with O_SYNC or O_DSYNC
	Heat   *Heat     // nil if nothing was moved, and where others took more time
}

// maxFiles bounds the files that are told apart.
const maxFiles = 1 << 16

// file is a File as it is gathered.
type file struct {
	id       int32
	name     string
	usage    Usage
	accesses [2]*accesses // nil before the first: most files are only looked at
	flags    int64        // see File
	synced   Total
	touched  int64 // see sliced
	weight   int64 // time in calls that moved bytes, nanoseconds, and the number of calls
	all      int64 // the same of all calls: see partition
	heat     *heat
	sharing  *sharing               // nil unless ranks moved bytes of it
	steps    *[format.NumOps]uint16 // of its calls: see critical
}

// othersID is the id of the file that stands for those that are not told apart.
const othersID = 0

// files holds what is counted of files.
type files struct {
	all []*file // by id; the first stands for all others
}

func newFiles() files { return files{[]*file{{id: othersID}}} }

// of returns what is counted of a file, nil for none.
func (fs *files) of(f *process.File) *file {
	switch {
	case f == nil:
		return nil
	case f.Data != nil:
		return f.Data.(*file)
	case f.ID == process.Others:
		f.Data = fs.all[othersID]
	default:
		one := &file{id: int32(len(fs.all)), name: f.Name}
		fs.all = append(fs.all, one)
		f.Data = one
	}
	return f.Data.(*file)
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
	list = make([]File, len(order))
	for i, f := range order {
		place[f.id] = i
		list[i] = f.file()
	}
	return list, fs.all[othersID].file(), place
}

func (f *file) file() File {
	out := File{Name: f.name, Usage: f.usage, Flags: f.flags, Synced: f.synced, Heat: f.heat.snapshot()}
	for k, a := range f.accesses {
		if a != nil {
			out.Access[k] = a.access()
		}
	}
	return out
}
