package parts

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// arena is memory of a fixed size outside of the Go heap, for pieces that are freed in the order
// in which they were made, or the newest of them. Memory that is free belongs to the kernel.
//
// It is a ring: positions are bytes and only grow. A piece lies in one place, so the end of the
// ring can stay unused. It belongs to one goroutine; others may read pieces that are not freed.
type arena struct {
	mem        []byte
	tail, head int64 // between the start of the oldest piece's page and the end of the newest piece
}

func newArena(bytes int64) (*arena, error) {
	page := int64(os.Getpagesize())
	mem, err := unix.Mmap(-1, 0, int((bytes+page-1)/page*page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes for the newest events: %w", bytes, err)
	}
	return &arena{mem: mem}, nil
}

func (a *arena) close() error { return unix.Munmap(a.mem) }

// size returns the bytes of the arena.
func (a *arena) size() int64 { return int64(len(a.mem)) }

// room returns how many of them are free.
func (a *arena) room() int64 { return a.size() - (a.head - a.tail) }

// alloc returns a piece of n bytes, whose contents are arbitrary, nil if there is no room.
func (a *arena) alloc(n int) []byte {
	head, size := a.head, a.size()
	at := head % size
	if at+int64(n) > size {
		head, at = head+size-at, 0
	}
	if head+int64(n)-a.tail > size {
		return nil
	}
	a.head = head + int64(n)
	return a.mem[at:][:n:n]
}

// free frees all pieces that were made before head was at a position.
func (a *arena) free(before int64) {
	page := int64(os.Getpagesize())
	for to := before / page * page; a.tail < to; {
		at := a.tail % a.size()
		n := min(to-a.tail, a.size()-at)
		_ = unix.Madvise(a.mem[at:at+n], unix.MADV_DONTNEED) // without it they stay resident
		a.tail += n
	}
}

// undo frees all pieces that were made since head was at a position.
func (a *arena) undo(since int64) { a.head = since }
