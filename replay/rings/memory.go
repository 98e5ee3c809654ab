package rings

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memory that the kernel sees is mapped: the garbage collector doesn't know it,
// and it doesn't move. Pages take memory once they are touched.

// mapAnonymous maps at least size bytes.
func mapAnonymous(size int) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, max(size, 1), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return mem, nil
}

func unmap(mem []byte) {
	if mem != nil {
		_ = unix.Munmap(mem)
	}
}

// field returns a pointer to a T at an offset of mem.
func field[T any](mem []byte, offset uint32) *T { return (*T)(unsafe.Pointer(&mem[offset])) }

// array returns n values of T at an offset of mem.
func array[T any](mem []byte, offset uint32, n int) []T {
	return unsafe.Slice(field[T](mem, offset), n)
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// numbers returns buffers as numbers, to be copied to mapped memory: the garbage
// collector must not see pointers being stored there.
func numbers(v []unix.Iovec) []iovec {
	return unsafe.Slice((*iovec)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// slot is memory that a request points to, besides buffers. It is used
// until the request is submitted, in a pool until it has ended.
type slot struct{ vector [maxVector]iovec }

const (
	maxVector = 1024 // UIO_MAXIOV
	maxBytes  = 0x7ffff000
)

// newSlots maps slots. Those that no request with a vector uses take no memory.
func newSlots(n int) (mem []byte, slots []slot, err error) {
	mem, err = mapAnonymous(n * int(unsafe.Sizeof(slot{})))
	if err != nil {
		return nil, nil, err
	}
	return mem, array[slot](mem, 0, n), nil
}
