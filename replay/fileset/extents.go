package fileset

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/fiemap"
)

// fiemapExtents is how many extents are asked for at once.
const fiemapExtents = 512

// extents calls each with the extents of a file, which is written out first. It
// reports false if the file system does not report extents.
func (w *worker) extents(fd int64, each func(start, length int64, flags uint32) bool) bool {
	ioctl := func(b []byte) bool {
		return w.guard.Kernel.Call(unix.SYS_IOCTL, uintptr(fd), fiemap.Request, uintptr(unsafe.Pointer(&b[0]))) >= 0
	}
	return fiemap.Each(w.buffer[:fiemap.Header+fiemapExtents*fiemap.Extent], fiemap.Sync, ioctl, each)
}

// blocks returns how many bytes at the start of a file are in written blocks of
// its own, and the end of its last block. The first number ends at a hole, at
// blocks that fallocate reserved, which a read does not fetch from storage, and
// at blocks shared with another file, which a write must copy first. If the
// file system does not report extents, the number of blocks is used.
func (w *worker) blocks(fd int64, st *unix.Statx_t) (whole, end int64) {
	hole := false
	if !w.extents(fd, func(start, length int64, flags uint32) bool {
		hole = hole || start > whole || flags&(fiemap.Unwritten|fiemap.Shared) != 0
		end = max(end, start+length)
		if !hole {
			whole = end
		}
		return true
	}) {
		whole = 0
		if end = int64(st.Blocks) * 512; end >= int64(st.Size) {
			whole = int64(st.Size)
		}
		return whole, end
	}
	return min(whole, int64(st.Size)), end
}

// stretches returns the allocation of a file, without a hole at its end. Blocks shared
// with another file count as reserved, because a write must copy them. It returns false
// if the file system does not report extents.
func (w *worker) stretches(fd int64) (all []format.Stretch, ok bool) {
	end := int64(0)
	ok = w.extents(fd, func(start, length int64, flags uint32) bool {
		all = format.AddStretch(all, format.Hole, max(start-end, 0))
		a := format.Data
		if flags&(fiemap.Unwritten|fiemap.Shared) != 0 {
			a = format.Reserved
		}
		all = format.AddStretch(all, a, length)
		end = start + length
		return len(all) <= format.MaxStretches
	})
	return all, ok
}

// sameAllocation reports whether the allocation of a file matches the fileset. If the file system
// does not report extents, it compares the number of blocks.
func (w *worker) sameAllocation(fd int64, st *unix.Statx_t, it *item) bool {
	if int64(st.Size) != it.length() {
		return false
	}
	is, ok := w.stretches(fd)
	if !ok {
		return int64(st.Blocks)*512 == allocated(it.File)
	}
	want := it.Blocks
	if n := len(want); want[n-1].Allocation == format.Hole {
		want = want[:n-1]
	}
	return slices.Equal(is, want)
}

// allocated returns how many bytes the blocks of a regular file have.
func allocated(f *format.File) (bytes int64) {
	switch {
	case f.Type != format.TypeReg || f.Link != "" || f.Sparse && len(f.Blocks) == 0:
		return 0
	case len(f.Blocks) == 0:
		return f.Size
	}
	for _, s := range f.Blocks {
		if s.Allocation != format.Hole {
			bytes += s.Bytes
		}
	}
	return bytes
}
