package memfs

import "golang.org/x/sys/unix"

// The calls that change names.

// parent finds the place of a name, and locks FS.names for writing. The caller
// unlocks it if there is no error.
func (fs *FS) parent(dirfd, address uintptr) (p place, err unix.Errno) {
	name, err := path(address)
	if err != 0 {
		return p, err
	}
	dir, err := fs.start(dirfd, name)
	if err != 0 {
		return p, err
	}
	fs.names.lock()
	if p, err = fs.walk(dir, name, naming); err != 0 {
		fs.names.unlock()
	}
	fs.unref(dir)
	return p, err
}

// vacant returns the error of a place where no file can be made.
func (p *place) vacant(dir bool) unix.Errno {
	switch {
	case p.long:
		return unix.ENAMETOOLONG
	case p.last != lastName || p.node != nil:
		return unix.EEXIST
	case p.slash && !dir:
		return unix.ENOENT
	}
	return 0
}

// make makes a file with a mode, or a link to a target.
func (fs *FS) make(dirfd, address uintptr, mode uint32, target []byte) int64 {
	p, err := fs.parent(dirfd, address)
	if err != 0 {
		return errnoResult(err)
	}
	defer fs.names.unlock()
	if err := p.vacant(mode&unix.S_IFMT == unix.S_IFDIR); err != 0 {
		return errnoResult(err)
	}
	n := fs.newInode(mode)
	if n == nil || !fs.charge(int64(len(target))) {
		fs.unref(n)
		return errnoResult(unix.ENOSPC)
	}
	n.target = append(n.target, target...)
	n.size.Store(int64(len(target)))
	if err := fs.add(p.dir, p.name, n); err != 0 {
		fs.unref(n)
		return errnoResult(err)
	}
	return 0
}

func (fs *FS) mkdirat(a args) int64 {
	return fs.make(a[0], a[1], unix.S_IFDIR|uint32(a[2])&0o1777, nil)
}

// mknodat makes only regular files and names of sockets.
func (fs *FS) mknodat(a args) int64 {
	switch uint32(a[2]) & unix.S_IFMT {
	case 0, unix.S_IFREG:
		return fs.make(a[0], a[1], unix.S_IFREG|uint32(a[2])&0o7777, nil)
	case unix.S_IFSOCK:
		return fs.make(a[0], a[1], unix.S_IFSOCK|uint32(a[2])&0o7777, nil)
	case unix.S_IFDIR, unix.S_IFCHR, unix.S_IFBLK, unix.S_IFIFO:
		return errnoResult(unix.EPERM)
	}
	return errnoResult(unix.EINVAL)
}

func (fs *FS) symlinkat(a args) int64 {
	target, err := path(a[0])
	if err != 0 {
		return errnoResult(err)
	}
	return fs.make(a[1], a[2], unix.S_IFLNK|0o777, target)
}

// maxHardLinks is the maximum number of names of a file on ext4.
const maxHardLinks = 65000

func (fs *FS) linkat(a args) int64 {
	if uint32(a[4])&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return errnoResult(unix.EINVAL)
	}
	flags := a[4] & unix.AT_EMPTY_PATH
	if a[4]&unix.AT_SYMLINK_FOLLOW == 0 {
		flags |= unix.AT_SYMLINK_NOFOLLOW
	}
	n, err := fs.lookup(a[0], a[1], flags)
	if err != 0 {
		return errnoResult(err)
	}
	p, err := fs.parent(a[2], a[3])
	if err == 0 {
		err = fs.link(n, &p)
		fs.names.unlock()
	}
	fs.unref(n)
	return errnoResult(err)
}

// link gives a file another name.
func (fs *FS) link(n *inode, p *place) unix.Errno {
	if err := p.vacant(false); err != 0 {
		return err
	}
	switch {
	case n.isDir():
		return unix.EPERM
	case n.links.Load() == 0 && !n.linkable:
		return unix.ENOENT
	case n.links.Load() >= maxHardLinks:
		return unix.EMLINK
	}
	err := fs.add(p.dir, p.name, n.ref())
	if err != 0 {
		n.refs.Add(-1)
		return err
	}
	n.linkable = false
	n.touch(changed)
	return 0
}

func (fs *FS) unlinkat(a args) int64 {
	if uint32(a[2])&^unix.AT_REMOVEDIR != 0 {
		return errnoResult(unix.EINVAL)
	}
	p, err := fs.parent(a[0], a[1])
	if err != 0 {
		return errnoResult(err)
	}
	if a[2] != 0 {
		err = p.removableDir()
	} else {
		err = p.removableFile()
	}
	var n *inode
	if err == 0 {
		n = fs.remove(fs.table.find(p.dir, p.name))
	}
	fs.names.unlock()
	fs.unref(n)
	return errnoResult(err)
}

func (p *place) removableDir() unix.Errno {
	switch {
	case p.last == lastDot:
		return unix.EINVAL
	case p.last == lastDotDot:
		return unix.ENOTEMPTY
	case p.last == lastRoot:
		return unix.EBUSY
	case p.long:
		return unix.ENAMETOOLONG
	case p.node == nil:
		return unix.ENOENT
	case !p.node.isDir():
		return unix.ENOTDIR
	case !p.node.isEmpty():
		return unix.ENOTEMPTY
	}
	return 0
}

func (p *place) removableFile() unix.Errno {
	switch {
	case p.last != lastName:
		return unix.EISDIR
	case p.long:
		return unix.ENAMETOOLONG
	case p.node == nil:
		return unix.ENOENT
	case p.node.isDir():
		return unix.EISDIR
	case p.slash:
		return unix.ENOTDIR
	}
	return 0
}

func (fs *FS) renameat(a args) int64 { return fs.renameat2(args{a[0], a[1], a[2], a[3]}) }

func (fs *FS) renameat2(a args) int64 {
	flags := uint32(a[4])
	if flags != 0 && flags != unix.RENAME_NOREPLACE && flags != unix.RENAME_EXCHANGE {
		return errnoResult(unix.EINVAL)
	}
	// Errors of the old name come before those of the new one.
	oldPath, err := path(a[1])
	if err != 0 {
		return errnoResult(err)
	}
	newPath, newErr := path(a[3])
	oldDir, err := fs.start(a[0], oldPath)
	if err != 0 {
		return errnoResult(err)
	}
	var newDir *inode
	if newErr == 0 {
		newDir, newErr = fs.start(a[2], newPath)
	}
	fs.names.lock()
	var from, to place
	if from, err = fs.walk(oldDir, oldPath, naming); err == 0 {
		err = newErr
	}
	if err == 0 {
		to, err = fs.walk(newDir, newPath, naming)
	}
	if err == 0 {
		err = mayRename(&from, &to, flags)
	}
	var gone *inode
	if err == 0 && from.node != to.node {
		gone, err = fs.rename(&from, &to, flags&unix.RENAME_EXCHANGE != 0)
	}
	fs.names.unlock()
	fs.unref(gone)
	fs.unref(oldDir)
	fs.unref(newDir)
	return errnoResult(err)
}

// mayRename returns the error of a rename.
func mayRename(from, to *place, flags uint32) unix.Errno {
	exchange := flags&unix.RENAME_EXCHANGE != 0
	n, m := from.node, to.node
	switch {
	case from.last != lastName:
		return unix.EBUSY
	case to.last != lastName && flags&unix.RENAME_NOREPLACE != 0:
		return unix.EEXIST
	case to.last != lastName:
		return unix.EBUSY
	case from.long:
		return unix.ENAMETOOLONG
	case n == nil:
		return unix.ENOENT
	case to.long:
		return unix.ENAMETOOLONG
	case m != nil && flags&unix.RENAME_NOREPLACE != 0:
		return unix.EEXIST
	case m == nil && exchange:
		return unix.ENOENT
	case exchange && !m.isDir() && to.slash, !n.isDir() && (from.slash || !exchange && to.slash):
		return unix.ENOTDIR
	case n.isDir() && n.holds(to.dir):
		return unix.EINVAL
	case m != nil && m.isDir() && m.holds(from.dir):
		if exchange {
			return unix.EINVAL
		}
		return unix.ENOTEMPTY
	case n == m || m == nil || exchange:
		return 0
	case n.isDir() && !m.isDir():
		return unix.ENOTDIR
	case !n.isDir() && m.isDir():
		return unix.EISDIR
	case m.isDir() && !m.isEmpty():
		return unix.ENOTEMPTY
	}
	return 0
}

// holds reports whether a directory is dir, or above it.
func (n *inode) holds(dir *inode) bool {
	for ; dir != n; dir = dir.parent {
		if dir == dir.parent {
			return false
		}
	}
	return true
}

// rename renames, after mayRename, and returns the file that lost its name.
func (fs *FS) rename(from, to *place, exchange bool) (gone *inode, err unix.Errno) {
	old, other := fs.table.find(from.dir, from.name), fs.table.find(to.dir, to.name)
	if other == nil {
		if to.dir.links.Load() == 0 {
			return nil, unix.ENOENT // removed
		}
		fs.move(old, to.dir, to.name)
		return nil, 0
	}
	old.node, other.node = other.node, old.node
	from.node.setParent(to.dir)
	to.node.setParent(from.dir)
	from.node.touch(changed)
	if !exchange {
		return fs.remove(old), 0
	}
	to.node.touch(changed)
	from.dir.touch(modified, changed)
	to.dir.touch(modified, changed)
	return nil, 0
}
