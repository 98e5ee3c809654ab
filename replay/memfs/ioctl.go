package memfs

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests that package unix lacks, from include/uapi/linux/fs.h and fiemap.h.
const (
	fsIocFsgetxattr = 0x801c581f
	fsIocGetversion = 0x80087601
	fsIocFiemap     = 0xc020660b
)

// zeroAnswers is how many bytes of zeroes the requests return that only query flags:
// these files have none.
var zeroAnswers = []struct {
	request uint32
	size    int64
}{
	{unix.FS_IOC_GETFLAGS, 4},
	{fsIocGetversion, 4},
	{fsIocFsgetxattr, 28},
}

func (fs *FS) ioctl(f *file, a args) int64 {
	switch request := uint32(a[1]); request {
	case unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE:
		return errnoResult(unix.EOPNOTSUPP)
	case fsIocFiemap:
		return fs.fiemap(f.node, a[2])
	default:
		for _, t := range zeroAnswers {
			if t.request == request {
				zero(a[2], t.size)
				return 0
			}
		}
	}
	return errnoResult(unix.ENOTTY)
}

// fiemap is a struct fiemap, followed by room for extents.
type fiemap struct {
	start, length uint64
	flags, mapped uint32
	room          uint32 // for so many extents
	_             uint32
}

// extent is a struct fiemap_extent.
type extent struct {
	logical, physical, length uint64
	_                         [2]uint64
	flags                     uint32
	_                         [3]uint32
}

const (
	fiemapSync = 1
	extentLast = 1
)

// fiemap returns the extents of data in a file. Their physical addresses mean
// nothing.
func (fs *FS) fiemap(n *inode, address uintptr) int64 {
	m := pointer[fiemap](address)
	switch {
	case m.flags&^fiemapSync != 0 || !n.isReg():
		return errnoResult(unix.EOPNOTSUPP)
	case m.length == 0:
		return errnoResult(unix.EINVAL)
	}
	n.lock.rlock()
	defer n.lock.runlock()
	at, end := m.start/pageSize, min(m.length, maxBytes)
	if m.start > maxBytes {
		return errnoResult(unix.EFBIG)
	}
	end = (m.start + end + pageSize - 1) / pageSize
	m.mapped = 0
	for {
		first := fs.firstData(&n.tree, int64(at))
		if first < 0 || uint64(first) >= end || m.room > 0 && m.mapped == m.room {
			return 0
		}
		past := fs.firstHole(&n.tree, first)
		if m.room > 0 {
			x := extent{logical: uint64(first) * pageSize, length: uint64(past-first) * pageSize}
			x.physical = x.logical
			if fs.firstData(&n.tree, past) < 0 {
				x.flags = extentLast
			}
			store(address+unsafe.Sizeof(*m)+uintptr(m.mapped)*unsafe.Sizeof(x), &x)
		}
		m.mapped++
		at = uint64(past)
	}
}
