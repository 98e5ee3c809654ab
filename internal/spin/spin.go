// Package spin locks short sections of threads that must not wait in the Go scheduler.
package spin

import (
	"sync/atomic"
	"syscall"
)

// Lock is a lock for pinned workers, which must not wait in Go, and for short sections. A
// thread that finds it taken yields to other threads. The zero Lock is free.
type Lock struct{ taken atomic.Bool }

// Take waits until the lock is free, and takes it.
func (l *Lock) Take() {
	for !l.TryTake() {
		Yield()
	}
}

// TryTake takes the lock if it is free, and reports whether it did.
func (l *Lock) TryTake() bool { return l.taken.CompareAndSwap(false, true) }

// Give frees the lock.
func (l *Lock) Give() { l.taken.Store(false) }

// Yield lets other threads run.
func Yield() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
