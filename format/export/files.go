package export

import (
	"fmt"
	"strings"
	"unsafe"

	"pianola/format"
)

// file is a file of the trace, whatever it is called at the moment.
type file struct {
	path   string // its last name
	dir    bool
	length int64   // bytes
	links  int     // names that lead to it
	opens  int     // descriptors that lead to it, without those of O_PATH
	log    *logged // what an iolog has it for
}

// description is an open file description.
type description struct {
	file   *file
	offset int64
	append bool
	bare   bool // O_PATH: nothing can be read or written
}

type descriptor struct {
	*description
	cloexec bool
}

// fds are the descriptors of a table, by number. A table and the copies of it that
// forks make share them until one changes something.
type fds struct {
	of     map[int32]descriptor
	tables int // that share it
}

// table is a table of descriptors, and how many threads share it.
type table struct {
	*fds
	// late holds descriptors whose number was given out anew before the event
	// that closes them: close frees its number before it returns.
	late    map[int32]descriptor
	threads int
}

// files follows what the descriptors and names of a trace lead to. It isn't
// format/process's, which takes a file for its name and forgets what is beyond its
// bounds, since in an iolog a file must stay the same through renamings and
// links, and every one must be told.
type files struct {
	header  *format.Header
	names   map[string]*file
	tables  []*table          // by thread number - 1, nil before the first event
	bytes   int64             // that names take
	most    int64             // that they may
	initial map[int32]*table  // of the processes that no event makes
	members map[int32][]int32 // threads by process

	// opened and closed are called for the first descriptor that leads to a
	// file, and after the last. They can be nil.
	opened, closed func(*file)
}

// step is what the descriptors of an event led to before it, and which bytes
// it moved.
type step struct {
	file, outFile *file
	read, written moved
}

// moved is a read or a write that succeeded: where it began, and how many bytes
// it moved.
type moved struct {
	file   *file // nil for none
	offset int64
	bytes  int64
}

// maxNames bounds the memory that the names of files take, in bytes. A trace with
// few names can make many long ones of them by renaming directories.
const maxNames = 1 << 30

// nameBytes is what a name takes besides itself.
const nameBytes = int64(unsafe.Sizeof(file{})) + 64

func newFiles(h *format.Header) *files {
	f := &files{
		header: h, names: make(map[string]*file), most: maxNames, tables: make([]*table, len(h.Threads)),
		initial: make(map[int32]*table), members: make(map[int32][]int32),
	}
	for i := range h.Files {
		of := &h.Files[i]
		if to := f.names[of.Link]; of.Link != "" && to != nil {
			f.name(of.Path, to)
			continue
		}
		if of.Type == format.TypeReg || of.Type == format.TypeDir {
			f.name(of.Path, &file{path: of.Path, dir: of.Type == format.TypeDir, length: of.Size})
		}
	}
	for i, t := range h.Threads {
		f.members[t.Process] = append(f.members[t.Process], int32(i))
	}
	return f
}

// start opens the descriptors that are open before the first event.
func (f *files) start() {
	for _, d := range f.header.Descriptors {
		at := f.lookup([]byte(d.Path))
		f.set(f.beginning(d.Process), d.FD, descriptor{
			&description{file: at, offset: d.Offset, append: d.Flags&format.APPEND != 0, bare: d.Flags&format.PATH != 0},
			d.Flags&format.CLOEXEC != 0,
		})
	}
}

// beginning returns the table that a process begins with.
func (f *files) beginning(process int32) *table {
	t := f.initial[process]
	if t == nil {
		t = newTable()
		f.initial[process] = t
	}
	return t
}

func newTable() *table { return &table{fds: &fds{of: make(map[int32]descriptor), tables: 1}} }

// table returns the table of a thread.
func (f *files) table(thread int32) *table {
	i := int(thread) - 1
	if i < 0 || i >= len(f.tables) {
		return f.beginning(0) // the thread table says nothing of it
	}
	if f.tables[i] == nil {
		t := f.beginning(f.header.Threads[i].Process)
		t.threads++
		f.tables[i] = t
	}
	return f.tables[i]
}

// process returns the number of a thread's process.
func (f *files) process(thread int32) int32 {
	if i := int(thread) - 1; i >= 0 && i < len(f.header.Threads) {
		return f.header.Threads[i].Process
	}
	return 1
}

// name makes a path lead to a file.
func (f *files) name(path string, to *file) {
	f.forget(path)
	f.bytes += nameBytes + int64(len(path))
	f.names[path] = to
	to.links++
	to.path = path
}

// full returns an error where names take more memory than they may.
func (f *files) full(e *format.Event) error {
	if f.bytes <= f.most {
		return nil
	}
	return fmt.Errorf("%s of thread %d at %s s: the names of files take more than %d MiB of memory", e.Op, e.TID, format.AppendSeconds(nil, e.Start), f.most>>20)
}

func (f *files) forget(path string) {
	if was := f.names[path]; was != nil {
		was.links--
		f.bytes -= nameBytes + int64(len(path))
		delete(f.names, path)
	}
}

// lookup returns the file of a path.
func (f *files) lookup(path []byte) *file {
	at := f.names[string(path)]
	if at == nil {
		at = &file{}
		f.name(string(path), at)
	}
	return at
}

// set puts a descriptor in a table.
func (f *files) set(t *table, fd int32, d descriptor) {
	list := f.change(t)
	if old, ok := list[fd]; ok {
		if t.late == nil {
			t.late = make(map[int32]descriptor)
		}
		if older, ok := t.late[fd]; ok {
			f.drop(older)
		}
		t.late[fd] = old
	}
	list[fd] = d
	f.take(d)
}

func (f *files) take(d descriptor) {
	if d.bare {
		return
	}
	d.file.opens++
	if d.file.opens == 1 && f.opened != nil {
		f.opened(d.file)
	}
}

func (f *files) drop(d descriptor) {
	if d.bare {
		return
	}
	d.file.opens--
	if d.file.opens == 0 && f.closed != nil {
		f.closed(d.file)
	}
}

// close closes a number of a table.
func (f *files) close(t *table, fd int32) {
	if d, ok := t.late[fd]; ok {
		delete(t.late, fd)
		f.drop(d)
	} else if d, ok := t.of[fd]; ok {
		delete(f.change(t), fd)
		f.drop(d)
	}
}

// rename moves a name and, of a directory, all below it.
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
		path string
		file *file
	}
	var moves []move
	for path, at := range f.names {
		moved := ""
		if rest, ok := strings.CutPrefix(path, from+"/"); ok {
			moved = to + "/" + rest
		} else if rest, ok := strings.CutPrefix(path, to+"/"); ok && exchange {
			moved = from + "/" + rest
		} else {
			continue
		}
		f.forget(path)
		moves = append(moves, move{moved, at})
		if f.bytes += int64(len(moved)); f.bytes > f.most {
			return // the caller finds it full
		}
	}
	for _, m := range moves {
		f.bytes -= int64(len(m.path))
		f.name(m.path, m.file)
	}
}
