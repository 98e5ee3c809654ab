package memfs

import (
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pageSize is the size of pages of data and of nodes of trees.
const pageSize = 4096

// The values of a slot of a tree other than the number of a page or a node.
const (
	hole      = 0 // nothing
	unwritten = 1 // a charged page that is allocated when it is written
	firstPage = 2
)

// memory is the pages of a file system, and the rest of its budget. A page is
// charged before it is allocated.
type memory struct {
	mapping []byte
	base    uintptr
	left    atomic.Int64 // bytes

	lock  lock
	free  uint32 // the first freed page; each holds the next
	fresh uint32 // the first page that was never allocated; it holds zeroes
}

// maxLimit is the memory that page numbers can address.
const maxLimit = (math.MaxUint32 - firstPage) * pageSize

func (m *memory) open(limit int64) error {
	limit = min(limit, maxLimit)
	size := firstPage*pageSize + limit/pageSize*pageSize
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("map %d bytes: %w", size, err)
	}
	// Far fewer faults if the kernel has huge pages.
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	m.mapping, m.base, m.fresh = b, uintptr(unsafe.Pointer(&b[0])), firstPage
	m.left.Store(limit)
	return nil
}

// populate makes the kernel populate n bytes of pages that were never
// allocated, so that the first write to them doesn't wait for it.
func (m *memory) populate(n int64) {
	m.lock.lock()
	from := int64(m.fresh) * pageSize
	m.lock.unlock()
	to := min(from+n/pageSize*pageSize, int64(len(m.mapping)))
	if from < to {
		_ = unix.Madvise(m.mapping[from:to], unix.MADV_POPULATE_WRITE) // since Linux 5.14
	}
}

// charge takes bytes from the budget, and reports whether there were enough.
func (m *memory) charge(n int64) bool {
	for have := m.left.Load(); have >= n; have = m.left.Load() {
		if m.left.CompareAndSwap(have, have-n) {
			return true
		}
	}
	return false
}

func (m *memory) refund(n int64) { m.left.Add(n) }

// allocPage returns a charged page, cleared if zero is set.
func (m *memory) allocPage(zero bool) uint32 {
	m.lock.lock()
	p := m.free
	if p == 0 {
		p = m.fresh
		m.fresh++
		zero = false
	} else {
		m.free = *(*uint32)(unsafe.Pointer(&m.mapping[int64(p)*pageSize]))
	}
	m.lock.unlock()
	if zero {
		clear(m.page(p))
	}
	return p
}

// freePage frees a page. The caller refunds the charge.
func (m *memory) freePage(p uint32) {
	next := (*uint32)(unsafe.Pointer(&m.mapping[int64(p)*pageSize]))
	m.lock.lock()
	*next, m.free = m.free, p
	m.lock.unlock()
}

func (m *memory) page(p uint32) []byte {
	return m.mapping[int64(p)*pageSize : (int64(p)+1)*pageSize]
}

// address returns the address of an offset in a page.
func (m *memory) address(p uint32, offset int64) uintptr {
	return m.base + uintptr(p)*pageSize + uintptr(offset)
}

// node returns the node of a tree in a page.
func (m *memory) node(p uint32) *[fan]uint32 {
	return (*[fan]uint32)(unsafe.Pointer(&m.mapping[int64(p)*pageSize]))
}
