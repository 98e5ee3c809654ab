package record

import (
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
)

// spaces tracks the files in the address spaces of the recorded processes. For a fault,
// the kernel reports the file and the page; spaces finds the address.
//
// Address spaces have numbers given by the recorder. Changes by unrecorded calls, those
// of exec and those from before the recorder started, are read from /proc when a fault
// needs them.
type spaces struct {
	all   map[uint64]*space
	paths map[format.Inode]string // of files that were opened, or listed in /proc
}

// space is an address space.
type space struct {
	program  string                    // the path of the last exec, empty if that is not known
	mappings []mapping                 // in the order of the addresses
	last     int                       // the one that was found last
	asked    map[format.Inode]struct{} // files that /proc did not list
}

// mapping is a range of addresses that shows a file.
type mapping struct {
	start, end uint64
	offset     uint64 // in the file, of start
	file       format.Inode
	unrecorded bool // no recorded call has made the mapping
	private    bool // written pages are the process's own
	writable   bool
}

// maxSpaces bounds the address spaces that are kept, because their ends are not
// recorded.
const maxSpaces = 1 << 14

// of returns an address space, which it makes if there is none.
func (m *spaces) of(id uint64) *space {
	s := m.all[id]
	if s == nil {
		if m.all == nil || len(m.all) == maxSpaces {
			m.all = make(map[uint64]*space)
		}
		s = &space{}
		m.all[id] = s
	}
	return s
}

// begin notes that an address space begins as a copy of parent; after an exec it is
// empty.
func (m *spaces) begin(id, parent uint64) {
	delete(m.all, id) // of a process that is gone
	if p := m.all[parent]; p != nil {
		s := m.of(id)
		s.program, s.mappings = p.program, slices.Clone(p.mappings)
	}
}

// call applies a call to its address space. It reports whether the call is
// about a mapping of a file.
func (m *spaces) call(id uint64, e *format.Event) bool {
	if id == 0 || e.Failed() {
		return false
	}
	s, start := m.of(id), uint64(e.Args[0])
	switch acts := e.Acts(); {
	case acts.Any(format.Execs):
		m.begin(id, 0)
		m.of(id).program = string(e.Path(0))
	case acts.Any(format.Maps):
		start = uint64(e.Ret)
		n := mapping{start: start, end: start + wholePages(e.Size()), offset: uint64(e.Offset()), file: e.Notes.Inode(),
			private: e.Args[3]&format.MapShared == 0, writable: e.Args[2]&format.ProtWrite != 0}
		s.cut(n.start, n.end)
		if n.file != (format.Inode{}) {
			s.add(n)
		}
	case acts.Any(format.Unmaps):
		s.cut(start, start+wholePages(e.Size()))
	case acts.Any(format.Remaps):
		s.move(start, wholePages(e.Args[1]), uint64(e.Ret), wholePages(e.Args[2]), e.Args[3]&format.MremapDontunmap != 0)
	case acts.Any(format.Protects):
		// A mapping with a writable part counts as writable as a whole.
		for i := s.after(start); i < len(s.mappings) && s.mappings[i].start < start+wholePages(e.Size()); i++ {
			s.mappings[i].writable = s.mappings[i].writable || e.Args[2]&format.ProtWrite != 0
		}
	case acts.All(format.Syncs | format.InMemory):
		return s.at(start) != nil
	}
	return false
}

func wholePages(n int64) uint64 { return (uint64(n) + pageBytes - 1) &^ (pageBytes - 1) }

// after returns the number of the first mapping that ends after an address.
func (s *space) after(address uint64) int {
	i, _ := slices.BinarySearchFunc(s.mappings, address, func(m mapping, a uint64) int {
		if m.end <= a {
			return -1
		}
		return 1
	})
	return i
}

// at returns the mapping at an address, nil for none. It is valid until the next change.
func (s *space) at(address uint64) *mapping {
	if i := s.after(address); i < len(s.mappings) && s.mappings[i].start <= address {
		return &s.mappings[i]
	}
	return nil
}

// cut removes a range.
func (s *space) cut(start, end uint64) {
	i := s.after(start)
	j := i
	var rest [2]mapping
	n := 0
	for ; j < len(s.mappings) && s.mappings[j].start < end; j++ {
		m := s.mappings[j]
		if m.start < start {
			rest[n] = m
			rest[n].end = start
			n++
		}
		if m.end > end {
			m.offset += end - m.start
			m.start = end
			rest[n] = m
			n++
		}
	}
	s.mappings = slices.Replace(s.mappings, i, j, rest[:n]...)
}

// add adds a mapping in a free range.
func (s *space) add(m mapping) {
	s.mappings = slices.Insert(s.mappings, s.after(m.start), m)
}

// move applies mremap. A range of 0 bytes is mapped a second time.
func (s *space) move(old, size, to, newSize uint64, keep bool) {
	m := s.at(old)
	if m == nil {
		s.cut(to, to+newSize)
		return
	}
	moved := *m
	moved.offset += old - m.start
	moved.start, moved.end = to, to+newSize
	if !keep {
		s.cut(old, old+size)
	}
	s.cut(moved.start, moved.end)
	s.add(moved)
}

// program notes a mapping of a program by no recorded call.
func (m *spaces) program(id, start, size, offset uint64, file format.Inode) {
	s := m.of(id)
	n := mapping{start: start, end: start + wholePages(int64(size)), offset: offset, file: file, unrecorded: true}
	s.cut(n.start, n.end)
	s.add(n)
}

// maxPaths bounds the names that are kept.
const maxPaths = 1 << 14

// opened keeps the name of a file that was opened for reading, because it may be a program
// that is mapped next.
func (m *spaces) opened(e *format.Event) {
	if !e.Acts().Any(format.Opens) {
		return
	}
	path := e.Path(0)
	if len(path) == 0 || path[0] != '/' || !e.Notes.Known(format.NotedIno) || e.Notes.Type != format.TypeReg ||
		e.OpenFlags()&(format.WRONLY|format.RDWR) != 0 {
		return
	}
	m.name(e.Notes.Inode(), path)
}

func (m *spaces) name(file format.Inode, path []byte) {
	if m.paths[file] == string(path) {
		return
	}
	if m.paths == nil || len(m.paths) == maxPaths {
		m.paths = make(map[format.Inode]string)
	}
	m.paths[file] = string(path)
}

// find returns the mapping that shows a page of a file, nil for none: the one that was
// found last, or else the first.
func (s *space) find(file format.Inode, offset uint64) *mapping {
	shows := func(m *mapping) bool {
		return m.file == file && m.offset <= offset && offset-m.offset < m.end-m.start
	}
	if s.last < len(s.mappings) && shows(&s.mappings[s.last]) {
		return &s.mappings[s.last]
	}
	for i := range s.mappings {
		if shows(&s.mappings[i]) {
			s.last = i
			return &s.mappings[i]
		}
	}
	return nil
}

// known returns the mapping of a fault that find finds in its address space, nil for
// none. If it finds none, it reads /proc, and the program of the last exec, once for
// each file.
func (m *spaces) known(f *bpf.CFault, find func(*space) *mapping, file format.Inode) *mapping {
	s := m.of(f.Space)
	if found := find(s); found != nil && (!found.unrecorded || m.paths[found.file] != "") {
		return found
	}
	if _, ok := s.asked[file]; ok {
		return find(s)
	}
	m.learn(s, int32(f.Tid))
	found := find(s)
	if found == nil || m.paths[found.file] == "" {
		m.nameProgram(s.program)
		if s.asked == nil {
			s.asked = make(map[format.Inode]struct{})
		}
		s.asked[file] = struct{}{}
	}
	return found
}

// learn adds the mappings of a thread's process by unrecorded calls.
func (m *spaces) learn(s *space, tid int32) {
	files, err := MappedFiles(tid)
	if err != nil {
		return // it has ended
	}
	for _, f := range files {
		m.name(f.File, []byte(f.Path))
		if i := s.after(f.Start); i == len(s.mappings) || s.mappings[i].start >= f.End {
			s.add(mapping{start: f.Start, end: f.End, offset: f.Offset, file: f.File, unrecorded: true, private: f.Private, writable: f.Writable})
		}
	}
}

// nameProgram names a program's file by the path of its exec, because a process that has
// ended is no longer in /proc. A relative path counts from the recorder's own working
// directory. A path that leads to another file by now names that one.
func (m *spaces) nameProgram(path string) {
	path, err := filepath.EvalSymlinks(path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	var st unix.Stat_t
	if err != nil || unix.Lstat(path, &st) != nil {
		return
	}
	m.name(format.Inode{Dev: format.Device{Major: unix.Major(st.Dev), Minor: unix.Minor(st.Dev)}, Ino: st.Ino}, []byte(path))
}

// Maps reports whether a recording with faults has calls of an operation that concern
// mappings of files.
func Maps(op format.Op) bool {
	acts := op.Info().Acts
	return acts.Any(format.Maps|format.InMemory) && !acts.Any(format.Faults)
}
