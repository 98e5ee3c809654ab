package ptrace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/coverage"
	"pianola/record"
	"pianola/record/ebpf"
	"pianola/record/recordkit"
)

// run records a command in a new directory, unless it has one.
func run(t *testing.T, o record.Options, s record.Sink) record.Result {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	r, err := Run(context.Background(), o, s)
	require.NoError(t, err)
	require.Zero(t, r.Lost, r.LostByOp)
	return r
}

func TestExitStatus(t *testing.T) { recordkit.ExitStatus(t, run) }

func TestStartError(t *testing.T) { recordkit.StartError(t, Run) }

func TestBegin(t *testing.T) {
	recordkit.Begin(t, Run)
}

func TestHeaderAndStreams(t *testing.T) {
	dir := t.TempDir()
	in, err := os.Create(filepath.Join(dir, "in"))
	require.NoError(t, err)
	defer in.Close()
	out, err := os.Create(filepath.Join(dir, "out"))
	require.NoError(t, err)
	defer out.Close()
	_, err = in.WriteString("from the input\n")
	require.NoError(t, err)
	_, err = in.Seek(5, 0)
	require.NoError(t, err)

	var c recordkit.Collect
	o := recordkit.Shell("cat; echo $VARIABLE; ls /proc/self/fd | wc -l; exit 3")
	o.Dir, o.Stdin, o.Stdout, o.Env = dir, in, out, []string{"PATH=/usr/bin:/bin", "VARIABLE=1", "VARIABLE=2"}
	r := run(t, o, &c)
	require.Equal(t, 3, r.Status)
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	require.Regexp(t, `^the input\n[12]\n\d+\n$`, string(text))

	require.Len(t, c.Headers, 2)
	tool, _ := c.Headers[0].Value(format.MetaTool)
	require.Equal(t, "in-process", tool)
	cost, _ := c.Headers[0].Value(format.MetaCost)
	require.Regexp(t, `^inside=-?\d+ outside=-?\d+ rich=0$`, cost)
	lost, _ := c.Headers[1].Value(format.MetaLost)
	require.Equal(t, "0", lost)
	var fds []int32
	for _, d := range c.Headers[0].Descriptors {
		fds = append(fds, d.FD)
		if d.FD == 0 {
			require.Equal(t, in.Name(), d.Path)
			require.Equal(t, int64(5), d.Offset)
			require.Equal(t, c.Events[0].TID, d.Process)
		}
		require.NotContains(t, d.Path, "socket:", "the helper's")
	}
	require.Subset(t, fds, []int32{0, 1, 2})
}

func TestThreads(t *testing.T) {
	t.Run("an orphan", func(t *testing.T) {
		var c recordkit.Collect
		o := recordkit.Shell("(read line; echo $line > late) < gate & echo go > gate")
		o.Dir = t.TempDir()
		require.NoError(t, unix.Mkfifo(filepath.Join(o.Dir, "gate"), 0o600))
		run(t, o, &c)
		require.Equal(t, int64(3), c.One(t, format.OpOpenat, "late").Ret, "what outlives the command is recorded too")
	})
	t.Run("killed", func(t *testing.T) { recordkit.KilledThread(t, run) })
	t.Run("execve", func(t *testing.T) { recordkit.ThreadExecs(t, run) })
	t.Run("a thousand", func(t *testing.T) {
		var c recordkit.Collect
		run(t, recordkit.Python(t, "import os, threading",
			"threading.stack_size(65536)",
			"all = threading.Barrier(1000)",
			"def f(n): all.wait(); os.access('/thread%d' % n, 0)",
			"ts = [threading.Thread(target=f, args=(n,)) for n in range(1000)]",
			"[t.start() for t in ts]; [t.join() for t in ts]"), &c)
		threads := map[int32]bool{}
		for _, e := range c.Of(format.OpAccess) {
			if strings.HasPrefix(string(e.Str[0]), "/thread") {
				threads[e.TID] = true
			}
		}
		require.Len(t, threads, 1000)
	})
	t.Run("stopped and continued", func(t *testing.T) {
		var c recordkit.Collect
		r := run(t, recordkit.Python(t, "import os, signal, sys",
			"p = os.fork()",
			"if p == 0:",
			"  os.kill(os.getpid(), signal.SIGSTOP)",
			"  os.close(os.open('after', os.O_CREAT))",
			"  os._exit(0)",
			"_, s = os.waitpid(p, os.WUNTRACED)",
			"if not os.WIFSTOPPED(s) or os.path.exists('after'): sys.exit(1)",
			"os.kill(p, signal.SIGCONT)",
			"_, s = os.waitpid(p, 0)",
			"sys.exit(6 if s == 0 else 2)"), &c)
		require.Equal(t, 6, r.Status)
		c.One(t, format.OpOpenat, "after")
	})
}

// TestCompat makes a call of 32 bits: write through int 0x80.
func TestCompat(t *testing.T) {
	if format.HostArch != format.AMD64 {
		t.Skip("of amd64 only")
	}
	var c recordkit.Collect
	o := recordkit.Python(t, "import ctypes, mmap, os, struct",
		"m = mmap.mmap(-1, 4096, flags=0x62, prot=7)", // MAP_32BIT
		"at = ctypes.addressof(ctypes.c_char.from_buffer(m)); fd = os.open('file', os.O_WRONLY | os.O_CREAT)",
		"m.write(struct.pack('<BBIBIBIBIBBBB', 0x53, 0xb8, 4, 0xbb, fd, 0xb9, at, 0xba, 1000, 0xcd, 0x80, 0x5b, 0xc3))",
		"os._exit(9 if ctypes.CFUNCTYPE(ctypes.c_int)(at)() == 1000 else 1)")
	o.Dir = t.TempDir()
	r, err := Run(context.Background(), o, &c)
	require.NoError(t, err)
	if r.Status == 139 {
		t.Skip("the kernel takes no calls of 32 bits")
	}
	require.Equal(t, 9, r.Status)
	require.Equal(t, []coverage.Missing{{Kind: coverage.Compat, Calls: 1, Amount: coverage.Amount{Bytes: 1000, Nanos: coverage.Unknown}}},
		r.Coverage.Missing)
}

func TestCancelKillsAll(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	defer out.Close()
	o := recordkit.Shell("cat & cat")
	o.Stdin = in
	r, err := Run(ctx, o, recordkit.SinkFunc(func([]format.Event) error { cancel(); return nil }))
	require.NoError(t, err)
	require.Equal(t, 137, r.Status)
}

func TestSinkErrorLeavesTheCommandAlone(t *testing.T) {
	full := errors.New("no space left")
	o := recordkit.Shell("for i in 1 2 3; do cat /dev/null; done; echo text > f; exit 9")
	o.Dir = t.TempDir()
	r, err := Run(context.Background(), o, recordkit.SinkFunc(func([]format.Event) error { return full }))
	require.ErrorIs(t, err, full)
	require.Equal(t, 9, r.Status)
	text, err := os.ReadFile(filepath.Join(o.Dir, "f"))
	require.NoError(t, err)
	require.Equal(t, "text\n", string(text))
}

// withoutSome drops the notes that only the program in the kernel can make.
func withoutSome(notes string) string {
	var kept []string
	for rest := []byte(notes); len(rest) > 0; {
		key, value, more := format.CutNote(rest)
		rest = more
		switch string(key) {
		case "", "faults", "off", "ino":
		default:
			kept = append(kept, string(key)+"="+string(value))
		}
	}
	return strings.Join(kept, " ")
}

// TestSameNotes compares arguments and notes with those of the other recorder.
func TestSameNotes(t *testing.T) {
	recordkit.RequireEBPF(t, ebpf.MeasureCost)
	work := filepath.Join(t.TempDir(), "work")
	recorded := func(run record.Recorder) (lines []string) {
		require.NoError(t, os.RemoveAll(work))
		require.NoError(t, os.Mkdir(work, 0o700))
		o := recordkit.Python(t, "import os, fcntl, struct, ctypes",
			"libc = ctypes.CDLL(None)",
			"def t(f, *a):",
			"  try: f(*a)",
			"  except OSError: pass",
			"f = os.open('file', os.O_RDWR | os.O_CREAT, 0o600); os.write(f, b'x' * 9999); os.fsync(f); os.truncate(f, 1 << 20)", // its blocks are there whenever the kernel writes
			"os.close(os.open('file', os.O_RDWR | os.O_CREAT)); d = os.open('.', 0); os.close(os.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=d))",
			"os.symlink('a \"target\"', 'link'); os.readlink('link'); os.lstat('link'); os.stat('file'); os.open('link', os.O_PATH | os.O_NOFOLLOW)",
			"os.symlink('there', 'dangling'); os.open('dangling', os.O_CREAT | os.O_WRONLY); os.open(os.getcwd() + '/abs', os.O_CREAT | os.O_EXCL)",
			"t(os.open, '.', os.O_TMPFILE | os.O_RDWR); os.open('/dev/zero', 0)",
			"t(os.rename, b'x' * 4095, b'y' * 5000); libc.access(ctypes.c_void_p(8), 0); libc.access(None, 0)",
			"os.writev(f, [b'x' * n for n in range(1, 301)]); os.preadv(f, [bytearray(10), bytearray(20)], 5)",
			"fcntl.lockf(f, fcntl.LOCK_EX, 100, 7); fcntl.fcntl(f, fcntl.F_GETLK, struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 11, 12, 0)); fcntl.lockf(f, fcntl.LOCK_SH, 5, 6, os.SEEK_CUR)",
			"t(fcntl.lockf, f, fcntl.LOCK_EX, 5, -1 << 40, os.SEEK_END); t(fcntl.lockf, f, fcntl.LOCK_EX, 5, 6, -3)",
			"libc.syscall(437, -100, b'how', ctypes.create_string_buffer(struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o640, 8)), 24)",
			"r, w = os.pipe(); t(os.copy_file_range, f, d, 9, 5, 6); os.sendfile(w, f, 3, 10); os.splice(f, w, 7, 5)",
			"t(fcntl.ioctl, f, 0x40049409, 77); t(fcntl.ioctl, f, 0x4020940d, struct.pack('qQQQ', 1, 2, 3, 4)); t(fcntl.ioctl, f, 1, 2)",
			"acl = lambda *rights: struct.pack('I', 2) + b''.join(struct.pack('HHi', tag, r, who) for tag, r, who in rights)",
			"t(os.setxattr, f, 'system.posix_acl_access', acl((1, 6, -1), (2, 7, 1), (4, 0, -1), (16, 5, -1), (32, 1, -1)))",
			"t(os.setxattr, 'file', 'system.posix_acl_access', acl((1, 6, -1), (4, 4, -1), (32, 0, -1))); t(os.setxattr, f, 'system.posix_acl_access', b'short')",
			"libc.fsetxattr(f, b'system.posix_acl_access', ctypes.c_void_p(8), 28, 0); t(os.setxattr, f, 'system.posix_acl_default', acl((1, 6, -1), (4, 4, -1), (32, 0, -1)))",
			"t(os.setxattr, 'file', 'user.name', b'v'); os.memfd_create('m'); os.utime(f); os.chown('file', -1, -1)")
		o.Dir, o.NoFaults = work, true
		o.Env = []string{"PATH=/usr/bin:/bin"}
		var c recordkit.Collect
		_, err := run(context.Background(), o, &c)
		require.NoError(t, err)
		for i := range c.Events {
			e := &c.Events[i]
			line := e.Op.String()
			for k, a := range e.Op.Info().Args {
				if v := e.Args[k]; a.Kind != format.Addr && (a.Kind != format.Int || v>>32 == 0) {
					line += " " + string(format.AppendQuoted(nil, []byte(a.Name))) + "=" + itoa(v)
				}
			}
			notes := withoutSome(recordkit.Notes(*e))
			if strings.HasPrefix(string(e.Str[0]), "/") {
				notes = cachedNote.ReplaceAllString(notes, "") // the kernel can evict pages of the system between the two runs
			}
			lines = append(lines, line+" "+string(e.Str[0])+" "+string(e.Str[1])+" "+notes)
		}
		return lines
	}
	other := recorded(ebpf.Run)
	require.Equal(t, other, recorded(Run))
}

var cachedNote = regexp.MustCompile(` cached=\d+`)

func itoa(v int64) string { return string(format.AppendSeconds(nil, v)) }

func TestNothingIsAllocatedPerEvent(t *testing.T) {
	mallocs := func(reads int) uint64 {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		require.NoError(t, err)
		defer null.Close()
		o := recordkit.ReadCommand(t, reads)
		o.Stdout = null
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := run(t, o, recordkit.SinkFunc(func([]format.Event) error { return nil }))
		runtime.ReadMemStats(&after)
		require.GreaterOrEqual(t, r.Events, int64(reads))
		return after.Mallocs - before.Mallocs
	}
	const more = 20_000
	few := mallocs(1)
	require.Less(t, mallocs(more), few+more/10, "what a child that lives longer costs, and a writer that wakes up")
}
