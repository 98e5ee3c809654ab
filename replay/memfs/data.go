package memfs

import (
	"math"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	maxTransfer = 0x7ffff000 // MAX_RW_COUNT
	maxSegments = 1024       // UIO_MAXIOV

	ownOffset = -1 // stands for the offset of the open file
	noOffset  = -2 // is an offset that no file has
)

// readAt copies a range of a file to an address, with zeroes for holes. The
// range is within the file, whose lock is held.
func (fs *FS) readAt(n *inode, to uintptr, size, from int64) {
	for size > 0 {
		offset := from % pageSize
		k := min(size, pageSize-offset)
		if p := fs.find(&n.tree, from/pageSize); p >= firstPage {
			move(to, fs.address(p, offset), k)
		} else {
			zero(to, k)
		}
		to, from, size = to+uintptr(k), from+k, size-k
	}
}

// writeAt copies from an address into a file, whose lock is held for writing,
// and returns how many bytes there was memory for.
func (fs *FS) writeAt(n *inode, from uintptr, size, to int64) (done int64) {
	for done < size {
		offset := to % pageSize
		k := min(size-done, pageSize-offset)
		p := fs.pageToWrite(n, to/pageSize, k < pageSize)
		if p == hole {
			break
		}
		move(fs.address(p, offset), from, k)
		from, to, done = from+uintptr(k), to+k, done+k
	}
	if done > 0 && to > n.size.Load() {
		n.size.Store(to)
	}
	return done
}

// pageToWrite returns a page of a file. It allocates a missing page, cleared if zero is
// set. It returns hole if memory is full.
func (fs *FS) pageToWrite(n *inode, page int64, zero bool) uint32 {
	e := fs.slot(&n.tree, page)
	switch {
	case e == nil:
		return hole
	case *e >= firstPage:
		return *e
	case *e == hole:
		if !fs.charge(pageSize) {
			return hole
		}
		n.tree.pages++
	}
	*e = fs.allocPage(zero)
	return *e
}

// segments are the memory of a call.
type segments struct {
	vector []unix.Iovec
	size   int64      // of all, or as much as a call can move
	err    unix.Errno // of invalid ones
}

// bufferSegments makes a segment of a buffer.
func bufferSegments(v *[1]unix.Iovec, address, size uintptr) segments {
	v[0] = unix.Iovec{Base: pointer[byte](address), Len: uint64(min(size, maxTransfer))}
	return segments{vector: v[:], size: int64(v[0].Len)}
}

// vectorSegments returns the segments that lie at an address.
func vectorSegments(address, count uintptr) (s segments) {
	if count > maxSegments {
		return segments{err: unix.EINVAL}
	}
	if count > 0 {
		s.vector = unsafe.Slice(pointer[unix.Iovec](address), count)
	}
	for i := range s.vector {
		n := s.vector[i].Len
		if n > math.MaxInt64 {
			return segments{err: unix.EINVAL}
		}
		s.size = min(s.size+int64(min(n, maxTransfer)), maxTransfer)
	}
	if s.size == 0 {
		s.vector = nil // no other field is used
	}
	return s
}

// transferFlags returns the error of the RWF_ flags of a call.
func transferFlags(flags uintptr) unix.Errno {
	const both, known = unix.RWF_APPEND | unix.RWF_NOAPPEND, unix.RWF_SUPPORTED &^ unix.RWF_ATOMIC
	switch {
	case flags&^known != 0:
		return unix.EOPNOTSUPP
	case flags&both == both:
		return unix.EINVAL
	}
	return 0
}

// transfer executes the calls that read or write.
func (fs *FS) transfer(fd uintptr, s segments, offset int64, flags uintptr, write bool) int64 {
	if offset == noOffset {
		return errnoResult(unix.EINVAL)
	}
	f := fs.get(fd)
	if f == nil {
		return errnoResult(unix.EBADF)
	}
	got := fs.transferOf(f, &s, offset, flags, write)
	fs.put(f)
	return got
}

// transferOf reads from an open file or writes to it.
func (fs *FS) transferOf(f *file, s *segments, offset int64, flags uintptr, write bool) int64 {
	n := f.node
	switch {
	case write && !f.writable(), !write && !f.readable():
		return errnoResult(unix.EBADF)
	case s.err != 0:
		return errnoResult(s.err)
	case len(s.vector) == 0:
		return 0
	case transferFlags(flags) != 0:
		return errnoResult(transferFlags(flags))
	case n.isDir() && flags&^unix.RWF_HIPRI != 0:
		return errnoResult(unix.EOPNOTSUPP)
	case n.isDir():
		return errnoResult(unix.EISDIR)
	case write && s.size == 0:
		return 0
	}
	own := offset == ownOffset
	if own {
		f.at.lock()
		offset = f.offset
	}
	var got int64
	if write {
		n.lock.lock()
		if f.is(unix.O_APPEND) && flags&unix.RWF_NOAPPEND == 0 || flags&unix.RWF_APPEND != 0 {
			offset = n.size.Load()
		}
		got = fs.outputAt(n, s, offset)
		n.lock.unlock()
	} else {
		n.lock.rlock()
		got = fs.inputAt(n, s, offset)
		n.lock.runlock()
	}
	if own {
		if got >= 0 {
			f.offset = offset + got
		}
		f.at.unlock()
	}
	return got
}

// inputAt reads segments from a file, whose lock is held.
func (fs *FS) inputAt(n *inode, s *segments, offset int64) int64 {
	if offset+s.size < 0 {
		return errnoResult(unix.EINVAL)
	}
	got := max(min(s.size, n.size.Load()-offset), 0)
	for left, i := got, 0; left > 0; i++ {
		k := min(left, int64(s.vector[i].Len))
		fs.readAt(n, uintptr(unsafe.Pointer(s.vector[i].Base)), k, offset)
		offset, left = offset+k, left-k
	}
	return got
}

// outputAt writes segments to a file, whose lock is held.
func (fs *FS) outputAt(n *inode, s *segments, offset int64) (done int64) {
	switch {
	case offset+s.size < 0:
		return errnoResult(unix.EINVAL)
	case offset >= maxBytes:
		return errnoResult(unix.EFBIG)
	}
	size := min(s.size, maxBytes-offset)
	for i := 0; done < size; i++ {
		k := min(size-done, int64(s.vector[i].Len))
		got := fs.writeAt(n, uintptr(unsafe.Pointer(s.vector[i].Base)), k, offset+done)
		done += got
		if got < k {
			break
		}
	}
	if done == 0 {
		return errnoResult(unix.ENOSPC)
	}
	return done
}

// transferOne moves the bytes of one buffer.
func (fs *FS) transferOne(a args, offset int64, write bool) int64 {
	var v [1]unix.Iovec
	return fs.transfer(a[0], bufferSegments(&v, a[1], a[2]), offset, 0, write)
}

// transferVector moves the bytes of a vector of buffers.
func (fs *FS) transferVector(a args, offset int64, flags uintptr, write bool) int64 {
	return fs.transfer(a[0], vectorSegments(a[1], a[2]), offset, flags, write)
}

// offsetArg returns the offset that an argument gives.
func offsetArg(a uintptr) int64 {
	if int64(a) < 0 {
		return noOffset
	}
	return int64(a)
}

// offsetOrCurrent is offsetArg for calls in which -1 is the open file's own offset.
func offsetOrCurrent(a uintptr) int64 {
	if int64(a) == -1 {
		return ownOffset
	}
	return offsetArg(a)
}

func (fs *FS) read(a args) int64     { return fs.transferOne(a, ownOffset, false) }
func (fs *FS) write(a args) int64    { return fs.transferOne(a, ownOffset, true) }
func (fs *FS) pread(a args) int64    { return fs.transferOne(a, offsetArg(a[3]), false) }
func (fs *FS) pwrite(a args) int64   { return fs.transferOne(a, offsetArg(a[3]), true) }
func (fs *FS) readv(a args) int64    { return fs.transferVector(a, ownOffset, 0, false) }
func (fs *FS) writev(a args) int64   { return fs.transferVector(a, ownOffset, 0, true) }
func (fs *FS) preadv(a args) int64   { return fs.transferVector(a, offsetArg(a[3]), 0, false) }
func (fs *FS) pwritev(a args) int64  { return fs.transferVector(a, offsetArg(a[3]), 0, true) }
func (fs *FS) preadv2(a args) int64  { return fs.transferVector(a, offsetOrCurrent(a[3]), a[5], false) }
func (fs *FS) pwritev2(a args) int64 { return fs.transferVector(a, offsetOrCurrent(a[3]), a[5], true) }
