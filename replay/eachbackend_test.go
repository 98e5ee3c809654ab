package replay

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/posix"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

// player is a way to play a trace: on the kernel, with a way to bind threads to the
// root, or in memory.
type player struct {
	backend Backend
	bind    func(*sandbox.Guard) error
	kernel  sandbox.Kernel // instead of Linux; nil for Linux
}

// eachBackend runs a test with all players that the user's rights allow.
func eachBackend(t *testing.T, test func(t *testing.T, p player)) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) { test(t, player{backend: Posix, bind: bind}) })
	t.Run("memory", func(t *testing.T) { test(t, player{backend: Memory, bind: (*sandbox.Guard).Probe}) })
}

// run calls Run, and leaves the kept files in the root even if they were in memory.
func (p player) run(ctx context.Context, t *testing.T, r format.Trace, o Options) (*Result, error) {
	if p.backend == Posix {
		o.faulty = p.kernel
	}
	if o.Backend = p.backend; o.Backend == Memory && o.Keep {
		o.Keep = false
		o.left = func(sys sandbox.Kernel) { export(t, sys, o.Root) }
	}
	return run(ctx, r, o, p.bind)
}

// play is play with any backend.
func (p player) play(t *testing.T, r *replaykit.Trace) (string, *Result) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	res, err := p.run(t.Context(), t, r, Options{Root: dir, Timing: AFAP, Keep: true})
	require.NoError(t, err)
	return dir, res
}

// exporter copies the files in memory to a directory.
type exporter struct {
	*testing.T
	sys    sandbox.Kernel
	to     string
	buffer []byte
	links  map[uint64]string // by inode
}

func export(t *testing.T, sys sandbox.Kernel, to string) {
	x := &exporter{t, sys, to, make([]byte, 1<<20), make(map[uint64]string)}
	require.NoError(t, os.MkdirAll(to, 0o700))
	x.export(".")
}

// call makes a call of a path.
func (x *exporter) call(nr uintptr, path string, rest ...uintptr) int64 {
	a := [4]uintptr{}
	copy(a[:], rest)
	got := x.sys(nr, sandbox.CWD, sandbox.Pointer(sandbox.CString("/"+path)), a[0], a[1], a[2], a[3])
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
	case unix.S_IFSOCK:
		require.NoError(x, unix.Mknod(to, s.Mode, 0))
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
	n := x.sys.Call(unix.SYS_FLISTXATTR, fd, x.address(), uintptr(len(x.buffer)))
	for _, name := range strings.FieldsFunc(string(x.buffer[:n]), func(r rune) bool { return r == 0 }) {
		n := x.sys(unix.SYS_FGETXATTR, fd, sandbox.Pointer(sandbox.CString(name)), x.address(), uintptr(len(x.buffer)), 0, 0)
		require.NoError(x, unix.Setxattr(to, name, x.buffer[:n], 0))
	}
	require.Zero(x, x.sys.Call(unix.SYS_CLOSE, fd, 0, 0))
	require.NoError(x, os.Chmod(to, os.FileMode(s.Mode&0o777)|os.FileMode(s.Mode&unix.S_ISVTX)<<11))
}

func (x *exporter) list(path string) (names []string) {
	fd := uintptr(x.call(unix.SYS_OPENAT, path, unix.O_RDONLY|unix.O_DIRECTORY))
	for {
		n := x.sys.Call(unix.SYS_GETDENTS64, fd, x.address(), uintptr(len(x.buffer)))
		if n == 0 {
			require.Zero(x, x.sys.Call(unix.SYS_CLOSE, fd, 0, 0))
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
		begin := x.sys.Call(unix.SYS_LSEEK, fd, uintptr(at), unix.SEEK_DATA)
		if begin == -int64(unix.ENXIO) {
			break
		}
		end := x.sys.Call(unix.SYS_LSEEK, fd, uintptr(begin), unix.SEEK_HOLE)
		n := x.sys(unix.SYS_PREAD64, fd, x.address(), uintptr(min(end-begin, int64(len(x.buffer)))), uintptr(begin), 0, 0)
		require.Positive(x, n)
		_, err := f.WriteAt(x.buffer[:n], begin)
		require.NoError(x, err)
		at = begin + n
	}
	require.NoError(x, f.Close())
	require.Zero(x, x.sys.Call(unix.SYS_CLOSE, fd, 0, 0))
}

// For any trace, the results in memory equal those on disk, event by event. The test
// leaves out differences between file systems: requests, reserved blocks, the alignment
// of direct I/O, offsets in directories, long attributes, and writes that must not
// wait.
func TestSameInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing of it is concurrent")
	}
	if os.Geteuid() != 0 {
		t.Skip("in memory nothing is denied")
	}
	var ops []format.Op
	for op, how := range new(posix.Executor).Operations() {
		switch op := format.Op(op); {
		case !how.Plays || op.Info().Class == format.ClassProcess || op.Info().Class == format.ClassMemory ||
			op == format.OpIoctl || op == format.OpFallocate || op == format.OpGetdents64:
		case op == format.OpOpen || op == format.OpOpenm:
			ops = append(ops, op, op, op, op, op)
		default:
			ops = append(ops, op)
		}
	}
	values := []int64{-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 8, 32, 36, 100, 4096, 4097, 12288, 70_000}
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(3, seed))
		r := replaykit.New(1)
		r.Texts = append(fuzzStrings[:len(fuzzStrings):len(fuzzStrings)], "user.a", "user.b", "d/c", "n")
		r.File(format.File{Path: "a", Type: format.TypeReg, Mode: 0o644, Size: 5000, Cached: -1})
		r.File(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
		r.File(format.File{Path: "d/b", Type: format.TypeReg, Mode: 0o600, Size: 70_000, Cached: -1})
		r.File(format.File{Path: "l", Type: format.TypeLnk, Target: "d/"})
		for range 500 {
			rec := format.Record{Op: ops[random.IntN(len(ops))], Ret: int64(random.IntN(9) - 1)}
			for i, arg := range rec.Op.Info().Args {
				switch {
				case arg.Kind.IsString():
					rec.Args[i] = int64(random.IntN(len(r.Texts)))
				case arg.Kind == format.FD:
					rec.Args[i] = int64(random.IntN(9))
				case arg.Kind == format.Flags && i == 1:
					few := random.Int64N(1 << 20)
					rec.Args[i] = few & random.Int64N(1<<20) &^ format.DIRECT
				default:
					rec.Args[i] = values[random.IntN(len(values))]
				}
			}
			switch rec.Op {
			case format.OpLseek:
				rec.Args[2] = format.SeekSet
			case format.OpSetxattr, format.OpLsetxattr, format.OpFsetxattr:
				rec.Args[3] = min(rec.Args[3], 100)
			case format.OpPwritev2:
				rec.Args[5] &^= unix.RWF_NOWAIT
			}
			r.Threads[0].Records = append(r.Threads[0].Records, rec)
		}
		dir := t.TempDir()
		onDisk, err := Run(t.Context(), r, Options{Root: dir, Timing: AFAP})
		require.NoError(t, err)
		inMemory, err := Run(t.Context(), r, Options{Backend: Memory, Timing: AFAP})
		require.NoError(t, err)
		want, got := readAll(t, onDisk.Events()), readAll(t, inMemory.Events())
		require.Equal(t, len(want), len(got))
		for i := range want {
			require.True(t, format.SameResult(want[i].Op, want[i].Ret, got[i].Ret), "seed %d, event %d: %v, in memory %d", seed, i, want[i], got[i].Ret)
		}
	}
}

// BenchmarkMemory measures the cost of an event in memory and on tmpfs: reads and
// writes of 4 KiB, of one page of a file and all over it, and opens.
func BenchmarkMemory(b *testing.B) {
	const n, size, page = 200_000, 64 << 20, 4096
	const tmpfs = "/dev/shm"
	random := rand.New(rand.NewPCG(1, 2))
	one := func() int { return 2 * page }
	any := func() int { return random.IntN(size/page) * page }
	for _, bench := range []struct {
		name string
		op   format.Op
		at   func() int
	}{
		{"read page", format.OpPread64, one}, {"write page", format.OpPwrite64, one}, {"read file", format.OpPread64, any}, {"write file", format.OpPwrite64, any}, {"open", format.OpOpen, nil},
	} {
		r := replaykit.New(1)
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600, Size: size, Cached: size / page})
		r.Add(1, format.OpOpen, 3, "f", format.RDWR)
		for range n {
			if bench.op == format.OpOpen {
				r.Add(1, format.OpOpen, 4, "f", format.RDONLY)
				r.Add(1, format.OpClose, 0, 4)
			} else {
				r.Add(1, bench.op, page, 3, 0, page, bench.at())
			}
		}
		for _, backend := range []Backend{Memory, Posix} {
			b.Run(bench.name+"/"+backend.String(), func(b *testing.B) {
				var elapsed float64
				for b.Loop() {
					root, err := os.MkdirTemp(tmpfs, "")
					require.NoError(b, err)
					res, err := Run(b.Context(), r, Options{Root: root, Backend: backend, Timing: AFAP})
					require.NoError(b, err)
					require.NoError(b, os.Remove(root))
					require.Zero(b, res.Differed)
					elapsed += float64(res.Elapsed) / float64(res.Executed)
				}
				b.ReportMetric(elapsed/float64(b.N), "ns/event")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
