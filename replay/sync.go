package replay

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// spinLock is a lock for pinned workers, which must not wait in Go, and for
// short sections. A worker that finds it taken yields to other threads.
type spinLock struct{ taken atomic.Bool }

func (l *spinLock) take() {
	for !l.taken.CompareAndSwap(false, true) {
		yield()
	}
}

// yield lets other threads run.
func yield() { sandbox.Linux(unix.SYS_SCHED_YIELD, 0, 0, 0, 0, 0, 0) }

func (l *spinLock) give() { l.taken.Store(false) }
