package memfs

import (
	"fmt"
	"math"
	"os"
	"unsafe" // also for go:linkname

	"golang.org/x/sys/unix"
)

// Limits of a file, as those of ext4.
const (
	maxPages = math.MaxUint32
	maxBytes = maxPages * pageSize
)

// FS is a file system. A new one has only its root directory.
type FS struct {
	names   lock // of table, the places of entries, and freeEntries
	numbers lock // of allocating and freeing descriptors
	objects lock // of freeInodes, freeFiles and lastInode
	memory
	table    names
	root     *inode
	uid, gid uint32

	descriptors descriptors

	freeEntries *entry
	freeInodes  *inode
	freeFiles   *file
	lastInode   uint64
}

// New makes a file system that takes at most limit bytes of memory. It must be
// closed.
func New(limit int64) (*FS, error) {
	fs := &FS{table: newNames(), uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}
	if err := fs.memory.open(limit); err != nil {
		return nil, fmt.Errorf("memfs: %w", err)
	}
	root := fs.newInode(unix.S_IFDIR | 0o700)
	if root == nil {
		return nil, fmt.Errorf("memfs: %d bytes are not enough", limit)
	}
	root.parent = root
	root.links.Store(2)
	fs.root = root
	return fs, nil
}

// Populate populates memory for writes, as far as it is available. Otherwise
// the first write to 2 MiB of new memory takes about 0.3 ms more.
func (fs *FS) Populate(n int64) { fs.populate(min(n, fs.left.Load())) }

// Close frees the memory. No call may be in progress or follow.
func (fs *FS) Close() error {
	if err := unix.Munmap(fs.mapping); err != nil {
		return fmt.Errorf("memfs: unmap: %w", err)
	}
	return nil
}

// args are the arguments of a system call.
type args [6]uintptr

// calls are the implemented system calls, by number.
var calls = [512]func(*FS, args) int64{
	unix.SYS_OPENAT: (*FS).openat,
	unix.SYS_CLOSE:  (*FS).close,
	unix.SYS_FCNTL:  onFile((*FS).getRaw, (*FS).fcntl),
	unix.SYS_FLOCK:  (*FS).flock,

	unix.SYS_READ:     (*FS).read,
	unix.SYS_PREAD64:  (*FS).pread,
	unix.SYS_READV:    (*FS).readv,
	unix.SYS_PREADV:   (*FS).preadv,
	unix.SYS_PREADV2:  (*FS).preadv2,
	unix.SYS_WRITE:    (*FS).write,
	unix.SYS_PWRITE64: (*FS).pwrite,
	unix.SYS_WRITEV:   (*FS).writev,
	unix.SYS_PWRITEV:  (*FS).pwritev,
	unix.SYS_PWRITEV2: (*FS).pwritev2,

	unix.SYS_COPY_FILE_RANGE: (*FS).copyFileRange,
	unix.SYS_SENDFILE:        (*FS).sendfile,

	unix.SYS_LSEEK:     onFile((*FS).get, (*FS).lseek),
	unix.SYS_FTRUNCATE: (*FS).ftruncate,
	unix.SYS_TRUNCATE:  (*FS).truncate,
	unix.SYS_FALLOCATE: onFile((*FS).get, (*FS).fallocate),
	unix.SYS_IOCTL:     onFile((*FS).get, (*FS).ioctl),

	unix.SYS_FSYNC:           onFile((*FS).get, (*FS).sync),
	unix.SYS_FDATASYNC:       onFile((*FS).get, (*FS).sync),
	unix.SYS_SYNCFS:          onFile((*FS).get, (*FS).sync),
	unix.SYS_SYNC_FILE_RANGE: onFile((*FS).get, (*FS).syncFileRange),
	unix.SYS_FADVISE64:       onFile((*FS).get, (*FS).fadvise),
	unix.SYS_READAHEAD:       onFile((*FS).get, (*FS).readahead),

	unix.SYS_FSTAT:      onFile((*FS).getRaw, (*FS).fstat),
	unix.SYS_NEWFSTATAT: (*FS).fstatat,
	unix.SYS_STATX:      (*FS).statx,
	unix.SYS_FACCESSAT:  (*FS).faccessat,
	unix.SYS_FACCESSAT2: (*FS).faccessat2,
	unix.SYS_STATFS:     (*FS).statfs,
	unix.SYS_FSTATFS:    onFile((*FS).getRaw, (*FS).fstatfs),
	unix.SYS_GETDENTS64: onFile((*FS).get, (*FS).getdents),
	unix.SYS_READLINKAT: (*FS).readlinkat,

	unix.SYS_MKDIRAT:   (*FS).mkdirat,
	unix.SYS_MKNODAT:   (*FS).mknodat,
	unix.SYS_SYMLINKAT: (*FS).symlinkat,
	unix.SYS_LINKAT:    (*FS).linkat,
	unix.SYS_UNLINKAT:  (*FS).unlinkat,
	unix.SYS_RENAMEAT:  (*FS).renameat,
	unix.SYS_RENAMEAT2: (*FS).renameat2,

	unix.SYS_FCHMOD:    onFile((*FS).get, (*FS).fchmod),
	unix.SYS_FCHMODAT:  (*FS).fchmodat,
	unix.SYS_FCHMODAT2: (*FS).fchmodat2,
	unix.SYS_FCHOWN:    onFile((*FS).get, (*FS).fchown),
	unix.SYS_FCHOWNAT:  (*FS).fchownat,
	unix.SYS_UTIMENSAT: (*FS).utimensat,

	unix.SYS_SETXATTR:     (*FS).setxattr,
	unix.SYS_LSETXATTR:    (*FS).lsetxattr,
	unix.SYS_FSETXATTR:    (*FS).fsetxattr,
	unix.SYS_GETXATTR:     (*FS).getxattr,
	unix.SYS_LGETXATTR:    (*FS).lgetxattr,
	unix.SYS_FGETXATTR:    (*FS).fgetxattr,
	unix.SYS_LISTXATTR:    (*FS).listxattr,
	unix.SYS_LLISTXATTR:   (*FS).llistxattr,
	unix.SYS_FLISTXATTR:   (*FS).flistxattr,
	unix.SYS_REMOVEXATTR:  (*FS).removexattr,
	unix.SYS_LREMOVEXATTR: (*FS).lremovexattr,
	unix.SYS_FREMOVEXATTR: (*FS).fremovexattr,
}

// onFile returns a call on the open file of its first argument, found by find.
func onFile(find func(*FS, uintptr) *file, call func(*FS, *file, args) int64) func(*FS, args) int64 {
	return func(fs *FS, a args) int64 {
		f := find(fs, a[0])
		if f == nil {
			return errnoResult(unix.EBADF)
		}
		defer fs.put(f)
		return call(fs, f, a)
	}
}

// Call answers a system call as Linux would, with a result or -errno. An unknown
// call is ENOSYS. Paths begin at the root, where AT_FDCWD is too,
// and never lead out of it. An openat with a NULL path opens the file of its
// descriptor once more. Descriptors begin at FirstDescriptor, above all
// descriptors of the kernel.
func (fs *FS) Call(nr, a, b, c, d, e, f uintptr) int64 {
	if nr >= uintptr(len(calls)) || calls[nr] == nil {
		return errnoResult(unix.ENOSYS)
	}
	// Pinned, so that the scheduler can't stop a thread with a lock while
	// others wait for the lock.
	pin()
	got := calls[nr](fs, args{a, b, c, d, e, f})
	unpin()
	return got
}

//go:linkname pin runtime.procPin
func pin() int

//go:linkname unpin runtime.procUnpin
func unpin()

// errnoResult returns the result of a call with an errno, 0 for none.
func errnoResult(err unix.Errno) int64 { return -int64(err) }

// pointer converts an argument back to a pointer.
func pointer[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// memoryAt returns the memory at an address.
func memoryAt(address uintptr, n int64) []byte { return unsafe.Slice(pointer[byte](address), n) }

// move copies bytes between ranges that may overlap. Two threads of the caller may use
// its buffers at the same time; the caller must synchronize them if it matters.
//
//go:norace
func move(to, from uintptr, n int64) { copy(memoryAt(to, n), memoryAt(from, n)) }

// copyOut copies bytes to an address, with the limits of move. It returns the
// address after them.
//
//go:norace
func copyOut(to uintptr, from []byte) uintptr {
	copy(memoryAt(to, int64(len(from))), from)
	return to + uintptr(len(from))
}

// zero clears bytes, with the limits of move.
//
//go:norace
func zero(at uintptr, n int64) { clear(memoryAt(at, n)) }

// store writes an object to an address, with the limits of move.
//
//go:norace
func store[T any](at uintptr, v *T) { *pointer[T](at) = *v }

// text returns a string of fewer bytes than max at an address.
func text(at uintptr, max int64) ([]byte, unix.Errno) {
	if at == 0 {
		return nil, unix.EFAULT
	}
	for n := int64(0); n < max; n++ {
		if *pointer[byte](at + uintptr(n)) == 0 {
			return memoryAt(at, n), 0
		}
	}
	return nil, unix.ENAMETOOLONG
}

// path returns a path at an address.
func path(at uintptr) ([]byte, unix.Errno) {
	p, err := text(at, maxPath)
	if err == 0 && len(p) == 0 {
		err = unix.ENOENT
	}
	return p, err
}
