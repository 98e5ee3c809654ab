package compile

import (
	"math"

	"pianola/format"
)

// copied handles calls that move data between two descriptors.
func (m *model) copied(s *simEvent) {
	began := func(f *openFile, off int64) int64 {
		if off >= 0 {
			return off
		}
		return m.advance(f, s.e.Ret)
	}
	if s.d != nil {
		off := began(s.d, s.out.Offset())
		m.fetched(s.d.node, off, s.e.Ret, s.e.Ret < s.e.Size())
		m.reached(s, s.d, off, s.e.Ret)
	}
	if s.other != nil {
		m.stored(s, s.other.node, began(s.other, s.out.OutOffset()), s.e.Ret)
	}
}

// cloned handles ioctl requests that clone ranges of files.
func (m *model) cloned(s *simEvent) {
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
		s.d.node.exact = s.d.node.exact && src.node.exact
	}
	m.fetched(src.node, from, size, false)
	m.stored(s, s.d.node, to, size)
}

// truncate handles truncate and ftruncate.
func (m *model) truncate(s *simEvent) {
	nd := m.subject(s)
	if nd == nil {
		return
	}
	size := s.out.Size()
	m.order.wrote(nd, min(size, nd.now), math.MaxInt64)
	m.order.sized(nd, size, true)
	nd.become(size)
	nd.exact = true
}

func (m *model) fallocate(s *simEvent) {
	nd := m.subject(s)
	if nd == nil {
		return
	}
	nd.dirty = true
	off, size := s.out.Offset(), s.out.Size()
	switch mode := s.out.Word(format.FallocateMode); {
	case mode&(format.FallocCollapse|format.FallocInsert) != 0:
		if size = end(nd.now, size); mode&format.FallocCollapse != 0 {
			size = max(nd.now-s.out.Size(), 0)
		}
		m.order.wrote(nd, off, math.MaxInt64)
		m.order.sized(nd, size, true)
		nd.become(size)
		return
	case mode&format.FallocKeepSize != 0:
		m.order.afterAll(nd.searches, format.EdgeBytes)
		m.order.wrote(nd, off, end(off, size))
		return
	}
	m.order.wrote(nd, off, end(off, size))
	m.order.sized(nd, end(off, size), false)
	nd.become(max(nd.now, end(off, size)))
}

// reserves turns an ioctl that is equivalent to fallocate into fallocate.
func (m *model) reserves(s *simEvent) {
	if s.out.Op != format.OpIoctl {
		return
	}
	request := s.out.Word(format.IoctlRequest)
	modes := [...]struct{ request, mode int64 }{
		{format.FsIocResvsp64, format.FallocKeepSize},
		{format.FsIocUnresvsp64, format.FallocKeepSize | format.FallocPunchHole},
		{format.FsIocZeroRange, format.FallocKeepSize | format.FallocZeroRange},
	}
	for _, m := range modes {
		if m.request != request {
			continue
		}
		fd, whence, from, size := s.e.Args[0], s.e.Args[2], s.e.Args[3], s.e.Args[4]
		if f := fileOf(s.t.Table.Find(fd)); f != nil && f.node != nil {
			switch whence {
			case format.SeekCur:
				from += f.Offset
			case format.SeekEnd:
				from += f.node.now
			}
		}
		s.out.Op, s.out.Args = format.OpFallocate, [format.MaxArgs]int64{fd, m.mode, from, size}
	}
}

func end(off, size int64) int64 {
	if off > math.MaxInt64-size {
		return math.MaxInt64
	}
	return off + size
}

func (m *model) lseek(s *simEvent) {
	f := s.d
	m.order.after(f.moved, format.EdgeOffset)
	f.moved = m.order.here
	switch s.out.Word(format.Whence) {
	case format.SeekData, format.SeekHole:
		m.seek(f.node, s)
		m.order.read(f.node, s.out.Offset(), math.MaxInt64)
		m.order.after(f.node.resized, format.EdgeBytes)
		f.node.ends = m.order.use(f.node.ends) // also if it failed: then it was beyond the end
		f.node.searches = m.order.use(f.node.searches)
	}
	if s.e.Ret < 0 {
		return
	}
	f.Offset = s.e.Ret
	f.list = list{partial: s.e.Ret != 0}
	if s.out.Word(format.Whence) != format.SeekEnd {
		return
	}
	if size := s.e.Ret - s.out.Offset(); size >= 0 {
		m.ends(s, f.node, size, true)
		m.raise(f.node, size)
	}
	m.order.after(f.node.resized, format.EdgeBytes)
	f.node.ends = m.order.use(f.node.ends)
}

// advance moves the offset of an open file description, and returns the offset
// before.
func (m *model) advance(f *openFile, size int64) (off int64) {
	m.order.after(f.moved, format.EdgeOffset)
	f.moved = m.order.here
	if off = f.Offset; size > 0 {
		f.Offset = end(f.Offset, size)
	}
	return off
}

// transfer returns the offset where a read or write began, and moves that of
// the description.
func (m *model) transfer(s *simEvent) (off int64) {
	if s.out.Op.Info().At.Offset >= 0 {
		return s.out.Offset()
	}
	return m.advance(s.d, s.e.Ret)
}

func (m *model) read(s *simEvent) {
	off, nd := m.transfer(s), s.d.node
	if short := s.e.Ret < min(s.e.Size(), mostMoved) && s.out.Word(format.ReadWriteFlags) == 0; s.e.Ret > 0 || s.e.Ret == 0 && short && off < nd.now {
		m.ends(s, nd, end(off, s.e.Ret), short)
	}
	m.fetched(nd, off, s.e.Ret, s.e.Ret < s.e.Size())
	m.reached(s, s.d, off, s.e.Ret)
}

// mostMoved is how much a call reads at most: less than a page below 2 GiB.
const mostMoved = 0x7ffff000

// fetched handles a read of size bytes, or an error if size is below 0. If short is
// set, the read reached the end of the file.
func (m *model) fetched(nd *node, off, size int64, short bool) {
	// A read that reached the end depends on the call that set the end.
	m.order.read(nd, off, end(off, max(size, 1)))
	nd.reads = m.order.use(nd.reads)
	if short {
		m.order.after(nd.resized, format.EdgeBytes)
		nd.ends = m.order.use(nd.ends)
	}
	if size > 0 {
		m.order.within(nd, end(off, size))
		m.raise(nd, end(off, size))
	}
}

func (m *model) write(s *simEvent) {
	f := s.d
	moves := f.Append() && s.out.Op.Info().At.Offset < 0 && s.e.Ret > 0
	if moves {
		f.Offset = f.node.now
	}
	off := m.transfer(s)
	if f.Append() {
		off = f.node.now // of pwrite, too: pwrite(2), bugs
	}
	m.stored(s, f.node, off, s.e.Ret)
	if moves {
		f.Offset = f.node.now
	}
}

// stored handles a write of size bytes, or an error if size is below 0.
func (m *model) stored(s *simEvent, nd *node, off, size int64) {
	if size <= 0 {
		return
	}
	nd.blocks.doubt(s.e.Start, off, end(off, size))
	nd.dirty = true
	m.order.wrote(nd, off, end(off, size))
	e := end(off, size)
	if m.follows(nd) {
		m.use(nd, off, e, foundWritten)
	}
	if e <= nd.now {
		m.order.within(nd, e)
		m.order.afterAll(nd.searches, format.EdgeBytes) // there may have been a hole
		nd.reads = m.order.use(nd.reads)
		return
	}
	m.order.sized(nd, e, false)
	nd.become(e)
}

// raise makes the file at the start at least as large as a successful call
// proves. A file that had another size then and has grown since grew further by a
// call that has not returned yet.
func (m *model) raise(nd *node, size int64) {
	if nd.created || nd.exact || size <= nd.now {
		return
	}
	if nd.sized && nd.now > nd.size {
		nd.now = size
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
