package memfs

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lock is held by one writer or by any number of readers. Waiting threads sleep
// in the kernel; waiting writers go before new readers. Go's scheduler does not
// know about it, so GOMAXPROCS must be larger than the number of waiting
// threads, and the garbage collector off, as in a replay. Otherwise the thread
// that holds the lock may not continue.
type lock struct{ state atomic.Uint32 } // readers, and the bits below

const (
	written = 1 << 31 // a writer holds it
	awaited = 1 << 30 // a thread may sleep

	spins = 64 // attempts before the first sleep

	futexWait = 0 | 128 // FUTEX_WAIT | FUTEX_PRIVATE_FLAG
	futexWake = 1 | 128 // FUTEX_WAKE | FUTEX_PRIVATE_FLAG
	wakeAll   = 1<<31 - 1
)

func (l *lock) lock() {
	for n := 0; ; n++ {
		s := l.state.Load()
		if s&^awaited == 0 {
			if l.state.CompareAndSwap(s, s|written) {
				return
			}
		} else if n >= spins {
			l.sleep(s)
		}
	}
}

func (l *lock) unlock() {
	if l.state.Swap(0)&awaited != 0 {
		l.wake()
	}
}

func (l *lock) rlock() {
	for n := 0; ; n++ {
		s := l.state.Load()
		if s&(written|awaited) == 0 {
			if l.state.CompareAndSwap(s, s+1) {
				return
			}
		} else if n >= spins {
			l.sleep(s)
		}
	}
}

func (l *lock) runlock() {
	if l.state.Add(^uint32(0)) == awaited && l.state.CompareAndSwap(awaited, 0) {
		l.wake()
	}
}

// sleep sleeps unless the lock is in another state than s by now, or is about
// to be free.
func (l *lock) sleep(s uint32) {
	if s&^awaited == 0 {
		return
	}
	if s&awaited == 0 && !l.state.CompareAndSwap(s, s|awaited) {
		return
	}
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&l.state)), futexWait, uintptr(s|awaited), 0, 0, 0)
}

func (l *lock) wake() {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&l.state)), futexWake, wakeAll, 0, 0, 0)
}
