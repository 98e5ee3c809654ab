package replay

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// span returns the pages, from one to before another, of size bytes at a place,
// as far as they lie in the region. Other than with at, nothing is folded back.
func (m region) span(place, size int64) (from, to uint64) {
	last := int64(len(m))
	if place <= 0 || place >= last || size <= 0 {
		return 0, 0
	}
	size = min(size, last-place)
	return uint64(place+pageSize-1) / pageSize, uint64(place+size+pageSize-1) / pageSize
}

// tail returns the pages by which size bytes at a place are more than fewer.
func (m region) tail(place, fewer, size int64) (from, to uint64) {
	if from, to = m.span(place, size); fewer > 0 {
		_, from = m.span(place, fewer)
	}
	return from, to
}

// hostPage is the machine's own page, which can be several of ours.
var hostPage = uint64(os.Getpagesize())

// inKernel returns the address and length of those whole pages of the machine
// that lie in a span.
func (m region) inKernel(from, to uint64) (addr, size uintptr) {
	from = (from*pageSize + hostPage - 1) &^ (hostPage - 1)
	to = to * pageSize &^ (hostPage - 1)
	if from >= to {
		return 0, 0
	}
	return uintptr(unsafe.Pointer(&m[from])), uintptr(to - from)
}

// advise tells the kernel what a span is needed for, and returns 0 or -errno.
func (m region) advise(from, to uint64, advice uintptr) int64 {
	addr, size := m.inKernel(from, to)
	if size == 0 {
		return 0
	}
	return sandbox.Linux(unix.SYS_MADVISE, addr, size, advice, 0, 0, 0)
}
