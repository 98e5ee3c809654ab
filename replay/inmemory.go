package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"pianola/memfs"
	"pianola/replay/fileset"
	"pianola/replay/sandbox"
)

// openMemory makes a file system in memory the kernel of the replay. It leaves
// a quarter of the available memory free; the traces of a run share the rest.
func (e *engine) openMemory() error {
	available, err := availableMemory()
	if err != nil {
		return err
	}
	if e.files, err = memfs.New(available / 4 * 3 / int64(e.parts)); err != nil {
		return err
	}
	e.guard.Kernel = e.files.Call
	e.guard.Alone = true
	root := sandbox.CString("/")
	fd := e.guard.Kernel(unix.SYS_OPENAT, sandbox.CWD, sandbox.Pointer(root), unix.O_RDONLY|unix.O_DIRECTORY, 0, 0, 0)
	e.guard.Root = uintptr(fd)
	e.Cache = fileset.CacheAsIs // all of it is in memory
	return sandbox.Error(fd)
}

// ahead is how much memory is populated before the start, for the writes of a
// trace.
const ahead = 64 << 20

// availableMemory returns how many bytes can be used without swapping. Without
// /proc, it is the memory that is free even of page cache.
func availableMemory() (int64, error) {
	const field = "MemAvailable:"
	b, err := os.ReadFile("/proc/meminfo")
	if errors.Is(err, fs.ErrNotExist) {
		return freeMemory()
	}
	if err != nil {
		return 0, fmt.Errorf("find out how much memory is free: %w", err)
	}
	_, after, _ := bytes.Cut(b, []byte(field))
	words := bytes.Fields(after)
	if len(words) == 0 {
		return 0, fmt.Errorf("find out how much memory is free: no %s in /proc/meminfo", field)
	}
	kib, err := strconv.ParseInt(string(words[0]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("find out how much memory is free: %w", err)
	}
	return kib << 10, nil
}

func freeMemory() (int64, error) {
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err != nil {
		return 0, fmt.Errorf("find out how much memory is free: %w", err)
	}
	return int64(uint64(s.Freeram) * uint64(s.Unit)), nil
}
