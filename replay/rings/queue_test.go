package rings

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The structs have the sizes that the kernel's have.
func TestStructs(t *testing.T) {
	for name, sizes := range map[string][2]uintptr{
		"io_uring_sqe":             {unsafe.Sizeof(sqe{}), 64},
		"io_uring_cqe":             {unsafe.Sizeof(cqe{}), 16},
		"io_uring_params":          {unsafe.Sizeof(ringParams{}), 120},
		"io_uring_files_update":    {unsafe.Sizeof(filesUpdate{}), 16},
		"io_uring_sync_cancel_reg": {unsafe.Sizeof(syncCancel{}), 64},
		"iovec":                    {unsafe.Sizeof(iovec{}), unsafe.Sizeof(unix.Iovec{})},
		"iocb":                     {unsafe.Sizeof(iocb{}), 64},
		"io_event":                 {unsafe.Sizeof(aioEvent{}), 32},
	} {
		require.Equal(t, sizes[1], sizes[0], name)
	}
}

// scene is what the requests of TestOperations are about: an open file of 8192 bytes of 0,
// and memory.
type scene struct {
	fd  int32
	mem []byte
}

func newScene(t *testing.T) *scene {
	s := &scene{file(t, 0), mapping(t, 16384)}
	require.NoError(t, unix.Ftruncate(int(s.fd), 8192))
	return s
}

// written wants the file to have a byte at a place.
func (s *scene) written(t *testing.T, b byte, at int64) {
	t.Helper()
	var got [1]byte
	n, err := unix.Pread(int(s.fd), got[:], at)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, b, got[0])
}

// operationCases has for each operation a request, its result, and what must
// hold then.
var operationCases = map[Op]struct {
	request func(t *testing.T, s *scene) Request
	want    int64
	check   func(t *testing.T, s *scene)
}{
	OpNop: {request: func(*testing.T, *scene) Request { return Request{FD: -1} }},
	OpRead: {
		request: func(t *testing.T, s *scene) Request {
			_, err := unix.Pwrite(int(s.fd), []byte("abc"), 4096)
			require.NoError(t, err)
			return Request{FD: s.fd, Addr: addr(s.mem), Length: 5000, Offset: 4096}
		},
		want:  4096,
		check: func(t *testing.T, s *scene) { require.Equal(t, "abc\x00", string(s.mem[:4])) },
	},
	OpWrite: {
		request: func(_ *testing.T, s *scene) Request {
			s.mem[0] = 'w'
			return Request{FD: s.fd, Addr: addr(s.mem), Length: 100, Offset: 8192, OpFlags: unix.RWF_DSYNC}
		},
		want: 100,
		check: func(t *testing.T, s *scene) {
			s.written(t, 'w', 8192)
			var st unix.Stat_t
			require.NoError(t, unix.Fstat(int(s.fd), &st))
			require.EqualValues(t, 8292, st.Size)
		},
	},
	OpReadv: {
		request: func(t *testing.T, s *scene) Request {
			_, err := unix.Pwrite(int(s.fd), []byte("abcdef"), 0)
			require.NoError(t, err)
			return Request{FD: s.fd, Vector: []unix.Iovec{iov(s.mem[:2]), iov(s.mem[100:102])}}
		},
		want: 4,
		check: func(t *testing.T, s *scene) {
			require.Equal(t, "abcd", string(s.mem[:2])+string(s.mem[100:102]))
		},
	},
	OpWritev: {
		request: func(_ *testing.T, s *scene) Request {
			s.mem[0], s.mem[100] = 'x', 'y'
			return Request{FD: s.fd, Vector: []unix.Iovec{iov(s.mem[:1]), iov(s.mem[100:101])}, Offset: 10}
		},
		want: 2,
		check: func(t *testing.T, s *scene) {
			s.written(t, 'x', 10)
			s.written(t, 'y', 11)
		},
	},
	OpReadFixed: {
		request: func(t *testing.T, s *scene) Request {
			_, err := unix.Pwrite(int(s.fd), []byte("abc"), 0)
			require.NoError(t, err)
			return Request{FD: s.fd, Addr: addr(s.mem) + 4096, Length: 3, Buffer: 1}
		},
		want:  3,
		check: func(t *testing.T, s *scene) { require.Equal(t, "abc", string(s.mem[4096:4099])) },
	},
	OpWriteFixed: {
		request: func(_ *testing.T, s *scene) Request {
			s.mem[5000] = 'z'
			return Request{FD: s.fd, Addr: addr(s.mem) + 5000, Length: 1, Offset: 99, Buffer: 1}
		},
		want:  1,
		check: func(t *testing.T, s *scene) { s.written(t, 'z', 99) },
	},
	OpFsync: {request: func(_ *testing.T, s *scene) Request { return Request{FD: s.fd, OpFlags: fsyncData} }},
	OpSyncFileRange: {request: func(_ *testing.T, s *scene) Request {
		return Request{FD: s.fd, Length: 4096, OpFlags: unix.SYNC_FILE_RANGE_WRITE}
	}},
	OpFadvise: {request: func(_ *testing.T, s *scene) Request {
		return Request{FD: s.fd, Length: 4096, OpFlags: unix.FADV_WILLNEED}
	}},
}

// Each operation of the table has its effect and its result in each kind of
// queue, also if a thread of the kernel executes it.
func TestOperations(t *testing.T) {
	for _, flags := range []Flags{0, Async} {
		each(t, kinds, Config{Entries: 4}, func(t *testing.T, k kind, q Queue) {
			for i := range operations {
				op := Op(i)
				if op.info() == nil {
					continue
				}
				c, ok := operationCases[op]
				require.True(t, ok, "%v has no case", op)
				s := newScene(t)
				r := c.request(t, s)
				r.Op, r.Flags, r.User = op, flags, 1<<63+uint64(op)
				if !k.plays(op, flags) || op == OpReadFixed && k.name == ofAIO.name {
					require.Equal(t, unix.EINVAL, q.Prepare(&r), op)
					continue
				}
				require.NoError(t, q.RegisterBuffers([]unix.Iovec{iov(s.mem[:4096]), iov(s.mem[4096:8192])}))
				got := one(t, q, r)
				require.Equal(t, c.want, got, "%v: %v", op, unix.Errno(-min(got, 0)))
				if c.check != nil {
					c.check(t, s)
				}
				require.NoError(t, q.RegisterBuffers(nil))
			}
		})
	}
}

// The position of a file is used and moved with offset -1.
func TestPosition(t *testing.T) {
	each(t, append(ofRings[:1:1], kinds[5]), Config{Entries: 4}, func(t *testing.T, _ kind, q Queue) {
		fd, mem := file(t, 100), mapping(t, 4096)
		for _, want := range []int64{60, 40, 0} {
			require.Equal(t, want, one(t, q, Request{Op: OpRead, FD: fd, Addr: addr(mem), Length: 60, Offset: -1}))
		}
		require.EqualValues(t, 1, one(t, q, Request{Op: OpWrite, FD: fd, Addr: addr(mem), Length: 1, Offset: -1}))
		require.EqualValues(t, 100, one(t, q, Request{Op: OpRead, FD: fd, Addr: addr(mem), Length: 100, OpFlags: unix.RWF_NOWAIT}))
	})
}

// A link holds the next request back until its own has ended, and cuts the rest
// of the chain off if that fails or is short. A hard link only holds back.
func TestLinks(t *testing.T) {
	const cancelled = -int64(unix.ECANCELED)
	cases := []struct {
		name  string
		chain []Request
		want  []int64
	}{
		{"all well", []Request{
			{Op: OpWrite, Flags: Link, Length: 4096, Offset: 8192}, {Op: OpFsync, Flags: Link}, {Op: OpRead, Length: 8192, Offset: 8192},
		}, []int64{4096, 0, 4096}},
		{"a short read", []Request{
			{Op: OpRead, Flags: Link, Length: 8192, Offset: 4096}, {Op: OpNop, Flags: Link}, {Op: OpNop},
		}, []int64{4096, cancelled, cancelled}},
		{"a short read of a vector", []Request{
			{Op: OpReadv, Flags: Link, Length: 8192, Offset: 4096}, {Op: OpNop},
		}, []int64{4096, cancelled}},
		{"a short read in a hard chain", []Request{
			{Op: OpRead, Flags: HardLink, Length: 8192, Offset: 4096}, {Op: OpNop, Flags: Link}, {Op: OpNop},
		}, []int64{4096, 0, 0}},
		{"a failure", []Request{
			{Op: OpNop, Flags: Link}, {Op: OpRead, Flags: Link, FD: 1 << 20, Length: 1}, {Op: OpNop, Flags: HardLink}, {Op: OpNop}, {Op: OpNop},
		}, []int64{0, -int64(unix.EBADF), cancelled, cancelled, 0}},
		{"a failure in a hard chain", []Request{
			{Op: OpFsync, Flags: HardLink, FD: 1 << 20}, {Op: OpNop},
		}, []int64{-int64(unix.EBADF), 0}},
	}
	each(t, append(ofRings[:4:4], kinds[5]), Config{Entries: 8}, func(t *testing.T, _ kind, q Queue) {
		mem := mapping(t, 8192)
		for _, c := range cases {
			fd := file(t, 8192)
			if c.name == "all well" {
				require.NoError(t, unix.Ftruncate(int(fd), 8192))
			}
			chain := append([]Request{}, c.chain...)
			for i := range chain {
				r := &chain[i]
				if r.User, r.Addr, r.Vector = uint64(i), addr(mem), []unix.Iovec{iov(mem)}; r.FD == 0 {
					r.FD = fd
				}
			}
			got := play(t, q, chain...)
			for i, want := range c.want {
				require.Equal(t, want, got[uint64(i)], "%s: request %d", c.name, i)
			}
		}
	})
}

// A chain ends with its batch, whatever the flags of its last request.
func TestLinkAtEnd(t *testing.T) {
	each(t, append(ofRings[:4:4], kinds[5]), Config{Entries: 8}, func(t *testing.T, _ kind, q Queue) {
		require.Equal(t, -int64(unix.EBADF), one(t, q, Request{Op: OpFsync, Flags: Link, FD: 1 << 20}))
		require.Zero(t, one(t, q, Request{Op: OpNop}))
	})
}

// A drained request waits for all before it, and all after it wait for it.
func TestDrain(t *testing.T) {
	each(t, append(ofRings[:4:4], kinds[5]), Config{Entries: 8}, func(t *testing.T, _ kind, q Queue) {
		r, w := pipe(t)
		mem := mapping(t, 4096)
		for range 50 {
			prepare(t, q,
				Request{Op: OpRead, FD: r, Addr: addr(mem), Length: 1, Offset: -1, User: 1},
				Request{Op: OpNop, User: 2, Flags: Link},
				Request{Op: OpRead, FD: r, Addr: addr(mem), Length: 1, Offset: -1, User: 3, Flags: Drain},
				Request{Op: OpNop, User: 4})
			n, err := q.Submit(0)
			require.NoError(t, err)
			require.Equal(t, 4, n)
			done := make([]Completion, 4)
			require.Zero(t, q.Reap(done))
			feed := func() {
				_, err := unix.Write(int(w), []byte("x"))
				require.NoError(t, err)
			}
			feed()
			require.NoError(t, q.Wait(2))
			require.Equal(t, 2, q.Reap(done))
			require.Equal(t, []uint64{1, 2}, users(done[:2]))
			feed()
			require.Equal(t, []uint64{3, 4}, users(reap(t, q, 2)))
		}
	})
}

// Requests that are not linked don't wait for one another.
func TestTogether(t *testing.T) {
	each(t, append(ofRings[:4:4], kinds[5]), Config{Entries: 4}, func(t *testing.T, _ kind, q Queue) {
		r, w := pipe(t)
		mem := mapping(t, 4096)
		prepare(t, q,
			Request{Op: OpRead, FD: r, Addr: addr(mem), Length: 1, Offset: -1, User: 1},
			Request{Op: OpWrite, FD: w, Addr: addr(mem) + 1, Length: 1, Offset: -1, User: 2})
		n, err := q.Submit(2)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.ElementsMatch(t, []uint64{1, 2}, users(reap(t, q, 2)))
	})
}

// A batch can't be longer than the queue; many batches can be.
func TestFull(t *testing.T) {
	each(t, kinds, Config{Entries: 8}, func(t *testing.T, _ kind, q Queue) {
		fd, mem := file(t, 4096), mapping(t, 4096)
		done := make([]Completion, 100)
		got := 0
		seen := make(map[uint64]bool)
		take := func() {
			n := q.Reap(done)
			for _, c := range done[:n] {
				require.EqualValues(t, 1, c.Result)
				require.False(t, seen[c.User])
				seen[c.User] = true
			}
			got += n
		}
		const all = 1000
		for i := range all {
			r := Request{Op: OpRead, FD: fd, Addr: addr(mem), Length: 1, User: uint64(i)}
			err := q.Prepare(&r)
			if i%8 == 0 && i > 0 {
				require.Equal(t, ErrFull, err)
				for submitted := 0; submitted < 8; {
					n, err := q.Submit(0)
					if submitted += n; err != nil {
						require.Equal(t, ErrBusy, err)
						require.NoError(t, q.Wait(1))
						take()
					}
				}
				err = q.Prepare(&r)
			}
			if err == ErrBusy {
				require.NoError(t, q.Wait(1))
				take()
				err = q.Prepare(&r)
			}
			require.NoError(t, err)
		}
		_, err := q.Submit(0)
		for err == ErrBusy {
			require.NoError(t, q.Wait(1))
			take()
			_, err = q.Submit(0)
		}
		require.NoError(t, err)
		for q.InFlight() > 0 {
			require.NoError(t, q.Wait(1))
			take()
		}
		require.Equal(t, all, got)
		// There is nothing to wait for.
		require.NoError(t, q.Wait(5))
		n, err := q.Submit(5)
		require.NoError(t, err)
		require.Zero(t, n)
		require.Zero(t, q.Reap(done))
	})
}

// Registered files are used by place, and stay open when their descriptors are
// closed, also where the kernel doesn't take them.
func TestRegisteredFiles(t *testing.T) {
	run := func(t *testing.T, q Queue) {
		mem := mapping(t, 4096)
		read := func(place int32) int64 {
			return one(t, q, Request{Op: OpRead, Flags: FixedFile, FD: place, Addr: addr(mem), Length: 4096})
		}
		refused := func(place int32) {
			t.Helper()
			require.Equal(t, unix.EBADF, q.Prepare(&Request{Op: OpRead, Flags: FixedFile, FD: place, Addr: addr(mem), Length: 1}))
		}
		twin := func(fd int32) int32 {
			n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
			require.NoError(t, err)
			return int32(n)
		}
		refused(0)
		a, b := twin(file(t, 10)), twin(file(t, 20))
		require.NoError(t, q.RegisterFiles([]int32{a, -1, b}))
		require.NoError(t, unix.Close(int(a)))
		other := twin(file(t, 99)) // most likely under the number of a
		require.EqualValues(t, 10, read(0))
		require.EqualValues(t, 20, read(2))
		for _, place := range []int32{1, 3, -1, other} {
			refused(place)
		}
		require.NoError(t, q.UpdateFiles(1, []int32{other, -1}))
		require.EqualValues(t, 10, read(0))
		require.EqualValues(t, 99, read(1))
		refused(2)
		require.Error(t, q.UpdateFiles(2, []int32{a, b}))
		require.Error(t, q.UpdateFiles(-1, nil))
		require.NoError(t, q.RegisterFiles([]int32{b}))
		require.EqualValues(t, 20, read(0))
		refused(1)
		require.Error(t, q.RegisterFiles([]int32{1 << 20}))
		require.NoError(t, q.RegisterFiles(nil))
		refused(0)
		require.NoError(t, q.RegisterFiles([]int32{other}))
		require.EqualValues(t, 99, read(0))
		require.Equal(t, unix.EINVAL, q.Prepare(&Request{Op: OpNop, Flags: FixedFile}))
		for _, fd := range []int32{b, other} {
			require.NoError(t, unix.Close(int(fd)))
		}
	}
	each(t, append(ofRings[:4:4], kinds[5]), Config{Entries: 4}, func(t *testing.T, _ kind, q Queue) { run(t, q) })
	t.Run("refused", func(t *testing.T) {
		k := intercept(func(nr uintptr, args [4]uintptr) (int64, bool) {
			return -int64(unix.EMFILE), nr == unix.SYS_IO_URING_REGISTER && args[1] == registerFiles
		})
		q := opened(t, ofRings[0], Config{Kernel: k, Entries: 4})
		run(t, q)
		require.Contains(t, q.Notes(), "io_uring: the kernel refuses 3 registered files (too many open files), so requests name their descriptors")
	})
}

// A file that the queue holds stays open for the requests that were prepared
// before it was replaced, and is closed after them.
func TestReplacedFiles(t *testing.T) {
	k := intercept(func(nr uintptr, args [4]uintptr) (int64, bool) {
		return -int64(unix.ENOMEM), nr == unix.SYS_IO_URING_REGISTER && args[1] == registerFiles
	})
	run := func(t *testing.T, q Queue) {
		mem := mapping(t, 4096)
		a, b := file(t, 10), file(t, 20)
		before := descriptors(t)
		require.NoError(t, q.RegisterFiles([]int32{a}))
		prepare(t, q, Request{Op: OpRead, Flags: FixedFile, Addr: addr(mem), Length: 100, User: 1})
		require.NoError(t, q.UpdateFiles(0, []int32{b}))
		prepare(t, q, Request{Op: OpRead, Flags: FixedFile, Addr: addr(mem), Length: 100, User: 2})
		require.NoError(t, q.RegisterFiles(nil))
		require.Equal(t, map[uint64]int64{1: 10, 2: 20, 3: 0}, play(t, q, Request{Op: OpNop, User: 3}))
		require.NoError(t, q.RegisterFiles([]int32{b}))
		require.NoError(t, q.UpdateFiles(0, []int32{-1}))
		require.Equal(t, before, descriptors(t))
	}
	t.Run("io_uring", func(t *testing.T) { run(t, opened(t, ofRings[0], Config{Kernel: k, Entries: 4})) })
	t.Run("threads", func(t *testing.T) { run(t, opened(t, kinds[5], Config{Entries: 4})) })
}

// descriptors counts those of the process.
func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(names)
}

// A queue gives back what it takes.
func TestCloseGivesBack(t *testing.T) {
	each(t, kinds, Config{Entries: 4}, func(t *testing.T, k kind, q Queue) {
		fd := file(t, 1)
		require.NoError(t, q.RegisterFiles([]int32{fd}))
		require.NoError(t, q.Close())
		require.NoError(t, q.Close())
		before := descriptors(t)
		for range 20 {
			q, err := k.open(Config{Kernel: scheduled, Entries: 64, Flags: k.flags})
			require.NoError(t, err)
			require.NoError(t, q.RegisterFiles([]int32{fd, fd}))
			require.NoError(t, q.Close())
		}
		require.Equal(t, before, descriptors(t))
	})
}

// Registered buffers are used by place, within their bounds, also where the
// kernel doesn't pin them.
func TestRegisteredBuffers(t *testing.T) {
	run := func(t *testing.T, q Queue) {
		fd, mem := file(t, 4096), mapping(t, 16384)
		at := func(op Op, place uint16, from, length int) Request {
			return Request{Op: op, FD: fd, Addr: addr(mem) + uintptr(from), Length: uint64(length), Buffer: place}
		}
		refused := func(place uint16, from, length int) {
			t.Helper()
			r := at(OpReadFixed, place, from, length)
			require.Equal(t, unix.EFAULT, q.Prepare(&r))
		}
		refused(0, 0, 1)
		require.NoError(t, q.RegisterBuffers([]unix.Iovec{iov(mem[:4096]), iov(mem[8192:12288])}))
		require.EqualValues(t, 100, one(t, q, at(OpReadFixed, 1, 8192+3996, 100)))
		require.Equal(t, byte(1), mem[8192+3996])
		require.EqualValues(t, 4096, one(t, q, at(OpWriteFixed, 0, 0, 4096)))
		refused(1, 8192+3997, 100)
		refused(1, 8191, 2)
		refused(0, 4097, 0)
		refused(2, 0, 1)
		require.NoError(t, q.RegisterBuffers([]unix.Iovec{iov(mem[12288:])}))
		require.EqualValues(t, 8, one(t, q, at(OpReadFixed, 0, 12288, 8)))
		refused(0, 0, 1)
		require.NoError(t, q.RegisterBuffers(nil))
		refused(0, 12288, 1)
	}
	each(t, append(ofRings[:4:4], kinds[5]), Config{Entries: 4}, func(t *testing.T, _ kind, q Queue) { run(t, q) })
	t.Run("refused", func(t *testing.T) {
		k := intercept(func(nr uintptr, args [4]uintptr) (int64, bool) {
			return -int64(unix.ENOMEM), nr == unix.SYS_IO_URING_REGISTER && args[1] == registerBuffers
		})
		q := opened(t, ofRings[0], Config{Kernel: k, Entries: 4})
		run(t, q)
		require.Contains(t, q.Notes(), "io_uring: the kernel refuses 2 registered buffers (cannot allocate memory), so requests name their addresses")
	})
}

// In no kind of queue does a request allocate.
func TestAllocations(t *testing.T) {
	each(t, kinds, Config{Entries: 32}, func(t *testing.T, k kind, q Queue) {
		fd, mem := file(t, 1<<16), mapping(t, 1<<16)
		vector := []unix.Iovec{iov(mem[:10]), iov(mem[20:30])}
		var done [32]Completion
		requests := []Request{
			{Op: OpRead, FD: fd, Addr: addr(mem), Length: 4096},
			{Op: OpReadv, FD: fd, Vector: vector},
			{Op: OpFsync, FD: fd},
			{Op: OpNop, Flags: Link},
			{Op: OpRead, FD: -7}, // refused
		}
		batch := func() {
			n := 0
			for i := range requests {
				if q.Prepare(&requests[i]) == nil {
					n++
				}
			}
			if got, err := q.Submit(1); got != n || err != nil {
				t.Error(got, n, err)
			}
			if err := q.Wait(n); err != nil {
				t.Error(err)
			}
			if got := q.Reap(done[:]); got != n {
				t.Error(got, n)
			}
		}
		require.Zero(t, testing.AllocsPerRun(1000, batch))

		fds, buffers := []int32{fd, -1, fd}, []unix.Iovec{iov(mem[:10]), iov(mem[20:30])}
		register := func() {
			if err := errors.Join(q.RegisterFiles(fds), q.UpdateFiles(1, fds[:2]), q.RegisterBuffers(buffers)); err != nil {
				t.Error(err)
			}
			if q.UpdateFiles(2, fds) != unix.EINVAL {
				t.Error("beyond the table")
			}
		}
		require.Zero(t, testing.AllocsPerRun(100, register))
	})
}

// The same random requests have the same results in all queues, with links and
// drains.
func TestAlike(t *testing.T) {
	const size, batches = 64 << 10, 200
	for seed := range uint64(3) {
		var want []int64
		each(t, append(ofRings[:4:4], kinds[5]), Config{Entries: 16}, func(t *testing.T, k kind, q Queue) {
			rng := rand.New(rand.NewPCG(seed, 0))
			fd, mem := file(t, size), mapping(t, size)
			require.NoError(t, q.RegisterFiles([]int32{fd}))
			var got []int64
			for range batches {
				batch := make([]Request, 1+rng.IntN(16))
				for i := range batch {
					r := &batch[i]
					r.User, r.FD, r.Addr = uint64(i), fd, addr(mem)
					r.Op = []Op{OpRead, OpNop, OpFsync, OpRead, OpReadv}[rng.IntN(5)]
					r.Offset, r.Length = int64(rng.IntN(size)), uint64(rng.IntN(8192))
					r.Vector = []unix.Iovec{iov(mem[:100]), iov(mem[200:300])}
					switch rng.IntN(8) {
					case 0:
						r.Flags = Link
					case 1:
						r.Flags = Link | Async
					case 2:
						r.Flags = HardLink
					case 3:
						r.Flags = Drain
					case 4:
						r.FD = 1 << 20
					case 5:
						if r.Op != OpNop {
							r.Flags, r.FD = Link|FixedFile, 0
						}
					}
				}
				results := play(t, q, batch...)
				for i := range batch {
					got = append(got, results[uint64(i)])
				}
			}
			if want == nil {
				want = got
			}
			require.Equal(t, want, got)
		})
	}
}

func ExampleOpenRing() {
	mem, _ := mapAnonymous(4096)
	defer unmap(mem)
	fd, _ := unix.MemfdCreate("example", unix.MFD_CLOEXEC)
	defer unix.Close(fd)

	q, err := OpenRing(Config{Entries: 32, Depth: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer q.Close()
	_ = q.Prepare(&Request{Op: OpWrite, Flags: Link, FD: int32(fd), Addr: addr(mem), Length: 4096, User: 1})
	_ = q.Prepare(&Request{Op: OpFsync, FD: int32(fd), User: 2})
	n, err := q.Submit(2) // one io_uring_enter that waits for both
	fmt.Println(n, err)
	var done [32]Completion
	for _, c := range done[:q.Reap(done[:])] {
		fmt.Println(c.User, c.Result)
	}
	// Output:
	// 2 <nil>
	// 1 4096
	// 2 0
}

// A wait with a time limit ends by a completion or by its limit, also with a ring of a
// kernel whose calls have no limits.
func TestWaitFor(t *testing.T) {
	wait := func(t *testing.T, k kind, q Queue) {
		require.False(t, q.WaitFor(time.Hour.Nanoseconds()), "nothing is in flight")
		mem := mapping(t, 4096)
		read := Request{Op: OpRead, FD: file(t, 10), Addr: addr(mem), Length: 10, User: 7}
		r, w := pipe(t)
		if k.name != ofAIO.name { // which reads a pipe when it submits
			read.FD, read.Offset = r, -1
		}
		for range 3 {
			prepare(t, q, read)
			_, err := q.Submit(0)
			require.NoError(t, err)
			var done [2]Completion
			if read.FD == r {
				require.True(t, q.WaitFor(1))
				require.Zero(t, q.Reap(done[:]), "the limit has passed")
				go func() { _, _ = unix.Write(int(w), make([]byte, 10)) }()
			}
			n := 0
			for ; n == 0; n = q.Reap(done[:]) {
				require.True(t, q.WaitFor(time.Hour.Nanoseconds()))
			}
			require.Equal(t, []Completion{{User: 7, Result: 10}}, done[:n])
		}
		require.False(t, q.WaitFor(time.Hour.Nanoseconds()))
	}
	each(t, kinds, Config{Entries: 4}, wait)
	t.Run("old", func(t *testing.T) {
		// Kernels without limits have no other ring that is different here.
		each(t, ofRings[:1], Config{Entries: 4}, func(t *testing.T, k kind, q Queue) {
			q.(*ring).limits = false
			wait(t, k, q)
		})
	})
}

// A thread can ask whether completions are there while another one waits and reaps.
func TestReadyBesideReap(t *testing.T) {
	each(t, kinds, Config{Entries: 8}, func(t *testing.T, _ kind, q Queue) {
		fd, mem := file(t, 4096), mapping(t, 4096)
		var ends atomic.Bool
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for !ends.Load() {
				q.Ready()
				q.InFlight()
			}
		}()
		for range 200 {
			play(t, q, Request{Op: OpRead, FD: fd, Addr: addr(mem), Length: 10, User: 1}, Request{Op: OpRead, FD: fd, Addr: addr(mem), Length: 10, User: 2})
		}
		ends.Store(true)
		<-ended
	})
}
