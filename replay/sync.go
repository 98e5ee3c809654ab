package replay

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// futexEvent is an event that threads sleep on outside the Go scheduler: a
// futex that counts wake-ups. Any thread may call its methods.
type futexEvent struct{ count atomic.Uint32 }

const (
	futexWaitBitset = 9 | 128 // FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG
	futexWake       = 1 | 128 // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
	futexAnyBit     = 1<<32 - 1
	wakeAll         = 1<<31 - 1
)

// wait sleeps until a wake-up, unless there was one since seq was read from
// count, or until CLOCK_MONOTONIC reaches until, in nanoseconds; 0 means for
// ever. It can return early. The caller must not be pinned: the call goes
// through the scheduler, so that a long sleep does not delay a stop of all
// goroutines.
func (f *futexEvent) wait(seq uint32, until int64) {
	var timeout *unix.Timespec
	if until > 0 {
		ts := unix.NsecToTimespec(until)
		timeout = &ts
	}
	_, _, _ = syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&f.count)), futexWaitBitset,
		uintptr(seq), uintptr(unsafe.Pointer(timeout)), 0, futexAnyBit)
}

// wake wakes all threads that wait.
func (f *futexEvent) wake() {
	f.count.Add(1)
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&f.count)), futexWake, wakeAll, 0, 0, 0)
}

// spinLock is a lock for pinned workers, which must not wait in Go, and for
// short sections. A worker that finds it taken yields to other threads.
type spinLock struct{ taken atomic.Bool }

func (l *spinLock) take() {
	for !l.taken.CompareAndSwap(false, true) {
		sandbox.Linux(unix.SYS_SCHED_YIELD, 0, 0, 0, 0, 0, 0)
	}
}

func (l *spinLock) give() { l.taken.Store(false) }
