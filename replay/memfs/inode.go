package memfs

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// inode is a file of any type. Fields are guarded by lock unless their comment
// says otherwise.
type inode struct {
	number uint64
	refs   atomic.Int32 // entries, open files, calls in progress, and directories within
	mode   atomic.Uint32
	links  atomic.Int32 // st_nlink; changed under FS.names
	size   atomic.Int64 // changed under lock

	lock       lock
	tree       tree
	times      [4]int64 // in nanoseconds since 1970
	uid, gid   uint32
	attributes []attribute
	ranges     []rangeLock
	flocks     []flock

	// Under FS.names.
	parent   *inode   // of a directory; of the root the root
	entries  []*entry // of a directory; nil where one was removed
	vacant   []int32  // places of these
	target   []byte   // of a symbolic link; never changed
	linkable bool     // without a name, but to be given one (O_TMPFILE)

	next *inode // in the free list
}

// The times of an inode.
const (
	accessed = iota
	modified
	changed
	born
)

func (n *inode) kind() uint32    { return n.mode.Load() & unix.S_IFMT }
func (n *inode) isDir() bool     { return n.kind() == unix.S_IFDIR }
func (n *inode) isLink() bool    { return n.kind() == unix.S_IFLNK }
func (n *inode) isReg() bool     { return n.kind() == unix.S_IFREG }
func (n *inode) ref() *inode     { n.refs.Add(1); return n }
func (n *inode) isEmpty() bool   { return len(n.entries) == len(n.vacant) }
func now() int64                 { return time.Now().UnixNano() }
func (n *inode) touch(at ...int) { n.lock.lock(); n.stamp(at...); n.lock.unlock() }

// stamp sets times to now, under lock.
func (n *inode) stamp(at ...int) {
	t := now()
	for _, i := range at {
		n.times[i] = t
	}
}

// The charges for inodes and entries, in bytes: more than their size with the
// longest name and their share of the tables.
const (
	inodeCost = 512
	entryCost = 512
)

// newInode returns a file with one reference and no link, nil if there is no
// memory.
func (fs *FS) newInode(mode uint32) *inode {
	if !fs.charge(inodeCost) {
		return nil
	}
	fs.objects.lock()
	n := fs.freeInodes
	if n == nil {
		block := make([]inode, 64)
		for i := range block[1:] {
			block[i].next = &block[i+1]
		}
		n = &block[0]
	}
	fs.freeInodes, n.next = n.next, nil
	fs.lastInode++
	n.number = fs.lastInode
	fs.objects.unlock()
	n.mode.Store(mode)
	n.refs.Store(1)
	n.links.Store(0)
	n.size.Store(0)
	t := now()
	n.times = [4]int64{t, t, t, t}
	n.uid, n.gid = fs.uid, fs.gid
	n.linkable = false
	return n
}

// unref drops a reference. The last one frees the file. The caller holds no
// lock except, possibly, FS.names.
func (fs *FS) unref(n *inode) {
	for n != nil && n.refs.Add(-1) == 0 {
		parent := n.parent
		fs.freeRange(&n.tree, 0, maxPages)
		for i := range n.attributes {
			fs.refund(n.attributes[i].cost())
		}
		fs.refund(inodeCost + int64(len(n.target)))
		n.attributes, n.entries, n.vacant, n.target = n.attributes[:0], n.entries[:0], n.vacant[:0], n.target[:0]
		n.parent = nil
		fs.objects.lock()
		n.next, fs.freeInodes = fs.freeInodes, n
		fs.objects.unlock()
		n = parent
	}
}
