package memfs

import (
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// newFS makes a file system and a caller.
func newFS(t testing.TB, limit int64) (*FS, *machine) {
	fs, err := New(limit)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fs.Close()) })
	return fs, newMachine(t, fs.Call)
}

// create makes a file of zeroes.
func (m *machine) create(t testing.TB, name string, size int64) uintptr {
	t.Helper()
	m.used = 0
	fd := m.do(unix.SYS_OPENAT, at, m.text(name), unix.O_CREAT|unix.O_RDWR, 0o600)
	require.Positive(t, fd)
	b, from := m.room(pageSize)
	clear(b)
	for done := int64(0); done < size; {
		n := m.do(unix.SYS_WRITE, uintptr(fd), from, uintptr(min(size-done, pageSize)))
		require.Positive(t, n)
		done += n
	}
	m.used = 0
	return uintptr(fd)
}

func TestUnknownCalls(t *testing.T) {
	_, m := newFS(t, 1<<20)
	for _, nr := range []uintptr{unix.SYS_MMAP, unix.SYS_OPENAT2, 511, 512, 1 << 40} {
		require.Equal(t, errnoResult(unix.ENOSYS), m.do(nr))
	}
}

// Calls beyond the limit fail, and freed memory can be used again.
func TestFull(t *testing.T) {
	fs, m := newFS(t, 64<<10)
	fd := m.create(t, "f", 4096)
	_, from := m.room(pageSize)
	written := int64(0)
	for n := int64(pageSize); n > 0; written += n {
		if n = m.do(unix.SYS_WRITE, fd, from, pageSize); n < 0 {
			require.Equal(t, errnoResult(unix.ENOSPC), n)
			break
		}
	}
	require.Greater(t, written, int64(40<<10))
	require.Less(t, written, int64(64<<10))
	require.Equal(t, errnoResult(unix.ENOSPC), m.do(unix.SYS_FALLOCATE, fd, 0, 1<<20, 1<<20))
	made := 0
	for ; m.do(unix.SYS_MKDIRAT, at, m.text(strings.Repeat("d", made+1)), 0o700) == 0; made++ {
	}
	require.Positive(t, made)
	require.Equal(t, errnoResult(unix.ENOSPC), m.do(unix.SYS_SYMLINKAT, m.text("f"), at, m.text("l")))
	require.Equal(t, errnoResult(unix.ENOSPC), m.do(unix.SYS_OPENAT, at, m.text("g"), unix.O_CREAT, 0o600))
	require.Zero(t, m.do(unix.SYS_FTRUNCATE, fd, 0))
	require.Zero(t, m.do(unix.SYS_FALLOCATE, fd, 0, 0, 32<<10))
	left := fs.left.Load()
	require.EqualValues(t, 32<<10, m.do(unix.SYS_PWRITE64, fd, uintptr(unsafe.Pointer(&m.memory[0])), 32<<10, 0), "what was set aside is there")
	require.Equal(t, left, fs.left.Load())
}

// A write that fails leaves the offset where it was, also where it would have
// gone to the end.
func TestOffsetAfterFailure(t *testing.T) {
	_, m := newFS(t, 1<<20)
	fd := m.create(t, "f", 10)
	require.Zero(t, m.do(unix.SYS_FTRUNCATE, fd, maxBytes))
	end := uintptr(m.do(unix.SYS_OPENAT, at, m.text("f"), unix.O_RDWR|unix.O_APPEND))
	_, from := m.room(pageSize)
	require.EqualValues(t, 4, m.do(unix.SYS_READ, end, from, 4))
	require.Equal(t, errnoResult(unix.EFBIG), m.do(unix.SYS_WRITE, end, from, 4))
	require.EqualValues(t, 4, m.do(unix.SYS_LSEEK, end, 0, unix.SEEK_CUR))
}

// A listing can go on at any position, as on file systems of the kernel: one that another
// file system gave lies behind the last entry.
func TestPositionsInDirectories(t *testing.T) {
	_, m := newFS(t, 1<<20)
	m.create(t, "f", 10)
	dir := uintptr(m.do(unix.SYS_OPENAT, at, m.text("."), unix.O_RDONLY))
	_, to := m.room(pageSize)
	const hash = 6436727948390717725
	require.EqualValues(t, hash, m.do(unix.SYS_LSEEK, dir, hash, unix.SEEK_SET))
	require.Zero(t, m.do(unix.SYS_GETDENTS64, dir, to, pageSize))
	require.Equal(t, errnoResult(unix.EINVAL), m.do(unix.SYS_LSEEK, dir, hash, unix.SEEK_CUR), "beyond what an offset can be")
	require.EqualValues(t, math.MaxInt64, m.do(unix.SYS_LSEEK, dir, math.MaxInt64, unix.SEEK_SET))
	require.Zero(t, m.do(unix.SYS_GETDENTS64, dir, to, pageSize))
	require.Zero(t, m.do(unix.SYS_LSEEK, dir, 0, unix.SEEK_SET))
	require.EqualValues(t, 3*24, m.do(unix.SYS_GETDENTS64, dir, to, pageSize))
}

// Names, files and pages that come and go take no memory.
func TestRecycling(t *testing.T) {
	fs, m := newFS(t, 1<<20)
	round := func() {
		m.used = 0
		name, other, b := m.text("f"), m.text("g"), uintptr(unsafe.Pointer(&m.memory[1<<19]))
		fd := uintptr(m.call(unix.SYS_OPENAT, at, name, unix.O_CREAT|unix.O_RDWR, 0o600, 0, 0))
		m.call(unix.SYS_WRITE, fd, b, 64<<10, 0, 0, 0)
		m.call(unix.SYS_RENAMEAT2, at, name, at, other, 0, 0)
		m.call(unix.SYS_UNLINKAT, at, other, 0, 0, 0, 0)
		m.call(unix.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
	}
	m.last = make([]string, 0, 1<<10)
	round()
	left, fresh := fs.left.Load(), fs.fresh
	for range 10_000 {
		m.last = m.last[:0]
		round()
	}
	require.Equal(t, left, fs.left.Load())
	require.Equal(t, fresh, fs.fresh)
	require.LessOrEqual(t, len(fs.root.entries), 2)
	require.EqualValues(t, 1, fs.descriptors.end)
	require.LessOrEqual(t, cap(fs.descriptors.free), 8)
}

// Memory that is there ahead is like any other.
func TestPopulate(t *testing.T) {
	fs, m := newFS(t, 1<<20)
	left := fs.left.Load()
	for _, n := range []int64{0, 1, 64 << 10, 1 << 40} {
		fs.Populate(n)
	}
	require.Equal(t, left, fs.left.Load())
	fd := m.create(t, "f", 0)
	b, from := m.room(2 * pageSize)
	b[0] = 'x'
	require.EqualValues(t, 1, m.do(unix.SYS_PWRITE64, fd, from, 1, pageSize))
	require.EqualValues(t, pageSize+1, m.do(unix.SYS_PREAD64, fd, from, 2*pageSize, 0))
	require.Equal(t, strings.Repeat("\x00", pageSize)+"x", string(b[:pageSize+1]))
}

// The paths that a replay takes most often allocate nothing.
func TestNoAllocations(t *testing.T) {
	fs, m := newFS(t, 1<<20)
	fd := m.create(t, "f", 64<<10)
	name, b := m.text("f"), uintptr(unsafe.Pointer(&m.memory[1<<19]))
	calls := func() {
		fs.Call(unix.SYS_PREAD64, fd, b, 8192, 4096, 0, 0)
		fs.Call(unix.SYS_PWRITE64, fd, b, 8192, 4096, 0, 0)
		fs.Call(unix.SYS_LSEEK, fd, 0, 0, 0, 0, 0)
		fs.Call(unix.SYS_READ, fd, b, 100, 0, 0, 0)
		fs.Call(unix.SYS_WRITE, fd, b, 100, 0, 0, 0)
		fs.Call(unix.SYS_NEWFSTATAT, at, name, b, 0, 0, 0)
		fs.Call(unix.SYS_STATX, at, name, 0, unix.STATX_BASIC_STATS, b, 0)
		fs.Call(unix.SYS_FSTAT, fd, b, 0, 0, 0, 0)
		fs.Call(unix.SYS_CLOSE, uintptr(fs.Call(unix.SYS_OPENAT, at, name, unix.O_RDWR, 0, 0, 0)), 0, 0, 0, 0, 0)
		fs.Call(unix.SYS_FCHMOD, fd, 0o600, 0, 0, 0, 0)
		fs.Call(unix.SYS_FTRUNCATE, fd, 32<<10, 0, 0, 0, 0)
		fs.Call(unix.SYS_FALLOCATE, fd, 0, 0, 64<<10, 0, 0)
	}
	require.Zero(t, testing.AllocsPerRun(100, calls))
}

// Extents are told as ranges of data.
func TestFiemap(t *testing.T) {
	_, m := newFS(t, 1<<20)
	fd := m.create(t, "f", 8192)
	require.Zero(t, m.do(unix.SYS_FTRUNCATE, fd, 1<<20))
	_, from := m.room(16)
	require.EqualValues(t, 1, m.do(unix.SYS_PWRITE64, fd, from, 1, 100<<10))
	_, to := m.room(32 + 3*56)
	ask := func(room uint32) *fiemap {
		*pointer[fiemap](to) = fiemap{length: 1<<64 - 1, room: room}
		require.Zero(t, m.do(unix.SYS_IOCTL, fd, fsIocFiemap, to))
		return pointer[fiemap](to)
	}
	require.EqualValues(t, 2, ask(0).mapped)
	require.EqualValues(t, 1, ask(1).mapped)
	require.EqualValues(t, 2, ask(3).mapped)
	first, second := pointer[extent](to+32), pointer[extent](to+32+56)
	require.Equal(t, []uint64{0, 8192, 0}, []uint64{first.logical, first.length, uint64(first.flags)})
	require.Equal(t, []uint64{100 << 10, 4096, extentLast}, []uint64{second.logical, second.length, uint64(second.flags)})
}

func TestStatfs(t *testing.T) {
	_, m := newFS(t, 1<<20)
	_, to := m.room(int(unsafe.Sizeof(unix.Statfs_t{})))
	require.Zero(t, m.do(unix.SYS_STATFS, m.text("/"), to))
	before := *pointer[unix.Statfs_t](to)
	fd := m.create(t, "f", 64<<10)
	_, to = m.room(int(unsafe.Sizeof(unix.Statfs_t{})))
	require.Zero(t, m.do(unix.SYS_FSTATFS, fd, to))
	require.EqualValues(t, 256, before.Blocks)
	require.Greater(t, before.Bavail, pointer[unix.Statfs_t](to).Bavail+15)
}

// Attributes of descriptors are those of paths.
func TestAttributesByDescriptor(t *testing.T) {
	_, m := newFS(t, 1<<20)
	fd := m.create(t, "f", 0)
	value, from := m.room(3)
	copy(value, "abc")
	got, to := m.room(8)
	name, path := m.text("user.a"), m.text("f")
	require.Zero(t, m.do(unix.SYS_FSETXATTR, fd, name, from, 3, 0))
	require.EqualValues(t, 3, m.do(unix.SYS_GETXATTR, path, name, to, 8))
	require.Equal(t, "abc", string(got[:3]))
	require.EqualValues(t, 7, m.do(unix.SYS_FLISTXATTR, fd, to, 8))
	require.Equal(t, "user.a\x00", string(got[:7]))
	require.EqualValues(t, 7, m.do(unix.SYS_LISTXATTR, path, to, 0))
	require.Zero(t, m.do(unix.SYS_FREMOVEXATTR, fd, name))
	require.Equal(t, errnoResult(unix.ENODATA), m.do(unix.SYS_LREMOVEXATTR, path, name))
	require.Equal(t, errnoResult(unix.EOPNOTSUPP), m.do(unix.SYS_SETXATTR, path, m.text("trusted.a"), from, 3, 0))
}

// A directory is listed once, whatever comes and goes meanwhile.
func TestListWhileChanging(t *testing.T) {
	_, m := newFS(t, 1<<20)
	for i := range 50 {
		require.Zero(t, m.do(unix.SYS_MKDIRAT, at, m.text("d"+strings.Repeat("x", i)), 0o700))
		m.used = 0
	}
	fd := uintptr(m.do(unix.SYS_OPENAT, at, m.text("/"), unix.O_RDONLY))
	b, to := m.room(300)
	seen := make(map[string]int)
	for i := 0; ; i++ {
		n := m.do(unix.SYS_GETDENTS64, fd, to, 300)
		require.GreaterOrEqual(t, n, int64(0))
		if n == 0 {
			break
		}
		for b := b[:n]; len(b) > 0; b = b[int(b[16])|int(b[17])<<8:] {
			seen[unix.ByteSliceToString(b[direntName:])]++
		}
		m.used = 512
		m.do(unix.SYS_UNLINKAT, at, m.text("d"+strings.Repeat("x", i)), unix.AT_REMOVEDIR)
		m.do(unix.SYS_MKDIRAT, at, m.text("new"+strings.Repeat("y", i)), 0o700)
	}
	for name, n := range seen {
		require.Equal(t, 1, n, name)
	}
	require.Contains(t, seen, "d"+strings.Repeat("x", 49))
}

// Threads that call all at once leave a whole file system.
func TestConcurrency(t *testing.T) {
	asInReplay(t, 8)
	fs, _ := newFS(t, 16<<20)
	left := fs.left.Load()
	var wait sync.WaitGroup
	var fds sync.Map
	for i := range 8 {
		m := newMachine(t, fs.Call)
		c := &chance{rand.New(rand.NewPCG(2, uint64(i))), paths(true), false}
		wait.Add(1)
		go func() {
			defer wait.Done()
			for range 2000 {
				m.used, m.last = 0, nil
				operations[c.IntN(len(operations))].draw(c)(m)
				// The descriptors of others, too.
				k := c.fd()
				if fd := m.fds[k]; fd != closed && c.IntN(4) == 0 {
					fds.Store(c.IntN(8), fd)
				}
				if fd, ok := fds.Load(c.IntN(8)); ok && c.IntN(4) == 0 {
					m.fds[k] = fd.(uintptr)
				}
			}
		}()
	}
	wait.Wait()
	for n := range fs.descriptors.end {
		fs.Call(unix.SYS_CLOSE, FirstDescriptor+uintptr(n), 0, 0, 0, 0, 0)
	}
	emptied(t, fs)
	require.Equal(t, left, fs.left.Load())
}

// asInReplay lets so many goroutines wait for locks at a time: see lock.
func asInReplay(t *testing.T, n int) {
	procs, percent := runtime.GOMAXPROCS(n+2), debug.SetGCPercent(-1)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(percent)
	})
}

// A lock excludes, and wakes who sleeps for it.
func TestLock(t *testing.T) {
	asInReplay(t, 8)
	var l lock
	var wait sync.WaitGroup
	count := 0
	for i := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for range 5000 {
				if i%2 == 0 {
					l.lock()
					count++
					l.unlock()
				} else {
					l.rlock()
					_ = count
					l.runlock()
				}
			}
		}()
	}
	wait.Wait()
	require.Equal(t, 4*5000, count)
	require.Zero(t, l.state.Load())
}
