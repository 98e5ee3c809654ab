package compile

import "slices"

// pageSize is the granularity of buffers: a replay must reproduce which pages
// are reused and which are fresh.
const pageSize = 4096

// maxRegions bounds the regions of one process. Buffers beyond it get no place.
// Applications have dozens.
const maxRegions = 1 << 16

// The bounds of a buffer. Sums of them do not overflow.
const (
	maxAddr   = 1 << 57 // no address space is larger
	maxBuffer = 1 << 40 // bytes
)

// region is a run of pages in the application's memory, and its offset in the
// replay's memory.
type region struct {
	from, to int64 // addresses, page-aligned, to exclusive
	place    int64
}

// buffers is the layout of the memory that a process passed to reads and writes, and
// that recorded memory calls mapped: runs of pages in order of address, without the
// holes between them. The first page stays unused, so place 0 means "no buffer".
type buffers struct {
	regions []region // sorted, with holes between them
	size    int64    // of all regions
	newest  int      // the region of the last buffer, which the next one is mostly in, too
	settled bool     // regions have places and don't change
	budget  *budget
}

// add adds a buffer to the layout.
func (b *buffers) add(addr, size int64) {
	if b.settled || addr <= 0 || size <= 0 || addr > maxAddr || size > maxBuffer {
		return
	}
	from, to := addr&^(pageSize-1), (addr+size+pageSize-1)&^(pageSize-1)
	if b.newest < len(b.regions) && b.regions[b.newest].from <= from && to <= b.regions[b.newest].to {
		return
	}
	i, _ := slices.BinarySearchFunc(b.regions, from, func(r region, from int64) int { return cmp64(r.to, from) })
	j := i
	before := int64(0)
	for j < len(b.regions) && b.regions[j].from <= to {
		from, to = min(from, b.regions[j].from), max(to, b.regions[j].to)
		before += b.regions[j].to - b.regions[j].from
		j++
	}
	switch {
	case j == i+1:
		b.regions[i] = region{from: from, to: to}
	case j > i:
		b.regions = slices.Replace(b.regions, i, j, region{from: from, to: to})
	case len(b.regions) < maxRegions:
		b.regions = slices.Insert(b.regions, i, region{from: from, to: to})
	default:
		return
	}
	b.newest = i
	b.size += to - from - before
	if j == i {
		b.budget.take(forBuffers, regionBytes)
	}
}

// settle gives every region its place.
func (b *buffers) settle() {
	if b.settled {
		return
	}
	place := int64(pageSize)
	for i := range b.regions {
		r := &b.regions[i]
		r.place = place
		place += r.to - r.from
	}
	b.settled = true
}

// settled settles all of some buffers.
func settled(all []*buffers) []*buffers {
	for _, b := range all {
		b.settle()
	}
	return all
}

// place returns the offset of a buffer in the replay's memory, 0 for none.
func (b *buffers) place(addr int64) int64 {
	if addr <= 0 || len(b.regions) == 0 {
		return 0
	}
	i := b.newest
	if i >= len(b.regions) || addr < b.regions[i].from || addr >= b.regions[i].to {
		i, _ = slices.BinarySearchFunc(b.regions, addr, func(r region, addr int64) int { return cmp64(r.to, addr+1) })
		if i == len(b.regions) || addr < b.regions[i].from {
			return 0
		}
		b.newest = i
	}
	return b.regions[i].place + addr - b.regions[i].from
}

// find returns the region that holds all of size bytes at an address, nil if
// there is none. If size is 0, the address can also be the end of the region.
func (b *buffers) find(addr, size int64) *region {
	if addr <= 0 || size < 0 || addr > maxAddr || size > maxBuffer {
		return nil
	}
	i, _ := slices.BinarySearchFunc(b.regions, addr, func(r region, addr int64) int { return cmp64(r.to, addr) })
	if i == len(b.regions) || addr < b.regions[i].from || addr+size > b.regions[i].to {
		return nil
	}
	return &b.regions[i]
}

// placeOf returns the offset of size bytes at an address in the replay's
// memory, 0 unless one region holds all of them.
func (b *buffers) placeOf(addr, size int64) int64 {
	r := b.find(addr, size)
	if r == nil {
		return 0
	}
	return r.place + addr - r.from
}

func cmp64(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
