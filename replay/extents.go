package replay

import (
	"encoding/binary"
	"math"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From include/uapi/linux/fiemap.h.
const (
	fiemapSync            = 0x1 // write the file out first
	fiemapExtentLast      = 0x1
	fiemapExtentUnwritten = 0x800
	fiemapExtentShared    = 0x2000
)

// fiemapExtents is how many extents are asked for at once.
const fiemapExtents = 512

// blocks returns how many bytes of a file, from its start, stand in blocks of
// its own that were written, and where its last block ends. A hole ends the
// first, as do blocks that fallocate has set aside, which a read returns
// without the storage, and blocks shared with another file, which a write must
// copy first. A file system that doesn't tell where blocks lie tells how many
// there are.
func (h *hand) blocks(fd int64, st *unix.Statx_t) (whole, end int64) {
	b := h.buffer[:fiemapHeader+fiemapExtents*fiemapExtent]
	for hole := false; ; {
		from := end
		clear(b[:fiemapHeader])
		binary.NativeEndian.PutUint64(b, uint64(end))
		binary.NativeEndian.PutUint64(b[8:], uint64(math.MaxInt64-end))
		binary.NativeEndian.PutUint32(b[16:], fiemapSync)
		binary.NativeEndian.PutUint32(b[24:], fiemapExtents)
		if h.guard.Kernel.Call(unix.SYS_IOCTL, uintptr(fd), fsIocFiemap, uintptr(unsafe.Pointer(&b[0]))) < 0 {
			if end = int64(st.Blocks) * 512; end >= int64(st.Size) {
				whole = int64(st.Size)
			}
			return whole, end
		}
		mapped := min(binary.NativeEndian.Uint32(b[20:]), fiemapExtents)
		last := mapped == 0
		for i := range mapped {
			x := b[fiemapHeader+i*fiemapExtent:]
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
