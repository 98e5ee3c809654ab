package memfs

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// machine is something that answers system calls, with memory for their
// arguments and descriptors by small numbers.
type machine struct {
	call   func(nr, a, b, c, d, e, f uintptr) int64
	memory []byte
	used   int // of it, by the arguments of one call
	last   []string
	fds    [8]uintptr
}

func newMachine(t testing.TB, call func(nr, a, b, c, d, e, f uintptr) int64) *machine {
	b, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Munmap(b) })
	m := &machine{call: call, memory: b}
	for i := range m.fds {
		m.fds[i] = closed
	}
	return m
}

// closed is a descriptor that is open on no machine.
const closed = 1<<31 - 1

// room returns memory for an argument.
func (m *machine) room(n int) ([]byte, uintptr) {
	b := m.memory[m.used : m.used+n]
	m.used += (n + 7) &^ 7
	return b, uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

func (m *machine) text(s string) uintptr {
	m.last = append(m.last, fmt.Sprintf("%.20q", s))
	b, at := m.room(len(s) + 1)
	copy(b, s)
	b[len(s)] = 0
	return at
}

// do makes a call with no more arguments than are given.
func (m *machine) do(nr uintptr, a ...uintptr) int64 {
	var all args
	copy(all[:], a)
	m.last = append(m.last, fmt.Sprintf("%d%x", nr, a))
	return m.call(nr, all[0], all[1], all[2], all[3], all[4], all[5])
}

// kernel calls Linux.
func kernel(nr, a, b, c, d, e, f uintptr) int64 {
	r, _, errno := syscall.RawSyscall6(nr, a, b, c, d, e, f)
	if errno != 0 {
		return errnoResult(errno)
	}
	return int64(r)
}

// chance is what a sequence of calls is drawn from.
type chance struct {
	*rand.Rand
	paths   []string
	unknown bool // what SEEK_DATA makes of space that was set aside: it isn't asked
}

func (c *chance) path() string { return c.paths[c.IntN(len(c.paths))] }
func (c *chance) fd() int      { return c.IntN(8) }

func (c *chance) size() int64 {
	return []int64{0, 1, 100, 4095, 4096, 4097, 8192, int64(c.IntN(20000))}[c.IntN(8)]
}

func (c *chance) offset() int64 {
	return []int64{0, 1, 4096, 8192, 12288, int64(c.IntN(40000)), int64(c.IntN(40000)), 4 << 20, 1 << 33, -1}[c.IntN(10)]
}

func (c *chance) flags(from ...uintptr) (f uintptr) {
	for _, bit := range from {
		if c.IntN(3) == 0 {
			f |= bit
		}
	}
	return f
}

// operation draws the arguments of a call. It returns a function that makes the call,
// and returns its result and outputs.
type operation struct {
	name string
	draw func(*chance) func(*machine) (int64, string)
}

const at = cwd

var operations = []operation{
	{"open", drawOpen}, {"open", drawOpen}, {"open", drawOpen}, {"open", drawOpen},
	{"close", func(c *chance) func(*machine) (int64, string) {
		k := c.fd()
		return func(m *machine) (int64, string) {
			got := m.do(unix.SYS_CLOSE, m.fds[k])
			m.fds[k] = closed
			return got, ""
		}
	}},
	{"dup", func(c *chance) func(*machine) (int64, string) {
		k, to := c.fd(), c.fd()
		return func(m *machine) (int64, string) {
			return m.opened(to, m.do(unix.SYS_FCNTL, m.fds[k], unix.F_DUPFD_CLOEXEC, 0))
		}
	}},
	{"read", drawRead}, {"read", drawRead}, {"read", drawRead},
	{"write", drawWrite}, {"write", drawWrite}, {"write", drawWrite},
	{"vectors", drawVector},
	{"lseek", func(c *chance) func(*machine) (int64, string) {
		k, to, whence := c.fd(), c.offset(), uintptr(c.IntN(6))
		return func(m *machine) (int64, string) {
			if m.isDir(k) || c.unknown && whence > unix.SEEK_END {
				return 0, ""
			}
			return m.do(unix.SYS_LSEEK, m.fds[k], uintptr(to), whence), ""
		}
	}},
	{"ftruncate", func(c *chance) func(*machine) (int64, string) {
		k, to := c.fd(), c.offset()
		return func(m *machine) (int64, string) { return m.do(unix.SYS_FTRUNCATE, m.fds[k], uintptr(to)), "" }
	}},
	{"truncate", func(c *chance) func(*machine) (int64, string) {
		p, to := c.path(), c.offset()
		return func(m *machine) (int64, string) { return m.do(unix.SYS_TRUNCATE, m.text(p), uintptr(to)), "" }
	}},
	{"fallocate", func(c *chance) func(*machine) (int64, string) {
		k, from, size := c.fd(), c.offset(), c.size()
		if from > 1<<32 {
			from = 1 << 20
		}
		if c.IntN(2) == 0 {
			from, size = from&^4095, size&^4095
		}
		modes := []uintptr{0x3, 0x8, 0x20, 0x2, 0x9, 0x80, 0x40, 0, 0x1, 0x10, 0x11}
		if !c.unknown {
			modes = modes[:7]
		}
		mode := modes[c.IntN(len(modes))]
		return func(m *machine) (int64, string) {
			return m.do(unix.SYS_FALLOCATE, m.fds[k], mode, uintptr(from), uintptr(size)), ""
		}
	}},
	{"fstat", func(c *chance) func(*machine) (int64, string) {
		k := c.fd()
		return func(m *machine) (int64, string) {
			_, to := m.room(int(unsafe.Sizeof(unix.Stat_t{})))
			return m.told(m.do(unix.SYS_FSTAT, m.fds[k], to), to)
		}
	}},
	{"stat", drawStat}, {"stat", drawStat},
	{"statx", func(c *chance) func(*machine) (int64, string) {
		p, flags := c.path(), c.flags(unix.AT_SYMLINK_NOFOLLOW, unix.AT_EMPTY_PATH)
		return func(m *machine) (int64, string) {
			_, to := m.room(256)
			got := m.do(unix.SYS_STATX, at, m.text(p), flags, unix.STATX_BASIC_STATS, to)
			if got < 0 {
				return got, ""
			}
			s := pointer[unix.Statx_t](to)
			return got, fmt.Sprint(s.Mode, s.Nlink, s.Mode&unix.S_IFMT == unix.S_IFDIR || s.Size > 0)
		}
	}},
	{"access", func(c *chance) func(*machine) (int64, string) {
		p, mode := c.path(), uintptr(c.IntN(9))
		return func(m *machine) (int64, string) { return m.do(unix.SYS_FACCESSAT, at, m.text(p), mode), "" }
	}},
	{"getdents", func(c *chance) func(*machine) (int64, string) {
		k, size := c.fd(), []int{1, 30, 100, 32768}[c.IntN(4)]
		return func(m *machine) (int64, string) { return m.list(k, size) }
	}},
	{"mkdir", func(c *chance) func(*machine) (int64, string) {
		p := c.path()
		return func(m *machine) (int64, string) { return m.do(unix.SYS_MKDIRAT, at, m.text(p), 0o750), "" }
	}},
	{"mknod", func(c *chance) func(*machine) (int64, string) {
		p, mode := c.path(), []uintptr{0o600, unix.S_IFREG | 0o640, unix.S_IFDIR | 0o600, unix.S_IFLNK | 0o600}[c.IntN(4)]
		return func(m *machine) (int64, string) { return m.do(unix.SYS_MKNODAT, at, m.text(p), mode, 0), "" }
	}},
	{"unlink", drawUnlink}, {"unlink", drawUnlink},
	{"rename", drawRename}, {"rename", drawRename},
	{"link", func(c *chance) func(*machine) (int64, string) {
		p, q, flags := c.path(), c.path(), c.flags(unix.AT_SYMLINK_FOLLOW)
		return func(m *machine) (int64, string) {
			return m.do(unix.SYS_LINKAT, at, m.text(p), at, m.text(q), flags), ""
		}
	}},
	{"link of a descriptor", func(c *chance) func(*machine) (int64, string) {
		k, q := c.fd(), c.path()
		return func(m *machine) (int64, string) {
			if os.Geteuid() != 0 {
				return 0, ""
			}
			return m.do(unix.SYS_LINKAT, m.fds[k], m.text(""), at, m.text(q), unix.AT_EMPTY_PATH), ""
		}
	}},
	{"symlink", func(c *chance) func(*machine) (int64, string) {
		p, q := c.path(), c.path()
		return func(m *machine) (int64, string) { return m.do(unix.SYS_SYMLINKAT, m.text(p), at, m.text(q)), "" }
	}},
	{"readlink", func(c *chance) func(*machine) (int64, string) {
		p, size := c.path(), c.IntN(100)
		return func(m *machine) (int64, string) {
			b, to := m.room(100)
			got := m.do(unix.SYS_READLINKAT, at, m.text(p), to, uintptr(size))
			return got, string(b[:max(got, 0)])
		}
	}},
	{"below a descriptor", func(c *chance) func(*machine) (int64, string) {
		k, p := c.fd(), c.path()
		return func(m *machine) (int64, string) {
			_, to := m.room(int(unsafe.Sizeof(unix.Stat_t{})))
			return m.told(m.do(unix.SYS_NEWFSTATAT, m.fds[k], m.text(p), to, 0), to)
		}
	}},
	{"flags", func(c *chance) func(*machine) (int64, string) {
		k, set, flags := c.fd(), c.IntN(2) == 0, c.flags(unix.O_APPEND, unix.O_NONBLOCK)
		return func(m *machine) (int64, string) {
			if set {
				return m.do(unix.SYS_FCNTL, m.fds[k], unix.F_SETFL, flags), ""
			}
			return m.do(unix.SYS_FCNTL, m.fds[k], unix.F_GETFL), ""
		}
	}},
	{"flock", func(c *chance) func(*machine) (int64, string) {
		k, how := c.fd(), []uintptr{unix.LOCK_SH, unix.LOCK_EX, unix.LOCK_UN, 3}[c.IntN(4)]
		return func(m *machine) (int64, string) { return m.do(unix.SYS_FLOCK, m.fds[k], how|unix.LOCK_NB), "" }
	}},
	{"ranges", drawLock}, {"ranges", drawLock},
	{"sync", func(c *chance) func(*machine) (int64, string) {
		k, nr := c.fd(), []uintptr{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC_FILE_RANGE, unix.SYS_FADVISE64, unix.SYS_READAHEAD}[c.IntN(5)]
		from, size, how := c.offset(), c.offset(), uintptr(c.IntN(9))
		return func(m *machine) (int64, string) {
			if nr == unix.SYS_READAHEAD && size > 1<<30 {
				return 0, ""
			}
			return m.do(nr, m.fds[k], uintptr(from), uintptr(size), how), ""
		}
	}},
	{"copy", func(c *chance) func(*machine) (int64, string) {
		in, out, from, to, size, flags := c.fd(), c.fd(), c.offset(), c.offset(), c.size(), c.flags(1)&uintptr(c.IntN(2))
		own, ownOut := c.IntN(2) == 0, c.IntN(2) == 0
		return func(m *machine) (int64, string) {
			a, b := m.place(from, own), m.place(to, ownOut)
			return m.do(unix.SYS_COPY_FILE_RANGE, m.fds[in], a, m.fds[out], b, uintptr(size), flags), m.places(a, b)
		}
	}},
	{"sendfile", func(c *chance) func(*machine) (int64, string) {
		in, out, from, size, own := c.fd(), c.fd(), c.offset(), c.size(), c.IntN(2) == 0
		return func(m *machine) (int64, string) {
			if in == out || m.same(in, out) {
				return 0, ""
			}
			a := m.place(from, own)
			return m.do(unix.SYS_SENDFILE, m.fds[out], m.fds[in], a, uintptr(size)), m.places(a)
		}
	}},
	{"chmod", func(c *chance) func(*machine) (int64, string) {
		p, mode := c.path(), uintptr(c.IntN(0o1000))|0o700
		return func(m *machine) (int64, string) { return m.do(unix.SYS_FCHMODAT, at, m.text(p), mode), "" }
	}},
	{"fchmod", func(c *chance) func(*machine) (int64, string) {
		k := c.fd()
		return func(m *machine) (int64, string) { return m.do(unix.SYS_FCHMOD, m.fds[k], 0o711), "" }
	}},
	{"chown", func(c *chance) func(*machine) (int64, string) {
		p, flags := c.path(), c.flags(unix.AT_SYMLINK_NOFOLLOW, 1)
		return func(m *machine) (int64, string) {
			return m.do(unix.SYS_FCHOWNAT, at, m.text(p), ^uintptr(0), ^uintptr(0), flags), ""
		}
	}},
	{"times", func(c *chance) func(*machine) (int64, string) {
		k, p, byFD, flags := c.fd(), c.path(), c.IntN(2) == 0, c.flags(unix.AT_SYMLINK_NOFOLLOW)
		return func(m *machine) (int64, string) {
			if byFD {
				return m.do(unix.SYS_UTIMENSAT, m.fds[k], 0, 0, 0), ""
			}
			return m.do(unix.SYS_UTIMENSAT, at, m.text(p), 0, flags), ""
		}
	}},
	{"set attribute", func(c *chance) func(*machine) (int64, string) {
		p, name, size, flags := c.path(), drawName(c), uintptr(c.IntN(50)), c.flags(1, 2)
		if c.IntN(9) == 0 {
			size = maxXattr + 1
		}
		nr := []uintptr{unix.SYS_SETXATTR, unix.SYS_LSETXATTR}[c.IntN(2)]
		return func(m *machine) (int64, string) {
			_, from := m.room(100)
			return m.do(nr, m.text(p), m.text(name), from, size, flags), ""
		}
	}},
	{"get attribute", func(c *chance) func(*machine) (int64, string) {
		p, k, name, size, nr := c.path(), c.fd(), drawName(c), uintptr(c.IntN(50)), c.IntN(3)
		return func(m *machine) (int64, string) {
			_, to := m.room(100)
			if nr == 2 {
				return m.do(unix.SYS_FGETXATTR, m.fds[k], m.text(name), to, size), ""
			}
			return m.do([]uintptr{unix.SYS_GETXATTR, unix.SYS_LGETXATTR}[nr], m.text(p), m.text(name), to, size), ""
		}
	}},
	{"list attributes", func(c *chance) func(*machine) (int64, string) {
		p, size := c.path(), uintptr(c.IntN(50))
		return func(m *machine) (int64, string) {
			b, to := m.room(100)
			got := m.do(unix.SYS_LLISTXATTR, m.text(p), to, size)
			if size == 0 {
				return got, ""
			}
			names := strings.Split(string(b[:max(got, 0)]), "\x00")
			slices.Sort(names)
			return got, fmt.Sprint(names)
		}
	}},
	{"remove attribute", func(c *chance) func(*machine) (int64, string) {
		p, name := c.path(), drawName(c)
		return func(m *machine) (int64, string) {
			return m.do(unix.SYS_REMOVEXATTR, m.text(p), m.text(name)), ""
		}
	}},
}

// opened puts a descriptor where the machine has it, and tells only whether it
// is one.
func (m *machine) opened(k int, fd int64) (int64, string) {
	if fd < 0 {
		return fd, ""
	}
	if m.fds[k] != closed {
		m.do(unix.SYS_CLOSE, m.fds[k])
	}
	m.fds[k] = uintptr(fd)
	return 0, ""
}

func (m *machine) stat(k int) *unix.Stat_t {
	_, to := m.room(int(unsafe.Sizeof(unix.Stat_t{})))
	*pointer[unix.Stat_t](to) = unix.Stat_t{}
	m.do(unix.SYS_FSTAT, m.fds[k], to)
	return pointer[unix.Stat_t](to)
}

func (m *machine) isDir(k int) bool   { return m.stat(k).Mode&unix.S_IFMT == unix.S_IFDIR }
func (m *machine) same(k, j int) bool { return m.stat(k).Ino == m.stat(j).Ino }

// told is what must be the same of what stat says.
func (m *machine) told(got int64, at uintptr) (int64, string) {
	if got < 0 {
		return got, ""
	}
	s := pointer[unix.Stat_t](at)
	size := s.Size
	if s.Mode&unix.S_IFMT == unix.S_IFDIR {
		size = 0
	}
	return got, fmt.Sprintf("mode %o, %d links, %d bytes, uid %d", s.Mode, s.Nlink, size, s.Uid)
}

// list lists a directory from its start, where it is left.
func (m *machine) list(k, size int) (int64, string) {
	b, to := m.room(size)
	if m.isDir(k) {
		m.do(unix.SYS_LSEEK, m.fds[k], 0, unix.SEEK_SET)
		defer m.do(unix.SYS_LSEEK, m.fds[k], 0, unix.SEEK_SET)
	}
	var names []string
	for {
		got := m.do(unix.SYS_GETDENTS64, m.fds[k], to, uintptr(size))
		if got < 0 {
			return got, "" // which name didn't fit depends on their order
		}
		if got == 0 {
			slices.Sort(names)
			return got, fmt.Sprint(names)
		}
		for b := b[:got]; len(b) > 0; b = b[binary.NativeEndian.Uint16(b[16:]):] {
			names = append(names, fmt.Sprint(unix.ByteSliceToString(b[direntName:]), b[18]))
		}
	}
}

// place puts an offset where a call takes it from; 0 for the descriptor's own.
func (m *machine) place(v int64, own bool) uintptr {
	if own {
		return 0
	}
	_, at := m.room(8)
	*pointer[int64](at) = v
	return at
}

func (m *machine) places(at ...uintptr) (s string) {
	for _, a := range at {
		if a != 0 {
			s += fmt.Sprint(*pointer[int64](a), " ")
		}
	}
	return s
}

func drawName(c *chance) string {
	return []string{"user.a", "user.b", "user.long", "user.", "", "user." + strings.Repeat("x", 300)}[c.IntN(6)]
}

func drawOpen(c *chance) func(*machine) (int64, string) {
	k, p := c.fd(), c.path()
	flags := []uintptr{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR, unix.O_RDWR, 3}[c.IntN(5)] | unix.O_CLOEXEC
	flags |= c.flags(unix.O_CREAT, unix.O_APPEND, unix.O_EXCL, unix.O_TRUNC)
	if c.IntN(3) == 0 {
		flags |= c.flags(unix.O_DIRECTORY, unix.O_NOFOLLOW, unix.O_PATH, unix.O_TMPFILE, unix.O_NOATIME)
	}
	return func(m *machine) (int64, string) {
		return m.opened(k, m.do(unix.SYS_OPENAT, at, m.text(p), flags, 0o640))
	}
}

func drawRead(c *chance) func(*machine) (int64, string) {
	k, size, from, own := c.fd(), c.size(), c.offset(), c.IntN(2) == 0
	return func(m *machine) (int64, string) {
		b, to := m.room(int(size))
		var got int64
		if own {
			got = m.do(unix.SYS_READ, m.fds[k], to, uintptr(size))
		} else {
			got = m.do(unix.SYS_PREAD64, m.fds[k], to, uintptr(size), uintptr(from))
		}
		return got, fmt.Sprintf("%x", sha256.Sum256(b[:max(got, 0)]))
	}
}

func drawWrite(c *chance) func(*machine) (int64, string) {
	k, size, to, own, what := c.fd(), c.size(), c.offset(), c.IntN(2) == 0, byte(c.IntN(256))
	return func(m *machine) (int64, string) {
		b, from := m.room(int(size))
		for i := range b {
			b[i] = what + byte(i/7)
		}
		if own {
			return m.do(unix.SYS_WRITE, m.fds[k], from, uintptr(size)), ""
		}
		return m.do(unix.SYS_PWRITE64, m.fds[k], from, uintptr(size), uintptr(to)), ""
	}
}

func drawVector(c *chance) func(*machine) (int64, string) {
	k, at, flags := c.fd(), c.offset(), c.flags(unix.RWF_APPEND, unix.RWF_NOAPPEND, unix.RWF_DSYNC, 1<<20)
	sizes := []int64{c.size(), c.size(), c.size()}[:c.IntN(4)]
	nr := []uintptr{unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREADV, unix.SYS_PWRITEV, unix.SYS_PREADV2, unix.SYS_PWRITEV2}[c.IntN(6)]
	count := uintptr(len(sizes))
	if c.IntN(20) == 0 {
		count = maxSegments + 1
	}
	return func(m *machine) (int64, string) {
		b, address := m.room(60000)
		for i := range b {
			b[i] = byte(i / 11)
		}
		_, vector := m.room(16 * 3)
		next := address
		for i, n := range sizes {
			*pointer[unix.Iovec](vector + uintptr(16*i)) = unix.Iovec{Base: pointer[byte](next), Len: uint64(n)}
			next += uintptr(n)
		}
		got := m.do(nr, m.fds[k], vector, count, uintptr(at), 0, flags)
		return got, fmt.Sprintf("%x", sha256.Sum256(b))
	}
}

func drawStat(c *chance) func(*machine) (int64, string) {
	p, flags := c.path(), c.flags(unix.AT_SYMLINK_NOFOLLOW)
	if c.IntN(20) == 0 {
		flags = 1
	}
	return func(m *machine) (int64, string) {
		_, to := m.room(int(unsafe.Sizeof(unix.Stat_t{})))
		return m.told(m.do(unix.SYS_NEWFSTATAT, at, m.text(p), to, flags), to)
	}
}

func drawUnlink(c *chance) func(*machine) (int64, string) {
	p, flags := c.path(), c.flags(unix.AT_REMOVEDIR)
	return func(m *machine) (int64, string) { return m.do(unix.SYS_UNLINKAT, at, m.text(p), flags), "" }
}

func drawRename(c *chance) func(*machine) (int64, string) {
	p, q, flags := c.path(), c.path(), c.flags(unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE)
	return func(m *machine) (int64, string) {
		return m.do(unix.SYS_RENAMEAT2, at, m.text(p), at, m.text(q), flags), ""
	}
}

func drawLock(c *chance) func(*machine) (int64, string) {
	k, cmd := c.fd(), []uintptr{unix.F_OFD_SETLK, unix.F_OFD_SETLK, unix.F_OFD_GETLK}[c.IntN(3)]
	l := unix.Flock_t{Type: int16(c.IntN(4)), Whence: int16(c.IntN(4)), Start: int64(c.IntN(60) - 5), Len: int64(c.IntN(30) - 5)}
	if cmd == unix.F_OFD_GETLK && l.Type == unix.F_UNLCK {
		l.Type = unix.F_RDLCK // newer kernels allow it
	}
	return func(m *machine) (int64, string) {
		if l.Whence != unix.SEEK_SET && m.isDir(k) {
			return 0, ""
		}
		_, at := m.room(int(unsafe.Sizeof(l)))
		*pointer[unix.Flock_t](at) = l
		got := m.do(unix.SYS_FCNTL, m.fds[k], cmd, at)
		return got, fmt.Sprint(pointer[unix.Flock_t](at).Type)
	}
}

// jailed calls f on a thread whose root and working directory is dir, as far as
// it has the right to.
func jailed(t *testing.T, dir string, f func()) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread is thrown away
		done <- func() error {
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return err
			}
			unix.Umask(0)
			if err := unix.Chdir(dir); err != nil {
				return err
			}
			if os.Geteuid() == 0 {
				if err := unix.Chroot("."); err != nil {
					return err
				}
			}
			f()
			return nil
		}()
	}()
	require.NoError(t, <-done)
}

// paths are what calls name. With a root directory of their own they also lead
// to it, and up.
func paths(rooted bool) []string {
	paths := []string{
		"a", "a", "b", "d", "d", "d/a", "d/b", "d/e", "d/e/f", "e", "e/a", "l", "l/a", "a/", "d/", "l/", "a/b", "./b", "d/.", "d//a", "", "n/n",
		strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("d/", 2100) + "a",
	}
	if rooted {
		paths = append(paths, "..", "/", ".", "/a", "/d/e", "d/..", "d/../a", "../../d/b", "e/../..", "//d//e/", "d/e/../..")
	}
	return paths
}

// Whatever is called in whatever order, Linux and the file system say the same.
// What Linux's own file system doesn't support is left out.
func TestAsLinux(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		fs, err := New(64 << 20)
		require.NoError(t, err)
		left := fs.left.Load()
		model, real := newMachine(t, fs.Call), newMachine(t, kernel)
		c := &chance{rand.New(rand.NewPCG(1, uint64(seed))), paths(os.Geteuid() == 0), seed%2 == 1}
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o700))
		jailed(t, dir, func() {
			for step := range 500 {
				op := &operations[c.IntN(len(operations))]
				do := op.draw(c)
				model.used, model.last, real.used = 0, nil, 0
				want, told := do(real)
				if want == -int64(unix.EOPNOTSUPP) {
					continue
				}
				got, says := do(model)
				if got != want || says != told {
					t.Errorf("seed %d, step %d: %s %s: %d %q, Linux %d %q", seed, step, op.name, model.last, got, says, want, told)
					break
				}
			}
			for k := range model.fds {
				model.do(unix.SYS_CLOSE, model.fds[k])
				real.do(unix.SYS_CLOSE, real.fds[k])
			}
		})
		if t.Failed() {
			continue
		}
		emptied(t, fs)
		require.Equal(t, left, fs.left.Load(), "seed %d: what was paid for and not given back", seed)
		require.NoError(t, fs.Close())
	}
}

// emptied removes all that a file system holds.
func emptied(t *testing.T, fs *FS) {
	t.Helper()
	var empty func(dir *inode)
	empty = func(dir *inode) {
		for _, e := range dir.entries {
			if e == nil {
				continue
			}
			if e.node.isDir() {
				empty(e.node)
			}
			fs.unref(fs.remove(e))
		}
	}
	empty(fs.root)
	for i := len(fs.root.attributes) - 1; i >= 0; i-- {
		fs.refund(fs.root.attributes[i].cost())
	}
	require.Zero(t, fs.table.count)
}
