package posix

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/spin"
	"pianola/replay/sandbox"
)

// fdEntry is the state of a recorded descriptor: the real descriptor plus one,
// marks, and the number of the path that it was opened by. The zero entry is a
// closed descriptor.
type fdEntry int64

const (
	entryExec  = 1 << 0 // mark: close-on-exec in the recording; a real descriptor always is
	entryWrite = 1 << 1 // mark: opened for writing, so it is not a directory
	entryReal  = 2      // shift
	entryName  = 32     // shift
	entryMask  = 1<<30 - 1
)

func newEntry(real int64, name int32, marks fdEntry) fdEntry {
	return fdEntry(real+1)<<entryReal | fdEntry(name)<<entryName | marks
}

// openMarks returns the marks of a descriptor that was opened with canonical
// flags.
func openMarks(flags int64) (marks fdEntry) {
	if flags&format.CLOEXEC != 0 {
		marks |= entryExec
	}
	if flags&(format.WRONLY|format.RDWR) != 0 {
		marks |= entryWrite
	}
	return marks
}

func (s fdEntry) real() uintptr  { return uintptr(s>>entryReal&entryMask - 1) }
func (s fdEntry) name() int32    { return int32(s >> entryName) }
func (s fdEntry) exec() bool     { return s&entryExec != 0 }
func (s fdEntry) marks() fdEntry { return s & (entryExec | entryWrite) }

// table maps the descriptors of a process to real ones. Threads of the process
// use it concurrently. As in the kernel, the outcome of concurrent changes that
// the recording does not order is undefined.
type table struct {
	sys     sandbox.Kernel
	entries []atomic.Int64
	high    atomic.Int64 // above every descriptor that was ever in use
	users   atomic.Int32 // processes that share it (CLONE_FILES)

	locks lockFiles

	// late holds descriptors whose number was reused before the event that
	// closes them. A close frees its number before it returns, so an open of
	// another thread can end before it, in the recording and in the replay.
	late struct {
		spin.Lock
		n     atomic.Int32
		fds   [maxLate]int64
		slots [maxLate]fdEntry
	}
}

// maxLate bounds the closes that are late at a time; each is a thread between
// two events.
const maxLate = 64

// maxDescriptors bounds the descriptors of all processes of a trace together, because
// they take kernel memory. Limits.Kernel bounds what they take in a run of several.
const maxDescriptors = 1 << 20

// descriptorsOf returns how many descriptors each of a number of processes may
// have.
func (l *Limits) descriptorsOf(processes int) int64 {
	return min(l.Descriptors, max(l.Descriptors, maxDescriptors)/int64(processes))
}

// newTable uses a zeroed region for the entries.
func newTable(sys sandbox.Kernel, m region, length int64) *table {
	t := &table{sys: sys, entries: unsafe.Slice((*atomic.Int64)(unsafe.Pointer(&m[0])), min(int64(len(m))/8, length))}
	t.users.Store(1)
	return t
}

// get returns the entry of a recorded descriptor, 0 if it isn't open.
func (t *table) get(fd int64) fdEntry {
	if uint64(fd) >= uint64(len(t.entries)) {
		return 0
	}
	return fdEntry(t.entries[fd].Load())
}

// replace sets the entry of a recorded descriptor to s, and closes the old one by
// sys. If the number is out of bounds, it closes s and returns false.
func (t *table) replace(sys sandbox.Kernel, fd int64, s fdEntry) bool {
	if !t.markUsed(fd) {
		s.close(sys)
		return false
	}
	t.unlockAndClose(sys, fdEntry(t.entries[fd].Swap(int64(s))))
	return true
}

// set sets the entry of a recorded descriptor, which was free in the recording,
// to s. If it is still open here, the old entry waits for its late close. That
// close can happen meanwhile, so the old entry is in late before s replaces it.
func (t *table) set(fd int64, s fdEntry) bool {
	if !t.markUsed(fd) {
		s.close(t.sys)
		return false
	}
	if t.entries[fd].CompareAndSwap(0, int64(s)) {
		return true // nearly always
	}
	t.late.Take()
	defer t.late.Give()
	for n := t.late.n.Load(); ; {
		old := t.get(fd)
		kept := old != 0 && n < maxLate
		if kept {
			t.late.fds[n], t.late.slots[n] = fd, old
			t.late.n.Store(n + 1)
		}
		if t.entries[fd].CompareAndSwap(int64(old), int64(s)) {
			if !kept {
				t.unlockAndClose(t.sys, old)
			}
			return true
		}
		t.late.n.Store(n)
	}
}

// takeLate removes and returns the oldest entry of a number that waits for its
// close.
func (t *table) takeLate(fd int64) (s fdEntry) {
	t.late.Take()
	defer t.late.Give()
	n := int(t.late.n.Load())
	for i := range n {
		if t.late.fds[i] == fd {
			s = t.late.slots[i]
			copy(t.late.fds[i:n], t.late.fds[i+1:n])
			copy(t.late.slots[i:n], t.late.slots[i+1:n])
			t.late.n.Store(int32(n - 1))
			break
		}
	}
	return s
}

// markUsed notes that a recorded descriptor is in use. It returns false if the
// number is out of bounds.
func (t *table) markUsed(fd int64) bool {
	if uint64(fd) >= uint64(len(t.entries)) {
		return false
	}
	for h := t.high.Load(); h <= fd && !t.high.CompareAndSwap(h, fd+1); h = t.high.Load() {
	}
	return true
}

// take removes and returns the entry that a close of a recorded descriptor
// closes: the oldest one that waits for its close, else the current one.
func (t *table) take(fd int64) fdEntry {
	for {
		s := t.get(fd)
		if t.late.n.Load() > 0 {
			if s := t.takeLate(fd); s != 0 {
				return s
			}
		}
		// If another thread has set the entry meanwhile, the previous one is late.
		if s == 0 || t.entries[fd].CompareAndSwap(int64(s), 0) {
			return s
		}
	}
}

// remove removes and returns the entry of a recorded descriptor.
func (t *table) remove(fd int64) fdEntry {
	if uint64(fd) >= uint64(len(t.entries)) {
		return 0
	}
	return fdEntry(t.entries[fd].Swap(0))
}

// close closes the real descriptor of an entry, if any.
func (s fdEntry) close(sys sandbox.Kernel) int64 {
	if s == 0 {
		return -int64(unix.EBADF)
	}
	return sys.Call(unix.SYS_CLOSE, s.real(), 0, 0)
}

// copyTo fills another table with duplicates, like fork. It returns 0, or -errno if the
// kernel refuses one. One that another thread closes meanwhile is left out.
func (t *table) copyTo(child *table, duplicate func(real uintptr) int64) int64 {
	for fd := range t.high.Load() {
		s := t.get(fd)
		if s == 0 {
			continue
		}
		real := duplicate(s.real())
		// Another thread that closes the descriptor empties its entry first. It can have
		// opened the same one again meanwhile.
		for tries := 0; real == errBadFD && tries < closesMeanwhile; tries++ {
			if s = t.get(fd); s == 0 {
				break
			}
			real = duplicate(s.real())
		}
		switch {
		case s == 0:
		case real < 0:
			return real
		case !child.set(fd, newEntry(real, s.name(), s.marks())):
			return errNoFD
		}
	}
	return 0
}

// closesMeanwhile is how often other threads may close and open a descriptor while it is
// copied.
const closesMeanwhile = 16

// duplicate returns a new real descriptor of the file of another, or -errno.
func (t *table) duplicate(real uintptr) int64 {
	return t.sys.Call(unix.SYS_FCNTL, real, unix.F_DUPFD_CLOEXEC, 0)
}

// closeExec closes descriptors that are close-on-exec.
func (t *table) closeExec() {
	for fd := range t.high.Load() {
		if s := t.get(fd); s.exec() && t.entries[fd].CompareAndSwap(int64(s), 0) {
			t.unlockAndClose(t.sys, s)
		}
	}
}

// release ends the use of the table by a process. The last one closes all
// descriptors.
func (t *table) release() {
	if t.users.Add(-1) == 0 {
		t.closeAll()
	}
}

// closeAll closes all descriptors.
func (t *table) closeAll() {
	for fd := range t.high.Load() {
		for s := t.take(fd); s != 0; s = t.take(fd) {
			t.unlockAndClose(t.sys, s)
		}
	}
}

// maxGrown bounds the size of the kernel's table, which takes 8 bytes for each
// descriptor.
const maxGrown = 1 << 16

// growKernelTable uses a high number, so that the kernel grows its table of
// descriptors to the size that the replay may need. All workers share that
// table, although each process of the application had its own. A shared table
// grows only after every processor has been through the scheduler, which would
// delay an open or dup by 10 ms and more. With an error the table stays as it is.
func growKernelTable() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	low, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(low)
	fd, err := unix.FcntlInt(uintptr(low), unix.F_DUPFD_CLOEXEC, int(min(limit.Cur, maxGrown))-1)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// ownDescriptors is the maximum number of the replay's own descriptors, without those
// of rings: mostly directories in which paths start.
const ownDescriptors = maxStartDirs + 1024

// RaiseDescriptors raises the process's limit of descriptors to those of a number of traces with
// limits, plus its own, as far as it is allowed to.
func RaiseDescriptors(each int64, traces int) {
	n := max(each, min(each*int64(traces), maxDescriptors))
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return
	}
	want := uint64(n) + ownDescriptors
	if l.Max < want {
		higher := unix.Rlimit{Cur: want, Max: want}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &higher) == nil {
			return
		}
	}
	l.Cur = min(l.Max, max(l.Cur, want))
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &l)
}
