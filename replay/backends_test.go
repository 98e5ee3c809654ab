package replay

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
)

// player is what can play a trace: the kernel, with a way to keep threads in
// the root, or memory.
type player struct {
	backend Backend
	bind    func(*guard) error
}

// eachBackend runs a test with all of them, as far as the rights reach.
func eachBackend(t *testing.T, test func(t *testing.T, p player)) {
	eachBinding(t, func(t *testing.T, bind func(*guard) error) { test(t, player{Posix, bind}) })
	t.Run("memory", func(t *testing.T) { test(t, player{Memory, (*guard).probe}) })
}

// run is run, after which what is kept lies in the root even if it was in
// memory.
func (p player) run(ctx context.Context, t *testing.T, r format.Trace, o Options) (*Result, error) {
	if o.Backend = p.backend; o.Backend == Memory && o.Keep {
		o.Keep = false
		o.left = func(sys kernel) { export(t, sys, o.Root) }
	}
	return run(ctx, r, o, p.bind)
}

// play is play with any backend.
func (p player) play(t *testing.T, r *roll) (string, *Result) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	res, err := p.run(t.Context(), t, r, Options{Root: dir, Timing: AFAP, Keep: true})
	require.NoError(t, err)
	return dir, res
}

// exporter copies what lies in memory to a directory.
type exporter struct {
	*testing.T
	sys    kernel
	to     string
	buffer []byte
	links  map[uint64]string // by inode
}

func export(t *testing.T, sys kernel, to string) {
	x := &exporter{t, sys, to, make([]byte, 1<<20), make(map[uint64]string)}
	require.NoError(t, os.MkdirAll(to, 0o700))
	x.export(".")
}

// call makes a call of a path.
func (x *exporter) call(nr uintptr, path string, rest ...uintptr) int64 {
	a := [4]uintptr{}
	copy(a[:], rest)
	got := x.sys(nr, cwd, pointer(cString("/"+path)), a[0], a[1], a[2], a[3])
	require.GreaterOrEqual(x, got, int64(0), path)
	return got
}

func (x *exporter) address() uintptr { return uintptr(unsafe.Pointer(&x.buffer[0])) }

func (x *exporter) export(path string) {
	to := filepath.Join(x.to, path)
	x.call(unix.SYS_NEWFSTATAT, path, x.address(), unix.AT_SYMLINK_NOFOLLOW)
	s := *(*unix.Stat_t)(unsafe.Pointer(&x.buffer[0]))
	if first, ok := x.links[s.Ino]; ok {
		require.NoError(x, os.Link(first, to))
		return
	}
	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		x.links[s.Ino] = to
	}
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		n := x.call(unix.SYS_READLINKAT, path, x.address(), uintptr(len(x.buffer)))
		require.NoError(x, os.Symlink(string(x.buffer[:n]), to))
		return
	case unix.S_IFDIR:
		require.NoError(x, os.MkdirAll(to, 0o700))
		for _, name := range x.list(path) {
			x.export(filepath.Join(path, name))
		}
	default:
		x.copy(path, to, s.Size)
	}
	fd := uintptr(x.call(unix.SYS_OPENAT, path, unix.O_RDONLY))
	n := x.sys.call(unix.SYS_FLISTXATTR, fd, x.address(), uintptr(len(x.buffer)))
	for _, name := range strings.FieldsFunc(string(x.buffer[:n]), func(r rune) bool { return r == 0 }) {
		n := x.sys(unix.SYS_FGETXATTR, fd, pointer(cString(name)), x.address(), uintptr(len(x.buffer)), 0, 0)
		require.NoError(x, unix.Setxattr(to, name, x.buffer[:n], 0))
	}
	require.Zero(x, x.sys.call(unix.SYS_CLOSE, fd, 0, 0))
	require.NoError(x, os.Chmod(to, os.FileMode(s.Mode&0o777)|os.FileMode(s.Mode&unix.S_ISVTX)<<11))
}

func (x *exporter) list(path string) (names []string) {
	fd := uintptr(x.call(unix.SYS_OPENAT, path, unix.O_RDONLY|unix.O_DIRECTORY))
	for {
		n := x.sys.call(unix.SYS_GETDENTS64, fd, x.address(), uintptr(len(x.buffer)))
		if n == 0 {
			require.Zero(x, x.sys.call(unix.SYS_CLOSE, fd, 0, 0))
			return names
		}
		require.Positive(x, n)
		for b := x.buffer[:n]; len(b) > 0; b = b[binary.NativeEndian.Uint16(b[16:]):] {
			if name := unix.ByteSliceToString(b[19:]); name != "." && name != ".." {
				names = append(names, name)
			}
		}
	}
}

// copy copies a file with its holes.
func (x *exporter) copy(path, to string, size int64) {
	fd := uintptr(x.call(unix.SYS_OPENAT, path, unix.O_RDONLY))
	f, err := os.Create(to)
	require.NoError(x, err)
	require.NoError(x, f.Truncate(size))
	for at := int64(0); at < size; {
		begin := x.sys.call(unix.SYS_LSEEK, fd, uintptr(at), unix.SEEK_DATA)
		if begin == -int64(unix.ENXIO) {
			break
		}
		end := x.sys.call(unix.SYS_LSEEK, fd, uintptr(begin), unix.SEEK_HOLE)
		n := x.sys(unix.SYS_PREAD64, fd, x.address(), uintptr(min(end-begin, int64(len(x.buffer)))), uintptr(begin), 0, 0)
		require.Positive(x, n)
		_, err := f.WriteAt(x.buffer[:n], begin)
		require.NoError(x, err)
		at = begin + n
	}
	require.NoError(x, f.Close())
	require.Zero(x, x.sys.call(unix.SYS_CLOSE, fd, 0, 0))
}
