// Package eventcount lets threads sleep outside the Go scheduler. An event count (Reed and
// Kanodia, "Synchronization with eventcounts and sequencers", 1979) is a number that only
// grows, and that threads wait on.
package eventcount

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Count is an event count on a futex. It can be in memory that processes share, so its
// futex is not a private one. Any thread may call its methods. The zero Count is ready.
type Count struct{ value atomic.Uint32 }

const (
	futexWaitBitset = 9 // FUTEX_WAIT_BITSET
	futexWake       = 1 // FUTEX_WAKE
	futexAnyBit     = 1<<32 - 1
	wakeAll         = 1<<31 - 1
)

// Value returns the number, for Wait. It wraps.
func (c *Count) Value() uint32 { return c.value.Load() }

// Wait sleeps until Advance is called, unless the number is no longer value, or until
// CLOCK_MONOTONIC reaches until, in nanoseconds; 0 means no limit. It can return early. The
// caller must not be pinned: the call goes through the scheduler, so that a long sleep does
// not delay a stop of all goroutines.
func (c *Count) Wait(value uint32, until int64) {
	var timeout *syscall.Timespec
	if until > 0 {
		ts := syscall.NsecToTimespec(until)
		timeout = &ts
	}
	_, _, _ = syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&c.value)), futexWaitBitset,
		uintptr(value), uintptr(unsafe.Pointer(timeout)), 0, futexAnyBit)
}

// WaitPinned is Wait for a pinned caller and a short time. While threads sleep in the other way,
// the scheduler wakes up every 20 µs to give away their processor slots.
func (c *Count) WaitPinned(value uint32, until int64) {
	timeout := syscall.NsecToTimespec(until)
	_, _, _ = syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&c.value)), futexWaitBitset,
		uintptr(value), uintptr(unsafe.Pointer(&timeout)), 0, futexAnyBit)
}

// Advance adds one, and wakes all threads that wait.
func (c *Count) Advance() {
	c.Add()
	_, _, _ = syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&c.value)), futexWake, wakeAll, 0, 0, 0)
}

// Add adds one without waking threads: only those that have yet to sleep don't.
func (c *Count) Add() { c.value.Add(1) }
