package fileset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// workerPool is the threads that prepare a fileset. A guard binds each, because
// a fileset is as untrusted as events are.
type workerPool struct {
	jobs  chan func(*worker)
	size  int
	slots int // the earlier GOMAXPROCS
}

// worker is one thread of a pool, with its memory.
type worker struct {
	guard  sandbox.Guard
	random *rand.ChaCha8
	buffer []byte // chunk bytes
}

// poolSize is the number of threads. Small files wait for the file system more
// than for a processor, in particular over a network.
func poolSize() int { return min(max(4, 2*runtime.NumCPU()), 32) }

// startWorkers starts n threads with guards like the one given, which bind binds.
// The pool must be stopped.
func startWorkers(n int, g sandbox.Guard, bind func(*sandbox.Guard) error) (*workerPool, error) {
	// Calls of the guard keep their processor slot.
	p := &workerPool{jobs: make(chan func(*worker)), size: n, slots: runtime.GOMAXPROCS(n + 2)}
	bound := make(chan error)
	for i := range n {
		go func() {
			runtime.LockOSThread() // for good: the thread is discarded
			w := &worker{guard: g, random: rand.NewChaCha8([32]byte{1, byte(i)}), buffer: make([]byte, chunk)}
			bound <- bind(&w.guard)
			for job := range p.jobs {
				job(w)
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
		p.stop()
		return nil, err
	}
	return p, nil
}

func (p *workerPool) stop() {
	close(p.jobs)
	runtime.GOMAXPROCS(p.slots)
}

// each calls a function for each item, in no particular order, and returns the
// first error.
func (p *workerPool) each(ctx context.Context, items []*item, do func(*worker, *item) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var working sync.WaitGroup
	for range min(p.size, len(items)) {
		working.Add(1)
		p.jobs <- func(w *worker) {
			defer working.Done()
			for failed.Load() == nil {
				i := next.Add(1) - 1
				if i >= int64(len(items)) {
					return
				}
				err := ctx.Err()
				if err == nil {
					err = do(w, items[i])
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
func (w *worker) at(path string, call func(dir int64, last uintptr) int64) error {
	n := sandbox.NewName(path)
	dir, last := w.guard.Parent(&n)
	return w.call(&n, dir, func() int64 { return call(dir, last) })
}

// call makes a call on a name that the guard has opened, and releases it.
func (w *worker) call(n *sandbox.Name, opened int64, call func() int64) error {
	if sandbox.Unresolved(opened) {
		return result(n, opened)
	}
	defer w.guard.Release(opened)
	return result(n, call())
}

// result is sandbox.Error with an explanation of EXDEV below a root.
func result(n *sandbox.Name, got int64) error {
	if got == -int64(unix.EXDEV) {
		return fmt.Errorf("%q is below a mount point: %w", n, sandbox.ErrMount)
	}
	runtime.KeepAlive(n)
	return sandbox.Error(got)
}

// open opens a file, but follows no link to it. The descriptor is to be given
// to Guard.CloseFD.
func (w *worker) open(path string, flags, mode uintptr) (int64, error) {
	n := sandbox.NewName(path)
	fd := w.guard.Open(&n, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	return fd, result(&n, fd)
}

// stat returns the attributes of a name, without following a link.
func (w *worker) stat(path string) (*unix.Statx_t, error) {
	st, n := new(unix.Statx_t), sandbox.NewName(path)
	fd, last, flags := w.guard.Target(&n, false)
	return st, w.call(&n, fd, func() int64 {
		return w.guard.Kernel(unix.SYS_STATX, uintptr(fd), last, flags, unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(st)), 0)
	})
}

// chmod changes the permissions of a file that is not a symbolic link.
func (w *worker) chmod(path string, mode uint32) error {
	n := sandbox.NewName(path)
	var err error
	if w.guard.LacksProc() {
		err = w.chmodOpened(&n, mode)
	} else {
		fd, name, _ := w.guard.Path(&n, false)
		err = w.call(&n, fd, func() int64 {
			return w.guard.Kernel.Call(unix.SYS_FCHMODAT, uintptr(fd), name, uintptr(mode))
		})
	}
	if err != nil {
		return fmt.Errorf("set the mode of %q: %w", path, err)
	}
	return nil
}

// chmodOpened is chmod without a path, which could lead to a mount that was made since
// the file was checked. Before Linux 6.6 the file must be readable.
func (w *worker) chmodOpened(n *sandbox.Name, mode uint32) error {
	fd, last, flags := w.guard.Target(n, false)
	err := w.call(n, fd, func() int64 {
		return w.guard.Kernel(unix.SYS_FCHMODAT2, uintptr(fd), last, uintptr(mode), flags, 0, 0)
	})
	if !errors.Is(err, unix.ENOSYS) {
		return err
	}
	fd = w.guard.Open(n, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	return w.call(n, fd, func() int64 {
		return w.guard.Kernel.Call(unix.SYS_FCHMOD, uintptr(fd), uintptr(mode), 0)
	})
}
