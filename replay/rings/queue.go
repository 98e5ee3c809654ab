package rings

import (
	"errors"

	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// Queue takes requests and returns their completions, one for each. Prepare, Submit(0)
// and UpdateFiles may be called while another thread is in Wait, WaitFor or Reap, Ready
// and InFlight at any time before Close; other calls may not overlap. Waiting means
// waiting in the kernel.
type Queue interface {
	// Prepare adds a request to the batch, and copies all of it but the buffers. It
	// returns ErrFull, or a unix.Errno for a request that is forbidden or impossible.
	// Such a request is not in the batch, and the errno is its result.
	Prepare(*Request) error

	// Submit submits the batch, and waits until n completions can be reaped, or
	// all that are still to come. It returns how many requests it submitted: all
	// of them, or fewer with an error. They are in flight; the others stay in
	// the batch. ErrBusy means that completions must be reaped first.
	Submit(n int) (int, error)

	// Wait waits until n completions can be reaped, or all that are still to
	// come.
	Wait(n int) error

	// WaitFor waits until a completion can be reaped, or for so many nanoseconds. It can
	// return earlier. It reports whether it could wait: not if nothing is in flight, nor
	// after an error, which Wait returns.
	WaitFor(nanos int64) bool

	// Ready reports without a call whether a completion can be reaped. It can miss
	// completions that the kernel holds back, and always misses those of a pool.
	Ready() bool

	// Reap fills done with completions, in the order of completion, and returns how
	// many there were. It does not wait, and makes a call only if it finds none.
	Reap(done []Completion) int

	// InFlight returns how many requests were submitted and not reaped.
	InFlight() int

	// RegisterFiles sets the table that FixedFile refers to, and replaces an earlier
	// one. -1 is an empty place; no descriptors at all removes the table. The table
	// keeps its files open. If the kernel refuses to hold the table, the queue holds it
	// itself, and notes that. An error is ErrBusy or a unix.Errno, as for UpdateFiles and
	// RegisterBuffers.
	RegisterFiles(fds []int32) error

	// UpdateFiles replaces entries of that table, from a place on. Requests that were
	// submitted keep the files that they had, unless the kernel finds these when the
	// requests begin: those that are linked, drained or asynchronous.
	UpdateFiles(at int, fds []int32) error

	// RegisterBuffers sets the table of ReadFixed and WriteFixed, and replaces an
	// earlier one; no buffers remove the table. If the kernel refuses, most often
	// because of RLIMIT_MEMLOCK, these requests are executed as Read and Write, which
	// is noted.
	RegisterBuffers(buffers []unix.Iovec) error

	// Notes returns, in one line each without a newline, how the queue differs from the
	// requested one.
	Notes() []string

	// Threads returns how many threads of Pianola execute the requests, 0 if the kernel
	// does.
	Threads() int

	// Close drops the batch, cancels what can be cancelled, waits for the rest,
	// and frees the queue. After an error the kernel may still use the buffers of
	// requests in flight, which must then not be freed.
	Close() error
}

var (
	_ Queue = (*ring)(nil)
	_ Queue = (*aio)(nil)
	_ Queue = (*pool)(nil)
)

// The errors of a queue that ask for another call.
var (
	// ErrFull says that the batch has as many requests as the queue has entries:
	// they must be submitted.
	ErrFull = errors.New("the batch is full")

	// ErrBusy says that completions must be reaped before more requests can be
	// submitted.
	ErrBusy = errors.New("completions must be reaped first")
)

// Config describes a queue. The zero value of a field means the default.
type Config struct {
	// Kernel executes the system calls. nil means the machine's kernel: sandbox.Linux,
	// whose calls the Go scheduler does not see, and for a pool one whose calls it
	// sees.
	Kernel sandbox.Kernel

	// Entries is how many requests a batch can have. A ring has a power of two,
	// and 32768 at most. For libaio it is also how many can be in flight.
	Entries int

	// CQEntries is how many completions a ring can hold, with CQSize.
	CQEntries int

	// Flags are those of the set-up of a ring.
	Flags SetupFlags

	// ThreadIdle is the time after which the thread of SQPoll sleeps, in milliseconds,
	// and ThreadCPU the processor where it runs with SQAff.
	ThreadIdle, ThreadCPU uint32

	// Depth is the maximum number of requests in flight of a pool, which has as many
	// threads. 0 means Entries.
	Depth int

	// Enter binds a thread of a pool before its first request; nil does nothing.
	Enter func() error
}

// Bounds of a configuration.
const (
	maxEntries = 32768 // IORING_MAX_ENTRIES
	maxThreads = 256   // of a pool
)

// PoolThreads returns how many threads a pool of this configuration has.
func (c Config) PoolThreads() int { return min(c.clamped().Depth, maxThreads) }

func (c Config) clamped() Config {
	c.Entries = min(max(c.Entries, 1), maxEntries)
	c.CQEntries = min(max(c.CQEntries, c.Entries), 2*maxEntries)
	if c.Depth <= 0 {
		c.Depth = c.Entries
	}
	c.Depth = min(c.Depth, 2*maxEntries)
	return c
}

// Flags are those of a request; the numbers are the kernel's (IOSQE_*).
type Flags uint8

// The flags of requests. The queue replaces the kernel's other flags: instead of
// SelectBuffer the caller gives a buffer, and every request has a completion.
const (
	FixedFile Flags = 1 << 0 // FD is a place in the registered files
	Drain     Flags = 1 << 1 // begins when all earlier ones have ended; later ones wait for it
	Link      Flags = 1 << 2 // the next one in the batch begins when this one has ended, and is cancelled if it fails or is short
	HardLink  Flags = 1 << 3 // the same without cancellation
	Async     Flags = 1 << 4 // always executed by a thread of the kernel

	allFlags = FixedFile | Drain | Link | HardLink | Async
	links    = Link | HardLink
)

// Request is a request. The meaning of its fields depends on Op; an operation ignores
// fields that it does not have.
type Request struct {
	Op    Op
	Flags Flags

	// OpFlags are the operation's own flags, as the kernel has them: RWF_*, the advice of
	// Fadvise.
	OpFlags uint32

	// FD is the descriptor, or a place in the registered files with FixedFile.
	FD int32

	// Offset is in the file; -1 is the file's position. Length is in bytes.
	Offset int64
	Length uint64

	// Addr is the address of the buffer, Buffer its place in the registered ones
	// for ReadFixed and WriteFixed, and Vector the buffers of Readv and Writev,
	// of which there are at most 1024.
	Addr   uintptr
	Buffer uint16
	Vector []unix.Iovec

	// User comes back with the completion.
	User uint64
}

// Completion is the end of a request. Result is that of the system call of the same
// name, or -errno; -ECANCELED for a request linked to one that failed.
type Completion struct {
	User   uint64
	Result int64
}
