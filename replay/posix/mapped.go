package posix

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/limit"
	"pianola/replay/sandbox"
)

// The calls on mapped files, and their page faults. A file is mapped in the window of
// its process, never executable. A fault is made by madvise, which takes the same path
// in the kernel but returns an error instead of a signal.

// onFile reports whether a place is among the mapped files and not in other memory.
func onFile(place int64) bool { return place > 0 && place&format.MappedFile != 0 }

// mapFile executes an mmap of a file.
func (w *worker) mapFile(r *format.Record) int64 {
	if r.Ret < 0 {
		return r.Ret
	}
	s := w.lookup(r.Args[4])
	if s == 0 {
		return errBadFD
	}
	x := w.openWindow()
	if x == nil {
		return r.Ret
	}
	from, to, ok := x.within(r.Ret, r.Args[1])
	if !ok || from != r.Ret&^format.MappedFile {
		return errNoMemory
	}
	const kept = unix.MAP_SHARED | unix.MAP_PRIVATE | unix.MAP_POPULATE | unix.MAP_NONBLOCK
	flags := r.Args[3]&kept | unix.MAP_FIXED | unix.MAP_NORESERVE
	if flags&unix.MAP_SHARED != 0 {
		flags &^= unix.MAP_PRIVATE // MAP_SHARED_VALIDATE
	}
	if flags&unix.MAP_PRIVATE != 0 {
		x.copies.Store(true)
		if r.Args[2]&format.ProtWrite != 0 {
			flags &^= unix.MAP_POPULATE // it would copy all pages
		}
	}
	return w.asMapped(w.mapExtent(x, extent{from: from, to: to, offset: r.Args[5]}, s.real(), uintptr(r.Args[2]), uintptr(flags)), r)
}

// readable returns a protection for pages of a file. Pages that can be written can also be
// read: processors know no memory that can only be written, so the application could read
// there, but the kernel refuses to populate such a mapping for reading. The descriptor
// permits it, because a file that was not opened for reading can't be mapped.
func readable(prot uintptr) uintptr {
	if prot&unix.PROT_WRITE != 0 {
		prot |= unix.PROT_READ
	}
	return prot & (unix.PROT_READ | unix.PROT_WRITE)
}

// mapExtent maps a file at an extent.
func (w *worker) mapExtent(x *fileWindow, n extent, fd, prot, flags uintptr) int64 {
	if !w.e.mayMap() {
		w.Failf("event %d of thread %d creates more than %d mappings: %w", w.Event, w.Number, w.e.maxMappings, limit.Err)
		return errNoMemory
	}
	if !w.chargeKernel(2 * costExtent) { // it can make three of one
		return errNoMemory
	}
	n.prot, n.flags = readable(prot), flags
	if x.addr != 0 {
		got := w.sys(unix.SYS_MMAP, x.addr+uintptr(n.from), uintptr(n.to-n.from), n.prot, flags, fd, uintptr(n.offset))
		if got < 0 {
			// The kernel leaves a hole if it fails after it has unmapped what was there.
			// This program must not get the addresses for its own memory.
			if w.callRange(unix.SYS_MSYNC, x, n.from, n.to, unix.MS_ASYNC) == errNoMemory {
				w.checkUnmapped(x.reserve(w.e.guard.Kernel, n.from, n.to))
				w.put(x, extent{from: n.from, to: n.to, fd: none})
			}
			return got
		}
	}
	own := w.duplicate(fd)
	n.fd = uintptr(max(own, -1))
	w.put(x, n)
	if !w.requireDescriptor(own) {
		return own
	}
	return 0
}

// unmapFile executes a munmap of files.
func (w *worker) unmapFile(r *format.Record) int64 {
	if w.visibleWindow() == nil {
		return errInvalid
	}
	x := w.openWindow()
	if x == nil {
		return r.Ret
	}
	from, to, ok := x.within(r.Args[0], r.Args[1])
	if !ok {
		return errInvalid
	}
	if !w.chargeKernel(costExtent) { // it can make two of one
		return errNoMemory
	}
	got := x.reserve(w.sys, from, to)
	w.checkUnmapped(got)
	w.put(x, extent{from: from, to: to, fd: none})
	return min(got, 0)
}

// remapFile executes mremap. Moving pages would leave a hole in the window, so it maps
// them again. Mappings inherited from the parent stay.
func (w *worker) remapFile(r *format.Record) int64 {
	x := w.window()
	if r.Ret < 0 || x == nil {
		return r.Ret
	}
	from, end, ok := x.within(r.Args[0], max(r.Args[1], 1))
	to, last, fits := x.within(r.Ret, r.Args[2])
	if !ok || !fits {
		return errNoMemory
	}
	n, found := x.find(from)
	if !found || n.fd == none {
		return r.Ret
	}
	own := w.duplicate(n.fd)
	if !w.requireDescriptor(own) {
		return own
	}
	fd := uintptr(own)
	defer w.closeDuplicate(fd)
	n.offset += from - n.from
	n.from, n.to = to, last
	if got := w.mapExtent(x, n, fd, n.prot, n.flags&^unix.MAP_POPULATE); got < 0 {
		return got
	}
	if to == from {
		to = last // of the old pages, those beyond the new ones are unmapped
	} else {
		to = from
	}
	if to < end && r.Args[1] > 0 && r.Args[3]&format.MremapDontunmap == 0 {
		w.checkUnmapped(x.reserve(w.e.guard.Kernel, to, end))
		w.put(x, extent{from: to, to: end, fd: none})
	}
	return r.Ret
}

// mappedAt returns the address of pages that the process has mapped at a marked place,
// false if its window does not have all of them.
func (w *worker) mappedAt(place, size int64) (x *fileWindow, from, to int64, ok bool) {
	if x = w.visibleWindow(); x == nil {
		return nil, 0, 0, false
	}
	from, to, ok = x.within(place, size)
	return x.owner(from), from, to, ok
}

// callRange makes a call of an address, a size and a number.
func (w *worker) callRange(nr uintptr, x *fileWindow, from, to int64, value uintptr) int64 {
	return w.sys(nr, x.addr+uintptr(from), uintptr(to-from), value, 0, 0, 0)
}

// longestFault is the maximum duration of a fault that does not wait for storage, in
// nanoseconds. The recorded duration of such a fault is 0, and its time is part of the
// compute after it, so the replay treats it the same way (worker.ran). The duration of
// a longer fault ends when the page is in memory.
const longestFault = 8000

// callFault executes a page fault. It returns the recorded result if the page is in
// memory.
func callFault(w *worker, r *format.Record) int64 {
	if !onFile(r.Args[0]) {
		return r.Ret
	}
	x, from, to, ok := w.mappedAt(r.Args[0], r.Args[1])
	if !ok {
		return errFault
	}
	writes := r.Op == format.OpMapWrite
	if writes && !(w.spend(to-from) && w.copied(x, from, to)) {
		return errNoSpace
	}
	if x.addr != 0 && !w.chargePageTables(x, from, to) {
		return errNoMemory
	}
	got := int64(0)
	if x.addr == 0 {
		got = w.faultInMemory(x, from, to, writes)
	} else {
		got = w.populate(x, from, to, writes)
	}
	if took := w.LastCall - w.FirstCall; took <= longestFault {
		w.Ran = took
	}
	switch {
	case got < 0:
		return got
	case r.Ret < 0:
		return to - from
	}
	return r.Ret
}

// populate touches pages.
func (w *worker) populate(x *fileWindow, from, to int64, writes bool) int64 {
	switch {
	case !w.e.populates:
		return w.touchPages(x, from, to, writes)
	case writes:
		return w.callRange(unix.SYS_MADVISE, x, from, to, unix.MADV_POPULATE_WRITE)
	}
	return w.callRange(unix.SYS_MADVISE, x, from, to, unix.MADV_POPULATE_READ)
}

// canPopulate reports whether a kernel can populate memory (Linux 5.14).
func canPopulate(k sandbox.Kernel) bool {
	m, err := unix.Mmap(-1, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Munmap(m) }()
	return k.Call(unix.SYS_MADVISE, uintptr(unsafe.Pointer(&m[0])), pageSize, unix.MADV_POPULATE_READ) >= 0
}

// touchPages touches pages on a kernel that cannot populate memory: the kernel reads a
// byte of each page and writes it back. A page beyond the end of the file is an error,
// as with madvise.
func (w *worker) touchPages(x *fileWindow, from, to int64, writes bool) int64 {
	local, remote := &w.iov[0], &w.iov[1]
	setIovec(local, w.scratchPointer(), 1)
	for ; from < to; from += pageSize {
		setIovec(remote, x.addr+uintptr(from), 1)
		for _, nr := range [...]uintptr{unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV} {
			if nr == unix.SYS_PROCESS_VM_WRITEV && !writes {
				break
			}
			if got := w.sys(nr, uintptr(os.Getpid()), uintptr(unsafe.Pointer(local)), 1, uintptr(unsafe.Pointer(remote)), 1, 0); got < 0 {
				return got
			}
		}
	}
	return 0
}

// faultInMemory reads the pages of a file in memory, and writes them back if the
// fault is a write that reaches the file.
func (w *worker) faultInMemory(x *fileWindow, from, to int64, writes bool) int64 {
	n, ok := x.find(from)
	if !ok || n.fd == none {
		return errFault
	}
	for at := from; at < min(to, n.to); at += pageSize {
		offset := uintptr(n.offset + at - n.from)
		got := w.sys(unix.SYS_PREAD64, n.fd, w.scratchPointer(), pageSize, offset, 0, 0)
		switch {
		case got == 0:
			return errFault
		case got > 0 && writes && n.flags&unix.MAP_SHARED != 0:
			got = w.sys(unix.SYS_PWRITE64, n.fd, w.scratchPointer(), uintptr(got), offset, 0, 0)
		}
		if got < 0 {
			return got
		}
	}
	return 0
}

// callMsync executes msync.
func callMsync(w *worker, r *format.Record) int64 {
	if !onFile(r.Args[0]) {
		return r.Ret
	}
	x, from, to, ok := w.mappedAt(r.Args[0], r.Args[1])
	if !ok {
		return errNoMemory
	}
	if x.addr == 0 {
		if n, ok := x.find(from); ok && n.fd != none {
			return w.sys(unix.SYS_FSYNC, n.fd, 0, 0, 0, 0, 0)
		}
		return errNoMemory
	}
	return w.callRange(unix.SYS_MSYNC, x, from, to, uintptr(r.Args[2]))
}

// The notes of calls on mapped files that are not made.
const (
	inheritedProtection = "mappings that a process inherits keep the protection that the parent gave them: mprotect of them is not replayed"
	noRoom              = "some mprotect and madvise calls on mapped files are not replayed, because they would split mappings, and there is no room for more"
)

// noteOnce adds a note to the result, unless it is there.
func (w *worker) noteOnce(text string) {
	w.Unpin()
	w.e.Note(text)
	w.Pin()
}

// callMprotect executes mprotect of mapped files. Mappings inherited from the parent
// keep the parent's protection.
func callMprotect(w *worker, r *format.Record) int64 {
	if !onFile(r.Args[0]) {
		return r.Ret
	}
	x := w.window()
	switch {
	case x == nil:
		if below := w.visibleWindow(); below != nil && below.addr != 0 {
			w.noteOnce(inheritedProtection)
		}
		return r.Ret
	case !w.e.mayMap():
		w.noteOnce(noRoom)
		return r.Ret
	}
	from, to, ok := x.within(r.Args[0], r.Args[1])
	if !ok {
		return errNoMemory
	}
	switch {
	case x.addr == 0:
		return r.Ret
	case x.owner(from) != x:
		w.noteOnce(inheritedProtection)
		return r.Ret
	}
	w.e.mappings.Add(2) // it can make three of one
	return w.callRange(unix.SYS_MPROTECT, x, from, to, readable(uintptr(r.Args[2])))
}

// fileAdvice is the effect of a value of madvise on mapped files.
type fileAdvice struct {
	passed bool // pass it to the kernel
	splits bool // it changes a part of a mapping, which can split it in three
	writes bool // it can take blocks or memory
}

// fileAdvices holds the values of madvise that are executed for mapped files. Other
// values are about forks, dumps or anonymous memory, and return the recorded result.
var fileAdvices = map[int64]fileAdvice{
	unix.MADV_NORMAL: {passed: true, splits: true}, unix.MADV_RANDOM: {passed: true, splits: true}, unix.MADV_SEQUENTIAL: {passed: true, splits: true},
	unix.MADV_HUGEPAGE: {passed: true, splits: true}, unix.MADV_NOHUGEPAGE: {passed: true, splits: true},
	unix.MADV_WILLNEED: {passed: true}, unix.MADV_DONTNEED: {passed: true}, unix.MADV_REMOVE: {passed: true}, unix.MADV_COLD: {passed: true},
	unix.MADV_PAGEOUT: {passed: true}, unix.MADV_POPULATE_READ: {passed: true}, unix.MADV_POPULATE_WRITE: {passed: true, writes: true},
}

// adviseFile executes madvise of mapped files.
func (w *worker) adviseFile(r *format.Record) int64 {
	x, from, to, ok := w.mappedAt(r.Args[0], r.Args[1])
	if !ok {
		return errNoMemory
	}
	a := fileAdvices[r.Args[2]]
	switch {
	case !a.passed || x.addr == 0:
		return r.Ret
	case a.splits && !w.e.mayMap():
		w.noteOnce(noRoom)
		return r.Ret
	case r.Args[2] == unix.MADV_POPULATE_READ && r.Ret == errInvalid:
		return r.Ret // the application's mapping could only be written
	case a.writes && !(w.spend(to-from) && w.copied(x, from, to)):
		return errNoSpace
	case a.splits:
		w.e.mappings.Add(2)
	}
	switch r.Args[2] {
	case unix.MADV_POPULATE_READ, unix.MADV_POPULATE_WRITE:
		if !w.chargePageTables(x, from, to) {
			return errNoMemory
		}
		return w.populate(x, from, to, a.writes)
	}
	return w.callRange(unix.SYS_MADVISE, x, from, to, uintptr(r.Args[2]))
}
