package replay

import (
	"math/bits"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// An application's memory takes from what the kernel has for the page cache. So
// with Options.Memory what it mapped is mapped in its process's space, and
// touched in the compute before events, as in section 4.1 of "May: Pianola". In
// which order the application touched it, and how much of it, is not recorded.
//
// Touching is a guess, and what is recorded of a read is not: a read into pages
// that were fresh makes them fresh again (readyPages), and pages that a read
// touched are not touched once more.

// footprint is what a process has mapped in its space. Its threads use it
// concurrently; they can leave a page touched that another gives back at that
// moment, which does no harm.
type footprint struct {
	mapped  pageSet
	changes atomic.Int64 // how often pages were mapped
	done    atomic.Int64 // changes when no page was left to be touched

	next int // in words of mapped, where to look for one; of the worker that holds engine.touching
}

// makeSpace makes the memory of a process, with an arena of so many bytes. What
// the application mapped can take as much in one process as in all: address
// space is no memory.
func (e *engine) makeSpace(p *process, arena int64) (err error) {
	size := arena
	if e.Memory {
		size = e.Limits.Memory / 2
	}
	if p.space, err = newRegion(size); err != nil {
		return err
	}
	p.arena = p.space[:1<<(bits.Len64(uint64(max(arena, pageSize)))-1)]
	if p.touched, err = e.newPageSet(p.space); err != nil || !e.Memory {
		return err
	}
	mapped, err := e.newPageSet(p.space)
	p.footprint = &footprint{mapped: mapped}
	return err
}

// mayHold reports whether so many pages more can be touched by guess. Reads can
// go beyond that, as far as the arenas reach.
func (e *engine) mayHold(pages uint64) bool {
	return e.held.Load()+int64(pages) <= e.Limits.Memory/2/pageSize
}

// stride is how far apart the bytes are that are touched, as in "May: Pianola".
const stride = 1024

// firstTouch is what touching a page is taken to take before that is known:
// more than it does, in nanoseconds.
const firstTouch = 20_000

// touch touches pages of the process's memory while there is time, and returns
// the time. It ends when what is left is no longer than the longest that a page
// has taken of late, for a page can be a huge one, or have to be made free.
// One worker of all does so at a time: no more of them are awake than if it had
// an event to play.
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
	if !e.mayHold(1) || !e.touching.CompareAndSwap(false, true) {
		return now
	}
	defer e.touching.Store(false)
	for clean := 0; clean < len(f.mapped); {
		page, ok := f.take(w.process.touched)
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
			w.hold(1)
		}
		before := now
		now = e.now()
		w.touchNanos = max(w.touchNanos-w.touchNanos/1024, now-before)
		if due-now <= w.touchNanos || !e.mayHold(1) || e.stopped.Load() {
			return now
		}
	}
	f.done.Store(changes)
	return e.now()
}

// take looks through the next 32 pages for one that is mapped and not touched,
// and marks it as touched.
func (f *footprint) take(touched pageSet) (page int, ok bool) {
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

// hold counts pages that have been touched, or given back if n is below 0.
func (w *worker) hold(n int) {
	if held := w.e.held.Add(int64(n)); held > w.mostHeld {
		w.mostHeld = held
	}
}

// mapPages maps pages from one to before another, anew where they were mapped
// before. It returns 0 or -errno; the run ends with an error, for it may have
// left a hole in the space.
func (w *worker) mapPages(from, to uint64, populate bool) int64 {
	if from >= to {
		return 0
	}
	p := w.process
	w.hold(-p.touched.clear(from, to-1))
	flags := uintptr(unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_FIXED | unix.MAP_NORESERVE)
	if populate = populate && w.e.mayHold(to-from); populate {
		flags |= unix.MAP_POPULATE
	}
	if addr, size := p.space.inKernel(from, to); size > 0 {
		if got := sandbox.Linux(unix.SYS_MMAP, addr, size, unix.PROT_READ|unix.PROT_WRITE, flags, ^uintptr(0), 0); got < 0 {
			w.failf("event %d of thread %d: map %d bytes: %w", w.event, w.number, size, unix.Errno(-got))
			return got
		}
	}
	if populate {
		added, _ := p.touched.mark(from, to-1)
		w.hold(added)
	}
	p.footprint.mapped.mark(from, to-1)
	p.footprint.changes.Add(1)
	return 0
}

// giveBack gives the kernel pages from one to before another. The space keeps
// their addresses, so that nothing else comes to lie there.
func (w *worker) giveBack(from, to uint64) int64 {
	if from >= to {
		return 0
	}
	p := w.process
	p.footprint.mapped.clear(from, to-1)
	w.hold(-p.touched.clear(from, to-1))
	return p.space.advise(from, to, unix.MADV_DONTNEED)
}

// giveAllBack ends a process's memory, as its exec or end does.
func (w *worker) giveAllBack() {
	if w.process.footprint != nil {
		w.giveBack(0, uint64(len(w.process.space)/pageSize))
	}
}
