package rings

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// The threads of a pool wait in the kernel, as those of a replay do: a pinned
// goroutine must not wait in Go. The words that they wait at are in the Go heap,
// where the race detector sees what they order. They are part of a pool, which
// those who wait hold, so they don't go away meanwhile.

const (
	futexWait = 0 | 128 // FUTEX_WAIT | FUTEX_PRIVATE_FLAG
	futexWake = 1 | 128 // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
)

type futex struct{ atomic.Uint32 }

// wait sleeps until a wake-up if the word is still value. It can return early.
func (f *futex) wait(k sandbox.Kernel, value uint32) {
	k(unix.SYS_FUTEX, uintptr(unsafe.Pointer(f)), futexWait, uintptr(value), 0, 0, 0)
}

// idle is wait for a long time. It goes through the scheduler, so that it doesn't
// delay a stop of all goroutines; the caller must not be pinned.
func (f *futex) idle(value uint32) {
	_, _, _ = syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(f)), futexWait, uintptr(value), 0, 0, 0)
}

// wake wakes n threads that wait.
func (f *futex) wake(k sandbox.Kernel, n int) {
	k(unix.SYS_FUTEX, uintptr(unsafe.Pointer(f)), futexWake, uintptr(n), 0, 0, 0)
}

// lock is mutual exclusion of threads.
type lock struct{ state futex } // 0 free, 1 taken, 2 taken and perhaps waited for

func (l *lock) take(k sandbox.Kernel) {
	if l.state.CompareAndSwap(0, 1) {
		return
	}
	for l.state.Swap(2) != 0 {
		l.state.wait(k, 2)
	}
}

func (l *lock) give(k sandbox.Kernel) {
	if l.state.Swap(0) == 2 {
		l.state.wake(k, 1)
	}
}
