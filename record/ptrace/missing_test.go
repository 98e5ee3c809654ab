package ptrace

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
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

// account records a command and returns the coverage, which stands in the header
// as well.
func account(t *testing.T, o record.Options) coverage.Account {
	t.Helper()
	var c recordkit.Collect
	r := run(t, o, &c)
	require.Zero(t, r.Status)
	require.True(t, r.Coverage.Known)
	require.Equal(t, r.Coverage, coverage.Of(c.Headers[1]))
	return r.Coverage
}

// onDiskOnly skips the test where temporary files are in memory: such files count as
// memory.
func onDiskOnly(t *testing.T) {
	t.Helper()
	var fs unix.Statfs_t
	require.NoError(t, unix.Statfs(t.TempDir(), &fs))
	if storages[int64(fs.Type)] != onDisk {
		t.Skip("temporary files are in memory")
	}
}

func unknownTime(kind coverage.Kind, m coverage.Missing) coverage.Missing {
	m.Kind, m.Nanos = kind, coverage.Unknown
	return m
}

// TestSameCoverage compares the accounts of the two recorders.
func TestSameCoverage(t *testing.T) {
	recordkit.RequireEBPF(t, ebpf.MeasureCost)
	programs := append([]struct{ Name, Script string }{
		{"true", "exec true"},
		{"sockets", `exec /usr/bin/python3 -S -c "import _socket, os; a, b = _socket.socketpair(); os.write(a.fileno(), b'x' * 5000); os.read(b.fileno(), 4000); os.read(0, 10)" < /dev/zero`},
		{"pseudo", "read a < /proc/self/stat; cat /proc/mounts /sys/kernel/uevent_seqnum > /dev/null"},
		{"script", "echo true > script; chmod 700 script; ./script; echo garbage > bad; chmod 700 bad; env ./bad; :"},
		{"dump", `ulimit -c unlimited; sh -c 'kill -SEGV $$'; :`},
		{"replaced", `exec /usr/bin/python3 -S -c "import os, threading; threading.Thread(target=os.execv, args=('/bin/true', ['true'])).start(); threading.Event().wait()"`},
		{"mapped", `exec /usr/bin/python3 -S -c "import mmap, os; f = os.open('f', os.O_RDWR | os.O_CREAT); os.write(f, b'x' * 65536); m = mmap.mmap(f, 65536, prot=mmap.PROT_READ); sum(m[:]); os._exit(0)"`},
	}, recordkit.Programs...)
	for _, p := range programs {
		t.Run(p.Name, func(t *testing.T) {
			recorded := func(run record.Recorder) (_ coverage.Account, missing []coverage.Kind) {
				o := recordkit.Shell(p.Script)
				o.Dir, o.NoFaults = t.TempDir(), true // which only one of them can see
				r, err := run(context.Background(), o, recordkit.Discard{})
				require.NoError(t, err)
				for _, m := range r.Coverage.Missing {
					missing = append(missing, m.Kind)
				}
				return r.Coverage, missing
			}
			want, wantMissing := recorded(ebpf.Run)
			got, gotMissing := recorded(Run)
			require.Equal(t, wantMissing, gotMissing)
			// git maps its own files, and compresses times. The size of a process's memory is in
			// its stat.
			if p.Name == "git" || p.Name == "pseudo" {
				require.InDelta(t, want.Recorded.Bytes, got.Recorded.Bytes, 100)
				return
			}
			require.Equal(t, want.Recorded.Bytes, got.Recorded.Bytes)
			if p.Name != "mapped" {
				require.Empty(t, gotMissing)
			}
		})
	}
}

func TestMapped(t *testing.T) {
	onDiskOnly(t)
	const size = 64 << 10
	tests := []struct {
		name    string
		lines   string
		missing []coverage.Missing
	}{
		{"read", "sum(map()[:]); os._exit(0)", []coverage.Missing{{Files: 1, Amount: coverage.Amount{Bytes: size}}}},
		{"written", "m = map(w=True); m[:] = b'y' * size; os._exit(0)", []coverage.Missing{{Files: 1, Amount: coverage.Amount{Bytes: 2 * size}}}},
		{"written and synced", "m = map(w=True); m[:] = b'y' * size; m.flush(); os._exit(0)", []coverage.Missing{{Files: 1, Amount: coverage.Amount{Bytes: 2 * size}}}},
		{"unmapped", "map().close()", []coverage.Missing{{Files: 1, Amount: coverage.Amount{Bytes: size}}}},
		{"unmapped after it grew", "m = map(); os.truncate('f', 10 * size); m.close(); os._exit(0)", []coverage.Missing{{Files: 1, Amount: coverage.Amount{Bytes: size}}}},
		{"unmapped, beyond the end of a file that grew", "import ctypes; libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_long" +
			"\nat = libc.mmap(None, 9 * size, 1, 1, os.open('f', 0), 0); os.truncate('f', 2 * size); libc.munmap(ctypes.c_void_p(at), 9 * size)",
			[]coverage.Missing{{Files: 1, Amount: coverage.Amount{Bytes: 2 * size}}}},
		{"unmapped, large and half read", "os.truncate('f', 1 << 22); m = mmap.mmap(os.open('f', 0), 1 << 22, prot=mmap.PROT_READ); m.madvise(mmap.MADV_RANDOM)" +
			"\nsum(m[:size:4096]); m.close()", []coverage.Missing{{Files: 1, Amount: coverage.Amount{Bytes: size}}}},
		{"not touched", "m = map(); os._exit(0)", nil},
		{"before exec", "m = map(); sum(m[:]); os.execv('/bin/true', ['true'])", []coverage.Missing{{Files: 1, Amount: coverage.Amount{Bytes: size}}}},
		{"not touched before exec", "m = map(); os.execv('/bin/true', ['true'])", nil},
		{"before exec that fails", "m = map()\ntry: os.execv('/nothing', ['nothing'])\nexcept OSError: sum(m[:]); os._exit(0)",
			[]coverage.Missing{{Files: 1, Amount: coverage.Amount{Bytes: size}}}},
		{"by a child", "m = map()\nif os.fork() == 0: sum(m[:]); os._exit(0)\nos.wait(); os._exit(0)",
			[]coverage.Missing{{Files: 1, Amount: coverage.Amount{Bytes: size}}}},
		{"by two", "m = map(); sum(m[:])\nif os.fork() == 0: sum(m[:]); os._exit(0)\nos.wait(); os._exit(0)",
			[]coverage.Missing{{Files: 1, Amount: coverage.Amount{Bytes: size}}}},
		{"two files", "m = map(); n = map(fill('g')); sum(m[:]); sum(n[:]); os._exit(0)", []coverage.Missing{{Files: 2, Amount: coverage.Amount{Bytes: 2 * size}}}},
		{"a program", "m = map(prot=mmap.PROT_READ | mmap.PROT_EXEC); n = map(); sum(n[:]); os._exit(0)", nil},
		{"a file of the C library", "m = map(fill('LC_TIME')); sum(m[:]); os._exit(0)", nil},
		{"in memory", "m = map('/proc/self/fd/%d' % os.memfd_create('m')); sum(m[:]); os._exit(0)", nil},
		{"no file", "m = mmap.mmap(-1, size); m[:] = b'y' * size; os._exit(0)", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := account(t, recordkit.Python(t, "import mmap, os", "size = 64 << 10",
				"def fill(name): os.close(os.open(name, os.O_CREAT)); os.truncate(name, size); return name",
				"def map(name='f', w=False, prot=mmap.PROT_READ):",
				"  fd = os.open(name, os.O_RDWR); os.truncate(fd, size)",
				"  return mmap.mmap(fd, size, prot=prot | w * mmap.PROT_WRITE)",
				"fill('f')", test.lines))
			var want []coverage.Missing
			for _, m := range test.missing {
				want = append(want, unknownTime(coverage.Mapped, m))
			}
			isMsync := func(m coverage.Missing) bool { return m.Kind == coverage.Msync }
			require.Equal(t, want, slices.DeleteFunc(a.Missing, isMsync))
		})
	}
}

// TestCounted looks at what is counted when it begins.
func TestCounted(t *testing.T) {
	calls := func(kind coverage.Kind) coverage.Missing { return unknownTime(kind, coverage.Missing{Calls: 1}) }
	tests := []struct {
		name, call string
		missing    []coverage.Missing
	}{
		{"libaio", "libc.syscall(%(io_setup)d, 1, ctypes.byref(ctypes.c_long(0)))", nil},
		{"libaio fails", "libc.syscall(%(io_setup)d, 0, None)", nil},
		{"io_uring fails", "libc.syscall(%(io_uring_setup)d, 0, None)", nil},
		{"mount", "libc.mount(b'', b'/nowhere', b'', 0, None)", []coverage.Missing{calls(coverage.Mount)}},
		{"process_vm", "libc.process_vm_readv(os.getpid(), None, 0, None, 0, 0)", []coverage.Missing{calls(coverage.Memory)}},
	}
	numbers := strings.NewReplacer("%(io_setup)d", strconv.Itoa(unix.SYS_IO_SETUP), "%(io_uring_setup)d", strconv.Itoa(unix.SYS_IO_URING_SETUP))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := account(t, recordkit.Python(t, "import ctypes, os; libc = ctypes.CDLL(None)", numbers.Replace(test.call)))
			require.Equal(t, test.missing, a.Missing)
		})
	}
}

func TestEngines(t *testing.T) {
	onDiskOnly(t)
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("no fio")
	}
	const size = 1 << 20
	tests := []struct {
		engine string
		kind   coverage.Kind
		bytes  int64
	}{{"io_uring --sqthread_poll=1", coverage.Uring, coverage.Unknown}, {"mmap", coverage.Mapped, size}}
	for _, test := range tests {
		t.Run(test.engine, func(t *testing.T) {
			o := record.Options{Command: append([]string{fio, "--name=n", "--filename=f", "--size=1m", "--rw=randread"}, strings.Fields("--ioengine="+test.engine)...)}
			out, err := os.CreateTemp(t.TempDir(), "")
			require.NoError(t, err)
			defer out.Close()
			o.Stdout = out
			var c recordkit.Collect
			r := run(t, o, &c)
			if r.Status != 0 && test.kind != coverage.Mapped {
				t.Skip("fio can't")
			}
			require.Zero(t, r.Status)
			require.Len(t, r.Coverage.Missing, 1)
			m := r.Coverage.Missing[0]
			require.Equal(t, test.kind, m.Kind)
			require.Equal(t, test.bytes, m.Bytes)
			require.NotEmpty(t, r.Coverage.Withheld())
		})
	}
}

// Requests of libaio and io_uring are recorded.
func TestRequests(t *testing.T) {
	onDiskOnly(t)
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("no fio")
	}
	for _, test := range []struct {
		engine string
		via    format.Via
		submit format.Op
	}{
		{"libaio", format.ViaAIO, format.OpIOSubmit},
		{"io_uring", format.ViaUring, format.OpUringEnter},
		{"io_uring --registerfiles=1 --fixedbufs=1", format.ViaUring, format.OpUringEnter},
	} {
		t.Run(test.engine, func(t *testing.T) {
			var c recordkit.Collect
			o := record.Options{Dir: t.TempDir(), Command: append([]string{fio, "--name=n", "--filename=f", "--size=1m", "--bs=4k", "--rw=randrw", "--iodepth=16",
				"--iodepth_batch_submit=4", "--output=out"}, strings.Fields("--ioengine="+test.engine)...)}
			r := run(t, o, &c)
			if r.Status != 0 && test.via == format.ViaUring {
				t.Skip("fio can't")
			}
			require.Zero(t, r.Status)
			require.Empty(t, r.Coverage.Missing)
			require.Len(t, r.Coverage.Requests, 1)
			m := r.Coverage.Requests[0]
			require.Equal(t, []int64{256, 1 << 20}, []int64{m.Calls, m.Bytes})
			if test.via == format.ViaAIO {
				require.Positive(t, m.Nanos)
			}
			offsets, taken := map[int64]bool{}, map[int64]int64{}
			for i := range c.Events {
				e := &c.Events[i]
				if e.Via != format.ViaCall {
					require.Equal(t, test.via, e.Via)
					require.EqualValues(t, 4096, e.Ret)
					offsets[e.Offset()] = true
					taken[e.Notes.Request.Batch]++
				}
			}
			require.Len(t, offsets, 256)
			for _, e := range c.Of(test.submit) {
				if e.Notes.Known(format.NotedBatch) {
					require.Equal(t, e.Ret, taken[e.Notes.Request.Batch])
				}
			}
		})
	}
}

// TestTypes looks at a number that leads from one type of file to another.
func TestTypes(t *testing.T) {
	var c recordkit.Collect
	run(t, recordkit.Python(t, "import fcntl, os, threading",
		"f = os.open('f', os.O_RDWR | os.O_CREAT); r, w = os.pipe(); os.write(w, b'x' * 99); e = os.eventfd(1)",
		"def on(f, *a): t = threading.Thread(target=f, args=a); t.start(); t.join()",
		"def be(fd): on(os.dup2, fd, 50, False); os.read(50, 8)",
		"be(r); be(f); on(os.close, 50); fcntl.fcntl(r, fcntl.F_DUPFD, 50); os.read(50, 8); be(f)", // fifo, reg, fifo, reg
		"on(os.closerange, 50, 51); fcntl.fcntl(e, fcntl.F_DUPFD, 50); os.read(50, 8)",             // pseudo
		"be(os.open('/proc/self/stat', 0)); be(os.open('/dev/zero', 0))",                           // pseudo, chr
		"p = os.fork()",
		"if p == 0: be(r); os._exit(0)",           // fifo
		"os.waitpid(p, 0); os.read(50, 8); be(f)", // chr, reg
		"os.execv('/usr/bin/python3', ['python', '-S', '-c', 'import fcntl, os; fcntl.fcntl(os.eventfd(1), fcntl.F_DUPFD, 50); os.read(50, 8)'])"), &c) // pseudo
	var types []string
	for _, e := range c.Of(format.OpRead) {
		if e.Args[0] == 50 {
			types = append(types, recordkit.Note(e, "type"))
		}
	}
	require.Equal(t, []string{"fifo", "-", "fifo", "-", "pseudo", "pseudo", "chr", "fifo", "chr", "-", "pseudo"}, types)
}

// TestTypesBegin looks at the numbers of what the helper had open.
func TestTypesBegin(t *testing.T) {
	const opened = 60
	var c recordkit.Collect
	run(t, recordkit.Python(t, "import os", "for i in range("+strconv.Itoa(opened)+"): os.read(os.eventfd(1), 8)"), &c)
	pseudo := 0
	for _, e := range c.Of(format.OpRead) {
		if e.Ret == 8 && recordkit.Note(e, "type") == "pseudo" {
			pseudo++
		}
	}
	require.Equal(t, opened, pseudo)
}

// TestKilledInAWrite kills a process that fills a pipe. The number of bytes of that
// call is unknown, and it is not a file.
func TestKilledInAWrite(t *testing.T) {
	a := account(t, recordkit.Python(t, "import fcntl, os, signal, struct",
		"r, w = os.pipe(); room = fcntl.fcntl(w, fcntl.F_GETPIPE_SZ); p = os.fork()",
		"if p == 0: os.write(w, b'x' * (room + 1))",
		"while struct.unpack('i', fcntl.ioctl(r, 0x541b, b'1234'))[0] < room: pass", // FIONREAD
		"os.kill(p, signal.SIGKILL); os.wait()"))
	require.Empty(t, a.Missing)
}

// TestElsewhere settles the account of a process of which less is held than it
// has moved.
func TestElsewhere(t *testing.T) {
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	require.NoError(t, err)
	out, err := cat.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cat.Start())
	_, err = io.WriteString(in, "begun\n")
	require.NoError(t, err)
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err) // from here on it reads

	tr := newTracer(nil)
	tr.running = true
	tid := int32(cat.Process.Pid)
	moved, ok := tr.movedBytes(tid)
	require.True(t, ok)
	require.Greater(t, moved, int64(100))
	thread := tr.meet(tid)
	thread.held = moved - 100
	tr.settle(thread, 0)
	require.Equal(t, []coverage.Missing{unknownTime(coverage.Elsewhere, coverage.Missing{Amount: coverage.Amount{Bytes: 100}})}, tr.missing.Missing)
	require.NoError(t, in.Close())
	require.NoError(t, cat.Wait())
}

func TestReadAreas(t *testing.T) {
	const text = `55d7c8a00000-55d7c8a02000 r--p 00000000 fe:00 41 /a b
Size:                  8 kB
Rss:                   4 kB
Shared_Dirty:          4 kB
Private_Dirty:         0 kB
VmFlags: rd mr mw me
55d7c8b00000-55d7c8b21000 rw-p 00000000 00:00 0                          [heap]
Rss:                 100 kB
7f0000000000-7f0000010000 rw-s 00001000 fe:00 42                         /c
Rss:                  64 kB
Shared_Dirty:          8 kB
Private_Dirty:         4 kB
`
	var all []area
	readAreas(bufio.NewScanner(strings.NewReader(text)), func(a *area) { all = append(all, *a) })
	require.Equal(t, []area{
		{start: 0x55d7c8a00000, end: 0x55d7c8a02000, in: 4 << 10},
		{start: 0x7f0000000000, end: 0x7f0000010000, in: 64 << 10, dirty: 12 << 10},
	}, all)
}

func TestIsServed(t *testing.T) {
	const mounts = `26 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
27 26 0:24 / /proc rw shared:2 master:1 - proc proc rw
91 26 0:45 / /mnt/a\040b rw - fuse.sshfs host: rw,user_id=0
`
	require.False(t, isServed(mounts, 24))
	require.True(t, isServed(mounts, 45))
	require.False(t, isServed(mounts, 4))
}
