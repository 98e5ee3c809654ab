package memfs

import "golang.org/x/sys/unix"

// The calls that only check their arguments.

func (fs *FS) sync(a args) int64 {
	f := fs.open(a[0])
	if f == nil {
		return no(unix.EBADF)
	}
	fs.put(f)
	return 0
}

func (fs *FS) syncFileRange(a args) int64 {
	f := fs.open(a[0])
	if f == nil {
		return no(unix.EBADF)
	}
	fs.put(f)
	from, size := int64(a[1]), int64(a[2])
	if from < 0 || from+size < from || a[3] > 7 {
		return no(unix.EINVAL)
	}
	return 0
}

func (fs *FS) fadvise(a args) int64 {
	f := fs.open(a[0])
	if f == nil {
		return no(unix.EBADF)
	}
	fs.put(f)
	if int64(a[2]) < 0 || uint32(a[3]) > unix.FADV_NOREUSE {
		return no(unix.EINVAL)
	}
	return 0
}

func (fs *FS) readahead(a args) int64 {
	f := fs.open(a[0])
	if f == nil {
		return no(unix.EBADF)
	}
	defer fs.put(f)
	switch {
	case !f.readable():
		return no(unix.EBADF)
	case !f.node.isReg() || int64(a[2]) < 0:
		return no(unix.EINVAL)
	}
	return 0
}
