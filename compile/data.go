package compile

import (
	"math"

	"pianola/format"
)

// contents is the concern of what is in files: their bytes, size and allocation, and what of
// it was in the page cache.
type contents struct {
	*pass
	residents int // chunks of pages whose residence is followed
}

func (cs *contents) enlist() {
	cs.on(cs.read, format.ReadsBytes|format.Buffers)
	cs.on(cs.write, format.WritesBytes|format.Buffers)
	cs.on(cs.copied, format.ReadsBytes|format.WritesBytes)
	cs.on(cs.cloned, format.Shares)
	cs.on(cs.lseek, format.Seeks)
	cs.on(cs.truncate, format.Cuts)
	cs.on(cs.fallocate, format.Allocates)
	cs.on(cs.getdents, format.Lists)
	cs.on(cs.faulted, format.Faults)
}

// file returns the file of a successful call on a path or a descriptor, nil if it failed.
func (s *simEvent) file() *node {
	switch {
	case s.e.Ret < 0:
		return nil
	case s.d != nil:
		return s.d.node
	}
	return s.at[0].node
}

// copied handles calls that move data between two descriptors.
func (cs *contents) copied(s *simEvent) {
	began := func(f *openFile, off int64) int64 {
		if off >= 0 {
			return off
		}
		return cs.advance(f, s.e.Ret)
	}
	if s.d != nil {
		off := began(s.d, s.out.Offset())
		cs.fetched(s.d.node, off, s.e.Ret, s.e.Ret < s.e.Size())
		cs.reached(s, s.d, off, s.e.Ret)
	}
	if s.other != nil {
		cs.stored(s, s.other.node, began(s.other, s.out.OutOffset()), s.e.Ret)
	}
}

// cloned handles ioctl requests that clone ranges of files.
func (cs *contents) cloned(s *simEvent) {
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
	cs.fetched(src.node, from, size, false)
	cs.stored(s, s.d.node, to, size)
}

// truncate handles truncate and ftruncate.
func (cs *contents) truncate(s *simEvent) {
	nd := s.file()
	if nd == nil {
		return
	}
	size := s.out.Size()
	cs.order.wrote(nd, min(size, nd.now), math.MaxInt64)
	cs.order.sized(nd, size, true)
	nd.become(size)
	nd.exact = true
}

func (cs *contents) fallocate(s *simEvent) {
	nd := s.file()
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
		cs.order.wrote(nd, off, math.MaxInt64)
		cs.order.sized(nd, size, true)
		nd.become(size)
		return
	case mode&format.FallocKeepSize != 0:
		cs.order.afterAll(nd.searches, format.EdgeBytes)
		cs.order.wrote(nd, off, end(off, size))
		return
	}
	cs.order.wrote(nd, off, end(off, size))
	cs.order.sized(nd, end(off, size), false)
	nd.become(max(nd.now, end(off, size)))
}

func end(off, size int64) int64 {
	if off > math.MaxInt64-size {
		return math.MaxInt64
	}
	return off + size
}

func (cs *contents) lseek(s *simEvent) {
	f := s.d
	cs.order.turn(&f.moved, format.EdgeOffset)
	switch s.out.Word(format.Whence) {
	case format.SeekData, format.SeekHole:
		cs.seek(f.node, s)
		cs.order.read(f.node, s.out.Offset(), math.MaxInt64)
		cs.order.atEnd(f.node) // also if it failed: then it was beyond the end
		f.node.searches = cs.order.use(f.node.searches)
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
		cs.ends(s, f.node, size, true)
		cs.raise(f.node, size)
	}
	cs.order.atEnd(f.node)
}

// advance moves the offset of an open file description, and returns the offset
// before.
func (cs *contents) advance(f *openFile, size int64) (off int64) {
	cs.order.turn(&f.moved, format.EdgeOffset)
	if off = f.Offset; size > 0 {
		f.Offset = end(f.Offset, size)
	}
	return off
}

// transfer returns the offset where a read or write began, and moves that of
// the description.
func (cs *contents) transfer(s *simEvent) (off int64) {
	if s.out.Op.Info().At.Offset >= 0 {
		return s.out.Offset()
	}
	return cs.advance(s.d, s.e.Ret)
}

func (cs *contents) read(s *simEvent) {
	off, nd := cs.transfer(s), s.d.node
	if short := s.e.Ret < min(s.e.Size(), mostMoved) && s.out.Word(format.ReadWriteFlags) == 0; s.e.Ret > 0 || s.e.Ret == 0 && short && off < nd.now {
		cs.ends(s, nd, end(off, s.e.Ret), short)
	}
	cs.fetched(nd, off, s.e.Ret, s.e.Ret < s.e.Size())
	cs.reached(s, s.d, off, s.e.Ret)
}

// mostMoved is how much a call reads at most: less than a page below 2 GiB.
const mostMoved = 0x7ffff000

// fetched handles a read of size bytes, or an error if size is below 0. If short is
// set, the read reached the end of the file.
func (cs *contents) fetched(nd *node, off, size int64, short bool) {
	// A read that reached the end depends on the call that set the end.
	cs.order.read(nd, off, end(off, max(size, 1)))
	nd.reads = cs.order.use(nd.reads)
	if short {
		cs.order.atEnd(nd)
	}
	if size > 0 {
		cs.order.within(nd, end(off, size))
		cs.raise(nd, end(off, size))
	}
}

func (cs *contents) write(s *simEvent) {
	f := s.d
	moves := f.Append() && s.out.Op.Info().At.Offset < 0 && s.e.Ret > 0
	if moves {
		f.Offset = f.node.now
	}
	off := cs.transfer(s)
	if f.Append() {
		off = f.node.now // of pwrite, too: pwrite(2), bugs
	}
	cs.stored(s, f.node, off, s.e.Ret)
	if moves {
		f.Offset = f.node.now
	}
}

// stored handles a write of size bytes, or an error if size is below 0.
func (cs *contents) stored(s *simEvent, nd *node, off, size int64) {
	if size <= 0 {
		return
	}
	nd.blocks.doubt(s.e.Start, off, end(off, size))
	nd.dirty = true
	cs.order.wrote(nd, off, end(off, size))
	e := end(off, size)
	if cs.follows(nd) {
		cs.use(nd, off, e, foundWritten)
	}
	if e <= nd.now {
		cs.order.within(nd, e)
		cs.order.afterAll(nd.searches, format.EdgeBytes) // there may have been a hole
		nd.reads = cs.order.use(nd.reads)
		return
	}
	cs.order.sized(nd, e, false)
	nd.become(e)
}

// raise makes the file at the start at least as large as a successful call
// proves. A file that had another size then and has grown since grew further by a
// call that has not returned yet.
func (p *pass) raise(nd *node, size int64) {
	if nd.created || nd.exact || size <= nd.now {
		return
	}
	if nd.sized && nd.now > nd.size {
		nd.now = size
		return
	}
	if nd.sized {
		p.report.Raised++
	}
	nd.now = size
	nd.size = max(nd.size, size)
}
