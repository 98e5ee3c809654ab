package memfs

import (
	"golang.org/x/sys/unix"
)

// setSize makes a file shorter or longer. Its lock is held.
func (fs *FS) setSize(n *inode, size int64) {
	if size < n.size.Load() {
		fs.freeRange(&n.tree, (size+pageSize-1)/pageSize, maxPages)
		fs.clear(n, size, (size+pageSize-1)/pageSize*pageSize)
	}
	n.size.Store(size)
	n.stamp(modified, changed)
}

// clear writes zeroes over the part of a range within a page, if the page
// exists.
func (fs *FS) clear(n *inode, from, to int64) {
	if p := fs.find(&n.tree, from/pageSize); p >= firstPage && from < to {
		zero(fs.address(p, from%pageSize), to-from)
	}
}

// punch makes a hole: it frees whole pages, and clears parts of others.
func (fs *FS) punch(n *inode, from, to int64) {
	first, end := (from+pageSize-1)/pageSize, to/pageSize
	if first > end { // within a page
		fs.clear(n, from, to)
		return
	}
	fs.clear(n, from, first*pageSize)
	fs.clear(n, end*pageSize, to)
	fs.freeRange(&n.tree, first, end)
}

// reserve charges for the pages of a range that are holes, so that writing to
// them can't fail.
func (fs *FS) reserve(n *inode, from, to int64) unix.Errno {
	for page := from / pageSize; page*pageSize < to; page++ {
		e := fs.slot(&n.tree, page)
		if e == nil || *e == hole && !fs.charge(pageSize) {
			return unix.ENOSPC
		}
		if *e == hole {
			*e = unwritten
			n.tree.pages++
		}
	}
	return 0
}

func (fs *FS) ftruncate(a args) int64 {
	size := int64(a[1])
	if size < 0 {
		return errnoResult(unix.EINVAL)
	}
	f := fs.get(a[0])
	if f == nil {
		return errnoResult(unix.EBADF)
	}
	defer fs.put(f)
	if !f.writable() {
		return errnoResult(unix.EINVAL)
	}
	return fs.truncateTo(f.node, size)
}

func (fs *FS) truncate(a args) int64 {
	if int64(a[1]) < 0 {
		return errnoResult(unix.EINVAL)
	}
	n, err := fs.lookup(cwd, a[0], 0)
	if err != 0 {
		return errnoResult(err)
	}
	defer fs.unref(n)
	switch {
	case n.isDir():
		return errnoResult(unix.EISDIR)
	case !n.isReg():
		return errnoResult(unix.EINVAL)
	}
	return fs.truncateTo(n, int64(a[1]))
}

// cwd is AT_FDCWD.
const cwd = ^uintptr(99)

func (fs *FS) truncateTo(n *inode, size int64) int64 {
	if size > maxBytes {
		return errnoResult(unix.EFBIG)
	}
	n.lock.lock()
	fs.setSize(n, size)
	n.lock.unlock()
	return 0
}

func (fs *FS) fallocate(f *file, a args) int64 {
	mode, from, size := a[1], int64(a[2]), int64(a[3])
	kept := mode&unix.FALLOC_FL_KEEP_SIZE != 0
	what := mode &^ unix.FALLOC_FL_KEEP_SIZE
	if from < 0 || size <= 0 {
		return errnoResult(unix.EINVAL)
	}
	switch what {
	case unix.FALLOC_FL_ALLOCATE_RANGE, unix.FALLOC_FL_ZERO_RANGE, unix.FALLOC_FL_UNSHARE_RANGE:
	case unix.FALLOC_FL_PUNCH_HOLE:
		if !kept {
			return errnoResult(unix.EOPNOTSUPP)
		}
	case unix.FALLOC_FL_COLLAPSE_RANGE, unix.FALLOC_FL_INSERT_RANGE, unix.FALLOC_FL_WRITE_ZEROES:
		if kept {
			return errnoResult(unix.EOPNOTSUPP)
		}
	default:
		return errnoResult(unix.EOPNOTSUPP)
	}
	if !f.writable() {
		return errnoResult(unix.EBADF)
	}
	if from+size < 0 || from+size > maxBytes {
		return errnoResult(unix.EFBIG)
	}
	if what&(unix.FALLOC_FL_UNSHARE_RANGE|unix.FALLOC_FL_WRITE_ZEROES) != 0 {
		return errnoResult(unix.EOPNOTSUPP) // as on ext4
	}
	n := f.node
	n.lock.lock()
	defer n.lock.unlock()
	n.stamp(modified, changed)
	switch what {
	case unix.FALLOC_FL_PUNCH_HOLE:
		fs.punch(n, from, from+size)
		return 0
	case unix.FALLOC_FL_COLLAPSE_RANGE:
		return errnoResult(fs.collapse(n, from, size))
	case unix.FALLOC_FL_INSERT_RANGE:
		return errnoResult(fs.insert(n, from, size))
	case unix.FALLOC_FL_ZERO_RANGE:
		fs.punch(n, from, from+size)
	}
	if err := fs.reserve(n, from, from+size); err != 0 {
		return errnoResult(err)
	}
	if !kept && from+size > n.size.Load() {
		n.size.Store(from + size)
	}
	return 0
}

// collapse removes a range from a file.
func (fs *FS) collapse(n *inode, from, size int64) unix.Errno {
	old := n.size.Load()
	if from%pageSize != 0 || size%pageSize != 0 || from+size >= old {
		return unix.EINVAL
	}
	fs.freeRange(&n.tree, from/pageSize, (from+size)/pageSize)
	if !fs.shift(&n.tree, (from+size)/pageSize, -size/pageSize) {
		return unix.ENOSPC
	}
	n.size.Store(old - size)
	return 0
}

// insert puts a hole into a file.
func (fs *FS) insert(n *inode, from, size int64) unix.Errno {
	old := n.size.Load()
	switch {
	case from%pageSize != 0 || size%pageSize != 0:
		return unix.EINVAL
	case size > maxBytes-old:
		return unix.EFBIG
	case from >= old:
		return unix.EINVAL
	}
	// The memory reserved beyond the end would not fit any more.
	fs.freeRange(&n.tree, maxPages-size/pageSize, maxPages)
	if !fs.shift(&n.tree, from/pageSize, size/pageSize) {
		return unix.ENOSPC
	}
	n.size.Store(old + size)
	return 0
}

func (fs *FS) lseek(f *file, a args) int64 {
	f.at.lock()
	defer f.at.unlock()
	n, to := f.node, int64(a[1])
	size := n.size.Load()
	if n.isDir() {
		fs.names.rlock()
		size = int64(len(n.entries)) + dots
		fs.names.runlock()
	}
	switch a[2] {
	case unix.SEEK_SET:
	case unix.SEEK_CUR:
		to += f.offset
	case unix.SEEK_END:
		to += size
	case unix.SEEK_DATA, unix.SEEK_HOLE:
		if to < 0 || to >= size {
			return errnoResult(unix.ENXIO)
		}
		n.lock.rlock()
		to = fs.seek(n, to, a[2] == unix.SEEK_DATA)
		n.lock.runlock()
		if to < 0 {
			return to
		}
	default:
		return errnoResult(unix.EINVAL)
	}
	if to < 0 || to > maxBytes && !n.isDir() { // positions of ext4's listings are hashes
		return errnoResult(unix.EINVAL)
	}
	f.offset = to
	return to
}

// seek returns where the next data or the next hole begins. The end of the file
// is a hole.
func (fs *FS) seek(n *inode, from int64, data bool) int64 {
	size := n.size.Load()
	if n.isDir() {
		if data {
			return from
		}
		return size
	}
	page := fs.firstHole(&n.tree, from/pageSize)
	if data {
		page = fs.firstData(&n.tree, from/pageSize)
	}
	at := max(page*pageSize, from)
	if page < 0 || data && at >= size {
		return errnoResult(unix.ENXIO)
	}
	return min(at, size)
}
