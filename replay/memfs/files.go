package memfs

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// file is an open file. It is never freed, so that a late thread finds a valid
// file, and notices that it was reused.
type file struct {
	refs  atomic.Int32 // descriptors, and calls at work; 0 in the free list
	flags atomic.Uint32
	node  *inode

	at       lock // of offset
	offset   int64
	hasLocks atomic.Bool // the inode may have locks of it

	next *file // in the free list
}

func (f *file) is(flag uint32) bool { return f.flags.Load()&flag != 0 }
func (f *file) readable() bool {
	a := f.flags.Load() & unix.O_ACCMODE
	return a == unix.O_RDONLY || a == unix.O_RDWR
}
func (f *file) writable() bool {
	a := f.flags.Load() & unix.O_ACCMODE
	return a == unix.O_WRONLY || a == unix.O_RDWR
}

// FirstDescriptor is the smallest number of a descriptor. It is above the limit
// of Linux for a process.
const FirstDescriptor = 1 << 29

// descriptors maps numbers to open files.
type descriptors struct {
	blocks [256]atomic.Pointer[[descriptorBlock]atomic.Pointer[file]]
	free   []uint32 // returned numbers
	end    uint32   // above all numbers that were ever in use
}

const descriptorBlock = 4096

func (d *descriptors) slot(fd uintptr) *atomic.Pointer[file] {
	n := uint32(fd) - FirstDescriptor
	if n >= uint32(len(d.blocks))*descriptorBlock {
		return nil
	}
	block := d.blocks[n/descriptorBlock].Load()
	if block == nil {
		return nil
	}
	return &block[n%descriptorBlock]
}

// getRaw returns the open file of a descriptor, nil for none. The caller releases it
// by put.
func (fs *FS) getRaw(fd uintptr) *file {
	slot := fs.descriptors.slot(fd)
	if slot == nil {
		return nil
	}
	for {
		f := slot.Load()
		if f == nil {
			return nil
		}
		refs := f.refs.Load()
		if refs == 0 || !f.refs.CompareAndSwap(refs, refs+1) {
			continue // about to change
		}
		if slot.Load() == f {
			return f
		}
		fs.put(f)
	}
}

// get is getRaw for a file that was not opened with O_PATH.
func (fs *FS) get(fd uintptr) *file {
	f := fs.getRaw(fd)
	if f != nil && f.is(unix.O_PATH) {
		fs.put(f)
		return nil
	}
	return f
}

// put releases a file returned by getRaw or get. The last put ends the open file.
func (fs *FS) put(f *file) {
	if f.refs.Add(-1) > 0 {
		return
	}
	n := f.node
	if f.hasLocks.Load() {
		n.unlockAll(fs, f)
	}
	fs.objects.lock()
	f.next, fs.freeFiles = fs.freeFiles, f
	fs.objects.unlock()
	fs.unref(n)
}

// newFile opens an inode, a reference to which it takes over, and returns a
// descriptor.
func (fs *FS) newFile(n *inode, flags uint32) int64 {
	fs.objects.lock()
	f := fs.freeFiles
	if f == nil {
		block := make([]file, 64)
		for i := range block[1:] {
			block[i].next = &block[i+1]
		}
		f = &block[0]
	}
	fs.freeFiles = f.next
	fs.objects.unlock()
	f.node, f.offset = n, 0
	f.flags.Store(flags)
	f.hasLocks.Store(false)
	f.refs.Store(1)
	return fs.install(f)
}

// install gives an open file another descriptor, and takes over a reference to it.
func (fs *FS) install(f *file) int64 {
	d := &fs.descriptors
	fs.numbers.lock()
	number := d.end
	if last := len(d.free) - 1; last >= 0 {
		number, d.free = d.free[last], d.free[:last]
	} else if number == uint32(len(d.blocks))*descriptorBlock {
		fs.numbers.unlock()
		fs.put(f)
		return errnoResult(unix.EMFILE)
	} else {
		if number%descriptorBlock == 0 {
			d.blocks[number/descriptorBlock].Store(new([descriptorBlock]atomic.Pointer[file]))
		}
		d.end++
	}
	fs.numbers.unlock()
	fd := FirstDescriptor + int64(number)
	d.slot(uintptr(fd)).Store(f)
	return fd
}

func (fs *FS) close(a args) int64 {
	slot := fs.descriptors.slot(a[0])
	if slot == nil {
		return errnoResult(unix.EBADF)
	}
	f := slot.Swap(nil)
	if f == nil {
		return errnoResult(unix.EBADF)
	}
	fs.numbers.lock()
	fs.descriptors.free = append(fs.descriptors.free, uint32(a[0])-FirstDescriptor)
	fs.numbers.unlock()
	fs.put(f)
	return 0
}

// settable are the flags that F_SETFL changes.
const settable = unix.O_APPEND | unix.O_NONBLOCK | unix.O_DIRECT | unix.O_NOATIME

func (fs *FS) fcntl(f *file, a args) int64 {
	switch int(a[1]) {
	case unix.F_DUPFD, unix.F_DUPFD_CLOEXEC:
		if a[2] >= FirstDescriptor {
			return errnoResult(unix.EINVAL)
		}
		f.refs.Add(1)
		return fs.install(f)
	case unix.F_GETFD:
		return unix.FD_CLOEXEC // no exec reaches these
	case unix.F_SETFD:
		return 0
	case unix.F_GETFL:
		return int64(f.flags.Load())
	}
	if f.is(unix.O_PATH) {
		return errnoResult(unix.EBADF)
	}
	switch int(a[1]) {
	case unix.F_SETFL:
		for {
			old := f.flags.Load()
			if f.flags.CompareAndSwap(old, old&^settable|uint32(a[2])&settable) {
				return 0
			}
		}
	case unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW:
		return fs.lockRange(f, int(a[1]), pointer[unix.Flock_t](a[2]))
	}
	return errnoResult(unix.EINVAL)
}
