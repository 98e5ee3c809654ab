package memfs

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dots is the number of the names "." and "..", which are not entries.
const dots = 2

// dirent is a struct linux_dirent64.
type dirent [280]byte

const direntName = 19 // where the name begins

// fill makes a record of a name and returns its length. Next is the offset
// behind it.
func (d *dirent) fill(name string, n *inode, next int64) int64 {
	size := (direntName + len(name) + 1 + 7) &^ 7
	clear(d[:size])
	binary.NativeEndian.PutUint64(d[0:], n.number)
	binary.NativeEndian.PutUint64(d[8:], uint64(next))
	binary.NativeEndian.PutUint16(d[16:], uint16(size))
	d[18] = byte(n.kind() >> 12)
	copy(d[direntName:], name)
	return int64(size)
}

// getdents lists a directory. The offset is the place of an entry, so a name
// that exists from the first call to the last is listed once, even if others
// are made and removed.
func (fs *FS) getdents(f *file, a args) int64 {
	dir := f.node
	if !dir.isDir() {
		return errnoResult(unix.ENOTDIR)
	}
	f.at.lock()
	defer f.at.unlock()
	fs.names.rlock()
	defer fs.names.runlock()
	if dir.links.Load() == 0 {
		return errnoResult(unix.ENOENT)
	}
	room, done := int64(uint32(a[2])), int64(0)
	var d dirent
	for ; f.offset < int64(len(dir.entries))+dots; f.offset++ {
		name, n := ".", dir
		switch f.offset {
		case 0:
		case 1:
			name, n = "..", dir.parent
		default:
			e := dir.entries[f.offset-dots]
			if e == nil {
				continue
			}
			name, n = unsafe.String(unsafe.SliceData(e.name), len(e.name)), e.node
		}
		size := d.fill(name, n, f.offset+1)
		if done+size > room {
			if done == 0 {
				return errnoResult(unix.EINVAL)
			}
			break
		}
		copyOut(a[1]+uintptr(done), d[:size])
		done += size
	}
	return done
}

func (fs *FS) readlinkat(a args) int64 {
	if int32(a[3]) <= 0 {
		return errnoResult(unix.EINVAL)
	}
	flags := uintptr(unix.AT_SYMLINK_NOFOLLOW)
	if a[1] != 0 && *pointer[byte](a[1]) == 0 && int32(a[0]) != unix.AT_FDCWD {
		flags |= unix.AT_EMPTY_PATH
	}
	n, err := fs.lookup(a[0], a[1], flags)
	if err != 0 {
		return errnoResult(err)
	}
	defer fs.unref(n)
	if !n.isLink() {
		return errnoResult(unix.EINVAL)
	}
	target := n.target[:min(len(n.target), int(int32(a[3])))]
	copyOut(a[2], target)
	return int64(len(target))
}
