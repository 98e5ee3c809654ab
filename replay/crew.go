package replay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// crew is the threads that prepare a fileset. Each is bound by a guard: a
// fileset is no more to be trusted than events are.
type crew struct {
	jobs  chan func(*hand)
	hands int
	slots int // GOMAXPROCS as it was
}

// hand is one thread of a crew and what it works with.
type hand struct {
	guard  sandbox.Guard
	random *rand.ChaCha8
	buffer []byte // chunk bytes
}

// newCrew starts threads with guards like the one given, which bind binds. The
// crew must be dismissed.
func newCrew(n int, g sandbox.Guard, bind func(*sandbox.Guard) error) (*crew, error) {
	// Calls of the guard hold on to their processor slot.
	c := &crew{jobs: make(chan func(*hand)), hands: n, slots: runtime.GOMAXPROCS(n + 2)}
	bound := make(chan error)
	for i := range n {
		go func() {
			runtime.LockOSThread() // for good: the thread is thrown away
			h := &hand{guard: g, random: rand.NewChaCha8([32]byte{1, byte(i)}), buffer: make([]byte, chunk)}
			bound <- bind(&h.guard)
			for job := range c.jobs {
				job(h)
			}
		}()
	}
	var err error
	for range n {
		if e := <-bound; e != nil {
			err = e
		}
	}
	if err != nil {
		c.dismiss()
		return nil, err
	}
	return c, nil
}

func (c *crew) dismiss() {
	close(c.jobs)
	runtime.GOMAXPROCS(c.slots)
}

// each does something with each item, in no order, and returns the first error.
func (c *crew) each(ctx context.Context, items []*item, do func(*hand, *item) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var working sync.WaitGroup
	for range min(c.hands, len(items)) {
		working.Add(1)
		c.jobs <- func(h *hand) {
			defer working.Done()
			for failed.Load() == nil {
				i := next.Add(1) - 1
				if i >= int64(len(items)) {
					return
				}
				err := ctx.Err()
				if err == nil {
					err = do(h, items[i])
				}
				if err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		}
	}
	working.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// at makes a call that takes a directory and a name in it.
func (h *hand) at(path string, call func(dir int64, last uintptr) int64) error {
	n := sandbox.NewName(path)
	dir, last := h.guard.Parent(&n)
	if sandbox.Lost(dir) {
		return unix.Errno(-dir)
	}
	defer h.guard.Leave(dir)
	return sandbox.Error(call(dir, last))
}

// open opens a file, but follows no link to it. The descriptor is to be given
// to guard.shut.
func (h *hand) open(path string, flags, mode uintptr) (int64, error) {
	n := sandbox.NewName(path)
	fd := h.guard.Open(&n, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	return fd, sandbox.Error(fd)
}

// stat returns what a name stands for itself, be it a link.
func (h *hand) stat(path string) (*unix.Statx_t, error) {
	st := new(unix.Statx_t)
	return st, h.at(path, func(dir int64, last uintptr) int64 {
		return h.guard.Kernel(unix.SYS_STATX, uintptr(dir), last, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(st)), 0)
	})
}

// chmod changes the permissions of what is no symbolic link.
func (h *hand) chmod(path string, mode uint32) error {
	err := h.at(path, func(dir int64, last uintptr) int64 {
		return h.guard.Kernel.Call(unix.SYS_FCHMODAT, uintptr(dir), last, uintptr(mode))
	})
	if err != nil {
		return fmt.Errorf("set the mode of %q: %w", path, err)
	}
	return nil
}
