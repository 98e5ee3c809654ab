package memfs

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// attribute is an extended attribute of the name space user; there are no others.
type attribute struct{ name, value []byte }

// cost returns the number of bytes charged for the attribute.
func (a *attribute) cost() int64 { return int64(64 + len(a.name) + len(a.value)) }

// maxXattr is the maximum size of a value, or of a list of names, in bytes.
const maxXattr = 64 << 10

var userSpace = []byte("user.")

// attributeName returns the name of an attribute at an address in memory.
func attributeName(address uintptr) ([]byte, unix.Errno) {
	name, err := text(address, maxName+1)
	if err == unix.ENAMETOOLONG || err == 0 && len(name) == 0 {
		err = unix.ERANGE
	}
	return name, err
}

// mayHave returns the error of a file that can't have an attribute: refused for a
// symbolic link.
func (n *inode) mayHave(name []byte, refused unix.Errno) unix.Errno {
	switch {
	case !bytes.HasPrefix(name, userSpace):
		return unix.EOPNOTSUPP
	case !n.isReg() && !n.isDir():
		return refused
	case len(name) == len(userSpace):
		return unix.EINVAL
	}
	return 0
}

// attribute returns the place of an attribute, -1 if there is none.
func (n *inode) attribute(name []byte) int {
	for i := range n.attributes {
		if bytes.Equal(n.attributes[i].name, name) {
			return i
		}
	}
	return -1
}

// byPath returns, with a reference, the file that a call on attributes is
// about.
func (fs *FS) byPath(path uintptr) (*inode, unix.Errno) { return fs.lookup(cwd, path, 0) }

func (fs *FS) byLink(path uintptr) (*inode, unix.Errno) {
	return fs.lookup(cwd, path, unix.AT_SYMLINK_NOFOLLOW)
}

func (fs *FS) byDescriptor(fd uintptr) (*inode, unix.Errno) {
	f := fs.get(fd)
	if f == nil {
		return nil, unix.EBADF
	}
	n := f.node.ref()
	fs.put(f)
	return n, 0
}

// finder is the type of these functions.
type finder func(*FS, uintptr) (*inode, unix.Errno)

// onAttribute finds the file of a call on an attribute, and calls a function with the
// attribute's place, -1 if there is none, under lock. A read-only call shares the lock.
// refused is the error for a symbolic link or a socket.
func (fs *FS) onAttribute(find finder, file uintptr, name []byte, refused unix.Errno, readOnly bool, do func(n *inode, i int) int64) int64 {
	n, err := find(fs, file)
	if err != 0 {
		return errnoResult(err)
	}
	defer fs.unref(n)
	if err := n.mayHave(name, refused); err != 0 {
		return errnoResult(err)
	}
	if readOnly {
		n.lock.rlock()
		defer n.lock.runlock()
	} else {
		n.lock.lock()
		defer n.lock.unlock()
	}
	return do(n, n.attribute(name))
}

func (fs *FS) setxattr(a args) int64  { return fs.setAttribute((*FS).byPath, a) }
func (fs *FS) lsetxattr(a args) int64 { return fs.setAttribute((*FS).byLink, a) }
func (fs *FS) fsetxattr(a args) int64 { return fs.setAttribute((*FS).byDescriptor, a) }

func (fs *FS) setAttribute(find finder, a args) int64 {
	if uint32(a[4])&^(unix.XATTR_CREATE|unix.XATTR_REPLACE) != 0 {
		return errnoResult(unix.EINVAL)
	}
	name, err := attributeName(a[1])
	switch {
	case err != 0:
		return errnoResult(err)
	case a[3] > maxXattr:
		return errnoResult(unix.E2BIG)
	}
	return fs.onAttribute(find, a[0], name, unix.EPERM, false, func(n *inode, i int) int64 {
		return errnoResult(fs.assign(n, i, name, a[2], int64(a[3]), uint32(a[4])))
	})
}

// assign gives a file an attribute with a value that lies at an address. i is the
// attribute's place.
func (fs *FS) assign(n *inode, i int, name []byte, from uintptr, size int64, flags uint32) unix.Errno {
	switch {
	case i >= 0 && flags&unix.XATTR_CREATE != 0:
		return unix.EEXIST
	case i < 0 && flags&unix.XATTR_REPLACE != 0:
		return unix.ENODATA
	}
	fresh := attribute{name: name, value: memoryAt(from, size)}
	if !fs.charge(fresh.cost()) {
		return unix.ENOSPC
	}
	if i < 0 {
		i = len(n.attributes)
		if i < cap(n.attributes) {
			n.attributes = n.attributes[:i+1] // with the memory of one that was removed
		} else {
			n.attributes = append(n.attributes, attribute{})
		}
	} else {
		fs.refund(n.attributes[i].cost())
	}
	at := &n.attributes[i]
	at.name, at.value = append(at.name[:0], name...), append(at.value[:0], fresh.value...)
	n.stamp(changed)
	return 0
}

func (fs *FS) getxattr(a args) int64  { return fs.getAttribute((*FS).byPath, a) }
func (fs *FS) lgetxattr(a args) int64 { return fs.getAttribute((*FS).byLink, a) }
func (fs *FS) fgetxattr(a args) int64 { return fs.getAttribute((*FS).byDescriptor, a) }

func (fs *FS) getAttribute(find finder, a args) int64 {
	name, err := attributeName(a[1])
	if err != 0 {
		return errnoResult(err)
	}
	return fs.onAttribute(find, a[0], name, unix.ENODATA, true, func(n *inode, i int) int64 {
		if i < 0 {
			return errnoResult(unix.ENODATA)
		}
		value := n.attributes[i].value
		switch size := uintptr(len(value)); {
		case a[3] == 0:
		case size > a[3]:
			return errnoResult(unix.ERANGE)
		default:
			copyOut(a[2], value)
		}
		return int64(len(value))
	})
}

func (fs *FS) listxattr(a args) int64  { return fs.listAttributes((*FS).byPath, a) }
func (fs *FS) llistxattr(a args) int64 { return fs.listAttributes((*FS).byLink, a) }
func (fs *FS) flistxattr(a args) int64 { return fs.listAttributes((*FS).byDescriptor, a) }

func (fs *FS) listAttributes(find finder, a args) int64 {
	n, err := find(fs, a[0])
	if err != 0 {
		return errnoResult(err)
	}
	defer fs.unref(n)
	n.lock.rlock()
	defer n.lock.runlock()
	size := int64(0)
	for i := range n.attributes {
		size += int64(len(n.attributes[i].name)) + 1
	}
	switch {
	case a[2] == 0:
		return size
	case size > maxXattr && a[2] > maxXattr:
		return errnoResult(unix.E2BIG)
	case uintptr(size) > a[2]:
		return errnoResult(unix.ERANGE)
	}
	at := a[1]
	for i := range n.attributes {
		at = copyOut(at, n.attributes[i].name)
		at = copyOut(at, zeroes[:1])
	}
	return size
}

func (fs *FS) removexattr(a args) int64  { return fs.removeAttribute((*FS).byPath, a) }
func (fs *FS) lremovexattr(a args) int64 { return fs.removeAttribute((*FS).byLink, a) }
func (fs *FS) fremovexattr(a args) int64 { return fs.removeAttribute((*FS).byDescriptor, a) }

func (fs *FS) removeAttribute(find finder, a args) int64 {
	name, err := attributeName(a[1])
	if err != 0 {
		return errnoResult(err)
	}
	return fs.onAttribute(find, a[0], name, unix.EPERM, false, func(n *inode, i int) int64 {
		if i < 0 {
			return errnoResult(unix.ENODATA)
		}
		fs.refund(n.attributes[i].cost())
		last := len(n.attributes) - 1
		n.attributes[i], n.attributes[last] = n.attributes[last], n.attributes[i]
		n.attributes = n.attributes[:last]
		n.stamp(changed)
		return 0
	})
}
