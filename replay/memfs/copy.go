package memfs

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// copyChunk is how many bytes are copied at a time under the locks of the files.
const copyChunk = 64 << 10

// lockBoth locks a file to read from and one to write to, which may be the
// same.
func lockBoth(in, out *inode) {
	switch {
	case in == out:
		out.lock.lock()
	case uintptr(unsafe.Pointer(in)) < uintptr(unsafe.Pointer(out)):
		in.lock.rlock()
		out.lock.lock()
	default:
		out.lock.lock()
		in.lock.rlock()
	}
}

func unlockBoth(in, out *inode) {
	out.lock.unlock()
	if in != out {
		in.lock.runlock()
	}
}

// copyData copies from one file to another up to the end, and returns how many
// bytes. It writes the output also for holes of the input.
func (fs *FS) copyData(in, out *inode, from, to, size int64) (done int64) {
	for done < size {
		lockBoth(in, out)
		chunk := min(size-done, copyChunk, in.size.Load()-from)
		var got int64
		for got < chunk {
			offset := from % pageSize
			k := min(chunk-got, pageSize-offset)
			source := uintptr(unsafe.Pointer(&zeroes))
			if p := fs.find(&in.tree, from/pageSize); p >= firstPage {
				source = fs.address(p, offset)
			}
			n := fs.writeAt(out, source, k, to)
			from, to, got = from+n, to+n, got+n
			if n < k {
				break
			}
		}
		unlockBoth(in, out)
		if done += max(got, 0); got < chunk || chunk <= 0 {
			break
		}
	}
	return done
}

// zeroes is the content of holes.
var zeroes [pageSize]byte

func (fs *FS) copyFileRange(a args) int64 {
	in, out := fs.get(a[0]), fs.get(a[2])
	defer fs.putBoth(in, out)
	if in == nil || out == nil {
		return errnoResult(unix.EBADF)
	}
	if uint32(a[5]) != 0 {
		return errnoResult(unix.EINVAL)
	}
	n, m := in.node, out.node
	switch {
	case n.isDir() || m.isDir():
		return errnoResult(unix.EISDIR)
	case !in.readable() || !out.writable() || out.is(unix.O_APPEND):
		return errnoResult(unix.EBADF)
	}
	from, to := in.begin(a[1]), out.begin(a[3])
	size := int64(min(a[4], maxTransfer))
	switch {
	case uint64(from)+uint64(a[4]) < uint64(a[4]) || uint64(to)+uint64(a[4]) < uint64(a[4]):
		return errnoResult(unix.EOVERFLOW)
	case from < 0 || to < 0:
		return errnoResult(unix.EINVAL)
	}
	if size = min(size, max(n.size.Load()-from, 0)); size == 0 {
		return 0
	}
	if to >= maxBytes {
		return errnoResult(unix.EFBIG)
	}
	size = min(size, maxBytes-to)
	if n == m && to+size > from && to < from+size {
		return errnoResult(unix.EINVAL)
	}
	done := fs.copyData(n, m, from, to, size)
	if done == 0 {
		return errnoResult(unix.ENOSPC)
	}
	in.advance(a[1], from+done)
	out.advance(a[3], to+done)
	return done
}

// sendfile discards output to a descriptor of another file system.
func (fs *FS) sendfile(a args) int64 {
	in, out := fs.get(a[1]), fs.get(a[0])
	defer fs.putBoth(in, out)
	if in == nil || !in.readable() {
		return errnoResult(unix.EBADF)
	}
	n := in.node
	from := in.begin(a[2])
	size := int64(min(a[3], maxTransfer))
	switch {
	case from < 0 || int64(a[3]) < 0 || from+int64(a[3]) < 0:
		return errnoResult(unix.EINVAL)
	case out == nil && a[0] >= FirstDescriptor, out != nil && !out.writable():
		return errnoResult(unix.EBADF)
	case out != nil && out.is(unix.O_APPEND), n.isDir() && size > 0:
		return errnoResult(unix.EINVAL)
	case size == 0:
		return 0
	}
	if out == nil {
		size = max(min(size, n.size.Load()-from), 0)
		in.advance(a[2], from+size)
		return size
	}
	to := out.begin(0)
	if from >= maxBytes || to >= maxBytes {
		return errnoResult(unix.EOVERFLOW)
	}
	done := fs.copyData(n, out.node, from, to, min(size, maxBytes-to))
	if done == 0 && from < n.size.Load() {
		return errnoResult(unix.ENOSPC)
	}
	in.advance(a[2], from+done)
	out.advance(0, to+done)
	return done
}

// begin returns the offset at an address, or that of the open file without an
// address.
func (f *file) begin(address uintptr) int64 {
	if address != 0 {
		return *pointer[int64](address)
	}
	f.at.lock()
	defer f.at.unlock()
	return f.offset
}

// advance sets that offset.
func (f *file) advance(address uintptr, offset int64) {
	if address != 0 {
		*pointer[int64](address) = offset
		return
	}
	f.at.lock()
	f.offset = offset
	f.at.unlock()
}

func (fs *FS) putBoth(f, g *file) {
	if f != nil {
		fs.put(f)
	}
	if g != nil {
		fs.put(g)
	}
}
