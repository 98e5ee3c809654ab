package posix

import (
	"bytes"
	"encoding/binary"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/internal/limit"
	"pianola/replay/sandbox"
)

// Names that events make count as files until events remove them. It is unknown
// whether an open with O_CREAT made its file, and whether a rename replaced
// another name, so the count is an upper bound. When it reaches the limit, the
// existing names are counted.

// countCreated counts a name that a call created or may have created, and returns the call's
// result. The run ends if there are too many. The name takes some space of its
// directory.
func (w *worker) countCreated(got, space int64) int64 {
	if got < 0 {
		return got
	}
	w.spend(spaceName + space)
	if w.e.kernel.memory {
		w.chargeKernel(costName)
	}
	if w.e.namesLeft.Add(-1) < 0 {
		w.recount()
	}
	return got
}

// chargeRename accounts for a call that moved a name.
func (w *worker) chargeRename(got int64) int64 {
	if got >= 0 {
		w.spend(spaceName)
	}
	return got
}

// countRemoved accounts for a call that removed a name.
func (w *worker) countRemoved(got int64) int64 {
	if got >= 0 {
		w.e.namesLeft.Add(1)
	}
	return got
}

// recount counts the existing names. Names created in the meantime may count twice.
func (w *worker) recount() {
	e := w.e
	w.Unpin()
	if e.namesLeft.Load() < 0 {
		w.countNames()
	}
	w.Pin()
	w.excludeTime()
	if e.namesLeft.Load() < 0 && !e.Stopped() {
		w.Failf("event %d of thread %d creates more than %d files: %w", w.Event, w.Number, e.Limits.Files, limit.Of("files"))
	}
}

// excludeTime excludes work of the worker that is not part of its event, such as a census,
// from the event's duration. Before the event's first call, that call still begins the event;
// after the last one, the duration has ended already. The work makes the next event late, and
// so comes out of the following compute.
func (w *worker) excludeTime() {
	if w.LastCall == 0 {
		w.FirstCall = 0
	}
}

// countNames counts the names that exist. The worker is not pinned.
func (w *worker) countNames() {
	e, c := w.e, &w.e.census
	c.Lock()
	defer c.Unlock()
	before := e.namesLeft.Load()
	c.worker, c.left = w, e.Limits.Files
	for _, root := range w.guard.Roots() {
		c.visit(root, dot, 0)
	}
	e.namesLeft.Add(c.left - before)
}

// maxCensus is how many levels of directories are counted. Each level takes a
// descriptor.
const maxCensus = 256

// census counts names. It reuses its memory, because the garbage collector is
// off.
type census struct {
	sync.Mutex
	*worker
	left    int64 // names that may still be counted; below 0 the census ends
	buffers [maxCensus][]byte
}

var dot = sandbox.CString(".")

// visit counts the names below a directory. A directory that it can't open
// counts as too many.
func (c *census) visit(at uintptr, name *byte, depth int) {
	sys := c.e.guard.Kernel // not the worker's own, whose calls are the event
	fd := c.e.guard.OpenDir(at, name)
	switch {
	case fd == -int64(unix.ENOENT) || fd == -int64(unix.ENOTDIR) || fd == -int64(unix.ELOOP) || fd == -int64(unix.EXDEV):
		return // something else by now, or a mount
	case fd < 0 || depth == maxCensus:
		c.left = -1
	}
	if fd < 0 {
		return
	}
	defer sys.Call(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	if depth < maxCensus && c.buffers[depth] == nil {
		c.buffers[depth] = make([]byte, pageSize)
	}
	for c.left >= 0 && !c.e.Stopped() {
		b := c.buffers[depth]
		n := sys.Call(unix.SYS_GETDENTS64, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if n <= 0 {
			return
		}
		for b = b[:n]; len(b) > 0 && c.left >= 0; b = b[binary.NativeEndian.Uint16(b[16:]):] {
			c.countName(uintptr(fd), b, depth)
		}
	}
}

// countName counts a struct linux_dirent64: 8 bytes of inode, 8 of offset, 2 of
// length, 1 of type, and the name.
func (c *census) countName(dir uintptr, b []byte, depth int) {
	name := b[19:]
	name = name[:bytes.IndexByte(name, 0)]
	if string(name) == "." || string(name) == ".." || depth == 0 && string(name) == sandbox.Marker {
		return
	}
	c.left--
	if b[18] == unix.DT_DIR || b[18] == unix.DT_UNKNOWN {
		c.visit(dir, &name[0], depth+1)
	}
}
