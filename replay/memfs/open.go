package memfs

import "golang.org/x/sys/unix"

const (
	pathFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW
	tmpFile   = unix.O_TMPFILE &^ unix.O_DIRECTORY

	// Flags that are not kept.
	onceFlags = unix.O_CREAT | unix.O_EXCL | unix.O_NOCTTY | unix.O_TRUNC | unix.O_CLOEXEC
)

// openFlags are the flags of a call of openat, made consistent.
func openFlags(flags uint32) (uint32, unix.Errno) {
	writes := flags&unix.O_ACCMODE != unix.O_RDONLY
	switch {
	case flags&unix.O_PATH != 0:
		return flags & pathFlags, 0
	case flags&tmpFile != 0 && (flags&unix.O_TMPFILE != unix.O_TMPFILE || flags&unix.O_CREAT != 0 || !writes),
		flags&unix.O_CREAT != 0 && flags&unix.O_DIRECTORY != 0:
		return 0, unix.EINVAL
	case flags&(unix.O_CREAT|tmpFile) == 0:
		flags &^= unix.O_EXCL
	}
	return flags, 0
}

func (fs *FS) openat(a args) int64 {
	flags, err := openFlags(uint32(a[2]))
	if err != 0 {
		return errnoResult(err)
	}
	if a[1] == 0 {
		return fs.reopen(a[0], flags)
	}
	name, err := path(a[1])
	if err != 0 {
		return errnoResult(err)
	}
	dir, err := fs.start(a[0], name)
	if err != 0 {
		return errnoResult(err)
	}
	defer fs.unref(dir)
	mode := uint32(a[3]) & 0o7777
	var n *inode
	switch {
	case flags&tmpFile != 0:
		n, err = fs.openUnnamed(dir, name, flags, mode)
	case flags&unix.O_CREAT != 0:
		n, err = fs.openOrMake(dir, name, flags, mode)
	default:
		fs.names.rlock()
		var p place
		if p, err = fs.walk(dir, name, ending(flags)); err == 0 {
			n = p.node.ref()
		}
		fs.names.runlock()
		if err == 0 {
			err = fs.mayOpen(n, flags)
		}
	}
	if err != 0 {
		fs.unref(n)
		return errnoResult(err)
	}
	return fs.opened(n, flags)
}

// opened returns a descriptor of a file, a reference to which it takes over.
func (fs *FS) opened(n *inode, flags uint32) int64 {
	if flags &^= onceFlags; flags&unix.O_PATH == 0 {
		flags |= largeFile
	}
	return fs.newFile(n, flags)
}

// reopen opens the file of a descriptor once more. Linux does so by a path in /proc;
// here the path is NULL.
func (fs *FS) reopen(fd uintptr, flags uint32) int64 {
	f := fs.getRaw(fd)
	if f == nil {
		return errnoResult(unix.EBADF)
	}
	n := f.node.ref()
	fs.put(f)
	if err := fs.mayOpen(n, flags); err != 0 {
		fs.unref(n)
		return errnoResult(err)
	}
	return fs.opened(n, flags)
}

// ending returns how openat walks the end of a path.
func ending(flags uint32) uint8 {
	if flags&(unix.O_NOFOLLOW|unix.O_EXCL) != 0 {
		return 0
	}
	return following
}

// openOrMake returns, with a reference, the file that a path leads to, and
// makes it if it doesn't exist. With an error there can be a file to release by
// unref.
func (fs *FS) openOrMake(dir *inode, path []byte, flags, mode uint32) (*inode, unix.Errno) {
	fs.names.lock()
	p, err := fs.walk(dir, path, creating|ending(flags))
	if err != 0 {
		fs.names.unlock()
		return nil, err
	}
	if p.node == nil {
		n := fs.newInode(unix.S_IFREG | mode)
		if n == nil {
			err = unix.ENOSPC
		} else {
			err = fs.add(p.dir, p.name, n.ref())
			if err != 0 {
				n.refs.Add(-1)
			}
		}
		fs.names.unlock()
		return n, err
	}
	n := p.node.ref()
	fs.names.unlock()
	switch {
	case flags&unix.O_EXCL != 0:
		return n, unix.EEXIST
	case n.isDir():
		return n, unix.EISDIR
	}
	return n, fs.mayOpen(n, flags)
}

// openUnnamed makes a file that has no name.
func (fs *FS) openUnnamed(dir *inode, path []byte, flags, mode uint32) (*inode, unix.Errno) {
	fs.names.lock()
	defer fs.names.unlock()
	p, err := fs.walk(dir, path, ending(flags&^unix.O_EXCL))
	switch {
	case err != 0:
		return nil, err
	case !p.node.isDir():
		return nil, unix.ENOTDIR
	}
	n := fs.newInode(unix.S_IFREG | mode)
	if n == nil {
		return nil, unix.ENOSPC
	}
	n.linkable = flags&unix.O_EXCL == 0
	return n, 0
}

// mayOpen returns the error of opening an existing file, and truncates it if
// flags say so.
func (fs *FS) mayOpen(n *inode, flags uint32) unix.Errno {
	const truncates = unix.O_TRUNC
	switch kind := n.kind(); {
	case flags&unix.O_DIRECTORY != 0 && kind != unix.S_IFDIR:
		return unix.ENOTDIR
	case flags&unix.O_PATH != 0:
	case kind == unix.S_IFLNK:
		return unix.ELOOP
	case kind == unix.S_IFSOCK:
		return unix.ENXIO
	case kind == unix.S_IFDIR && (flags&unix.O_ACCMODE != unix.O_RDONLY || flags&truncates != 0):
		return unix.EISDIR
	case flags&truncates != 0:
		n.lock.lock()
		fs.setSize(n, 0)
		n.lock.unlock()
	}
	return 0
}
