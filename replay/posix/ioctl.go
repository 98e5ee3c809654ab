package posix

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/fiemap"
)

// Requests that fill a struct, with the recorded request and the one that
// replaces it. Flags are never set, because an immutable file could not be
// removed. Reading them costs nearly the same.
var ioctlReads = []struct{ request, play int64 }{
	{unix.FS_IOC_GETFLAGS, unix.FS_IOC_GETFLAGS},
	{unix.FS_IOC_SETFLAGS, unix.FS_IOC_GETFLAGS},
	{fsIocFsgetxattr, fsIocFsgetxattr},
	{fsIocFssetxattr, fsIocFsgetxattr},
	{fsIocGetversion, fsIocGetversion},
	{fsIocSetversion, fsIocGetversion},
}

// Requests that package unix lacks, from include/uapi/linux/fs.h.
const (
	fsIocFsgetxattr = 0x801c581f
	fsIocFssetxattr = 0x401c5820
	fsIocGetversion = 0x80087601
	fsIocSetversion = 0x40087602
)

// callIoctl executes the requests that concern files. Other requests return the
// recorded result.
func callIoctl(w *worker, s fdEntry, r *format.Record) int64 {
	switch request := r.Args[1]; request {
	case unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE:
		return w.clone(s, r)
	case fiemap.Request:
		w.fiemap()
		return w.ioctl(s, request)
	default:
		for i := range ioctlReads {
			if ioctlReads[i].request != request {
				continue
			}
			got := w.ioctl(s, ioctlReads[i].play)
			if got >= 0 && ioctlReads[i].play != request {
				return r.Ret
			}
			return got
		}
	}
	return r.Ret
}

// ioctl makes a call with the worker's scratch memory, in which every struct
// of the requests has room.
func (w *worker) ioctl(s fdEntry, request int64) int64 {
	return w.sys.Call(unix.SYS_IOCTL, s.real(), uintptr(request), w.scratchPointer())
}

// fiemap asks for the extents of a whole file, as many as fit.
func (w *worker) fiemap() {
	b := w.scratch[:fiemap.Header]
	clear(b)
	binary.NativeEndian.PutUint64(b[8:], 1<<64-1) // length
	binary.NativeEndian.PutUint32(b[24:], (pageSize-fiemap.Header)/fiemap.Extent)
}

// clone lets files share blocks. The other descriptor is the third argument.
func (w *worker) clone(s fdEntry, r *format.Record) int64 {
	if r.Args[2] == noFile {
		return r.Ret
	}
	other := w.lookup(r.Args[2])
	if other == 0 {
		return errBadFD
	}
	from, size, to := r.Args[3], r.Args[4], r.Args[5]
	if r.Args[1] == unix.FICLONE {
		return w.sys.Call(unix.SYS_IOCTL, s.real(), unix.FICLONE, other.real())
	}
	if from < 0 || size < 0 || to < 0 || to+size < 0 {
		return errInvalid
	}
	put := func(at int, v int64) { binary.NativeEndian.PutUint64(w.scratch[at:], uint64(v)) }
	if r.Args[1] == unix.FICLONERANGE {
		// struct file_clone_range; a length of 0 reaches to the end.
		if !w.allowLength(to + size) {
			return errNoSpace
		}
		put(0, int64(other.real()))
		put(8, from)
		put(16, size)
		put(24, to)
		return w.ioctl(s, unix.FICLONERANGE)
	}
	// struct file_dedupe_range with one file_dedupe_range_info.
	put(0, from)
	put(8, size)
	put(16, 1)
	put(24, int64(other.real()))
	put(32, to)
	put(40, 0)
	put(48, 0)
	return w.ioctl(s, unix.FIDEDUPERANGE)
}
