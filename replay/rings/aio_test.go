package rings

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// More requests than a context has room for are submitted when there is room
// again; nothing of the batch is lost.
func TestBusyContext(t *testing.T) {
	room := 0
	k := intercept(func(nr uintptr, args [4]uintptr) (int64, bool) {
		if nr != unix.SYS_IO_SUBMIT {
			return 0, false
		}
		if room == 0 {
			return -int64(unix.EAGAIN), true
		}
		n := min(room, int(args[1]))
		room -= n
		return scheduled(unix.SYS_IO_SUBMIT, args[0], uintptr(n), args[2], 0, 0, 0), true
	})
	q := opened(t, ofAIO, Config{Kernel: k, Entries: 4})
	fd, mem := file(t, 4096), mapping(t, 4096)
	read := func(user uint64) Request {
		return Request{Op: OpReadv, FD: fd, Vector: []unix.Iovec{iov(mem[:user])}, User: user}
	}
	prepare(t, q, read(1), read(2), read(3))
	room = 1
	n, err := q.Submit(3)
	require.Equal(t, ErrBusy, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, q.InFlight())
	prepare(t, q, read(4))
	r := read(5)
	require.Equal(t, ErrFull, q.Prepare(&r))
	room = 10
	n, err = q.Submit(4)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	for _, c := range reap(t, q, 4) {
		require.EqualValues(t, c.User, c.Result)
	}
	require.EqualValues(t, 5, one(t, q, r))
}

// What io_submit refuses is complete with that error, and the others are
// submitted.
func TestRefusedByContext(t *testing.T) {
	q := opened(t, ofAIO, Config{Entries: 4})
	fd, mem := file(t, 4096), mapping(t, 4096)
	results := play(t, q,
		Request{Op: OpRead, FD: fd, Addr: addr(mem), Length: 10, User: 1},
		Request{Op: OpRead, FD: 1 << 20, Addr: addr(mem), Length: 10, User: 2},
		Request{Op: OpRead, FD: fd, Addr: addr(mem), Length: 20, User: 3},
		Request{Op: OpFsync, FD: fd, User: 4})
	require.Equal(t, map[uint64]int64{1: 10, 2: -int64(unix.EBADF), 3: 20, 4: 0}, results)
}

// In libaio, a data sync is a command, not a flag.
func TestSyncOfData(t *testing.T) {
	q := opened(t, ofAIO, Config{Entries: 4}).(*aio)
	fd := file(t, 1)
	prepare(t, q, Request{Op: OpFsync, FD: fd, User: 1}, Request{Op: OpFsync, FD: fd, OpFlags: fsyncData, User: 2})
	require.EqualValues(t, aioFsync, q.iocbs[0].opcode)
	require.EqualValues(t, aioDataSync, q.iocbs[1].opcode)
	require.Equal(t, map[uint64]int64{1: 0, 2: 0}, play(t, q))
}

// Reap makes no call for what Wait has got: one io_getevents of the application
// is one of the replay.
func TestOneCallForEvents(t *testing.T) {
	calls := 0
	k := intercept(func(nr uintptr, _ [4]uintptr) (int64, bool) {
		if nr == unix.SYS_IO_GETEVENTS {
			calls++
		}
		return 0, false
	})
	q := opened(t, ofAIO, Config{Kernel: k, Entries: 4})
	fd, mem := file(t, 4096), mapping(t, 4096)
	for user := range uint64(3) {
		prepare(t, q, Request{Op: OpRead, FD: fd, Addr: addr(mem), Length: 10, User: user})
	}
	_, err := q.Submit(0)
	require.NoError(t, err)
	require.Zero(t, calls)
	require.NoError(t, q.Wait(3))
	done := make([]Completion, 10)
	require.Equal(t, 2, q.Reap(done[:2]))
	require.Equal(t, 1, q.Reap(done))
	require.Equal(t, 1, calls)
}

// Where contexts are refused, threads make the calls, and a line says so.
func TestRefusedContext(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOSYS, unix.EAGAIN} {
		q, err := OpenAIO(Config{Kernel: refuse(unix.SYS_IO_SETUP, errno), Entries: 2})
		require.NoError(t, err)
		require.Equal(t, []string{"libaio: the kernel refuses it (" + errno.Error() + "), so 2 threads make the calls"}, q.Notes())
		fd, mem := file(t, 4096), mapping(t, 4096)
		require.EqualValues(t, 10, one(t, q, Request{Op: OpRead, FD: fd, Addr: addr(mem), Length: 10}))
		require.NoError(t, q.Close())
	}
	_, err := OpenAIO(Config{Kernel: refuse(unix.SYS_IO_SETUP, unix.EFAULT)})
	require.ErrorIs(t, err, unix.EFAULT)
}
