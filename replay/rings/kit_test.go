package rings

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/replay/sandbox"
)

// intercept is a kernel that asks instead first.
func intercept(instead func(nr uintptr, args [4]uintptr) (result int64, done bool)) sandbox.Kernel {
	return func(nr, a, b, c, d, e, f uintptr) int64 {
		if result, done := instead(nr, [4]uintptr{a, b, c, d}); done {
			return result
		}
		return scheduled(nr, a, b, c, d, e, f)
	}
}

// refuse is a kernel that has one call fail, as it does in a container.
func refuse(call uintptr, errno unix.Errno) sandbox.Kernel {
	return intercept(func(nr uintptr, _ [4]uintptr) (int64, bool) { return -int64(errno), nr == call })
}

// kind is a way to play requests.
type kind struct {
	name  string
	flags SetupFlags
	open  func(Config) (Queue, error)
}

// threadsOf returns a queue of threads, as OpenRing does where the kernel refuses a ring.
func threadsOf(c Config) (Queue, error) {
	q, err := openPool(c.clamped())
	if err != nil {
		return nil, err
	}
	return q, nil
}

var kinds = []kind{
	{"io_uring", 0, OpenRing},
	{"deferred", SingleIssuer | DeferTaskrun, OpenRing},
	{"cooperative", CoopTaskrun | TaskrunFlag | SubmitAll, OpenRing},
	{"polled", SQPoll, OpenRing},
	{"libaio", 0, OpenAIO},
	{"threads", 0, threadsOf},
}

var ofRings, ofAIO = kinds[:4], kinds[4]

// plays reports whether a kind has an operation and these flags.
func (k kind) plays(op Op, flags Flags) bool {
	return k.name != ofAIO.name || op.info().aio != 0 && flags == 0
}

// each runs a test with a queue of each kind, on a thread of its own. Where the
// kernel has io_uring, rings are rings, with all flags.
func each(t *testing.T, of []kind, c Config, test func(t *testing.T, k kind, q Queue)) {
	for _, k := range of {
		t.Run(k.name, func(t *testing.T) {
			test(t, k, opened(t, k, c))
		})
	}
}

func opened(t *testing.T, k kind, c Config) Queue {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the test
	if c.Kernel == nil {
		c.Kernel = scheduled
	}
	c.Flags |= k.flags
	q, err := k.open(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	if _, ok := q.(*pool); ok && k.name != "threads" {
		t.Skip(q.Notes())
	}
	require.Empty(t, q.Notes())
	return q
}

// mapping returns mapped memory.
func mapping(t *testing.T, size int) []byte {
	t.Helper()
	mem, err := mapAnonymous(size)
	require.NoError(t, err)
	t.Cleanup(func() { unmap(mem) })
	return mem
}

// file opens a new file with so many bytes, none of which is 0.
func file(t *testing.T, size int) int32 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i%251) + 1
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	return int32(fd)
}

func pipe(t *testing.T) (r, w int32) {
	t.Helper()
	var fds [2]int
	require.NoError(t, unix.Pipe2(fds[:], unix.O_CLOEXEC))
	t.Cleanup(func() {
		_ = unix.Close(fds[0])
		_ = unix.Close(fds[1])
	})
	return int32(fds[0]), int32(fds[1])
}

func iov(mem []byte) unix.Iovec { return unix.Iovec{Base: &mem[0], Len: uint64(len(mem))} }

func addr(mem []byte) uintptr { return uintptr(unsafe.Pointer(&mem[0])) }

func prepare(t *testing.T, q Queue, requests ...Request) {
	t.Helper()
	for i := range requests {
		require.NoError(t, q.Prepare(&requests[i]), "request %d", i)
	}
}

// reap waits for n completions and returns them, with nothing left.
func reap(t *testing.T, q Queue, n int) []Completion {
	t.Helper()
	done := make([]Completion, n+1)
	got := 0
	for got < n {
		require.NoError(t, q.Wait(1))
		more := q.Reap(done[got:])
		require.NotZero(t, more, "%d of %d, %d in flight", got, n, q.InFlight())
		got += more
	}
	require.Equal(t, n, got)
	return done[:n]
}

// play submits requests as one batch, with those that were prepared before, and
// returns all results by User.
func play(t *testing.T, q Queue, requests ...Request) map[uint64]int64 {
	t.Helper()
	prepare(t, q, requests...)
	n, err := q.Submit(math.MaxInt)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, len(requests))
	results := make(map[uint64]int64)
	for _, c := range reap(t, q, n) {
		results[c.User] = c.Result
	}
	require.Len(t, results, n)
	require.Zero(t, q.InFlight())
	return results
}

// one plays one request.
func one(t *testing.T, q Queue, r Request) int64 {
	t.Helper()
	return play(t, q, r)[r.User]
}

func users(done []Completion) []uint64 {
	var list []uint64
	for _, c := range done {
		list = append(list, c.User)
	}
	return slices.Clone(list)
}
