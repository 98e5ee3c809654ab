package posix

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/internal/available"
	"pianola/internal/spin"
)

// Without Limits.Bytes, events may use a share of the space that is free after the
// preparation. Overwritten and removed data take no space. So when events have written
// as much as the share, the file system is asked how much space is left, and they may
// write the rest.

// freeSpace is the space of the root's file system that events may take. With
// maps it is that of the file system with the least free space.
type freeSpace struct {
	lock  spin.Lock
	stat  unix.Statfs_t // memory whose address the kernel gets
	begin int64         // bytes that were free at the start
	share int64         // of them, bytes that events may take; 0 if Limits.Bytes is given
	lease int64         // bytes that a worker takes from the budget at once, 0 for lease
}

// open computes the share of the space for the workers of a replay, and returns it.
func (s *freeSpace) open(e *Executor) int64 {
	s.begin = s.free(e)
	s.share = s.begin / 10 * 9
	if e.inMemory() {
		if memory, err := available.Memory(); err == nil {
			s.share = min(s.share, memory/2)
		}
	}
	s.share = max(s.share/int64(e.Parts), 1)
	s.lease = max(min(lease, s.share/16/int64(max(e.MaxSlots(), 1))), 1)
	return s.share
}

// free returns how many bytes are free, for a user without privileges.
func (s *freeSpace) free(e *Executor) int64 {
	least := s.freeIn(e, e.guard.Root)
	for _, b := range e.guard.Branches {
		least = min(least, s.freeIn(e, b.Root))
	}
	return least
}

func (s *freeSpace) freeIn(e *Executor, root uintptr) int64 {
	if !s.ask(e, root) || s.stat.Bavail > math.MaxInt64/uint64(max(s.stat.Bsize, 1)) {
		return 0
	}
	return int64(s.stat.Bavail) * s.stat.Bsize
}

// ask fills in stat for the file system of a root. Pinned workers call it with the
// lock, so the call must not go through the Go scheduler.
func (s *freeSpace) ask(e *Executor, root uintptr) bool {
	return e.guard.Kernel.Call(unix.SYS_FSTATFS, root, uintptr(unsafe.Pointer(&s.stat)), 0) >= 0
}

// inMemory reports whether the file system of some root has its files in memory only. One
// that can't be asked counts as such, because its limit is the lower one.
func (e *Executor) inMemory() bool {
	s := &e.space
	for _, root := range e.guard.Roots() {
		if !s.ask(e, root) || s.stat.Type == unix.TMPFS_MAGIC || s.stat.Type == unix.RAMFS_MAGIC {
			return true
		}
	}
	return false
}

// renew finds out how much of the share is left, and takes n bytes of it. It
// leaves the share as used up when a small part of it is left, so that a full file
// system is not asked at each write.
func (s *freeSpace) renew(e *Executor, n int64) bool {
	if s.share == 0 {
		return false
	}
	s.lock.Take()
	defer s.lock.Give()
	if have := e.bytes.Load(); have >= n {
		e.bytes.Add(-n)
		return true
	}
	rest := s.share - max(s.begin-s.free(e), 0)
	if rest < max(n, s.share/64) {
		return false
	}
	e.bytes.Store(rest - n)
	return true
}
