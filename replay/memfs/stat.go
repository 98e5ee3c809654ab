package memfs

import (
	"golang.org/x/sys/unix"
)

// device is the number of a file system.
const device = 0x70

// set assigns to a field whose type depends on the architecture.
func set[T ~int32 | ~int64 | ~uint32 | ~uint64](to *T, v int64) { *to = T(v) }

func timespec(nanos int64) unix.Timespec { return unix.NsecToTimespec(nanos) }

// length returns st_size of a file: a page for a directory.
func (n *inode) length() int64 {
	if n.isDir() {
		return pageSize
	}
	return n.size.Load()
}

// status returns the struct stat of a file.
func (n *inode) status() (s unix.Stat_t) {
	n.lock.rlock()
	defer n.lock.runlock()
	s.Dev, s.Ino, s.Mode, s.Uid, s.Gid, s.Size = device, n.number, n.mode.Load(), n.uid, n.gid, n.length()
	set(&s.Nlink, int64(n.links.Load()))
	set(&s.Blksize, pageSize)
	s.Blocks = n.tree.pages * (pageSize / 512)
	s.Atim, s.Mtim, s.Ctim = timespec(n.times[accessed]), timespec(n.times[modified]), timespec(n.times[changed])
	return s
}

func (fs *FS) fstat(f *file, a args) int64 {
	s := f.node.status()
	store(a[1], &s)
	return 0
}

func (fs *FS) fstatat(a args) int64 {
	const known = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_EMPTY_PATH
	if uint32(a[3])&^known != 0 {
		return errnoResult(unix.EINVAL)
	}
	return fs.onPath(a[0], a[1], a[3], func(n *inode) int64 {
		s := n.status()
		store(a[2], &s)
		return 0
	})
}

func (fs *FS) statx(a args) int64 {
	const (
		sync     = unix.AT_STATX_FORCE_SYNC | unix.AT_STATX_DONT_SYNC
		known    = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_EMPTY_PATH | sync
		reserved = 0x80000000 // STATX__RESERVED
	)
	if flags := uint32(a[2]); flags&^known != 0 || flags&sync == sync || uint32(a[3])&reserved != 0 {
		return errnoResult(unix.EINVAL)
	}
	n, err := fs.lookup(a[0], a[1], a[2])
	if err != 0 {
		return errnoResult(err)
	}
	defer fs.unref(n)
	s := n.status()
	x := unix.Statx_t{
		Mask: unix.STATX_BASIC_STATS | unix.STATX_BTIME, Blksize: pageSize, Nlink: uint32(s.Nlink), Uid: s.Uid, Gid: s.Gid,
		Mode: uint16(s.Mode), Ino: s.Ino, Size: uint64(s.Size), Blocks: uint64(s.Blocks), Dev_minor: device,
	}
	n.lock.rlock()
	for i, at := range []*unix.StatxTimestamp{accessed: &x.Atime, modified: &x.Mtime, changed: &x.Ctime, born: &x.Btime} {
		t := timespec(n.times[i])
		at.Sec, at.Nsec = int64(t.Sec), uint32(t.Nsec)
	}
	n.lock.runlock()
	store(a[4], &x)
	return 0
}

func (fs *FS) faccessat(a args) int64 { return fs.faccessat2(args{a[0], a[1], a[2]}) }

// faccessat2 denies only execution, of files that are not directories and have no
// execute permission.
func (fs *FS) faccessat2(a args) int64 {
	const known = unix.AT_EACCESS | unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH
	const execute = 1
	if uint32(a[2])&^7 != 0 || uint32(a[3])&^known != 0 {
		return errnoResult(unix.EINVAL)
	}
	n, err := fs.lookup(a[0], a[1], a[3])
	if err != 0 {
		return errnoResult(err)
	}
	defer fs.unref(n)
	if a[2]&execute != 0 && !n.isDir() && n.mode.Load()&0o111 == 0 {
		return errnoResult(unix.EACCES)
	}
	return 0
}

func (fs *FS) statfs(a args) int64 {
	return fs.onPath(cwd, a[0], 0, func(*inode) int64 { return fs.storeStatfs(a[1]) })
}

func (fs *FS) fstatfs(_ *file, a args) int64 { return fs.storeStatfs(a[1]) }

func (fs *FS) storeStatfs(at uintptr) int64 {
	left := uint64(max(fs.left.Load(), 0)) / pageSize
	s := unix.Statfs_t{Blocks: uint64(len(fs.mapping)/pageSize - firstPage), Bfree: left, Bavail: left}
	set(&s.Type, unix.TMPFS_MAGIC)
	set(&s.Bsize, pageSize)
	set(&s.Frsize, pageSize)
	set(&s.Namelen, maxName)
	store(at, &s)
	return 0
}

// change changes metadata of a file, and returns 0.
func (n *inode) change(do func()) int64 {
	n.lock.lock()
	do()
	n.stamp(changed)
	n.lock.unlock()
	return 0
}

func (n *inode) chmod(mode uintptr) int64 {
	return n.change(func() { n.mode.Store(n.mode.Load()&unix.S_IFMT | uint32(mode)&0o7777) })
}

func (fs *FS) fchmod(f *file, a args) int64 { return f.node.chmod(a[1]) }

func (fs *FS) fchmodat(a args) int64 {
	return fs.onPath(a[0], a[1], 0, func(n *inode) int64 { return n.chmod(a[2]) })
}

func (fs *FS) fchmodat2(a args) int64 {
	if uint32(a[3])&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return errnoResult(unix.EINVAL)
	}
	return fs.onPath(a[0], a[1], a[3], func(n *inode) int64 {
		if n.isLink() {
			return errnoResult(unix.EOPNOTSUPP)
		}
		return n.chmod(a[2])
	})
}

// chown leaves an owner of -1 unchanged.
func (n *inode) chown(uid, gid uintptr) int64 {
	return n.change(func() {
		if uint32(uid) != ^uint32(0) {
			n.uid = uint32(uid)
		}
		if uint32(gid) != ^uint32(0) {
			n.gid = uint32(gid)
		}
	})
}

func (fs *FS) fchown(f *file, a args) int64 { return f.node.chown(a[1], a[2]) }

func (fs *FS) fchownat(a args) int64 {
	if uint32(a[4])&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return errnoResult(unix.EINVAL)
	}
	return fs.onPath(a[0], a[1], a[4], func(n *inode) int64 { return n.chown(a[2], a[3]) })
}

// utimensat takes a descriptor if it has no path.
func (fs *FS) utimensat(a args) int64 {
	var to [2]unix.Timespec
	if a[2] != 0 {
		to = *pointer[[2]unix.Timespec](a[2])
		for _, t := range to {
			if (t.Nsec < 0 || t.Nsec > 999_999_999) && t.Nsec != unix.UTIME_NOW && t.Nsec != unix.UTIME_OMIT {
				return errnoResult(unix.EINVAL)
			}
		}
	}
	if a[1] == 0 {
		if a[3] != 0 {
			return errnoResult(unix.EINVAL)
		}
		f := fs.get(a[0])
		if f == nil {
			return errnoResult(unix.EBADF)
		}
		defer fs.put(f)
		return f.node.setTimes(a[2] == 0, to)
	}
	if uint32(a[3])&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return errnoResult(unix.EINVAL)
	}
	return fs.onPath(a[0], a[1], a[3], func(n *inode) int64 { return n.setTimes(a[2] == 0, to) })
}

func (n *inode) setTimes(toNow bool, to [2]unix.Timespec) int64 {
	return n.change(func() {
		for i, t := range to { // accessed, modified
			switch {
			case toNow || t.Nsec == unix.UTIME_NOW:
				n.stamp(i)
			case t.Nsec != unix.UTIME_OMIT:
				n.times[i] = t.Nano()
			}
		}
	})
}
