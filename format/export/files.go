package export

import (
	"cmp"
	"fmt"
	"strings"
	"unsafe"

	"pianola/format"
	"pianola/format/process"
)

// file is a file of the trace. Its name is its latest one.
type file struct {
	process.File
	called string // the application's name if a parent directory was renamed; otherwise that of Name
	dir    bool
	links  int     // names that lead to it
	opens  int     // descriptions that lead to it, except those of O_PATH
	log    *logged // its state in an iolog
}

func newFile(path string) *file {
	f := &file{File: process.File{Name: path}}
	f.Data = f
	return f
}

// files tracks which files the descriptors and names of a trace lead to. It does not
// use the names of process.Follower, which identifies a file by its name and forgets
// names beyond its bounds. In an iolog, a file must stay the same when it is renamed or
// linked, and all files must be listed.
type files struct {
	*process.State
	calls *format.AppNames
	names map[string]*file
	bytes int64 // size of names
	most  int64 // limit of bytes

	// opened is called for the first description of a file, and closed after
	// the last one ends. They can be nil.
	opened, closed func(*file)
}

// effects holds the files that the descriptors of an event led to before it,
// and the bytes that it moved.
type effects struct {
	file, outFile *file
	read, written moved
}

// moved is the range of a successful read or write.
type moved struct {
	file   *file // nil for none
	offset int64
	bytes  int64
}

// maxNames bounds the memory of the names of files, in bytes. A trace with few
// names can create many long paths by renaming directories.
const maxNames = 1 << 30

// nameBytes is the memory of a name besides its text.
const nameBytes = int64(unsafe.Sizeof(file{})) + 64

func newFiles(h *format.Header) *files {
	f := &files{State: process.NewState(h), calls: h.AppNames(), names: make(map[string]*file), most: maxNames}
	f.Dropped = f.dropped
	for i := range h.Files {
		of := &h.Files[i]
		if to := f.names[of.Link]; of.Link != "" && to != nil {
			f.name(of.Path, to)
			continue
		}
		if of.Type == format.TypeReg || of.Type == format.TypeDir {
			at := newFile(of.Path)
			at.dir, at.Length = of.Type == format.TypeDir, of.Size
			f.name(of.Path, at)
		}
	}
	return f
}

// start adds the descriptors that are open before the first event.
func (f *files) start() {
	f.Start(func(d *format.Descriptor) *process.Description { return f.describe(f.lookup([]byte(d.Path)), d.Flags) })
}

// name makes a path lead to a file.
func (f *files) name(path string, to *file) {
	f.forget(path)
	f.bytes += nameBytes + int64(len(path))
	f.names[path] = to
	to.links++
	to.Name = path
}

// full returns an error if names take more memory than their limit.
func (f *files) full(e *format.Event) error {
	if f.bytes <= f.most {
		return nil
	}
	return fmt.Errorf("%s of thread %d at %s s: the names of files take more than %d MiB of memory", e.Op, e.TID, format.AppendSeconds(nil, e.Start), f.most>>20)
}

func (f *files) forget(path string) {
	if was := f.names[path]; was != nil {
		was.links--
		f.bytes -= nameBytes + int64(len(path)+len(was.called))
		was.called = ""
		delete(f.names, path)
	}
}

// lookup returns the file of a path.
func (f *files) lookup(path []byte) *file {
	at := f.names[string(path)]
	if at == nil {
		at = newFile("")
		f.name(string(path), at)
	}
	return at
}

// rename moves a name and, for a directory, all names below it.
func (f *files) rename(from, to string, exchange bool) {
	a, b := f.names[from], f.names[to]
	if a == b && a != nil {
		return // two names of one file: nothing happens
	}
	f.forget(from)
	f.forget(to)
	if a != nil {
		f.name(to, a)
	}
	if exchange && b != nil {
		f.name(from, b)
	}
	if a != nil && !a.dir && (b == nil || !b.dir) {
		return
	}
	type move struct {
		path, called string
		file         *file
	}
	var moves []move
	for path, at := range f.names {
		moved, called := "", ""
		if rest, ok := strings.CutPrefix(path, from+"/"); ok {
			moved, called = to+"/"+rest, f.moved(at, path, from, to)
		} else if rest, ok := strings.CutPrefix(path, to+"/"); ok && exchange {
			moved, called = from+"/"+rest, f.moved(at, path, to, from)
		} else {
			continue
		}
		f.forget(path)
		moves = append(moves, move{moved, called, at})
		if f.bytes += int64(len(moved) + len(called)); f.bytes > f.most {
			return // the caller checks full
		}
	}
	for _, m := range moves {
		f.bytes -= int64(len(m.path))
		f.name(m.path, m.file)
		m.file.called = m.called
	}
}

// moved returns the application's name of a file at a path after its directory was
// renamed. The trace need not have a name for the new path. It is "" if the
// trace has no such names.
func (f *files) moved(at *file, path, from, to string) string {
	name := cmp.Or(at.called, f.calls.Of(path))
	rest, ok := strings.CutPrefix(name, f.calls.Of(from)+"/")
	if f.calls == nil || !ok {
		return ""
	}
	return f.calls.Of(to) + "/" + rest
}
