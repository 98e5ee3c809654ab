package posix

import (
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/limit"
	"pianola/internal/spin"
	"pianola/replay/sandbox"
)

// fileWindow is the address space of the mapped files of a process, each at its place.
// Parts without a file stay reserved, so that this program uses their addresses for
// nothing else, and a call on any place is harmless. Only the kernel touches the
// memory, because a page beyond the end of a file would crash a Go program.
//
// The window of a forked process lies on top of its parent's: it sees the parent's
// mappings that it has not changed itself. So a fork makes no call. Mappings that the
// parent removes after the fork are gone for the child, too.
//
// A window is released when its process and all processes forked from it have ended.
// Until then late threads may still use it, even after an exec.
type fileWindow struct {
	e        *Executor
	addr     uintptr
	size     int64
	parent   *fileWindow // of the process that forked this one; nil for none
	previous *fileWindow // of the same process before its exec; nil for none
	users    atomic.Int32

	copies atomic.Bool // it has had a private mapping

	lock    spin.Lock
	extents []extent // what this process has mapped or unmapped, by place; they don't overlap
}

// extent is pages of a window that its process has mapped, or unmapped after a
// fork.
type extent struct {
	from, to int64
	offset   int64   // of from in the file
	fd       uintptr // a descriptor of the file, of the process's kernel table; none if nothing is mapped
	prot     uintptr
	flags    uintptr // of mmap
	tables   int64   // bytes of page tables that its faults may take
	copied   int64   // bytes of a private mapping that the process may have pages of its own for
}

// none marks the absence of a descriptor.
const none = ^uintptr(0)

// maxWindow is the address space of a window if the trace does not say how much it
// needs.
const maxWindow = 1 << 40

// mapLimit is how many mappings and parts of them a replay may make: a quarter
// of what the kernel allows, because without room for its own this program would
// die.
func mapLimit() int64 {
	text, _ := os.ReadFile("/proc/sys/vm/max_map_count")
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		n = 1 << 16
	}
	return n / 4
}

// windowSize returns the address space that a trace says its mapped files take in
// a process.
func windowSize(h *format.Header) int64 {
	size := int64(maxWindow)
	if text, ok := h.Value(format.MetaMapped); ok {
		size, _ = strconv.ParseInt(text, 10, 64)
	}
	return min(max(size, pageSize), 1<<62) &^ (pageSize - 1)
}

// newWindow reserves a window.
func (e *Executor) newWindow(beneath, before *fileWindow) (*fileWindow, error) {
	x := &fileWindow{e: e, parent: beneath, previous: before, size: e.windowSize}
	if e.mapped.Add(x.size) > e.Limits.Mapped {
		e.mapped.Add(-x.size)
		return nil, limit.Err
	}
	x.users.Store(1)
	if e.files != nil {
		return x, nil // out of memory
	}
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	got := e.guard.Kernel(unix.SYS_MMAP, 0, uintptr(x.size), unix.PROT_NONE, flags, none, 0)
	if got < 0 {
		e.mapped.Add(-x.size)
		return nil, unix.Errno(-got)
	}
	x.addr = uintptr(got)
	return x, nil
}

// release ends the use of a window by its process or by one on top of it. It returns 0, or
// -errno if address space stays reserved.
func (x *fileWindow) release() (got int64) {
	for x != nil && x.users.Add(-1) == 0 {
		if x.addr != 0 {
			got = min(got, x.e.guard.Kernel.Call(unix.SYS_MUNMAP, x.addr, uintptr(x.size), 0))
		}
		x.e.mapped.Add(-x.size)
		got = min(got, x.previous.release())
		x = x.parent
	}
	return got
}

// forkWindow puts the window of a new process on top of the window of the worker's process.
func (w *worker) forkWindow(child *process) {
	p := w.process
	p.mapping.Take()
	defer p.mapping.Give()
	if x := p.visibleWindow(); x != nil && child.inherited.CompareAndSwap(nil, x) {
		x.users.Add(1)
	}
}

// window returns the window of the worker's process, nil if it has none or the thread
// has exited: the window can be released while events follow the exit in a forged trace.
func (w *worker) window() *fileWindow {
	if w.exited {
		return nil
	}
	return w.process.window.Load()
}

// visibleWindow returns the window in which the worker finds its process's mappings, as window does.
func (w *worker) visibleWindow() *fileWindow {
	if w.exited {
		return nil
	}
	return w.process.visibleWindow()
}

// visibleWindow returns the window in which the process finds its mappings, nil if it has
// none.
func (p *process) visibleWindow() *fileWindow {
	if x := p.window.Load(); x != nil {
		return x
	}
	return p.inherited.Load()
}

// openWindow returns the window of the worker's process, which it makes for its
// first mapping, or for its first change after a fork. It is nil if that ended the
// run, or if the thread has exited.
func (w *worker) openWindow() *fileWindow {
	p := w.process
	if x := w.window(); x != nil || w.exited {
		return x
	}
	p.mapping.Take()
	x, err := p.window.Load(), error(nil)
	if x == nil {
		if x, err = w.e.newWindow(p.inherited.Load(), p.former); err == nil {
			p.former = nil
			p.window.Store(x)
		}
	}
	p.mapping.Give()
	if err != nil {
		w.Failf("event %d of thread %d: reserve address space for mapped files: %w", w.Event, w.Number, err)
		return nil
	}
	return x
}

// releaseWindow ends what the worker's process has mapped, at its exec or its end.
// Threads that are late can still use the window after an exec.
func (w *worker) releaseWindow(ended bool) {
	w.checkUnmapped(w.tryReleaseWindow(ended))
}

// tryReleaseWindow is releaseWindow, and returns 0, or -errno if a mapping stays.
func (w *worker) tryReleaseWindow(ended bool) (got int64) {
	p := w.process
	p.mapping.Take()
	defer p.mapping.Give()
	x, below := p.window.Swap(nil), p.inherited.Swap(nil)
	switch {
	case x != nil:
		p.former = x // and with it what is below
		got = w.clearWindow(x, !ended && x.users.Load() == 1)
	case below != nil && p.former == nil:
		p.former = below
	case below != nil:
		got = below.release()
	}
	if ended {
		got = min(got, p.former.release())
		p.former = nil
	}
	return got
}

// checkUnmapped ends the run if the kernel has not unmapped pages of a window, or not reserved
// their addresses again: this program could get them for its own memory. got is 0, an
// address, or -errno.
func (w *worker) checkUnmapped(got int64) {
	if got < 0 {
		w.Failf("event %d of thread %d: unmap files: %w", w.Event, w.Number, unix.Errno(-got))
	}
}

// clearWindow closes the descriptors of what a process has mapped, and unmaps it, if no
// other process sees it. It returns 0 or -errno.
func (w *worker) clearWindow(x *fileWindow, unmap bool) (got int64) {
	if x.addr == 0 && x.users.Load() > 1 {
		return 0 // in memory, the descriptors are the mappings
	}
	x.lock.Take()
	defer x.lock.Give()
	for i := range x.extents {
		w.closeExtent(&x.extents[i])
	}
	w.e.mappings.Add(-int64(len(x.extents)))
	x.extents = x.extents[:0]
	if unmap {
		got = min(x.reserve(w.e.guard.Kernel, 0, x.size), 0)
	}
	return got
}

// reserve unmaps what is mapped from a place to another one. It returns the address, 0 in
// memory, or -errno, for worker.checkUnmapped.
func (x *fileWindow) reserve(sys sandbox.Kernel, from, to int64) int64 {
	if x.addr == 0 {
		return 0
	}
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE | unix.MAP_FIXED
	return sys(unix.SYS_MMAP, x.addr+uintptr(from), uintptr(to-from), unix.PROT_NONE, flags, none, 0)
}

// within returns the pages that hold size bytes at a marked place, and false if
// the window doesn't have all of them.
func (x *fileWindow) within(place, size int64) (from, to int64, ok bool) {
	if place&format.MappedFile == 0 || size <= 0 {
		return 0, 0, false
	}
	from = place &^ format.MappedFile
	if from < 0 || from >= x.size || size > x.size-from {
		return 0, 0, false
	}
	return from &^ (pageSize - 1), (from + size + pageSize - 1) &^ (pageSize - 1), true
}

// first returns the index of the first extent that ends beyond a place.
func (x *fileWindow) first(place int64) int {
	return sort.Search(len(x.extents), func(i int) bool { return x.extents[i].to > place })
}

// find returns the extent at a place.
func (x *fileWindow) find(place int64) (extent, bool) {
	x.lock.Take()
	defer x.lock.Give()
	if i := x.first(place); i < len(x.extents) && x.extents[i].from <= place {
		return x.extents[i], true
	}
	return extent{}, false
}

// owner returns the window that has the mapping at a place, from x on downwards.
func (x *fileWindow) owner(place int64) *fileWindow {
	for x.parent != nil {
		if _, ok := x.find(place); ok {
			break
		}
		x = x.parent
	}
	return x
}

// put maps an extent, and closes the descriptors of the extents that it replaces.
func (w *worker) put(x *fileWindow, n extent) { w.requireDescriptor(w.replaceExtents(x, n)) }

// replaceExtents is put, and returns 0, or -errno if a remaining part has no descriptor.
func (w *worker) replaceExtents(x *fileWindow, n extent) (got int64) {
	x.lock.Take()
	defer x.lock.Give()
	i := x.first(n.from)
	j := i
	var parts [3]extent // what is left of the first one, the new one, what is left of the last one
	k := 0
	for ; j < len(x.extents) && x.extents[j].from < n.to; j++ {
		old := x.extents[j]
		starts, ends := old.from < n.from, old.to > n.to
		if starts {
			parts[k] = old
			parts[k].to = n.from
			k++
		}
		switch {
		case !ends && !starts:
			w.closeExtent(&old)
		case ends && starts && old.fd != none:
			twin := w.duplicate(old.fd)
			got = min(got, twin)
			old.fd, old.copied, old.tables = uintptr(max(twin, -1)), 0, 0 // the first part has them
		}
		if ends {
			old.offset, old.from = old.offset+n.to-old.from, n.to
			parts[2] = old
		}
	}
	if n.fd != none || x.parent != nil {
		parts[k] = n
		k++
	}
	if parts[2].to > 0 {
		parts[k] = parts[2]
		k++
	}
	w.e.mappings.Add(int64(k - (j - i)))
	x.extents = slices.Replace(x.extents, i, j, parts[:k]...)
	return got
}

// copied counts pages of a private mapping that a write copies, and reports
// whether the replay may have so much memory. If not, the run ends.
func (w *worker) copied(x *fileWindow, from, to int64) bool {
	if !x.copies.Load() {
		return true
	}
	x.lock.Take()
	i := x.first(from)
	private := i < len(x.extents) && x.extents[i].from <= from && x.extents[i].flags&unix.MAP_PRIVATE != 0
	if private {
		x.extents[i].copied += to - from
	}
	x.lock.Give()
	if !private || w.e.copied.Add(to-from) <= w.e.Limits.Memory {
		return true
	}
	w.Failf("event %d of thread %d writes to more than %d bytes of private mappings: %w", w.Event, w.Number, w.e.Limits.Memory, limit.Of("memory"))
	return false
}

func (w *worker) closeExtent(x *extent) {
	w.e.copied.Add(-x.copied)
	w.e.kernel.tables.Add(-x.tables)
	if x.fd != none {
		w.closeDuplicate(x.fd)
	}
}

// closeDuplicate closes a descriptor that a mapping has had. In a kernel table that has
// record locks, the close would release those on the file, which munmap does not, so the
// descriptor stays until the process ends.
func (w *worker) closeDuplicate(fd uintptr) {
	if p := w.process; p.private && p.locks && len(p.unmapped) < cap(p.unmapped) {
		p.unmapped = append(p.unmapped, fd)
		return
	}
	w.e.guard.Kernel.Call(unix.SYS_CLOSE, fd, 0, 0)
}

// closeUnmapped closes the descriptors that closeDuplicate has kept, once the process has
// ended.
func (w *worker) closeUnmapped() {
	for _, fd := range w.process.unmapped {
		w.e.guard.Kernel.Call(unix.SYS_CLOSE, fd, 0, 0)
	}
	w.process.unmapped = nil
}

// duplicate returns a copy of a descriptor for an extent, or -errno.
func (w *worker) duplicate(fd uintptr) int64 {
	return w.e.guard.Kernel.Call(unix.SYS_FCNTL, fd, unix.F_DUPFD_CLOEXEC, 0)
}

// requireDescriptor ends the run if an extent could get no descriptor of its own, and reports whether
// it has one: without, it could not be remapped, and its copied pages would not count. fd
// is a descriptor or -errno.
func (w *worker) requireDescriptor(fd int64) bool {
	if fd < 0 {
		w.Failf("event %d of thread %d: duplicate the descriptor of a mapped file: %w", w.Event, w.Number, unix.Errno(-fd))
	}
	return fd >= 0
}

// mayMap reports whether there is room for more mappings.
func (e *Executor) mayMap() bool { return e.mappings.Load() < e.maxMappings }
