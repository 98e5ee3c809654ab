package compile

import (
	"math"
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

// there notes that a successful call found something at an entry.
func (m *model) there(e *format.Event, at *entry) {
	if !m.names.exists(at) {
		m.unexplained(e, at, "there although nothing put it there")
	}
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
	if f.inode != "" && nd.first != nil {
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

// failed learns from an error that an opening call, or one on a path, met.
func (m *model) failed(s *step, at *entry) {
	if at == nil || at.dir == nil {
		return
	}
	if to := s.at[1]; to != nil && at == s.at[0] {
		// Of two names the error can be about the second, or the directory
		// that is to hold it.
		switch s.e.Ret {
		case eexist, enotempty, eisdir:
			at = to
		case enoent:
			if at.state == present && to.dir != nil && (to.dir.at.state != present || to.dir.at.node != to.dir) {
				return
			}
		case enotdir:
			return
		}
	}
	if at.dir == nil {
		return
	}
	switch s.e.Ret {
	case enoent:
		switch {
		case at.state == present && at.node.typ == format.TypeLnk && at.node.target == "":
			// It leads to nothing, which is how the replay's link is made.
		case at.state == present:
			m.unexplained(s.e, at, "not there although nothing removed it")
			m.names.gone(at)
		case at.state == unknown && s.out.Op != format.OpOpenm:
			at.state = absent // O_CREAT misses the directory, not the file
		}
	case eexist:
		m.there(s.e, at)
	case eisdir, enotempty:
		m.there(s.e, at)
		at.node.typ = format.TypeDir
		if s.e.Ret == enotempty && !at.node.created {
			at.node.size = max(at.node.size, emptyListing+1)
		}
	case enotdir:
		if s.out.Op == format.OpRmdir || s.out.Op == format.OpOpen && s.out.Args[1]&format.DIRECTORY != 0 {
			m.names.exists(at)
		} else {
			// Some name on the way is no directory: the last, unless another
			// is known not to be one, or this one to be one.
			at = at.dir.at
			for up := at; up.dir != nil; up = up.dir.at {
				if up.state == present && up.node.typ != format.TypeDir && up.node.typ != format.TypeUnknown {
					return
				}
			}
			if at.dir == nil || at.state == present && (at.node.typ == format.TypeDir || at.node.holds()) {
				return
			}
			m.names.exists(at)
		}
		if at.node.typ == format.TypeUnknown {
			at.node.typ = format.TypeReg
		}
	}
}

// emptyListing is what getdents64 returns for a directory with nothing but "."
// and ".." in it (two records of 24 bytes, getdents64(2)).
const emptyListing = 48

// looked handles stat, lstat, statx and access.
func (m *model) looked(s *step) {
	at := s.at[0]
	m.order.named(s.at[:1])
	if s.e.Ret < 0 {
		m.failed(s, at)
		return
	}
	m.there(s.e, at)
	if s.out.Op == format.OpAccess {
		bits := uint32(s.out.Args[1] & 7)
		at.node.needs |= bits | bits<<3 | bits<<6 // R_OK, W_OK and X_OK are the bits of permissions
	}
	f := noted(s.e.Notes)
	m.learn(at, &f)
}

// fstat learns from a successful fstat.
func (m *model) fstat(s *step) {
	if s.e.Ret == 0 && s.d.file.node.at != nil {
		f := noted(s.e.Notes)
		m.learn(&entry{node: s.d.file.node}, &f)
	}
}

// readlink learns what a link holds. Where the name was taken for something
// else before, the pass is repeated with what was learned.
func (m *model) readlink(s *step) {
	at := s.at[0]
	m.order.named(s.at[:1])
	if s.e.Ret < 0 {
		if s.e.Ret == einval {
			m.names.exists(at)
		}
		m.failed(s, at)
		return
	}
	known := at.state == present
	m.there(s.e, at)
	nd := at.node
	f := noted(s.e.Notes)
	if nd.created || nd.target != "" || len(f.target) == 0 {
		if nd.typ == format.TypeUnknown {
			nd.typ = format.TypeLnk
		}
		return
	}
	if known {
		m.lore.links[m.names.original(nd.first)] = string(f.target)
		m.lore.more = true
		return
	}
	nd.typ, nd.target = format.TypeLnk, string(f.target)
}

// copied handles the calls that move data between two descriptors.
func (m *model) copied(s *step) {
	info := s.out.Op.Info()
	end1 := func(d *descriptor, arg string) (off int64, ok bool) {
		if d == nil {
			return 0, false
		}
		if i := info.ArgIndex(arg); i >= 0 && s.out.Args[i] >= 0 {
			return s.out.Args[i], true
		}
		return m.advance(d.file, s.e.Ret), true
	}
	if off, ok := end1(s.d, "inoffset"); ok {
		m.fetched(s.d.file.node, off, s.e.Ret, s.e.Ret < s.e.Args[layouts[s.e.Op].size])
	}
	if off, ok := end1(s.other, "outoffset"); ok {
		m.stored(s.other.file.node, off, s.e.Ret)
	}
}

// cloned handles the requests that clone ranges of files.
func (m *model) cloned(s *step) {
	if s.e.Ret < 0 || s.out.Args[1] != format.Ficlone && s.out.Args[1] != format.Ficlonerange {
		return
	}
	src := s.t.files.fds[int32(s.out.Args[2])]
	if src == nil || src.file.node == nil {
		return
	}
	from, size, to := s.out.Args[3], s.out.Args[4], s.out.Args[5]
	if size == 0 {
		size = max(src.file.node.now-from, 0)
	}
	m.fetched(src.file.node, from, size, false)
	m.stored(s.d.file.node, to, size)
}

func (m *model) mknod(s *step) {
	if s.e.Ret < 0 {
		m.order.named(s.at[:1])
		m.failed(s, s.at[0])
		return
	}
	m.order.renamed(s.at[0])
	typ := format.TypeReg
	if kind := s.out.Args[1] & 0o170000; kind != 0 && kind != 0o100000 { // S_IFMT, S_IFREG
		typ = format.TypeFifo
	}
	m.names.create(s.at[0], typ)
}

// attribute handles the calls on extended attributes, of a path or a
// descriptor. What the trace reads before it has set it was there.
func (m *model) attribute(s *step) {
	nd := (*node)(nil)
	if s.d != nil {
		nd = s.d.file.node
	} else if m.looked(s); s.at[0].state == present {
		nd = s.at[0].node
	}
	if nd == nil || s.e.Ret < 0 {
		return
	}
	name := string(s.e.Str[s.e.Op.Info().StringIndex(s.e.Op.Info().ArgIndex("name"))])
	if nd.attrs == nil {
		nd.attrs = map[string]int64{}
	}
	switch s.out.Op {
	case format.OpGetxattr, format.OpLgetxattr, format.OpFgetxattr:
		if _, known := nd.attrs[name]; !known && !nd.created {
			nd.attrs[name] = s.e.Ret
		}
	default:
		if _, known := nd.attrs[name]; !known {
			nd.attrs[name] = notRead
		}
	}
}

// notRead is the size of an attribute that the trace did not read before it
// set or removed it.
const notRead = -1

func (m *model) mkdir(s *step) {
	if s.e.Ret < 0 {
		m.order.named(s.at[:1])
		m.failed(s, s.at[0])
		return
	}
	m.order.renamed(s.at[0])
	m.names.create(s.at[0], format.TypeDir)
}

// removed handles unlink and rmdir.
func (m *model) removed(s *step) {
	at := s.at[0]
	if s.e.Ret < 0 {
		m.order.named(s.at[:1])
		if at.node != nil && s.out.Op == format.OpRmdir {
			m.order.afterAll(at.node.changes)
			at.node.kept = m.order.use(at.node.kept)
		}
		m.failed(s, at)
		return
	}
	m.there(s.e, at)
	if s.out.Op == format.OpRmdir {
		at.node.typ = format.TypeDir
		m.order.afterAll(at.node.changes)
	}
	m.order.renamed(at)
	m.names.gone(at)
}

func (m *model) rename(s *step) {
	from, to := s.at[0], s.at[1]
	if s.e.Ret < 0 {
		m.order.named(s.at[:])
		m.failed(s, from)
		return
	}
	m.there(s.e, from)
	m.order.renamed(from)
	m.order.renamed(to)
	nd := from.node
	if s.out.Op == format.OpRenameat2 && s.out.Args[4]&format.RenameExchange != 0 {
		m.there(s.e, to)
		other := to.node
		m.names.put(to, nd)
		m.names.put(from, other)
		return
	}
	if from == to || nd == to.node {
		return // rename(2): two names of one file stay as they are
	}
	m.names.gone(from)
	m.names.put(to, nd)
}

func (m *model) link(s *step) {
	if s.e.Ret < 0 {
		m.order.named(s.at[:])
		if s.e.Ret == eexist {
			m.failed(s, s.at[1])
		} else {
			m.failed(s, s.at[0])
		}
		return
	}
	m.there(s.e, s.at[0])
	m.order.named(s.at[:1])
	m.order.renamed(s.at[1])
	m.names.put(s.at[1], s.at[0].node)
}

func (m *model) symlink(s *step) {
	if s.e.Ret < 0 {
		m.order.named(s.at[:1])
		m.failed(s, s.at[0])
		return
	}
	m.order.renamed(s.at[0])
	m.names.create(s.at[0], format.TypeLnk).target = string(s.e.Str[0])
}

// truncate handles truncate and ftruncate.
func (m *model) truncate(s *step) {
	nd := m.subject(s)
	if nd == nil {
		return
	}
	size := s.out.Args[1]
	m.order.wrote(nd, min(size, nd.now), math.MaxInt64)
	m.order.sized(nd, true)
	nd.now, nd.changed = size, true
}

func (m *model) fallocate(s *step) {
	nd := m.subject(s)
	if nd == nil {
		return
	}
	off, size := s.out.Args[2], s.out.Args[3]
	m.order.wrote(nd, off, end(off, size))
	nd.now, nd.changed = max(nd.now, end(off, size)), true
	m.order.sized(nd, false)
}

// subject returns the file that a successful call on a path or a descriptor is
// about, nil for a failed one.
func (m *model) subject(s *step) *node {
	if s.d != nil {
		if s.e.Ret < 0 {
			return nil
		}
		return s.d.file.node
	}
	m.order.named(s.at[:1])
	if s.e.Ret < 0 {
		m.failed(s, s.at[0])
		return nil
	}
	m.there(s.e, s.at[0])
	return s.at[0].node
}

func end(off, size int64) int64 {
	if off > math.MaxInt64-size {
		return math.MaxInt64
	}
	return off + size
}

func (m *model) lseek(s *step) {
	f := s.d.file
	m.order.after(f.moved)
	f.moved = m.order.here
	if s.e.Ret < 0 {
		return
	}
	f.offset = s.e.Ret
	f.node.listing = 0
	if s.out.Args[2] == format.SeekEnd {
		if size := s.e.Ret - s.out.Args[1]; size >= 0 {
			m.raise(f.node, size)
		}
		m.order.after(f.node.resized)
		f.node.ends = m.order.use(f.node.ends)
	}
}

func (m *model) getdents(s *step) {
	f := s.d.file
	m.order.after(f.moved)
	f.moved = m.order.here
	m.order.afterAll(f.node.changes)
	if s.e.Ret < 0 {
		return
	}
	if f.node.typ == format.TypeUnknown {
		f.node.typ = format.TypeDir
	}
	if f.node.listing += s.e.Ret; s.e.Ret == 0 {
		f.node.listing = 0
	}
	if !f.node.created {
		f.node.size = max(f.node.size, f.node.listing)
	}
}

// advance moves the offset that a description shares with others, and returns
// where it was.
func (m *model) advance(f *openFile, size int64) (off int64) {
	m.order.after(f.moved)
	f.moved = m.order.here
	if off = f.offset; size > 0 {
		f.offset = end(f.offset, size)
	}
	return off
}

// transfer returns where a read or write began, and moves the offset.
func (m *model) transfer(s *step) (off int64) {
	if i := layouts[s.out.Op].offset; i >= 0 {
		return s.out.Args[i]
	}
	return m.advance(s.d.file, s.e.Ret)
}

func (m *model) read(s *step) {
	m.fetched(s.d.file.node, m.transfer(s), s.e.Ret, s.e.Ret < s.e.Args[layouts[s.e.Op].size])
}

// fetched notes that so many bytes were read, or an error met; short says that
// the read found the end of the file.
func (m *model) fetched(nd *node, off, size int64, short bool) {
	// A read that found the end depends on what made it so.
	m.order.read(nd, off, end(off, max(size, 1)))
	nd.reads = m.order.use(nd.reads)
	if short {
		m.order.after(nd.resized)
		nd.ends = m.order.use(nd.ends)
	}
	if size > 0 {
		m.raise(nd, end(off, size))
	}
}

func (m *model) write(s *step) {
	f := s.d.file
	if f.append {
		f.offset = f.node.now
	}
	off := m.transfer(s)
	if f.append {
		off = f.node.now // of pwrite, too: pwrite(2), bugs
	}
	m.stored(f.node, off, s.e.Ret)
	if f.append {
		f.offset = f.node.now
	}
}

// stored notes that so many bytes were written, or an error met.
func (m *model) stored(nd *node, off, size int64) {
	if size <= 0 {
		return
	}
	m.order.wrote(nd, off, end(off, size))
	if e := end(off, size); e > nd.now {
		m.order.sized(nd, false)
		nd.now, nd.changed = e, true
	}
}

// raise makes the file at the start at least as large as a successful call
// proves it was.
func (m *model) raise(nd *node, size int64) {
	if nd.created || size <= nd.now {
		return
	}
	if nd.sized {
		m.report.Raised++
	}
	nd.now = size
	if size > nd.size {
		nd.size = size
	}
}
