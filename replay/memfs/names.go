package memfs

import (
	"hash/maphash"

	"golang.org/x/sys/unix"
)

// entry is a name in a directory.
type entry struct {
	dir   *inode
	node  *inode
	name  []byte
	hash  uint64
	place int32  // in the directory's entries
	next  *entry // of the same bucket, or in the free list
}

// names is all entries but "." and "..", by directory and name.
type names struct {
	seed    maphash.Seed
	buckets []*entry // a power of two
	count   int
}

func newNames() names { return names{seed: maphash.MakeSeed(), buckets: make([]*entry, 1<<12)} }

func (t *names) hash(dir *inode, name []byte) uint64 {
	return maphash.Bytes(t.seed, name) ^ dir.number*0x9e3779b97f4a7c15
}

func (t *names) bucket(hash uint64) **entry { return &t.buckets[hash&uint64(len(t.buckets)-1)] }

func (t *names) find(dir *inode, name []byte) *entry {
	h := t.hash(dir, name)
	for e := *t.bucket(h); e != nil; e = e.next {
		if e.hash == h && e.dir == dir && string(e.name) == string(name) {
			return e
		}
	}
	return nil
}

func (t *names) insert(e *entry) {
	if t.count == len(t.buckets) {
		old := t.buckets
		t.buckets = make([]*entry, 2*len(old))
		for _, e := range old {
			for e != nil {
				next := e.next
				t.push(e)
				e = next
			}
		}
	}
	e.hash = t.hash(e.dir, e.name)
	t.push(e)
	t.count++
}

func (t *names) push(e *entry) {
	at := t.bucket(e.hash)
	e.next, *at = *at, e
}

func (t *names) remove(e *entry) {
	at := t.bucket(e.hash)
	for *at != e {
		at = &(*at).next
	}
	*at = e.next
	t.count--
}

// add puts a file, a reference to which it takes over, into a directory.
// FS.names is locked, as for all that follows.
func (fs *FS) add(dir *inode, name []byte, n *inode) unix.Errno {
	if dir.links.Load() == 0 {
		return unix.ENOENT // removed
	}
	if !fs.charge(entryCost) {
		return unix.ENOSPC
	}
	e := fs.freeEntries
	if e == nil {
		block := make([]entry, 64)
		for i := range block[1:] {
			block[i].next = &block[i+1]
		}
		e = &block[0]
	}
	fs.freeEntries = e.next
	e.node = n
	fs.insertEntry(e, dir, name)
	if n.links.Add(1); n.isDir() {
		n.links.Add(1)
		dir.links.Add(1)
		n.parent = dir.ref()
	}
	return 0
}

// remove removes an entry and returns its file, with the reference of the
// entry.
func (fs *FS) remove(e *entry) *inode {
	dir, n := e.dir, e.node
	fs.removeEntry(e)
	if n.links.Add(-1); n.isDir() {
		n.links.Add(-1)
		dir.links.Add(-1)
	}
	e.dir, e.node, e.next = nil, nil, fs.freeEntries
	fs.freeEntries = e
	fs.refund(entryCost)
	n.touch(changed)
	return n
}

// move moves an entry to another directory and name.
func (fs *FS) move(e *entry, dir *inode, name []byte) {
	fs.removeEntry(e)
	fs.insertEntry(e, dir, name)
	e.node.setParent(dir)
	e.node.touch(changed)
}

// insertEntry adds an entry to the table and to its directory.
func (fs *FS) insertEntry(e *entry, dir *inode, name []byte) {
	e.dir, e.name = dir, append(e.name[:0], name...)
	if last := len(dir.vacant) - 1; last >= 0 {
		e.place, dir.vacant = dir.vacant[last], dir.vacant[:last]
		dir.entries[e.place] = e
	} else {
		e.place = int32(len(dir.entries))
		dir.entries = append(dir.entries, e)
	}
	fs.table.insert(e)
	dir.touch(modified, changed)
}

func (fs *FS) removeEntry(e *entry) {
	fs.table.remove(e)
	e.dir.entries[e.place] = nil
	e.dir.vacant = append(e.dir.vacant, e.place)
	e.dir.touch(modified, changed)
}

// setParent sets the parent of a directory.
func (n *inode) setParent(dir *inode) {
	if !n.isDir() || n.parent == dir {
		return
	}
	n.parent.links.Add(-1)
	n.parent.refs.Add(-1) // never the last: it was found by its name
	dir.links.Add(1)
	n.parent = dir.ref()
}
