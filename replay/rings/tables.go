package rings

import (
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// tables holds the registered files and buffers that requests refer to, held by the kernel or, if
// it refuses, by the queue.
type tables struct {
	kernel sandbox.Kernel

	fds     []int32 // by place: -1 for an empty one; descriptors of the queue's own if it holds them
	holds   bool    // the queue holds the files
	spare   []int32 // memory for the next fds
	stale   []int32 // replaced descriptors that requests may still use
	idle    func() bool
	buffers []unix.Iovec
	pinned  bool   // the kernel holds the buffers
	list    []byte // mapped: what the kernel reads at a registration
	notes   []string

	refusesFiles, refusesBuffers bool // the kernel has refused to hold them
}

func (t *tables) notef(text string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(text, args...))
}

// Notes implements Queue.
func (t *tables) Notes() []string { return slices.Clone(t.notes) }

// file resolves the registered file of an entry.
func (t *tables) file(e *sqe, fixed bool) unix.Errno {
	switch {
	case !fixed:
		return unix.EINVAL
	case uint(e.fd) >= uint(len(t.fds)) || t.fds[e.fd] < 0:
		return unix.EBADF
	}
	if t.holds {
		e.fd, e.flags = t.fds[e.fd], e.flags&^uint8(FixedFile)
	}
	return 0
}

// buffer resolves the registered buffer of an entry.
func (t *tables) buffer(e *sqe) unix.Errno {
	if int(e.bufIndex) >= len(t.buffers) {
		return unix.EFAULT
	}
	b := &t.buffers[e.bufIndex]
	if base := uint64(address(b.Base)); e.addr < base || e.addr-base > b.Len || uint64(e.len) > b.Len-(e.addr-base) {
		return unix.EFAULT
	}
	if !t.pinned {
		e.opcode += uint8(OpRead - OpReadFixed)
		if e.opcode == uint8(OpWriteFixed)+uint8(OpRead-OpReadFixed) {
			e.opcode = uint8(OpWrite)
		}
		e.bufIndex = 0
	}
	return 0
}

// dupFiles takes descriptors of the queue's own for files that the kernel does not hold. So
// a number whose file the application has closed never leads to another file. The list
// is in t.spare.
func (t *tables) dupFiles(fds []int32) error {
	t.spare = append(t.spare[:0], fds...)
	for i, fd := range fds {
		if fd < 0 {
			t.spare[i] = -1
			continue
		}
		twin := t.kernel.Call(unix.SYS_FCNTL, uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if twin < 0 {
			t.drop(t.spare[:i])
			return unix.Errno(-twin)
		}
		t.spare[i] = int32(twin)
	}
	return nil
}

// maxStale bounds the replaced descriptors that are kept for requests.
const maxStale = 1 << 12

// checkStale returns ErrBusy if too many replaced descriptors wait for requests.
func (t *tables) checkStale() error {
	if len(t.stale) >= maxStale && !t.idle() {
		return ErrBusy
	}
	return nil
}

// retire drops descriptors once no request uses them: until then their numbers must
// not lead to other files.
func (t *tables) retire(fds []int32) {
	if t.stale = append(t.stale, fds...); t.idle() {
		t.drop(t.stale)
		t.stale = t.stale[:0]
	}
}

// release drops all descriptors, at the end.
func (t *tables) release() {
	t.drop(t.stale)
	if t.holds {
		t.drop(t.fds)
	}
	t.fds, t.stale = nil, nil
	unmap(t.list)
	t.list = nil
}

func (t *tables) drop(fds []int32) {
	for _, fd := range fds {
		if fd >= 0 {
			t.kernel.Call(unix.SYS_CLOSE, uintptr(fd), 0, 0)
		}
	}
}

// RegisterFiles implements Queue for one that holds the files itself.
func (t *tables) RegisterFiles(fds []int32) error {
	if err := t.checkStale(); err != nil {
		return err
	}
	if err := t.dupFiles(fds); err != nil {
		return err
	}
	if t.holds {
		t.retire(t.fds)
	}
	t.fds, t.spare, t.holds = t.spare, t.fds, len(fds) > 0
	return nil
}

// UpdateFiles implements Queue for one that holds the files itself.
func (t *tables) UpdateFiles(at int, fds []int32) error {
	if err := t.checkRange(at, fds); err != nil {
		return err
	}
	if err := t.checkStale(); err != nil {
		return err
	}
	if err := t.dupFiles(fds); err != nil {
		return err
	}
	t.retire(t.fds[at : at+len(fds)])
	copy(t.fds[at:], t.spare)
	return nil
}

// checkRange returns EINVAL unless the table has these places.
func (t *tables) checkRange(at int, fds []int32) error {
	if at < 0 || at > len(t.fds) || len(fds) > len(t.fds)-at {
		return unix.EINVAL
	}
	return nil
}

// RegisterBuffers implements Queue for one that can't pin them.
func (t *tables) RegisterBuffers(buffers []unix.Iovec) error {
	t.buffers, t.pinned = append(t.buffers[:0], buffers...), false
	return nil
}

// listed copies values to memory that the kernel may see, after a number of bytes, and
// returns that memory. The next call uses it again.
func listed[T any](t *tables, head int, values []T) ([]byte, error) {
	if n := head + len(values)*int(unsafe.Sizeof(*new(T))); n > len(t.list) {
		mem, err := mapAnonymous(max(1<<bits.Len(uint(n-1)), 4096))
		if err != nil {
			return nil, err
		}
		unmap(t.list)
		t.list = mem
	}
	copy(array[T](t.list, uint32(head), len(values)), values)
	return t.list, nil
}
