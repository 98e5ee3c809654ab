package posix

import (
	"bytes"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"pianola/internal/limit"
)

// Kernel memory that a trace causes counts against Limits.Kernel if the kernel cannot
// reclaim it before the trace releases it. So cached names and files without a
// descriptor do not count, and neither does page cache.
//
// The count is an upper bound, because that is cheap: each call adds the memory that it
// may cause, and nothing is subtracted. When the count reaches the limit, recountKernel
// counts the memory that is held at that time.

// The sizes of the kernel's objects, in bytes, on a 64-bit machine. A test compares
// them with the objects of /proc/slabinfo.
const (
	sizeFile      = 192  // filp: an open file
	sizeDentry    = 192  // dentry: its name
	sizeInode     = 1128 // ext4_inode_cache; that of XFS, Btrfs and tmpfs is smaller
	sizeLock      = 192  // file_lock_cache: a record lock, a flock
	sizeMapping   = 192  // vm_area_struct
	sizeNode      = 256  // maple_node: the place of mappings in an address space
	sizeRequest   = 512  // io_kiocb, and what it waits for
	sizePageTable = 4096 // of 2 MiB of address space
	sizeEntry     = 64   // of a ring: struct io_uring_sqe
	sizeResult    = 16   // struct io_uring_cqe
	sizePage      = 16   // bio_vec: of a registered buffer
	sizeRing      = 8192 // io_ring_ctx, and tables
)

// The memory that calls may cause.
const (
	costDescriptor = sizeFile + sizeDentry + sizeInode // also for a duplicate, which can outlive the original
	costExtent     = sizeMapping + sizeNode + sizeFile
	costLocks      = 2 * sizeLock // a call on a range can make three locks of one
	costName       = sizeDentry + sizeInode
)

// kernelBudget is the memory that the kernel may still use for the trace. All workers
// share it.
type kernelBudget struct {
	_      [64]byte
	left   atomic.Int64
	_      [64]byte
	locks  atomic.Bool  // record locks were made
	tables atomic.Int64 // bytes of page tables of mapped files
	rings  atomic.Int64 // bytes of rings and of their registered files and buffers
	memory bool         // files exist in memory only, so names count

	recount sync.Mutex
}

// open begins a budget. Backends within this program hold nothing in the kernel.
func (k *kernelBudget) open(e *Executor) {
	k.left.Store(math.MaxInt64)
	if !e.InMemory {
		k.left.Store(e.Limits.Kernel)
		k.memory = e.inMemory()
	}
}

// chargeKernel adds the kernel memory of a call, in bytes, and reports whether the limit
// allows it. If not, the run ends. The worker must hold no lock. It takes a little more
// than it needs at once, so that most calls cost no atomic operation.
func (w *worker) chargeKernel(n int64) bool {
	if n > 0 && n <= w.kernelAllowance {
		w.kernelAllowance -= n
		return true
	}
	w.kernelAllowance = w.e.Limits.Kernel / kernelLeases
	return w.e.kernel.left.Add(-n-w.kernelAllowance) >= 0 || w.recountKernel()
}

// kernelLeases is the fraction of the limit that a worker takes at once: 16 KiB of a
// gibibyte. A thousand threads together have a sixty-fourth of the limit that a recount
// does not see.
const kernelLeases = 1 << 16

// recountKernel counts the memory that the kernel holds. Memory that other workers add
// in the meantime may count twice. A sixteenth of the limit must be left, so that calls
// which keep the kernel near the limit do not recount all the time.
func (w *worker) recountKernel() bool {
	e, k := w.e, &w.e.kernel
	w.Unpin()
	k.recount.Lock()
	if before := k.left.Load(); before < 0 {
		if left := e.Limits.Kernel - w.inKernel(); left >= e.Limits.Kernel/16 {
			k.left.Add(left - before)
		}
	}
	k.recount.Unlock()
	w.Pin()
	w.excludeTime()
	if k.left.Load() >= 0 || e.Stopped() {
		return true
	}
	w.Failf("event %d of thread %d makes the kernel hold more than %d bytes: %w", w.Event, w.Number, e.Limits.Kernel, limit.Of("kernel"))
	return false
}

// inKernel returns how many bytes the kernel holds for the trace.
func (w *worker) inKernel() int64 {
	e, k := w.e, &w.e.kernel
	held := k.tables.Load() + k.rings.Load() + max(e.mappings.Load(), 0)*costExtent
	e.spares.Lock()
	for _, t := range e.spares.all {
		held += t.open() * costDescriptor
	}
	e.spares.Unlock()
	if k.locks.Load() {
		held += allLocks(e.Stopped) * sizeLock
	}
	if k.memory {
		w.countNames()
		held += (e.Limits.Files - e.namesLeft.Load()) * costName
	}
	return held
}

// chargeCopies adds the memory of copies of the descriptors of a table, for a call that
// may copy them.
func (w *worker) chargeCopies(files *table) bool {
	return files == nil || w.chargeKernel(files.open()*costDescriptor)
}

// open returns the number of open descriptors of a table, including those that locks
// take.
func (t *table) open() (n int64) {
	for fd := range min(t.high.Load(), int64(len(t.entries))) {
		if t.entries[fd].Load() != 0 {
			n++
		}
	}
	return n + int64(t.late.n.Load()) + int64(t.locks.n.Load())
}

// allLocks returns the number of file locks on the machine, including those of other
// programs: /proc/locks does not tell which open file has a lock, and a file that is
// only mapped has no descriptor. It reads the file on another thread, because the
// worker's thread sees only the root. Without /proc it returns the number of locks ever
// made.
func allLocks(stopped func() bool) int64 {
	got := make(chan int64)
	go func() { got <- countLocks("/proc/locks", stopped) }()
	return <-got
}

// countLocks counts the lines of a file until the run has stopped. The kernel gives
// some 80 at a time, and waits for all processors each time, so 100,000 take half a
// minute.
func countLocks(name string, stopped func() bool) (n int64) {
	f, err := os.Open(name)
	if err != nil {
		return math.MaxInt32
	}
	defer f.Close()
	b := make([]byte, 1<<16)
	for !stopped() {
		got, err := f.Read(b)
		n += int64(bytes.Count(b[:got], []byte("\n")))
		switch {
		case err == io.EOF:
			return n
		case err != nil:
			return math.MaxInt32
		}
	}
	return n
}

// pageTables returns how many bytes of page tables a range of address space takes.
func pageTables(from, to int64) int64 {
	const covers = 2 << 20
	return ((to-1)/covers - from/covers + 1) * sizePageTable
}

// chargePageTables adds the page tables of faults in a range of mappings, and reports whether the
// limit allows them. If not, the run ends.
func (w *worker) chargePageTables(x *fileWindow, from, to int64) bool {
	var added int64
	x.lock.Take()
	for i := x.first(from); i < len(x.extents) && x.extents[i].from < to; i++ {
		n := &x.extents[i]
		most := pageTables(n.from, n.to)
		more := max(min(pageTables(max(from, n.from), min(to, n.to)), most-n.tables), 0)
		n.tables += more
		added += more
	}
	x.lock.Give()
	if added == 0 {
		return true
	}
	w.e.kernel.tables.Add(added)
	return w.chargeKernel(added)
}

// exchange replaces the kernel memory of a ring, in bytes, by a new value. The next
// call that adds kernel memory checks the limit.
func (k *kernelBudget) exchange(before *int64, now int64) {
	k.rings.Add(now - *before)
	k.left.Add(-max(now-*before, 0))
	*before = now
}

// chargeRing is exchange for a worker that holds no lock. It reports whether the limit
// allows the memory. If not, the run ends.
func (w *worker) chargeRing(before *int64, now int64) bool {
	w.e.kernel.exchange(before, now)
	return w.chargeKernel(0)
}

// The space that calls take in directories and inodes, in bytes of Limits.Bytes. A
// directory of ext4 keeps its blocks when its names are removed, and a full block is
// split into two halves. So a name of the maximum length, 264 bytes, takes up to twice
// that.
const (
	spaceName      = 512
	spaceDirectory = block
	spaceTarget    = block // of a symbolic link that does not fit into the inode
	inlineTarget   = 60    // bytes that do, on ext4
)

// targetSpace returns the space of a symbolic link's target.
func targetSpace(target string) int64 {
	if len(target) < inlineTarget {
		return 0
	}
	return spaceTarget
}
