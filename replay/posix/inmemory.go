package posix

import (
	"golang.org/x/sys/unix"

	"pianola/internal/available"
	"pianola/replay/fileset"
	"pianola/replay/memfs"
	"pianola/replay/sandbox"
)

// openMemory makes a file system in memory the kernel of the replay. It leaves a
// quarter of the available memory free and divides the rest among the traces of a run.
func (e *Executor) openMemory() error {
	free, err := available.Memory()
	if err != nil {
		return err
	}
	e.ahead = min(ahead, free/16)
	if e.files, err = memfs.New(free / 4 * 3 / int64(e.Parts)); err != nil {
		return err
	}
	e.guard.Kernel = e.files.Call
	e.guard.SelfContained = true
	root := sandbox.CString("/")
	fd := e.guard.Kernel(unix.SYS_OPENAT, sandbox.CWD, sandbox.Pointer(root), unix.O_RDONLY|unix.O_DIRECTORY, 0, 0, 0)
	e.guard.Root = uintptr(fd)
	e.Cache = fileset.CacheAsIs // all of it is in memory
	return sandbox.Error(fd)
}

// ahead is the maximum memory, in bytes, that is populated before the start for the
// writes of a trace.
const ahead = 64 << 20
