package posix

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
)

// A read into memory that was never touched also takes page faults, which cost
// about as much as the data of a cached page. The recording has which reads of
// the application did. Before each read, the arena gets the same state:
// untouched or touched, as the application's memory was.

// intoArena is the set of operations whose buf argument is a place in the
// arena.
var intoArena = func() (into [format.NumOps]bool) {
	for op := format.OpNone + 1; op.Valid(); op++ {
		info := op.Info()
		into[op] = info.Acts.All(format.ReadsBytes|format.Buffers) && info.At.Buf >= 0
	}
	return into
}()

// pageSet has a bit for each page of a region.
type pageSet []atomic.Uint32

// newPageSet makes the empty set of pages of a region.
func (e *Executor) newPageSet(m region) (pageSet, error) {
	n := max(len(m)/pageSize/32, 1)
	words, err := newRegion(int64(4 * n)) // a power of two, as n is
	if err != nil {
		return nil, err
	}
	e.regions = append(e.regions, words)
	return unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(&words[0])), n), nil
}

// mark sets the bits of pages from first to last and reports how many were not
// set before, and whether any was.
func (t pageSet) mark(first, last uint64) (added int, any bool) {
	for i := first / 32; i <= last/32; i++ {
		word := wordOf(i, first, last)
		old := t[i].Load()
		any = any || old&word != 0
		if old&word != word {
			added += bits.OnesCount32(word &^ t[i].Or(word))
		}
	}
	return added, any
}

// clear clears the bits of pages from first to last and returns how many were
// set.
func (t pageSet) clear(first, last uint64) (removed int) {
	for i := first / 32; i <= last/32; i++ {
		if word := wordOf(i, first, last); t[i].Load()&word != 0 {
			removed += bits.OnesCount32(word & t[i].And(^word))
		}
	}
	return removed
}

// wordOf returns the bits of word i that stand for pages from first to last.
func wordOf(i, first, last uint64) uint32 {
	word := ^uint32(0)
	if i == first/32 {
		word &= ^uint32(0) << (first % 32)
	}
	if i == last/32 {
		word &= ^uint32(0) >> (31 - last%32)
	}
	return word
}

// readyPages brings the pages of a read's buffer into the state of the
// application's pages. That time is part of the compute before the event. It
// reports whether there was something to do.
func (w *worker) readyPages(r *format.Record) (worked bool) {
	arena := w.process.arena
	if r.Args[2] <= 0 || r.Args[2] > int64(len(arena)) {
		return false
	}
	from := uint64(arena.at(uint64(r.Args[1]), uint64(r.Args[2])) - uintptr(unsafe.Pointer(&arena[0])))
	first, last := from/pageSize, (from+uint64(r.Args[2])-1)/pageSize
	added, any := w.process.touched.mark(first, last)
	if added > 0 && w.process.footprint != nil {
		w.countTouched(added)
	}
	pages := arena[first*pageSize : (last+1)*pageSize]
	switch {
	case r.Args[1]&format.FreshBuffer != 0:
		if !any {
			return false
		}
		sandbox.Linux(unix.SYS_MADVISE, uintptr(unsafe.Pointer(&pages[0])), uintptr(len(pages)), unix.MADV_DONTNEED, 0, 0, 0)
	case added == 0:
		return false
	default:
		for i := 0; i < len(pages); i += pageSize {
			pages[i] = 0
		}
	}
	return true
}
