package compile

import "pianola/format"

// The bounds of what is laid out. A larger mapping is a reservation, not memory
// in use; events on it have no place.
const (
	maxMapping = 16 << 30 // bytes of a mapping
	maxLayout  = 64 << 30 // bytes of a process
)

// addMapping adds memory that the process was given to the layout, so that
// buffers in it keep their position.
func (b *buffers) addMapping(addr, size int64) {
	if size <= maxMapping && b.size+size <= maxLayout {
		b.add(addr, size)
	}
}

// The handlers of memory calls replace the addresses of the event by places.
// Only memory that can hold the process's own pages is laid out
// (format.OwnPages). A call on other memory has place 0.

func (mm *memory) mmap(s *simEvent) {
	if s.d != nil && s.e.MapsFile() {
		mm.mapFile(s)
		return
	}
	b, size := mm.layout(s), s.e.Args[1]
	if b == nil {
		return
	}
	if s.e.Ret > 0 && format.OwnPages(s.e.Args[2], s.e.Args[3]) {
		b.addMapping(s.e.Ret, size)
	}
	s.out.Args[0] = b.placeOf(s.e.Args[0], size)
	if s.e.Ret > 0 {
		s.out.Ret = b.placeOf(s.e.Ret, size)
	}
}

// brk handles a call that returns the break, whether or not it moved it.
func (mm *memory) brk(s *simEvent) {
	b, old, now := mm.layout(s), s.t.proc.brk, s.e.Ret
	if b == nil || now <= 0 {
		return
	}
	s.t.proc.brk = now
	if old > 0 && now > old {
		b.addMapping(old, now-old)
	}
	s.out.Args[0], s.out.Ret = b.placeOf(old, 0), b.placeOf(now, 0)
}

// unmapped handles munmap and madvise.
func (mm *memory) unmapped(s *simEvent) {
	if s.isMapped() {
		mm.onMapped(s)
		return
	}
	if b := mm.layout(s); b != nil {
		s.out.Args[0] = b.placeOf(s.e.Args[0], s.e.Args[1])
	}
}

// protected handles mprotect, which has no effect if no file is mapped.
func (mm *memory) protected(s *simEvent) {
	if s.isMapped() {
		mm.onMapped(s)
	}
}

func (mm *memory) mremap(s *simEvent) {
	if s.isMapped() {
		mm.onMapped(s)
		return
	}
	b, old, size := mm.layout(s), s.e.Args[0], s.e.Args[2]
	if b == nil {
		return
	}
	if s.e.Ret > 0 && b.find(old, s.e.Args[1]) != nil {
		b.addMapping(s.e.Ret, size)
	}
	s.out.Args[0], s.out.Args[4] = b.placeOf(old, s.e.Args[1]), b.placeOf(s.e.Args[4], size)
	if s.e.Ret > 0 {
		s.out.Ret = b.placeOf(s.e.Ret, size)
	}
}

// layout returns the buffers of the process, nil if addresses are left out. It
// replaces a result that is an address by 0.
func (mm *memory) layout(s *simEvent) *buffers {
	s.out.Ret = min(s.out.Ret, 0)
	if mm.options.Bare {
		return nil
	}
	return s.t.proc.buffers
}
