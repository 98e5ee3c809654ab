package posix

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/replay/fileset"
	"pianola/replay/sandbox"
)

// region is memory outside the Go heap. Its size is a power of two. A page
// takes no memory until it is touched.
type region []byte

const pageSize = 4096 // the alignment that buffers keep; no machine has smaller pages

// newRegion maps the largest region of at most n bytes.
func newRegion(size int64) (region, error) {
	size = 1 << (bits.Len64(uint64(max(size, pageSize))) - 1)
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return b, nil
}

func (m region) free() {
	if m != nil {
		_ = unix.Munmap(m)
	}
}

// at returns the address of size bytes at a place. It folds back a place from
// which size bytes do not fit. If possible, that keeps the position in the
// page, which direct I/O depends on.
func (m region) at(place, size uint64) uintptr {
	last := uint64(len(m))
	place &= last - 1
	if place+size > last {
		if place &= pageSize - 1; place+size > last {
			place = 0
		}
	}
	return uintptr(unsafe.Pointer(&m[0])) + uintptr(place)
}

// poolSize is the size of the pool of data for writes.
const poolSize = 4 << 20

// newPool makes the memory that writes take their data from. It is filled, so
// that writes take no page faults, and random, so that storage can't compress
// it more than Options.Compressibility. Reads go to an arena for each process,
// whose pages stay untouched until the first read into them, where the
// application had its page faults, too.
func newPool(compressibility int) (region, error) {
	m, err := newRegion(poolSize)
	if err == nil {
		fileset.Fill(rand.NewChaCha8([32]byte{}), m, compressibility)
	}
	return m, err
}

const (
	maxTransfer = 0x7ffff000 // the kernel moves no more in one call
	maxSegments = 1024       // UIO_MAXIOV
)

// segments divides size bytes at a place into n segments of equal length, of
// which the last takes the rest, and reports whether the region can hold them.
func (m region) segments(iov *[maxSegments]unix.Iovec, place, size, n uint64) bool {
	if n == 0 {
		return true
	}
	each := size / n
	if last := size - each*(n-1); last > uint64(len(m)) {
		return false
	}
	for i := range n {
		length := each
		if i == n-1 {
			length = size - each*(n-1)
		}
		setIovec(&iov[i], m.at(place+i*each, length), length)
	}
	return true
}

// setIovec sets a segment. The kernel gets the address as a number, because the
// garbage collector does not know regions.
func setIovec(v *unix.Iovec, at uintptr, length uint64) {
	*(*uintptr)(unsafe.Pointer(&v.Base)) = at
	v.Len = length
}

// span returns the pages [from, to) of size bytes at a place, clipped to the region.
// Unlike at, it does not fold the place.
func (m region) span(place, size int64) (from, to uint64) {
	last := int64(len(m))
	if place <= 0 || place >= last || size <= 0 {
		return 0, 0
	}
	size = min(size, last-place)
	return uint64(place+pageSize-1) / pageSize, uint64(place+size+pageSize-1) / pageSize
}

// tail returns the pages that size bytes at a place have more than fewer bytes.
func (m region) tail(place, fewer, size int64) (from, to uint64) {
	if from, to = m.span(place, size); fewer > 0 {
		_, from = m.span(place, fewer)
	}
	return from, to
}

// hostPage is the page size of the machine, a multiple of pageSize.
var hostPage = uint64(os.Getpagesize())

// inKernel returns the address and length of the whole machine pages in a span.
func (m region) inKernel(from, to uint64) (addr, size uintptr) {
	from = (from*pageSize + hostPage - 1) &^ (hostPage - 1)
	to = to * pageSize &^ (hostPage - 1)
	if from >= to {
		return 0, 0
	}
	return uintptr(unsafe.Pointer(&m[from])), uintptr(to - from)
}

// advise calls madvise for a span, and returns 0 or -errno.
func (m region) advise(from, to uint64, advice uintptr) int64 {
	addr, size := m.inKernel(from, to)
	if size == 0 {
		return 0
	}
	return sandbox.Linux(unix.SYS_MADVISE, addr, size, advice, 0, 0, 0)
}
