package compile

import (
	"strconv"

	"pianola/format"
)

// facts are what the recorder's notes say of a file at an event.
type facts struct {
	typ    format.FileType
	mode   uint32
	size   int64 // -1 where not known
	cached int64 // -1 where not known
	sparse bool
	fresh  bool // the event created it
	target []byte
	inode  string // device and inode of a file with more names than one
}

// noted reads the notes of an event.
func noted(notes []byte) facts {
	f := facts{size: -1, cached: -1}
	if len(notes) == 0 {
		return f
	}
	number := func(key string) int64 {
		v, ok := format.Note(notes, key)
		n, err := strconv.ParseInt(string(v), 0, 64)
		if !ok || err != nil || n < 0 {
			return -1
		}
		return n
	}
	if v, ok := format.Note(notes, "type"); ok {
		f.typ = format.ParseFileType(v)
	}
	if n := number("mode"); n >= 0 {
		f.mode = uint32(n) & 0o7777
	}
	f.size, f.cached = number("size"), number("cached")
	_, f.sparse = format.Note(notes, "sparse")
	_, f.fresh = format.Note(notes, "new")
	if number("nlink") > 1 && f.typ == format.TypeReg {
		dev, _ := format.Note(notes, "dev")
		ino, _ := format.Note(notes, "ino")
		f.inode = string(dev) + " " + string(ino)
	}
	if v, ok := format.Note(notes, "target"); ok {
		f.target, _, _ = format.Unquote(nil, v)
	}
	return f
}

// offProcessor returns how long the thread had been off the processor before an
// event, in nanoseconds since the one before.
func offProcessor(e *format.Event) int64 {
	if len(e.Notes) == 0 {
		return 0
	}
	v, ok := format.Note(e.Notes, "off")
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// maxCut bounds the time that one event can be cut by, in nanoseconds (36 years).
const maxCut = 1 << 60

// cutBefore returns how much shorter than recorded the time before an event is
// to be, in nanoseconds, because a transform says so. Less than 0 is longer.
func cutBefore(e *format.Event) int64 {
	if len(e.Notes) == 0 {
		return 0
	}
	v, _ := format.Note(e.Notes, "cut")
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0
	}
	return min(max(n, -maxCut), maxCut)
}

// learn takes up what the notes say of the file at an entry as it was at the
// start.
func (m *model) learn(at *entry, f *facts) {
	nd := at.node
	if nd.created {
		if nd.typ == format.TypeUnknown {
			nd.typ = f.typ
		}
		return
	}
	switch {
	case f.typ == format.TypeUnknown || nd.typ == f.typ:
	case nd.typ == format.TypeUnknown, nd.typ == format.TypeLnk && nd.target == "":
		nd.typ = f.typ
	}
	if nd.mode == 0 {
		nd.mode = f.mode
	}
	if f.cached >= 0 && nd.cached < 0 {
		nd.cached = f.cached
	}
	nd.sparse = nd.sparse || f.sparse
	if f.inode != "" && nd.first != nil && nd.typ == format.TypeReg {
		if m.inodes[f.inode] == nil {
			m.inodes[f.inode] = nd
		} else if first := m.inodes[f.inode]; first != nd && !first.created {
			nd.link = first
		}
	}
	if f.size >= 0 && !nd.changed && nd.typ == format.TypeReg {
		nd.size, nd.now, nd.sized = f.size, f.size, true
	}
}

// fstat learns from a successful fstat.
func (m *model) fstat(s *step) {
	if s.e.Ret == 0 && s.d.file.node.at != nil {
		f := noted(s.e.Notes)
		m.learn(&entry{node: s.d.file.node}, &f)
	}
}
