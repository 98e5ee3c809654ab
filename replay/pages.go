package replay

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// A read into memory that was never touched pays for the pages as well, about
// as much as for the data of a cached page. The recording says which reads of
// the application did, and the arena is made so before each read: untouched
// where the application's memory was, touched where it was not.

// intoArena are the operations whose buf argument is a place in the arena.
var intoArena = [format.NumOps]bool{format.OpRead: true, format.OpPread64: true}

// touched has a bit for each page of an arena that has been touched.
type touched []atomic.Uint32

// newTouched uses a region, which is zero, for the bits of an arena.
func newTouched(m, arena region) touched {
	return unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(&m[0])), len(m)/4)[:max(len(arena)/pageSize/32, 1)]
}

// mark sets the bits of pages from first to last and reports whether all of
// them, and whether any, were set before.
func (t touched) mark(first, last uint64) (all, any bool) {
	all = true
	for i := first / 32; i <= last/32; i++ {
		bits := ^uint32(0)
		if i == first/32 {
			bits &= ^uint32(0) << (first % 32)
		}
		if i == last/32 {
			bits &= ^uint32(0) >> (31 - last%32)
		}
		old := t[i].Load()
		any = any || old&bits != 0
		if old&bits != bits {
			t[i].Or(bits)
			all = false
		}
	}
	return all, any
}

// readyPages brings the pages that a read goes to into the state in which the
// application's were. What that takes is taken from the compute before the
// event.
func (w *worker) readyPages(r *format.Record) {
	arena := w.process.arena
	if r.Args[2] <= 0 || r.Args[2] > int64(len(arena)) {
		return
	}
	from := uint64(arena.at(uint64(r.Args[1]), uint64(r.Args[2])) - uintptr(unsafe.Pointer(&arena[0])))
	first, last := from/pageSize, (from+uint64(r.Args[2])-1)/pageSize
	all, any := w.process.touched.mark(first, last)
	pages := arena[first*pageSize : (last+1)*pageSize]
	switch {
	case r.Args[1]&format.FreshBuffer != 0:
		if !any {
			return
		}
		linux(unix.SYS_MADVISE, uintptr(unsafe.Pointer(&pages[0])), uintptr(len(pages)), unix.MADV_DONTNEED, 0, 0, 0)
	case all:
		return
	default:
		for i := 0; i < len(pages); i += pageSize {
			pages[i] = 0
		}
	}
	w.end = w.e.now()
}
