package compile

import (
	"math"

	"pianola/format"
)

// copied handles the calls that move data between two descriptors.
func (m *model) copied(s *step) {
	began := func(f *openFile, off int64) int64 {
		if off >= 0 {
			return off
		}
		return m.advance(f, s.e.Ret)
	}
	if s.d != nil {
		m.fetched(s.d.node, began(s.d, s.out.Offset()), s.e.Ret, s.e.Ret < s.e.Size())
	}
	if s.other != nil {
		m.stored(s.other.node, began(s.other, s.out.OutOffset()), s.e.Ret)
	}
}

// cloned handles the requests that clone ranges of files.
func (m *model) cloned(s *step) {
	if s.e.Ret < 0 || s.out.Args[1] != format.Ficlone && s.out.Args[1] != format.Ficlonerange {
		return
	}
	src := fileOf(s.t.Table.Find(s.out.Args[2]))
	if src == nil || src.node == nil {
		return
	}
	from, size, to := s.out.Offset(), s.out.Size(), s.out.OutOffset()
	if size == 0 {
		size = max(src.node.now-from, 0)
	}
	m.fetched(src.node, from, size, false)
	m.stored(s.d.node, to, size)
}

// truncate handles truncate and ftruncate.
func (m *model) truncate(s *step) {
	nd := m.subject(s)
	if nd == nil {
		return
	}
	size := s.out.Size()
	m.order.wrote(nd, min(size, nd.now), math.MaxInt64)
	m.order.sized(nd, size, true)
	nd.now, nd.changed = size, true
}

func (m *model) fallocate(s *step) {
	nd := m.subject(s)
	if nd == nil {
		return
	}
	off, size := s.out.Offset(), s.out.Size()
	m.order.wrote(nd, off, end(off, size))
	if s.out.Word(format.FallocateMode)&format.FallocKeepSize != 0 {
		return
	}
	m.order.sized(nd, end(off, size), false)
	nd.now, nd.changed = max(nd.now, end(off, size)), true
}

func end(off, size int64) int64 {
	if off > math.MaxInt64-size {
		return math.MaxInt64
	}
	return off + size
}

func (m *model) lseek(s *step) {
	f := s.d
	m.order.after(f.moved)
	f.moved = m.order.here
	if s.e.Ret < 0 {
		return
	}
	f.Offset = s.e.Ret
	f.node.listing = 0
	if s.out.Word(format.Whence) == format.SeekEnd {
		if size := s.e.Ret - s.out.Offset(); size >= 0 {
			m.raise(f.node, size)
		}
		m.order.after(f.node.resized)
		f.node.ends = m.order.use(f.node.ends)
	}
}

// advance moves the offset that a description shares with others, and returns
// where it was.
func (m *model) advance(f *openFile, size int64) (off int64) {
	m.order.after(f.moved)
	f.moved = m.order.here
	if off = f.Offset; size > 0 {
		f.Offset = end(f.Offset, size)
	}
	return off
}

// transfer returns where a read or write began, and moves the offset.
func (m *model) transfer(s *step) (off int64) {
	if s.out.Op.Info().At.Offset >= 0 {
		return s.out.Offset()
	}
	return m.advance(s.d, s.e.Ret)
}

func (m *model) read(s *step) {
	m.fetched(s.d.node, m.transfer(s), s.e.Ret, s.e.Ret < s.e.Size())
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
		m.order.within(nd, end(off, size))
		m.raise(nd, end(off, size))
	}
}

func (m *model) write(s *step) {
	f := s.d
	if f.Append() {
		f.Offset = f.node.now
	}
	off := m.transfer(s)
	if f.Append() {
		off = f.node.now // of pwrite, too: pwrite(2), bugs
	}
	m.stored(f.node, off, s.e.Ret)
	if f.Append() {
		f.Offset = f.node.now
	}
}

// stored notes that so many bytes were written, or an error met.
func (m *model) stored(nd *node, off, size int64) {
	if size <= 0 {
		return
	}
	m.order.wrote(nd, off, end(off, size))
	e := end(off, size)
	if e <= nd.now {
		m.order.within(nd, e)
		nd.reads = m.order.use(nd.reads)
		return
	}
	m.order.sized(nd, e, false)
	nd.now, nd.changed = e, true
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
