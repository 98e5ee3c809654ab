// Package bell lets threads sleep outside the Go scheduler.
package bell

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bell is an event that threads sleep on: a futex that counts how often it was rung. It can
// be in memory that processes share, so its futex is not a private one. Any thread may call
// its methods.
type Bell struct{ count atomic.Uint32 }

const (
	futexWaitBitset = 9 // FUTEX_WAIT_BITSET
	futexWake       = 1 // FUTEX_WAKE
	futexAnyBit     = 1<<32 - 1
	wakeAll         = 1<<31 - 1
)

// Rings returns how often the bell was rung.
func (b *Bell) Rings() uint32 { return b.count.Load() }

// Wait sleeps until the bell is rung, unless it was since Rings returned seq, or until
// CLOCK_MONOTONIC reaches until, in nanoseconds; 0 means no limit. It can return early. The
// caller must not be pinned: the call goes through the scheduler, so that a long sleep does
// not delay a stop of all goroutines.
func (b *Bell) Wait(seq uint32, until int64) {
	var timeout *unix.Timespec
	if until > 0 {
		ts := unix.NsecToTimespec(until)
		timeout = &ts
	}
	_, _, _ = syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.count)), futexWaitBitset,
		uintptr(seq), uintptr(unsafe.Pointer(timeout)), 0, futexAnyBit)
}

// Ring wakes all threads that wait.
func (b *Bell) Ring() {
	b.Count()
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.count)), futexWake, wakeAll, 0, 0, 0)
}

// Count has no thread wait that has not slept yet. For those that sleep, the bell has to be
// rung.
func (b *Bell) Count() { b.count.Add(1) }
