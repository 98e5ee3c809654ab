package memfs

import (
	"golang.org/x/sys/unix"
)

// The limits of Linux.
const (
	maxPath  = 4096 // bytes, with the NUL
	maxName  = 255
	maxLinks = 40
)

// last is the kind of the last component of a path.
type last uint8

const (
	lastName last = iota
	lastRoot      // there is none
	lastDot
	lastDotDot
)

// place is where a path leads.
type place struct {
	dir   *inode // of the last component
	name  []byte // of lastName
	node  *inode // nil if the name doesn't exist
	last  last
	slash bool // the path ends in one
	long  bool // the name is too long to be one
}

// How a path is walked.
const (
	following = 1 << iota // through a link at its end
	creating              // the file may not exist
	naming                // to the name itself, not its file
)

// walk finds where a path leads from a directory. The path is not empty.
// FS.names is locked; the result is valid while it is.
func (fs *FS) walk(at *inode, path []byte, how uint8) (p place, err unix.Errno) {
	var rests [maxLinks][]byte // the rest of the path after each link
	depth, links := 0, 0
	rest := path
	p.last = lastDot
	for {
		if len(rest) > 0 && rest[0] == '/' {
			at, p.last = fs.root, lastRoot
			rest = skipSlashes(rest)
		}
		for len(rest) == 0 && depth > 0 {
			depth--
			rest = rests[depth]
		}
		if len(rest) == 0 {
			p.dir, p.node = at, at
			return p, 0
		}
		end := 0
		for end < len(rest) && rest[end] != '/' {
			end++
		}
		name := rest[:end]
		slash := end < len(rest)
		rest = skipSlashes(rest[end:])
		final := len(rest) == 0 && depth == 0
		p.slash = p.slash || final && slash
		if !at.isDir() {
			return p, unix.ENOTDIR
		}
		switch {
		case string(name) == ".":
			p.last = lastDot
		case string(name) == "..":
			at, p.last = at.parent, lastDotDot
		case len(name) > maxName && final && how&naming != 0:
			p.dir, p.last, p.long = at, lastName, true
			return p, 0
		case len(name) > maxName:
			return p, unix.ENAMETOOLONG
		default:
			p.last = lastName
			var child *inode
			if e := fs.table.find(at, name); e != nil {
				child = e.node
			}
			if final {
				p.dir, p.name, p.node = at, name, child
			}
			switch {
			case final && how&naming != 0:
				return p, 0
			case final && how&creating != 0 && p.slash:
				return p, unix.EISDIR
			case child == nil && final && how&creating != 0:
				return p, 0
			case child == nil:
				return p, unix.ENOENT
			case child.isLink() && (!final || how&following != 0 || p.slash):
				if links++; links > maxLinks {
					return p, unix.ELOOP
				}
				if len(rest) > 0 {
					rests[depth] = rest
					depth++
				}
				rest = child.target
				continue
			case final:
				if p.slash && !child.isDir() {
					return p, unix.ENOTDIR
				}
				return p, 0
			}
			at = child
		}
		if final {
			p.dir, p.node = at, at
			return p, 0
		}
	}
}

func skipSlashes(path []byte) []byte {
	for len(path) > 0 && path[0] == '/' {
		path = path[1:]
	}
	return path
}

// start returns the starting directory of a path of a call, with a reference.
func (fs *FS) start(dirfd uintptr, path []byte) (*inode, unix.Errno) {
	if int32(dirfd) == unix.AT_FDCWD || len(path) > 0 && path[0] == '/' {
		return fs.root.ref(), 0
	}
	f := fs.getRaw(dirfd)
	if f == nil {
		return nil, unix.EBADF
	}
	n := f.node.ref()
	fs.put(f)
	return n, 0
}

// onPath makes a call on the file that lookup finds.
func (fs *FS) onPath(dirfd, address, flags uintptr, call func(n *inode) int64) int64 {
	n, err := fs.lookup(dirfd, address, flags)
	if err != 0 {
		return errnoResult(err)
	}
	defer fs.unref(n)
	return call(n)
}

// lookup returns, with a reference, the file that a directory, the address of a
// path, and flags of the AT_ kind name.
func (fs *FS) lookup(dirfd, address, flags uintptr) (*inode, unix.Errno) {
	var name []byte
	var err unix.Errno
	if address != 0 || flags&unix.AT_EMPTY_PATH == 0 {
		if name, err = text(address, maxPath); err != 0 {
			return nil, err
		}
		if len(name) == 0 && flags&unix.AT_EMPTY_PATH == 0 {
			return nil, unix.ENOENT
		}
	}
	dir, err := fs.start(dirfd, name)
	if err != 0 {
		return nil, err
	}
	if len(name) == 0 && flags&unix.AT_EMPTY_PATH != 0 {
		return dir, 0
	}
	defer fs.unref(dir)
	how := uint8(following)
	if flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		how = 0
	}
	fs.names.rlock()
	defer fs.names.runlock()
	p, err := fs.walk(dir, name, how)
	if err != 0 {
		return nil, err
	}
	return p.node.ref(), 0
}
