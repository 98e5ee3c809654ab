package rings

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ringOf opens a ring, on a thread of its own.
func ringOf(t *testing.T, c Config) *ring {
	t.Helper()
	return opened(t, ofRings[0], c).(*ring)
}

// Completions that find no room are not lost, and keep their order.
func TestOverflow(t *testing.T) {
	for _, flags := range []SetupFlags{CQSize, CQSize | SingleIssuer | DeferTaskrun} {
		t.Run(flags.String(), func(t *testing.T) {
			q := ringOf(t, Config{Entries: 8, CQEntries: 8, Flags: flags})
			require.Len(t, q.cqes, 8)
			const all = 40
			for i := range uint64(all) {
				prepare(t, q, Request{Op: OpNop, User: i})
				if i%8 == 7 {
					n, err := q.Submit(0)
					require.NoError(t, err)
					require.Equal(t, 8, n)
				}
			}
			require.NoError(t, q.Wait(1000))
			require.NotZero(t, atomic.LoadUint32(q.sqFlags)&sqOverflow)
			require.Equal(t, all, q.InFlight())
			var done [all]Completion
			for got := 0; got < all; {
				n := q.Reap(done[got:]) // without waiting
				require.NotZero(t, n, got)
				got += n
			}
			for i, user := range users(done[:]) {
				require.EqualValues(t, i, user)
			}
			require.Zero(t, q.InFlight())
		})
	}
}

// Completions for which the kernel had no memory are not awaited.
func TestLost(t *testing.T) {
	q := ringOf(t, Config{Entries: 8})
	prepare(t, q, Request{Op: OpNop, User: 1})
	n, err := q.Submit(1)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	q.taken.Add(2) // as if there had been three
	atomic.StoreUint32(q.cqOverflow, 2)
	require.Equal(t, 1, q.InFlight())
	require.NoError(t, q.Wait(3))
	require.Len(t, reap(t, q, 1), 1)
	require.NoError(t, q.Wait(1))
}

// The kernel's thread is woken up when it sleeps, and is waited for when it has
// not taken what is there.
func TestPolled(t *testing.T) {
	q := ringOf(t, Config{Entries: 4, Flags: SQPoll, ThreadIdle: 1})
	for range 3 {
		require.Eventually(t, func() bool { return atomic.LoadUint32(q.sqFlags)&sqNeedWakeup != 0 }, time.Minute, time.Millisecond)
		require.Zero(t, one(t, q, Request{Op: OpNop}))
	}
	const all = 4000
	got := 0
	done := make([]Completion, 64)
	for i := range all {
		r := Request{Op: OpNop, User: uint64(i)}
		err := q.Prepare(&r)
		if err == ErrFull {
			_, err = q.Submit(0)
			require.NoError(t, err)
			err = q.Prepare(&r)
		}
		require.NoError(t, err)
		got += q.Reap(done)
	}
	_, err := q.Submit(0)
	require.NoError(t, err)
	for ; got < all; got += q.Reap(done) {
		require.NoError(t, q.Wait(1))
	}
}

// Where io_uring is refused, threads make the calls, and a line says so.
func TestRefusedRing(t *testing.T) {
	run := func(t *testing.T, c Config, why string) {
		q, err := OpenRing(c)
		require.NoError(t, err)
		defer func() { require.NoError(t, q.Close()) }()
		require.Equal(t, 3, q.Threads())
		require.Equal(t, []string{"io_uring: the kernel refuses it (" + why + "), so 3 threads make the calls"}, q.Notes())
		fd, mem := file(t, 100), mapping(t, 4096)
		require.Equal(t, map[uint64]int64{1: 100, 2: -int64(unix.ECANCELED)}, play(t, q,
			Request{Op: OpRead, Flags: Link, FD: fd, Addr: addr(mem), Length: 4096, User: 1}, Request{Op: OpNop, User: 2}))
	}
	for _, errno := range []unix.Errno{unix.ENOSYS, unix.EPERM, unix.ENOMEM} {
		t.Run(errno.Error(), func(t *testing.T) {
			k := refuse(unix.SYS_IO_URING_SETUP, errno)
			require.ErrorIs(t, RingRefused(k), errno)
			run(t, Config{Kernel: k, Entries: 16, Depth: 3, Flags: SQPoll | CQSize}, errno.Error())
		})
	}
	t.Run("nothing", func(t *testing.T) {
		ringOf(t, Config{}) // or skips
		require.NoError(t, RingRefused(nil))
	})
	t.Run("seccomp", func(t *testing.T) {
		runtime.LockOSThread() // for good: the filter can't be removed
		filter := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_IO_URING_SETUP, Jf: 1},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		require.NoError(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		require.NoError(t, unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER,
			uintptr(unsafe.Pointer(&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})), 0, 0))
		run(t, Config{Kernel: scheduled, Entries: 3}, "operation not permitted")
	})
	t.Run("no descriptors", func(t *testing.T) {
		k := refuse(unix.SYS_IO_URING_SETUP, unix.EMFILE)
		require.NoError(t, RingRefused(k))
		_, err := OpenRing(Config{Kernel: k})
		require.ErrorIs(t, err, unix.EMFILE)
	})
}

// Only the flags that the kernel refuses are dropped, by name.
func TestRefusedFlags(t *testing.T) {
	const all = SingleIssuer | CoopTaskrun | TaskrunFlag | SubmitAll | CQSize
	for _, refused := range []SetupFlags{SingleIssuer, CoopTaskrun | TaskrunFlag, SubmitAll, CQSize, all} {
		t.Run(refused.String(), func(t *testing.T) {
			runtime.LockOSThread()
			k := intercept(func(nr uintptr, args [4]uintptr) (int64, bool) {
				if nr != unix.SYS_IO_URING_SETUP {
					return 0, false
				}
				p := *(**ringParams)(unsafe.Pointer(&args[1]))
				return -int64(unix.EINVAL), p.flags&uint32(refused) != 0
			})
			before := descriptors(t)
			q, err := OpenRing(Config{Kernel: k, Entries: 8, CQEntries: 64, Flags: all | 1<<10 | 1<<5})
			require.NoError(t, err)
			require.Equal(t, before+1, descriptors(t))
			require.Equal(t, all&^refused, q.(*ring).flags)
			require.Equal(t, []string{
				"io_uring: set up without ATTACH_WQ|SQE128, which a replay does not need",
				"io_uring: the kernel refuses " + refused.String() + " (invalid argument), so the ring is set up without it",
			}, q.Notes())
			require.Zero(t, one(t, q, Request{Op: OpNop}))
			require.NoError(t, q.Close())
		})
	}
}

// Entries for which there is not enough memory are dropped.
func TestRefusedEntries(t *testing.T) {
	runtime.LockOSThread()
	k := intercept(func(nr uintptr, args [4]uintptr) (int64, bool) {
		return -int64(unix.ENOMEM), nr == unix.SYS_IO_URING_SETUP && args[0] > 16
	})
	q, err := OpenRing(Config{Kernel: k, Entries: 100, Flags: SubmitAll})
	require.NoError(t, err)
	require.Equal(t, SubmitAll, q.(*ring).flags)
	require.Equal(t, []string{"io_uring: the kernel refuses 100 entries (cannot allocate memory), so the ring is set up with 16"}, q.Notes())
	require.NoError(t, q.Close())
}

// A trace can't ask for more entries than the kernel has.
func TestBounds(t *testing.T) {
	c := Config{Entries: 1 << 40, CQEntries: 1 << 40, Depth: 1 << 40}.clamped()
	require.Equal(t, 2*maxEntries, c.Depth)
	require.Equal(t, maxEntries, c.Entries)
	require.Equal(t, 2*maxEntries, c.CQEntries)
	c = Config{Entries: -5, CQEntries: -5}.clamped()
	require.Equal(t, 1, c.Entries)
	require.Equal(t, 1, c.CQEntries)
}

// A call that a signal interrupts is made again; one for which the kernel has no
// room is left to the caller, and the batch is kept.
func TestInterrupted(t *testing.T) {
	var answers []unix.Errno
	k := intercept(func(nr uintptr, args [4]uintptr) (int64, bool) {
		if nr != unix.SYS_IO_URING_ENTER || len(answers) == 0 {
			return 0, false
		}
		errno := answers[0]
		answers = answers[1:]
		return -int64(errno), errno != 0
	})
	q := ringOf(t, Config{Kernel: k, Entries: 4})
	answers = []unix.Errno{unix.EINTR, unix.EINTR}
	require.Zero(t, one(t, q, Request{Op: OpNop}))
	for _, errno := range []unix.Errno{unix.EBUSY, unix.EAGAIN} {
		prepare(t, q, Request{Op: OpNop, User: 1}, Request{Op: OpNop, User: 2})
		answers = []unix.Errno{errno}
		n, err := q.Submit(2)
		require.Equal(t, ErrBusy, err)
		require.Zero(t, n)
		require.Zero(t, q.InFlight())
		prepare(t, q, Request{Op: OpNop, User: 3})
		n, err = q.Submit(3)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		require.Equal(t, []uint64{1, 2, 3}, users(reap(t, q, 3)))
	}
	prepare(t, q, Request{Op: OpNop, User: 1})
	answers = []unix.Errno{unix.EBADF}
	_, err := q.Submit(1)
	require.Equal(t, unix.EBADF, err)
	// Close drops requests that were not submitted.
	require.Zero(t, q.InFlight())
}

// A request that can't even be begun is complete with its error, and the others
// are submitted.
func TestNotBegun(t *testing.T) {
	for _, flags := range []SetupFlags{0, SubmitAll} {
		t.Run(flags.String(), func(t *testing.T) {
			q := ringOf(t, Config{Entries: 4, Flags: flags})
			prepare(t, q, Request{Op: OpNop, User: 1}, Request{Op: OpFsync, FD: 0, User: 2}, Request{Op: OpNop, User: 3})
			q.sqes[1].bufIndex = 1 // EINVAL
			n, err := q.Submit(3)
			require.NoError(t, err)
			require.Equal(t, 3, n)
			for _, c := range reap(t, q, 3) {
				require.Equal(t, c.User == 2, c.Result == -int64(unix.EINVAL), c)
			}
		})
	}
}

// Close cancels what is in flight. The kernel holds no memory afterwards: a read
// that was in flight takes nothing that comes later.
func TestCloseInFlight(t *testing.T) {
	each(t, ofRings, Config{Entries: 8}, func(t *testing.T, _ kind, q Queue) {
		r, w := pipe(t)
		fd, mem := file(t, 1<<20), mapping(t, 1<<20)
		prepare(t, q, Request{Op: OpRead, FD: fd, Addr: addr(mem), Length: 1 << 20, User: 1, Flags: Async},
			Request{Op: OpRead, FD: r, Addr: addr(mem), Length: 10, Offset: -1, User: 2},
			Request{Op: OpRead, FD: r, Addr: addr(mem), Length: 10, Offset: -1, User: 3, Flags: HardLink | Drain},
			Request{Op: OpRead, FD: r, Addr: addr(mem), Length: 10, Offset: -1, User: 4})
		n, err := q.Submit(0)
		require.NoError(t, err)
		require.Equal(t, 4, n)
		prepare(t, q, Request{Op: OpWrite, FD: w, Addr: addr(mem), Length: 1, Offset: -1}) // never submitted
		require.NoError(t, q.Close())
		require.NoError(t, unix.SetNonblock(int(r), true))
		b := make([]byte, 10)
		_, err = unix.Read(int(r), b)
		require.ErrorIs(t, err, unix.EAGAIN)
		_, err = unix.Write(int(w), []byte("late"))
		require.NoError(t, err)
		got, err := unix.Read(int(r), b)
		require.NoError(t, err)
		require.Equal(t, "late", string(b[:got]))
	})
}

// Buffers beyond RLIMIT_MEMLOCK are not registered, but are still used.
func TestMemlock(t *testing.T) {
	runtime.LockOSThread() // for good: it loses a capability
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	require.NoError(t, unix.Capget(&header, &caps[0]))
	caps[0].Effective &^= 1 << unix.CAP_IPC_LOCK
	require.NoError(t, unix.Capset(&header, &caps[0]))
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit)) }()
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: 64 << 10, Max: limit.Max}))

	q, err := OpenRing(Config{Kernel: scheduled, Entries: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, q.Close()) }()
	if q.Threads() > 0 {
		t.Skip(q.Notes())
	}
	fd, mem := file(t, 4096), mapping(t, 1<<20)
	require.NoError(t, q.RegisterBuffers([]unix.Iovec{iov(mem)}))
	require.Equal(t, []string{"io_uring: the kernel refuses 1 registered buffers (cannot allocate memory), so requests name their addresses"}, q.Notes())
	require.EqualValues(t, 4096, one(t, q, Request{Op: OpReadFixed, FD: fd, Addr: addr(mem) + 8192, Length: 4096}))
	require.Equal(t, byte(1), mem[8192])
}

func TestFlagNames(t *testing.T) {
	require.Equal(t, "SQPOLL|CQSIZE", (SQPoll | CQSize).String())
	require.Equal(t, "IOPOLL|0x80000000", (IOPoll | 1<<31).String())
	require.Empty(t, SetupFlags(0).String())
	for i, row := range setupFlags {
		for _, other := range setupFlags[:i] {
			require.Zero(t, row.flag&other.flag)
		}
		require.Equal(t, row.name, strings.ToUpper(row.name))
	}
	require.Equal(t, "read_fixed", OpReadFixed.String())
	require.Equal(t, "?", Op(200).String())
}
