package memfs

import (
	"math"

	"golang.org/x/sys/unix"
)

// rangeLock is a lock of an open file on bytes from first to last.
type rangeLock struct {
	owner       *file
	first, last int64
	exclusive   bool
}

// rangeCost is the charge for a range lock, in bytes.
const rangeCost = 64

// flock is a lock of an open file on all of a file.
type flock struct {
	owner     *file
	exclusive bool
}

// fileRange returns the range of a struct flock.
func fileRange(f *file, l *unix.Flock_t) (first, last int64, err unix.Errno) {
	switch l.Whence {
	case unix.SEEK_SET:
	case unix.SEEK_CUR:
		first = f.begin(0)
	case unix.SEEK_END:
		first = f.node.size.Load()
	default:
		return 0, 0, unix.EINVAL
	}
	if l.Start > math.MaxInt64-first {
		return 0, 0, unix.EOVERFLOW
	}
	first += l.Start
	switch {
	case first < 0:
		return 0, 0, unix.EINVAL
	case l.Len == 0:
		return first, math.MaxInt64, 0
	case l.Len > 0:
		if l.Len-1 > math.MaxInt64-first {
			return 0, 0, unix.EOVERFLOW
		}
		return first, first + l.Len - 1, 0
	case first+l.Len < 0:
		return 0, 0, unix.EINVAL
	}
	return first + l.Len, first - 1, 0
}

// lockRange plays the locks of open files by fcntl. They never wait.
func (fs *FS) lockRange(f *file, cmd int, l *unix.Flock_t) int64 {
	switch {
	case l.Pid != 0, l.Type < unix.F_RDLCK || l.Type > unix.F_UNLCK:
		return errnoResult(unix.EINVAL)
	}
	first, last, err := fileRange(f, l)
	if err != 0 {
		return errnoResult(err)
	}
	n := f.node
	n.lock.lock()
	defer n.lock.unlock()
	other := n.conflict(f, first, last, l.Type)
	if cmd == unix.F_OFD_GETLK {
		n.describeLock(l, other)
		return 0
	}
	switch {
	case l.Type == unix.F_RDLCK && !f.readable(), l.Type == unix.F_WRLCK && !f.writable():
		return errnoResult(unix.EBADF)
	case other != nil:
		return errnoResult(unix.EAGAIN)
	}
	// Releasing the middle of a lock splits it.
	if !fs.charge(2 * rangeCost) {
		return errnoResult(unix.ENOLCK)
	}
	before := len(n.ranges)
	n.unlockRange(f, first, last)
	if l.Type != unix.F_UNLCK {
		n.ranges = append(n.ranges, rangeLock{f, first, last, l.Type == unix.F_WRLCK})
		n.mergeLocks(len(n.ranges) - 1)
		f.hasLocks.Store(true)
	}
	fs.refund(int64(before+2-len(n.ranges)) * rangeCost)
	return 0
}

// conflict returns a lock of another open file that conflicts with a lock of a type.
func (n *inode) conflict(f *file, first, last int64, kind int16) *rangeLock {
	for i := range n.ranges {
		l := &n.ranges[i]
		if kind != unix.F_UNLCK && l.owner != f && l.first <= last && first <= l.last && (l.exclusive || kind == unix.F_WRLCK) {
			return l
		}
	}
	return nil
}

// describeLock fills in a lock, or F_UNLCK if there is none.
func (n *inode) describeLock(l *unix.Flock_t, other *rangeLock) {
	if other == nil {
		l.Type = unix.F_UNLCK
		return
	}
	*l = unix.Flock_t{Type: unix.F_RDLCK, Whence: unix.SEEK_SET, Start: other.first, Pid: -1}
	if other.exclusive {
		l.Type = unix.F_WRLCK
	}
	if other.last != math.MaxInt64 {
		l.Len = other.last - other.first + 1
	}
}

// unlockRange removes a range from the locks of an open file.
func (n *inode) unlockRange(f *file, first, last int64) {
	for i := 0; i < len(n.ranges); i++ {
		l := &n.ranges[i]
		if l.owner != f || l.last < first || last < l.first {
			continue
		}
		was := *l
		switch {
		case was.first < first && last < was.last:
			l.last = first - 1
			was.first = last + 1
			n.ranges = append(n.ranges, was)
		case was.first < first:
			l.last = first - 1
		case last < was.last:
			l.first = last + 1
		default:
			n.dropRange(i)
			i--
		}
	}
}

// mergeLocks merges a lock with the locks of its kind that it touches.
func (n *inode) mergeLocks(i int) {
	for k := 0; k < len(n.ranges); k++ {
		a, b := &n.ranges[i], &n.ranges[k]
		if k == i || a.owner != b.owner || a.exclusive != b.exclusive || b.first-1 > a.last || a.first-1 > b.last {
			continue
		}
		a.first, a.last = min(a.first, b.first), max(a.last, b.last)
		if n.dropRange(k); i == len(n.ranges) {
			i = k // it was moved there
		}
		k = -1
	}
}

// dropRange removes a lock and puts the last one in its place.
func (n *inode) dropRange(i int) {
	last := len(n.ranges) - 1
	n.ranges[i] = n.ranges[last]
	n.ranges = n.ranges[:last]
}

// unlockAll removes all locks of an open file.
func (n *inode) unlockAll(fs *FS, f *file) {
	n.lock.lock()
	before := len(n.ranges)
	n.unlockRange(f, 0, math.MaxInt64)
	fs.refund(int64(before-len(n.ranges)) * rangeCost)
	n.dropFlock(f)
	n.lock.unlock()
}

func (n *inode) dropFlock(f *file) {
	for i := range n.flocks {
		if n.flocks[i].owner == f {
			n.flocks[i] = n.flocks[len(n.flocks)-1]
			n.flocks = n.flocks[:len(n.flocks)-1]
			return
		}
	}
}

// flock never waits. As in Linux, a call that fails to change the kind of a lock
// leaves the caller without one.
func (fs *FS) flock(a args) int64 {
	how := uint32(a[1]) &^ unix.LOCK_NB
	if how != unix.LOCK_SH && how != unix.LOCK_EX && how != unix.LOCK_UN {
		return errnoResult(unix.EINVAL)
	}
	f := fs.get(a[0])
	if f == nil {
		return errnoResult(unix.EBADF)
	}
	defer fs.put(f)
	if how != unix.LOCK_UN && !f.readable() && !f.writable() {
		return errnoResult(unix.EBADF)
	}
	n, exclusive := f.node, how == unix.LOCK_EX
	n.lock.lock()
	defer n.lock.unlock()
	for i := range n.flocks {
		if l := &n.flocks[i]; l.owner == f && how != unix.LOCK_UN && l.exclusive == exclusive {
			return 0
		}
	}
	n.dropFlock(f)
	if how == unix.LOCK_UN {
		return 0
	}
	for i := range n.flocks {
		if n.flocks[i].exclusive || exclusive {
			return errnoResult(unix.EAGAIN)
		}
	}
	n.flocks = append(n.flocks, flock{f, exclusive})
	f.hasLocks.Store(true)
	return 0
}
