package compile

import "pianola/format"

// The bounds of what is laid out. More is no memory that anybody uses but a
// reservation, and events on it have no place.
const (
	maxMapping = 16 << 30 // bytes of a mapping
	maxLayout  = 64 << 30 // bytes of a process
)

// addMapping notes memory that the process was given, so that a buffer in it
// lies in its place.
func (b *buffers) addMapping(addr, size int64) {
	if size <= maxMapping && b.size+size <= maxLayout {
		b.add(addr, size)
	}
}

// The handlers of memory calls set the addresses of the event to places. Only
// memory that can hold pages of the process's own is laid out
// (format.OwnPages); a call on any other has place 0 and is bookkeeping.

func (m *model) mmap(s *step) {
	b, size := m.layout(s), s.e.Args[1]
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

// brk returns the break, moved or not.
func (m *model) brk(s *step) {
	b, old, now := m.layout(s), s.t.proc.brk, s.e.Ret
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
func (m *model) unmapped(s *step) {
	if b := m.layout(s); b != nil {
		s.out.Args[0] = b.placeOf(s.e.Args[0], s.e.Args[1])
	}
}

func (m *model) mremap(s *step) {
	b, old, size := m.layout(s), s.e.Args[0], s.e.Args[2]
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

// layout returns what a memory call is laid out in, nil if addresses are left
// out. The event's result becomes 0 where it is an address.
func (m *model) layout(s *step) *buffers {
	s.out.Ret = min(s.out.Ret, 0)
	if m.options.Bare {
		return nil
	}
	return s.t.proc.buffers
}
