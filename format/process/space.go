package process

import (
	"slices"
	"sort"
	"unsafe"

	"pianola/format"
)

// Space is the mappings of files in the memory of a process. Processes that
// were cloned with CLONE_VM share it.
type Space struct {
	Data any // for the caller; copies of the space, made by forks, share it

	mappings []Mapping // by address; they don't overlap
	shared   bool      // another space has the same slice
}

// Mapping is pages of a file in a space.
type Mapping struct {
	From, To int64 // addresses, To exclusive
	Offset   int64 // of From in the file, bytes
	File     *File // nil if the caller does not use it
	Data     any   // for the caller; parts of a mapping share it
}

// mappingBytes is the size of a Mapping in bytes.
const mappingBytes = int(unsafe.Sizeof(Mapping{}))

// maxAddress is above every address. Sums of an address and a size do not
// overflow.
const maxAddress = 1 << 61

// pages returns the addresses of the whole pages that hold size bytes, and false
// if there are none.
func pages(addr, size int64) (from, to int64, ok bool) {
	const page = 4096
	if addr <= 0 || size <= 0 || addr > maxAddress || size > maxAddress {
		return 0, 0, false
	}
	return addr &^ (page - 1), (addr + size + page - 1) &^ (page - 1), true
}

// Hold adds the bytes of a space, and calls each for its mappings. It skips what
// it shares with others if first returns false, because that is already counted.
func (s *Space) Hold(first func(any) bool, add func(bytes int), each func(*Mapping)) {
	if len(s.mappings) == 0 || s.shared && !first(&s.mappings[0]) {
		return
	}
	add(len(s.mappings) * mappingBytes)
	for i := range s.mappings {
		each(&s.mappings[i])
	}
}

// from returns the index of the first mapping that ends beyond an address.
func (s *Space) from(addr int64) int {
	return sort.Search(len(s.mappings), func(i int) bool { return s.mappings[i].To > addr })
}

// At returns the mapping that holds an address, nil for none. Nothing but its Data
// may be changed. It is valid until the space changes.
func (s *Space) At(addr int64) *Mapping {
	if i := s.from(addr); i < len(s.mappings) && s.mappings[i].From <= addr {
		return &s.mappings[i]
	}
	return nil
}

// All yields all mappings, in order of address. They must not be changed, and the
// space neither.
func (s *Space) All(yield func(*Mapping) bool) {
	for i := range s.mappings {
		if !yield(&s.mappings[i]) {
			return
		}
	}
}

// Within yields the mappings that have pages in size bytes at an address. They
// must not be changed, and the space neither.
func (s *Space) Within(addr, size int64) func(yield func(*Mapping) bool) {
	return func(yield func(*Mapping) bool) {
		from, to, ok := pages(addr, size)
		if !ok {
			return
		}
		for i := s.from(from); i < len(s.mappings) && s.mappings[i].From < to && yield(&s.mappings[i]); i++ {
		}
	}
}

// Map adds a mapping of a file that a successful mmap of the thread made. Its
// address is that of the event, and its size is that of the event's whole pages. It
// replaces what was mapped there.
func (s *State) Map(t *Thread, e *format.Event, m Mapping) {
	var ok bool
	if m.From, m.To, ok = pages(e.Ret, e.Size()); ok && m.Offset >= 0 && m.Offset <= maxOffset {
		s.put(t.Process.Space, m)
	}
}

// put adds a mapping in the place of others. If there is no room for it, the
// space has none there.
func (s *State) put(sp *Space, m Mapping) {
	s.unmap(sp, m.From, m.To)
	if s.held+mappingBytes > s.tables.most {
		return
	}
	s.ownSpace(sp)
	sp.mappings = slices.Insert(sp.mappings, sp.from(m.From), m)
	s.hold(mappingBytes)
}

// ownSpace prepares a change of a space.
func (s *State) ownSpace(sp *Space) {
	if sp.shared {
		sp.mappings, sp.shared = slices.Clone(sp.mappings), false
		s.hold(len(sp.mappings) * mappingBytes)
	}
}

// unmap removes what is mapped from an address to another one.
func (s *State) unmap(sp *Space, from, to int64) {
	i := sp.from(from)
	j := i
	for j < len(sp.mappings) && sp.mappings[j].From < to {
		j++
	}
	if i == j {
		return
	}
	s.ownSpace(sp)
	var rest []Mapping
	if m := sp.mappings[i]; m.From < from {
		m.To = from
		rest = append(rest, m)
	}
	if m := sp.mappings[j-1]; m.To > to {
		m.Offset, m.From = m.Offset+to-m.From, to
		rest = append(rest, m)
	}
	sp.mappings = slices.Replace(sp.mappings, i, j, rest...)
	s.hold((len(rest) - (j - i)) * mappingBytes)
}

// remap moves what is mapped (mremap(2)).
func (s *State) remap(sp *Space, e *format.Event) {
	from, end, ok := pages(e.Args[0], max(e.Args[1], 1))
	to, last, fits := pages(e.Ret, e.Args[2])
	if !ok || !fits {
		return
	}
	if e.Args[1] == 0 { // a second mapping of the same pages
		end = from + last - to
	}
	var moved []Mapping
	for m := range sp.Within(from, end-from) {
		part := *m
		if part.From < from {
			part.Offset, part.From = part.Offset+from-part.From, from
		}
		part.To = min(part.To, end)
		if part.To == end {
			part.To = max(part.To, from+last-to) // it has grown
		}
		part.From, part.To = part.From+to-from, min(part.To+to-from, last)
		if part.From < part.To {
			moved = append(moved, part)
		}
	}
	if e.Word(format.MremapFlags)&format.MremapDontunmap == 0 && e.Args[1] != 0 {
		s.unmap(sp, from, end)
	}
	s.unmap(sp, to, last)
	for _, part := range moved {
		s.put(sp, part)
	}
}

// forkSpace returns the space of a process that a thread creates.
func (s *State) forkSpace(sp *Space, flags int64) *Space {
	if flags&(format.CloneVM|format.CloneVfork) != 0 {
		return sp
	}
	sp.shared = len(sp.mappings) > 0
	return &Space{Data: sp.Data, mappings: sp.mappings, shared: sp.shared}
}
