package replay

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// lock is for pinned workers, which must not wait in Go, and for what is done at
// once: who finds it taken lets others run.
type lock struct{ taken atomic.Bool }

func (l *lock) take() {
	for !l.taken.CompareAndSwap(false, true) {
		sandbox.Linux(unix.SYS_SCHED_YIELD, 0, 0, 0, 0, 0, 0)
	}
}

func (l *lock) give() { l.taken.Store(false) }
