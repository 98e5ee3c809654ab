package memfs

import "golang.org/x/sys/unix"

// The calls that only check their arguments.

func (fs *FS) sync(*file, args) int64 { return 0 }

func (fs *FS) syncFileRange(_ *file, a args) int64 {
	from, size := int64(a[1]), int64(a[2])
	if from < 0 || from+size < from || a[3] > 7 {
		return errnoResult(unix.EINVAL)
	}
	return 0
}

func (fs *FS) fadvise(_ *file, a args) int64 {
	if int64(a[2]) < 0 || uint32(a[3]) > unix.FADV_NOREUSE {
		return errnoResult(unix.EINVAL)
	}
	return 0
}

func (fs *FS) readahead(f *file, a args) int64 {
	switch {
	case !f.readable():
		return errnoResult(unix.EBADF)
	case !f.node.isReg() || int64(a[2]) < 0:
		return errnoResult(unix.EINVAL)
	}
	return 0
}
