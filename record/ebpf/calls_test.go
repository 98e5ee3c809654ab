package ebpf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/coverage"
	"pianola/record"
	"pianola/record/recordkit"
)

func TestOffsetsAreThoseBeforeTheCall(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os, ctypes",
		"libc = ctypes.CDLL(None, use_errno=True)",
		"a = os.open('a', os.O_RDWR | os.O_CREAT); b = os.open('b', os.O_RDWR | os.O_CREAT)",
		"os.write(a, b'x' * 10000)",
		"os.copy_file_range(a, b, 3000, 1000, 20000)",
		"os.lseek(a, 0, 0); os.copy_file_range(a, b, 100)",
		"os.sendfile(b, a, 500, 4000)",
		"os.sendfile(b, a, None, 5)",
		"r, w = os.pipe()",
		"os.splice(a, w, 77, offset_src=9990)",
		"off = ctypes.c_longlong(5)",
		"libc.sendfile(-1, a, ctypes.byref(off), 1)",
		"libc.sendfile(b, a, ctypes.c_void_p(8), 1)",
		"print(a, b, w)")
	o.Dir = t.TempDir()
	_, out := recordLong(t, o, &c)
	var a, b, w int
	_, err := fmt.Sscan(out, &a, &b, &w)
	require.NoError(t, err)
	require.Equal(t, []string{
		fmt.Sprintf("copy_file_range(%d, 1000, %d, 20000, 3000, 0) = 3000", a, b),
		fmt.Sprintf("copy_file_range(%d, -1, %d, -1, 100, 0) = 100", a, b),
	}, c.Lines(format.OpCopyFileRange))
	require.Equal(t, []string{
		fmt.Sprintf("sendfile(%d, %d, 500, 4000) = 4000", b, a),
		fmt.Sprintf("sendfile(%d, %d, -1, 5) = 5", b, a),
		fmt.Sprintf("sendfile(-1, %d, 5, 1) = -1 EBADF (Bad file descriptor)", a),
		fmt.Sprintf("sendfile(%d, %d, 0, 1) = -1 EFAULT (Bad address)", b, a),
	}, c.Lines(format.OpSendfile))
	require.Equal(t, "args=unreadable", recordkit.Notes(c.Of(format.OpSendfile)[3]))
	require.Equal(t, []string{fmt.Sprintf("splice(%d, 9990, %d, -1, 77, 0) = 10", a, w)}, c.Lines(format.OpSplice))
}

func TestIoctlOnlyOfFiles(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os, fcntl, struct",
		"def ioctl(*args):",
		"  try: fcntl.ioctl(*args)",
		"  except OSError: pass",
		"a = os.open('a', os.O_RDWR | os.O_CREAT); b = os.open('b', os.O_RDWR | os.O_CREAT)",
		"ioctl(a, 0x5401, bytes(100))",
		"ioctl(a, 0x80086601, bytearray(8))",
		"ioctl(b, 0x40049409, a)",
		"ioctl(b, 0x4020940d, struct.pack('qQQQ', a, 4096, 8192, 12288))",
		"ioctl(a, 0xc0189436, bytearray(struct.pack('QQHHIqQQiI', 1, 2, 1, 0, 0, b, 3, 0, 0, 0)))",
		"print(a, b)")
	o.Dir = t.TempDir()
	_, out := recordLong(t, o, &c)
	var a, b int
	_, err := fmt.Sscan(out, &a, &b)
	require.NoError(t, err)
	var calls []string
	for _, line := range c.Lines(format.OpIoctl) {
		line, _, _ = strings.Cut(line, " = ") // file systems that can't clone say so in many ways
		calls = append(calls, line)
	}
	require.Len(t, calls, 4, "TCGETS does not concern files")
	require.Regexp(t, fmt.Sprintf(`^ioctl\(%d, FS_IOC_GETFLAGS, `, a), calls[0])
	require.Equal(t, []string{
		fmt.Sprintf("ioctl(%d, FICLONE, %d)", b, a),
		fmt.Sprintf("ioctl(%d, FICLONERANGE, %d, 4096, 8192, 12288)", b, a),
		fmt.Sprintf("ioctl(%d, FIDEDUPERANGE, %d, 1, 2, 3)", a, b),
	}, calls[1:])
}

func TestBindOnlyToPaths(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import _socket, ctypes, struct",
		"def bind(family, address):",
		"  s = _socket.socket(family, _socket.SOCK_DGRAM)",
		"  try: s.bind(address)",
		"  except OSError: pass",
		"for address in 's', 's', 'no/s', b'\\0abstract', '', 'n' * 107: bind(_socket.AF_UNIX, address)",
		"bind(_socket.AF_INET, ('127.0.0.1', 0))",
		"libc = ctypes.CDLL(None)",
		"def raw(address): libc.bind(_socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM).detach(), address, len(address))",
		"raw(struct.pack('H', 1) + b'unended')",
		"raw(struct.pack('H', 1) + b'm' * 108)",
		"raw(struct.pack('H', 1) + b'm' * 109)",
		"libc.bind(0, ctypes.c_void_p(1), 110)")
	o.Dir = t.TempDir()
	recordLong(t, o, &c)
	var calls []string
	for _, line := range c.Lines(format.OpBind) {
		_, line, _ = strings.Cut(line, ", ") // the socket
		calls = append(calls, line)
	}
	require.Equal(t, []string{
		`"s", 4) = 0`,
		`"s", 4) = -1 EADDRINUSE (Address already in use)`,
		`"no/s", 7) = -1 ENOENT (No such file or directory)`,
		`"` + strings.Repeat("n", 107) + `", 110) = 0`,
		`"unended", 9) = 0`,
		`"` + strings.Repeat("m", 108) + `", 110) = 0`,
	}, calls)
}

func TestAttributes(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os, ctypes",
		"libc = ctypes.CDLL(None, use_errno=True)",
		"f = os.open('f', os.O_RDWR | os.O_CREAT)",
		"def quietly(call, *args):",
		"  try: call(*args)",
		"  except OSError: pass",
		"quietly(os.setxattr, 'f', 'user.name', b'value', os.XATTR_CREATE)",
		"quietly(os.getxattr, f, 'user.' + 'n' * 300)",
		"os.chmod('f', 0o640); os.fchmod(f, 0o600)",
		"libc.chown(b'f', ctypes.c_uint(0xffffffff), ctypes.c_uint(0xffffffff))",
		"os.utime('f', (1, 2)); os.utime(f, (1, 2))",
		"os.mkfifo('fifo', 0o644)",
		"os.statvfs('f')",
		"m = os.memfd_create('memory', 1)",
		"os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED)",
		"import fcntl; fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)",
		"libc.sync_file_range(f, ctypes.c_longlong(1), ctypes.c_longlong(2), 7)",
		"libc.readahead(f, ctypes.c_longlong(3), 4)",
		"libc.syncfs(f)",
		"print(f, m)")
	o.Dir = t.TempDir()
	_, out := recordLong(t, o, &c)
	var f, m int
	_, err := fmt.Sscan(out, &f, &m)
	require.NoError(t, err)

	var all []string
	for op := format.OpGetdents; int(op) < format.NumOps; op++ {
		all = append(all, c.Lines(op)...)
	}
	calls := strings.Join(all, "\n")
	for _, want := range []string{
		`setxattr\("f", "user.name", 0x[0-9a-f]+, 5, XATTR_CREATE\) = `,
		fmt.Sprintf(`fgetxattr\(%d, "user.n{300}", 0x[0-9a-f]+, \d+\) = -1 E`, f),
		`(chmod\(|fchmodat\(AT_FDCWD, )"f", 0640\) = 0`,
		fmt.Sprintf(`fchmod\(%d, 0600\) = 0`, f),
		`chown\("f", -1, -1\) = 0`,
		`utimensat\(AT_FDCWD, "f", 0x[0-9a-f]+, 0\) = 0`,
		fmt.Sprintf(`utimensat\(%d, NULL, 0x[0-9a-f]+, 0\) = 0`, f),
		`mknod(at)?\((AT_FDCWD, )?"fifo", 010644, 0\) = 0`,
		`statfs\("f", 0x[0-9a-f]+\) = 0`,
		fmt.Sprintf(`memfd_create\("memory", MFD_CLOEXEC\) = %d`, m),
		fmt.Sprintf(`fadvise64\(%d, 0, 0, POSIX_FADV_DONTNEED\) = 0`, f),
		fmt.Sprintf(`flock\(%d, LOCK_EX\|LOCK_NB\) = 0`, f),
		fmt.Sprintf(`sync_file_range\(%d, 1, 2, SYNC_FILE_RANGE_WAIT_BEFORE\|SYNC_FILE_RANGE_WRITE\|SYNC_FILE_RANGE_WAIT_AFTER\) = 0`, f),
		fmt.Sprintf(`readahead\(%d, 3, 4\) = 0`, f),
		fmt.Sprintf(`syncfs\(%d\) = 0`, f),
	} {
		require.Regexp(t, `(?m)^`+want, calls)
	}
	require.Equal(t, "reg", recordkit.Note(c.Of(format.OpMemfdCreate)[0], "type"))
}

func TestMemory(t *testing.T) {
	program := recordkit.Python(t, "import mmap, os",
		"f = os.open('f', os.O_RDWR | os.O_CREAT); os.ftruncate(f, 12288)",
		"m = mmap.mmap(f, 8192, offset=4096)",
		"m[0] = 1; m.flush(); m.madvise(mmap.MADV_RANDOM); m.close()",
		"print(f)")
	classes := func(memory bool) (c recordkit.Collect, fd int) {
		program.Memory, program.NoFaults, program.Dir = memory, !memory, t.TempDir()
		_, out := recordLong(t, program, &c)
		_, err := fmt.Sscan(out, &fd)
		require.NoError(t, err)
		return c, fd
	}
	c, _ := classes(false)
	for _, e := range c.Events {
		require.NotEqual(t, format.ClassMemory, e.Op.Info().Class, "%s", e.Op)
	}
	require.Len(t, c.Of(format.OpMsync), 1, "msync writes, mapped or not")

	c, _ = classes(true)
	require.NotEmpty(t, c.Of(format.OpBrk))
	require.NotEmpty(t, c.Of(format.OpMprotect))
	require.NotEmpty(t, c.Of(format.OpMunmap))
	require.Len(t, c.Of(format.OpMadvise), 1)
	var mapped int
	for _, e := range c.Of(format.OpMmap) {
		// Python duplicates the descriptor.
		if e.Args[5] == 4096 && e.Args[1] == 8192 && e.Args[4] > 2 {
			require.Equal(t, c.Of(format.OpMsync)[0].Args[0], e.Ret)
			mapped++
		}
	}
	require.Equal(t, 1, mapped)
}

func TestWaitid(t *testing.T) {
	var c recordkit.Collect
	_, out := recordLong(t, recordkit.Python(t, "import os",
		"p = os.fork()",
		"if p == 0: os._exit(3)",
		"os.waitid(os.P_ALL, 0, os.WEXITED)",
		"print(p)"), &c)
	e := c.Of(format.OpWaitid)
	require.Len(t, e, 1)
	require.Zero(t, e[0].Ret)
	require.Equal(t, strings.TrimSpace(out), fmt.Sprint(e[0].Args[5]))
}

func TestInputOutputNotes(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, asleep, "import os, mmap",
		"f = os.open('f', os.O_RDWR | os.O_CREAT)",
		"os.pwrite(f, b'x' * 65536, 0)",
		"fresh = mmap.mmap(-1, 65536)",
		"os.preadv(f, [memoryview(fresh)], 0)",
		"r, w = os.pipe()",
		"p = os.fork()",
		"if p == 0:",
		"  sleep(); os.write(w, b'y'); os._exit(0)",
		"os.read(r, 1)",
		"os.close(os.open('/dev/zero', 0))")
	o.Dir = t.TempDir()
	recordLong(t, o, &c)
	require.Equal(t, "-", recordkit.Note(c.Of(format.OpPwrite64)[0], "type"), "files are the rule")
	vectors := append(c.Of(format.OpPreadv), c.Of(format.OpPreadv2)...)
	require.Len(t, vectors, 1)
	require.Regexp(t, `^\d+$`, recordkit.Note(vectors[0], "faults"), "the buffer was fresh")
	var read, wrote bool
	for _, e := range c.Events {
		if recordkit.Note(e, "type") != "fifo" {
			continue
		}
		read = read || e.Op == format.OpRead && e.Args[2] == 1
		if e.Op == format.OpWrite && e.Args[2] == 1 {
			wrote = true
			require.Positive(t, e.Off.Timer, "it slept before it wrote")
		}
	}
	require.True(t, read && wrote)
}

// The type noted for a read or a write is that of its descriptor.
func TestTypesOfDescriptors(t *testing.T) {
	var c recordkit.Collect
	o := recordkit.Python(t, "import os, socket",
		"e = os.eventfd(0, os.EFD_SEMAPHORE); os.write(e, b'\\3' + bytes(7)); os.read(e, 8)",
		"a, b = socket.socketpair(); os.write(a.fileno(), b'x'); os.read(b.fileno(), 1)",
		"z = os.open('/dev/zero', os.O_RDWR); os.write(z, b'x'); os.read(z, 1)",
		"s = os.open('/proc/self/stat', 0); os.read(s, 1)",
		"f = os.open('f', os.O_RDWR | os.O_CREAT); os.write(f, b'x'); os.pread(f, 1, 0)",
		"print(e, a.fileno(), b.fileno(), z, s, f)")
	o.Dir = t.TempDir()
	_, out := recordLong(t, o, &c)
	var e, a, b, z, s, f int64
	_, err := fmt.Sscan(out, &e, &a, &b, &z, &s, &f)
	require.NoError(t, err)
	last := make(map[int64]string) // of each descriptor; an earlier one can have had its number
	for _, event := range c.Events {
		switch event.Op.Info().Class {
		case format.ClassRead, format.ClassWrite:
			last[event.FD()] = recordkit.Note(event, "type")
		}
	}
	require.Equal(t, []string{"pseudo", "sock", "sock", "chr", "pseudo", "-"}, []string{last[e], last[a], last[b], last[z], last[s], last[f]})
}

// A program of 32 bits: write(1, "x", 1) and exit(7) through int 0x80.
func compatProgram() []byte {
	code := []byte{
		0xb8, 4, 0, 0, 0, // mov eax, write
		0xbb, 1, 0, 0, 0, // mov ebx, 1
		0xb9, 0x00, 0x80, 0x04, 0x08, // mov ecx, the program itself
		0xba, 1, 0, 0, 0, // mov edx, 1
		0xcd, 0x80,
		0xb8, 1, 0, 0, 0, // mov eax, exit
		0xbb, 7, 0, 0, 0, // mov ebx, 7
		0xcd, 0x80,
	}
	header := []byte{
		0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		2, 0, 3, 0, 1, 0, 0, 0, // ET_EXEC, EM_386
		0x54, 0x80, 0x04, 0x08, // entry
		0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // program headers at 52
		52, 0, 32, 0, 1, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 0, 0, 0, 0, 0, 0, // PT_LOAD from 0
		0x00, 0x80, 0x04, 0x08, 0x00, 0x80, 0x04, 0x08,
		200, 0, 0, 0, 200, 0, 0, 0, 5, 0, 0, 0, 0, 0x10, 0, 0,
	}
	return append(append(header, code...), make([]byte, 200)...)
}

func TestProgramsOf32Bits(t *testing.T) {
	if format.HostArch != format.AMD64 {
		t.Skip("the program is for x86")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "compat")
	require.NoError(t, os.WriteFile(path, compatProgram(), 0o700))
	var c recordkit.Collect
	o := recordkit.Shell("./compat > out; echo $? > status")
	o.Dir = dir
	r, _ := recordLong(t, o, &c)
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	require.NoError(t, err)
	if string(status) != "7\n" {
		t.Skip("the kernel runs no programs of 32 bits")
	}
	require.Equal(t, int64(2), missing(&r, coverage.Compat).Calls)
	e := c.One(t, format.OpExecve, "./compat")
	for _, other := range c.Events {
		if other.TID == e.TID && other.Start > e.Start {
			require.Equal(t, format.OpExit, other.Op, "nothing is decoded as what it is not")
		}
	}
}

func TestOtherNamespaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := os.Stat("/usr/bin/unshare"); err != nil {
		t.Skip("no unshare")
	}
	var c recordkit.Collect
	r, out := recordLong(t, record.Options{Command: []string{"/usr/bin/unshare", "--pid", "--mount", "--propagation", "unchanged", "--fork", "/bin/sh", "-c",
		"echo $$; (/bin/true; :); /bin/true; :"}}, &c)
	require.Zero(t, r.Status)
	require.Equal(t, "1\n", out, "a namespace of its own")
	require.NotEmpty(t, c.Of(format.OpUnshare))
	requireOneTree(t, &c)
}

// requireOneTree checks that every thread but the first was made by an event,
// and every process that was waited for is one of them.
func requireOneTree(t *testing.T, c *recordkit.Collect) {
	t.Helper()
	made := map[int32]bool{c.Events[0].TID: true}
	waits := 0
	for _, e := range c.Events {
		if e.Op.Info().Effect == format.EffectFork && e.Ret > 0 {
			made[int32(e.Ret)] = true
		}
	}
	require.Greater(t, len(made), 3)
	for _, e := range c.Events {
		require.True(t, made[e.TID], "thread %d came out of nowhere", e.TID)
		if e.Op == format.OpWait4 && e.Ret > 0 {
			require.True(t, made[int32(e.Ret)], "process %d was waited for, and never made", e.Ret)
			waits++
		}
	}
	require.GreaterOrEqual(t, waits, 3)
}

func TestChroot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	var c recordkit.Collect
	o := recordkit.Python(t, "import os", "os.mkdir('root'); os.chroot('root')")
	o.Dir = t.TempDir()
	recordLong(t, o, &c)
	require.Zero(t, c.One(t, format.OpChroot, "root").Ret)
}
