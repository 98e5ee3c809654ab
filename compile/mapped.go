package compile

import (
	"pianola/format"
	"pianola/format/process"
)

// The mapped files of a process have a layout of their own, apart from that of
// its buffers: runs of pages in order of address, without the holes between
// them. Addresses become places in it, marked by format.MappedFile. A process
// that is forked has the layout of its parent until it execs, because it has
// its parent's mappings.

// maxMapped bounds the layout of the mapped files of a process, in bytes. It
// takes address space, not memory.
const maxMapped = 1 << 45

// mapped is the state of a mapping of a file, which its parts share.
type mapped struct {
	node   *node
	shared bool    // writes reach the file
	guess  bool    // mapProgram made it for reading, and no fault has shown more
	made   place   // the event that mapped it, or changed its protection
	uses   []place // the newest use of each thread
}

// memory is the concern of memory: mappings, and what of them is laid out.
type memory struct {
	*pass
	layouts []*buffers // of the mapped files of processes, in the order in which they began
}

func (mm *memory) enlist() {
	mm.holdings = append(mm.holdings, mm.holds)
	mm.ahead(mm.mapProgram, has([]format.Acts{format.Faults}))
	mm.when(factBegan, mm.began)
	mm.when(factExec, mm.exec)
	mm.when(factOver, func(fact) { mm.learned.layouts = settled(mm.layouts) })
	mm.on(mm.brk, format.Breaks)
	mm.on(mm.mmap, format.Maps)
	mm.on(mm.mremap, format.Remaps)
	mm.on(mm.unmapped, format.Unmaps, format.Advises|format.InMemory)
	mm.on(mm.protected, format.Protects)
	mm.on(mm.onMapped, format.Syncs|format.InMemory)
	mm.on(mm.fault, format.Faults)
	mm.always(mm.remaps, format.Maps, format.Unmaps, format.Remaps)
}

// began gives a process its memory, unless another thread of it began before.
func (mm *memory) began(f fact) {
	switch p := f.t.proc; {
	case p.layout != nil:
	case f.maker == nil:
		p.layout = mm.newLayout()
	default:
		p.brk, p.layout, p.remapped = f.maker.proc.brk, f.maker.proc.layout, f.maker.proc.remapped
	}
}

func (mm *memory) exec(f fact) {
	p := f.s.t.proc
	p.brk, p.remapped, p.layout = 0, place{}, mm.newLayout()
}

func (mm *memory) holds(add func(purpose, int)) {
	for _, b := range mm.layouts {
		add(forBuffers, layoutBytes+len(b.regions)*regionBytes)
	}
}

// remaps changes what is mapped in the process.
func (mm *memory) remaps(s *simEvent) {
	if mm.state.Apply(s.t.Thread, s.e); s.mapped != nil && s.why == reasonNone {
		mm.state.Map(s.t.Thread, s.e, process.Mapping{Offset: s.e.Offset(), Data: s.mapped})
	}
}

// newLayout returns the layout of a process that starts or execs.
func (mm *memory) newLayout() *buffers {
	b := &buffers{budget: mm.budget}
	if mm.out != nil {
		b = mm.learned.layouts[len(mm.layouts)]
	}
	mm.layouts = append(mm.layouts, b)
	mm.budget.take(forBuffers, layoutBytes)
	return b
}

// mappedSize returns how much address space the mapped files of a process take at
// most.
func (mm *memory) mappedSize() (size int64) {
	for _, b := range mm.layouts {
		if b.size > 0 {
			size = max(size, b.size+pageSize)
		}
	}
	return size
}

// isMapped reports whether size bytes at an address include pages of a file of
// the trace.
func (s *simEvent) isMapped() bool {
	for range s.t.Process.Space.Within(s.e.Args[0], s.e.Size()) {
		return true
	}
	return false
}

// mapFile handles an mmap of a file of the trace.
func (mm *memory) mapFile(s *simEvent) {
	b, size := s.t.proc.layout, s.e.Size()
	if s.out.Ret = min(s.e.Ret, 0); s.e.Ret <= 0 {
		return
	}
	if size <= maxMapped && b.size+size <= maxMapped {
		b.add(s.e.Ret, size)
	}
	at := b.placeOf(s.e.Ret, size)
	if mm.out != nil && at == 0 {
		return
	}
	s.out.Ret = at | format.MappedFile
	mm.order.after(s.t.proc.remapped, format.EdgeDescriptor)
	for old := range s.t.Process.Space.Within(s.e.Ret, size) {
		mm.afterMapped(old.Data.(*mapped))
	}
	s.t.proc.remapped = mm.order.here
	mm.budget.take(forDescriptors, mappedBytes)
	s.mapped = &mapped{node: s.d.node, shared: s.e.Word(format.MmapFlags)&format.MapShared != 0, made: mm.order.here}
}

// afterMapped orders the event, which changes a mapping, after its uses.
func (mm *memory) afterMapped(f *mapped) {
	mm.order.after(f.made, format.EdgeDescriptor)
	mm.order.afterAll(f.uses, format.EdgeDescriptor)
}

// onMapped handles a call on memory with pages of files: it replaces the address
// by a place, and limits the size to one run of pages.
func (mm *memory) onMapped(s *simEvent) {
	acts, b, p := s.acts(), s.t.proc.layout, s.t.proc
	changes := acts.Any(format.Remaps | format.Unmaps)
	if changes {
		mm.order.after(p.remapped, format.EdgeDescriptor)
	}
	first := true
	for part := range s.t.Process.Space.Within(s.e.Args[0], s.e.Size()) {
		f := part.Data.(*mapped)
		if first {
			mm.placeMapped(s, b, part)
			first = false
		}
		if changes || acts.Any(format.Protects) {
			mm.afterMapped(f)
		} else {
			mm.order.after(f.made, format.EdgeDescriptor)
		}
		if acts.Any(format.Protects) {
			f.made, f.uses = mm.order.here, f.uses[:0]
		} else {
			f.uses = mm.order.use(f.uses)
		}
	}
	if acts.Any(format.Remaps) {
		mm.remapped(s, b)
	}
	if changes {
		p.remapped = mm.order.here
	}
}

// placeMapped sets the place and the size of a call on memory whose first mapped
// part is given.
func (mm *memory) placeMapped(s *simEvent, b *buffers, first *process.Mapping) {
	addr := max(s.e.Args[0], first.From)
	r := b.find(addr, 0)
	if r == nil {
		return
	}
	s.out.Args[0] = r.place + addr - r.from | format.MappedFile
	s.out.Args[1] = min(s.e.Args[0]+s.e.Args[1], r.to) - addr
}

// remapped lays out where mremap moved a mapping to.
func (mm *memory) remapped(s *simEvent, b *buffers) {
	s.out.Ret, s.out.Args[4] = min(s.e.Ret, 0), 0
	size := s.e.Args[2]
	if s.e.Ret <= 0 || size <= 0 {
		return
	}
	if size <= maxMapped && b.size+size <= maxMapped {
		b.add(s.e.Ret, size)
	}
	if at := b.placeOf(s.e.Ret, size); at != 0 {
		s.out.Ret = at | format.MappedFile
	}
}

// fault handles a page fault of a mapped file.
func (mm *memory) fault(s *simEvent) {
	part := s.t.Process.Space.At(s.e.Args[0])
	f, nd, off := part.Data.(*mapped), part.Data.(*mapped).node, part.Offset+s.e.Args[0]-part.From
	r := s.t.proc.layout.find(s.e.Args[0], 0)
	if r != nil {
		s.out.Args[0] = r.place + s.e.Args[0] - r.from | format.MappedFile
	}
	size := max(s.e.Size(), 0)
	s.out.Args[2] = off
	mm.order.after(f.made, format.EdgeDescriptor)
	f.uses, s.mapped = mm.order.use(f.uses), f
	if s.e.Ret < 0 { // the file ended before the page
		mm.order.atEnd(nd)
		return
	}
	mm.order.within(nd, end(off, 1))
	mm.raise(nd, end(off, 1))
	nd.reads = mm.order.use(nd.reads)
	last := max(min(end(off, size), nd.now), off)
	if mm.order.read(nd, off, last); f.shared && s.out.Op.Info().Class == format.ClassWrite {
		nd.blocks.doubt(s.e.Start, off, last)
		mm.order.wrote(nd, off, last)
	}
}

// mapProgram maps the file of a fault that no recorded call mapped: a program, or its
// interpreter, or what was mapped before the recorder was attached. A fault of a program is
// in a recording only if it waited for storage, so the calls that the trace has in addition
// take no time beside it. A fault that makes a page of the file dirty shows that the mapping
// is shared and can be written. One that reads shows nothing, so that a later write may have
// to map the page again. A fault without an address gets one here: the process had ended
// before the recorder could read its mappings.
func (mm *memory) mapProgram(s *simEvent) {
	t, e := s.t, s.e
	if !e.Notes.Known(format.NotedPath) || e.Args[0] < 0 || e.Size() <= 0 || e.Offset() < 0 {
		return
	}
	writes := e.Op.Info().Class == format.ClassWrite
	if e.Args[0] == 0 {
		e.Args[0] = unknownAddress
	} else if part := t.Process.Space.At(e.Args[0]); part != nil && !(writes && part.Data.(*mapped).guess) {
		return
	}
	fd := int64(0)
	for fd < maxProgramFD && t.Table.Find(fd) != nil {
		fd++
	}
	mm.report.Programs++
	const read, private = 1, 2
	flags, protection, sharing := int64(format.RDONLY), int64(read), int64(private)
	if writes {
		flags, protection, sharing = format.RDWR, read|format.ProtWrite, format.MapShared
	}
	for _, call := range [...]format.Event{
		{Op: format.OpOpen, Ret: fd, Args: [format.MaxArgs]int64{1: flags}, Str: [format.MaxStrings][]byte{e.Notes.Path}},
		{Op: format.OpMmap, Ret: e.Args[0], Args: [format.MaxArgs]int64{0, e.Size(), protection, sharing, fd, e.Offset()}},
		{Op: format.OpClose, Args: [format.MaxArgs]int64{fd}},
	} {
		call.TID, call.Start = e.TID, e.Start
		mm.applyMade(t, &call)
	}
	if part := t.Process.Space.At(e.Args[0]); part != nil {
		part.Data.(*mapped).guess = !writes
	}
}

// unknownAddress is where faults without an address are mapped, one after the other. It
// is above user space.
const unknownAddress = maxAddr - pageSize

// maxProgramFD is the highest descriptor by which a program is opened.
const maxProgramFD = 1 << 16
