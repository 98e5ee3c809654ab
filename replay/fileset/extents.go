package fileset

import (
	"encoding/binary"
	"math"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From include/uapi/linux/fiemap.h. Package unix lacks them.
const (
	FiemapRequest = 0xc020660b // of ioctl
	FiemapHeader  = 32         // bytes of struct fiemap
	FiemapExtent  = 56         // and of a struct fiemap_extent after it

	fiemapSync            = 0x1 // write the file out first
	fiemapExtentLast      = 0x1
	fiemapExtentUnwritten = 0x800
	fiemapExtentShared    = 0x2000
)

// fiemapExtents is how many extents are asked for at once.
const fiemapExtents = 512

// blocks returns how many bytes at the start of a file are in written blocks of
// its own, and the end of its last block. The first number ends at a hole, at
// blocks that fallocate reserved, which a read does not fetch from storage, and
// at blocks shared with another file, which a write must copy first. If the
// file system does not report extents, the number of blocks is used.
func (w *worker) blocks(fd int64, st *unix.Statx_t) (whole, end int64) {
	b := w.buffer[:FiemapHeader+fiemapExtents*FiemapExtent]
	for hole := false; ; {
		from := end
		clear(b[:FiemapHeader])
		binary.NativeEndian.PutUint64(b, uint64(end))
		binary.NativeEndian.PutUint64(b[8:], uint64(math.MaxInt64-end))
		binary.NativeEndian.PutUint32(b[16:], fiemapSync)
		binary.NativeEndian.PutUint32(b[24:], fiemapExtents)
		if w.guard.Kernel.Call(unix.SYS_IOCTL, uintptr(fd), FiemapRequest, uintptr(unsafe.Pointer(&b[0]))) < 0 {
			if end = int64(st.Blocks) * 512; end >= int64(st.Size) {
				whole = int64(st.Size)
			}
			return whole, end
		}
		mapped := min(binary.NativeEndian.Uint32(b[20:]), fiemapExtents)
		last := mapped == 0
		for i := range mapped {
			x := b[FiemapHeader+i*FiemapExtent:]
			start, length := int64(binary.NativeEndian.Uint64(x)), int64(binary.NativeEndian.Uint64(x[16:]))
			flags := binary.NativeEndian.Uint32(x[40:])
			hole = hole || start > whole || flags&(fiemapExtentUnwritten|fiemapExtentShared) != 0
			end = max(end, start+length)
			if !hole {
				whole = end
			}
			last = last || flags&fiemapExtentLast != 0
		}
		if last || end == from {
			return min(whole, int64(st.Size)), end
		}
	}
}
