package posix

import (
	"math/bits"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// An application's memory reduces the memory for the page cache. With
// Options.Memory, a replay maps what the application mapped in its process's
// space, and touches it in the compute before events. How much of it the
// application touched, and in which order, is not recorded.
//
// Which pages to touch is a guess, but the state of a read's buffer is recorded. Fresh
// pages become fresh again before a read into them (readyPages), and pages that a read
// touched are not touched again.

// footprint is the mappings of a process in its space. Its threads use it
// concurrently. A thread can touch a page that another one gives back at that
// moment, which is harmless.
type footprint struct {
	mapped  pageSet
	changes atomic.Int64 // how often pages were mapped
	done    atomic.Int64 // value of changes when no page was left to touch

	next int // in words of mapped, where to look for one; of the worker that holds engine.touching
}

// memory is that of a process.
type memory struct {
	arena     region     // for its reads
	space     region     // the arena, followed by room for mappings
	touched   pageSet    // pages of the space
	footprint *footprint // nil if memory calls return the recorded results
}

// newMemory makes the memory of a process, with an arena of a given size. Each
// process gets the address space of all mappings together, because address
// space takes no memory.
func (e *Executor) newMemory(arena int64) (m memory, err error) {
	size := arena
	if e.Memory {
		size = e.Limits.Memory / 2
	}
	if m.space, err = newRegion(size); err != nil {
		return m, err
	}
	e.regions = append(e.regions, m.space)
	m.arena = m.space[:1<<(bits.Len64(uint64(max(arena, pageSize)))-1)]
	if m.touched, err = e.newPageSet(m.space); err != nil || !e.Memory {
		return m, err
	}
	mapped, err := e.newPageSet(m.space)
	m.footprint = &footprint{mapped: mapped}
	return m, err
}

// reset makes the memory untouched, and reports whether that succeeded.
func (m *memory) reset() bool {
	pages := uint64(len(m.space) / pageSize)
	return m.touched.clear(0, pages-1) == 0 || m.space.advise(0, pages, unix.MADV_DONTNEED) == 0
}

// mayTouch reports whether n more pages may be touched by guess. Reads may
// exceed that, up to the size of the arenas.
func (e *Executor) mayTouch(pages uint64) bool {
	return e.touchedPages.Load()+int64(pages) <= e.Limits.Memory/2/pageSize
}

// stride is the distance between touched bytes.
const stride = 1024

// firstTouch is the first estimate of the time to touch a page, in nanoseconds.
// It is too high.
const firstTouch = 20_000

// touch touches pages of the process's memory while there is time, and returns
// the time. It ends when the rest is no longer than the longest recent touch,
// because a page can be huge, or have to be freed first. Only one worker does
// this at a time, so that no more workers are awake than with an event to
// execute.
func (w *worker) touch(now, due int64) int64 {
	e, f := w.e, w.process.footprint
	changes := f.changes.Load()
	if f.done.Load() == changes {
		return now
	}
	if due-now <= w.touchNanos {
		w.touchNanos -= w.touchNanos / 16
		return now
	}
	if !e.mayTouch(1) || !e.touching.CompareAndSwap(false, true) {
		return now
	}
	defer e.touching.Store(false)
	for clean := 0; clean < len(f.mapped); {
		page, ok := f.nextUntouched(w.process.touched)
		if !ok {
			if clean++; clean%256 != 0 {
				continue
			}
		} else {
			clean = 0
			at := w.process.space[page*pageSize:][:pageSize]
			for i := 0; i < pageSize; i += stride {
				at[i] = 0
			}
			w.countTouched(1)
		}
		before := now
		now = e.Now()
		w.touchNanos = max(w.touchNanos-w.touchNanos/1024, now-before)
		if due-now <= w.touchNanos || !e.mayTouch(1) || e.Stopped() {
			return now
		}
	}
	f.done.Store(changes)
	return e.Now()
}

// nextUntouched searches the next 32 pages for one that is mapped and not touched, and
// marks it as touched.
func (f *footprint) nextUntouched(touched pageSet) (page int, ok bool) {
	i := f.next
	left := f.mapped[i].Load() &^ touched[i].Load()
	if left == 0 {
		if f.next++; f.next == len(f.mapped) {
			f.next = 0
		}
		return 0, false
	}
	bit := left & -left
	if touched[i].Or(bit)&bit != 0 {
		return 0, false
	}
	return i*32 + bits.TrailingZeros32(bit), true
}

// countTouched counts pages that have been touched, or given back if n is below 0.
func (w *worker) countTouched(n int) {
	if held := w.e.touchedPages.Add(int64(n)); held > w.maxTouched {
		w.maxTouched = held
	}
}

// mapPages maps or remaps the pages [from, to). It returns 0 or
// -errno. An error ends the run, because it may leave a hole in the space.
func (w *worker) mapPages(from, to uint64, populate bool) int64 {
	if from >= to {
		return 0
	}
	p := w.process
	w.countTouched(-p.touched.clear(from, to-1))
	flags := uintptr(unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_FIXED | unix.MAP_NORESERVE)
	if populate = populate && w.e.mayTouch(to-from); populate {
		flags |= unix.MAP_POPULATE
	}
	if addr, size := p.space.inKernel(from, to); size > 0 {
		if got := sandbox.Linux(unix.SYS_MMAP, addr, size, unix.PROT_READ|unix.PROT_WRITE, flags, ^uintptr(0), 0); got < 0 {
			w.Failf("event %d of thread %d: map %d bytes: %w", w.Event, w.Number, size, unix.Errno(-got))
			return got
		}
	}
	if populate {
		added, _ := p.touched.mark(from, to-1)
		w.countTouched(added)
	}
	p.footprint.mapped.mark(from, to-1)
	p.footprint.changes.Add(1)
	return 0
}

// releasePages gives the pages [from, to) back to the kernel. The space keeps their
// addresses, so that nothing else is mapped there.
func (w *worker) releasePages(from, to uint64) int64 {
	if from >= to {
		return 0
	}
	p := w.process
	p.footprint.mapped.clear(from, to-1)
	w.countTouched(-p.touched.clear(from, to-1))
	return p.space.advise(from, to, unix.MADV_DONTNEED)
}

// releaseAllPages gives all of a process's memory back, at its exec or end.
func (w *worker) releaseAllPages() {
	if w.process.footprint != nil {
		w.releasePages(0, uint64(len(w.process.space)/pageSize))
	}
}
