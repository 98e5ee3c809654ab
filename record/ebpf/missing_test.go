package ebpf

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/coverage"
	"pianola/record"
	"pianola/record/recordkit"
)

// missing returns what a recording lacks of a kind.
func missing(r *record.Result, kind coverage.Kind) coverage.Missing {
	i := slices.IndexFunc(r.Coverage.Missing, func(m coverage.Missing) bool { return m.Kind == kind })
	if i < 0 {
		return coverage.Missing{}
	}
	return r.Coverage.Missing[i]
}

// amounts returns the amounts of a recording's account without the times.
func amounts(account []coverage.Missing) (all []coverage.Missing) {
	for _, m := range account {
		m.Nanos = 0
		all = append(all, m)
	}
	return all
}

// storage returns a new directory on a file system that is not in memory.
func storage(t testing.TB) string {
	t.Helper()
	for _, parent := range []string{os.TempDir(), "."} {
		dir, err := os.MkdirTemp(parent, "pianola")
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		var fs unix.Statfs_t
		require.NoError(t, unix.Statfs(dir, &fs))
		if fs.Type != unix.TMPFS_MAGIC {
			dir, err = filepath.Abs(dir)
			require.NoError(t, err)
			return dir
		}
	}
	t.Skip("all file systems are in memory")
	return ""
}

// Calls that python3 has no names for. ring and aio do requests, one at a time.
var prelude = []string{
	"import ctypes, mmap, os, socket, struct, sys, threading",
	"libc = ctypes.CDLL(None, use_errno=True)",
	"def call(nr, *args): return libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])",
	"page = ctypes.create_string_buffer(b'x' * 4096); address = ctypes.addressof(page)",
	"f = os.open('data', os.O_RDWR | os.O_CREAT, 0o600)",
	"def fill(size): os.write(f, b'x' * size); os.fsync(f)",
	"def touch(size, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ):",
	"  m = mmap.mmap(f, size, flags, prot)",
	"  for i in range(0, size, 4096):",
	"    if prot & mmap.PROT_WRITE: m[i] = 1",
	"    else: m[i]",
	"class Ring:",
	"  def __init__(self, flags=0):",
	"    p = bytearray(struct.pack('IIIII', 0, 0, flags, 0, 1000) + bytes(100))",
	fmt.Sprintf("    self.fd = call(%d, 8, (ctypes.c_char * 120).from_buffer(p))", unix.SYS_IO_URING_SETUP),
	"    if self.fd < 0: print('no rings', flush=True); sys.exit()",
	"    self.off = struct.unpack('10I', p[40:80])",
	"    self.queue = mmap.mmap(self.fd, self.off[6] + 32)",
	"    self.requests = mmap.mmap(self.fd, 512, offset=0x10000000)",
	"    self.n = 0",
	"    self.head, self.tail = struct.unpack('2I', p[80:88])",
	"  def put(self, op, fd, address=0, length=0, off=0, flags=0, opflags=0, buf=0, fd2=0):",
	"    i = self.n % 8; self.n += 1",
	"    self.requests[i*64:i*64+64] = struct.pack('<BBHiQQIIQHHi', op, flags, 0, fd, off & (1<<64)-1, address, length, opflags, self.n, buf, 0, fd2) + bytes(16)",
	"    struct.pack_into('I', self.queue, self.off[6] + 4*i, i)",
	"    struct.pack_into('I', self.queue, self.off[1], self.n)",
	fmt.Sprintf("  def enter(self, submit, wait): return call(%d, self.fd, submit, wait, 3, 0, 0)", unix.SYS_IO_URING_ENTER),
	"  def reap(self): self.queue[self.head:self.head+4] = self.queue[self.tail:self.tail+4]",
	"  def do(self, op, fd, length, flags=0, wait=1):",
	"    self.put(op, fd, address if length else 0, length, 0, flags); self.enter(1, wait)",
	fmt.Sprintf("  def register(self, op, arg, n): return call(%d, self.fd, op, arg, n)", unix.SYS_IO_URING_REGISTER),
	"def aio(*requests):",
	"  context = ctypes.c_ulong(0)",
	fmt.Sprintf("  call(%d, 8, ctypes.byref(context))", unix.SYS_IO_SETUP),
	"  blocks = [ctypes.create_string_buffer(struct.pack('QIIHhIQQqQII', 0, 0, 0, op, 0, fd, at, n, 0, 0, 0, 0)) for op, fd, at, n in requests]",
	"  pointers = (ctypes.c_void_p * len(blocks))(*map(ctypes.addressof, blocks))",
	fmt.Sprintf("  n = call(%d, context.value, len(blocks), pointers)", unix.SYS_IO_SUBMIT),
	fmt.Sprintf("  call(%d, context.value, n, len(blocks), ctypes.create_string_buffer(1024), 0)", unix.SYS_IO_GETEVENTS),
}

func doing(t *testing.T, lines ...string) record.Options {
	o := recordkit.Python(t, slices.Concat(prelude, lines)...)
	o.Dir = storage(t)
	return o
}

// Exactly the I/O that the recording does not hold is counted as missing.
func TestMissing(t *testing.T) {
	bytes := func(kind coverage.Kind, calls, reads, writes, n int64) coverage.Missing {
		return coverage.Missing{Kind: kind, Calls: calls, Reads: reads, Writes: writes, Amount: coverage.Amount{Bytes: n}}
	}
	for _, test := range []struct {
		name     string
		lines    []string
		want     []coverage.Missing
		requests []coverage.Missing
	}{
		{"nothing", nil, nil, nil},
		{"files, pipes, sockets and what the kernel shows", []string{
			"fill(10000); os.pread(f, 100, 0)",
			"r, w = os.pipe(); os.write(w, b'x' * 1000); os.read(r, 1000)",
			"a, b = socket.socketpair(); os.write(a.fileno(), b'x' * 500); b.recv(500); a.send(b'x'); os.read(b.fileno(), 1)",
			"print(len(open('/proc/self/maps').read()) > 0)"}, nil, nil},
		{"threads that end before others", []string{
			"fill(10000)",
			"for i in range(4): t = threading.Thread(target=lambda: os.pread(f, 5000, 0)); t.start(); t.join()",
			"done = threading.Event()",
			"threading.Thread(target=lambda: (os.pread(f, 5000, 0), done.set(), os.read(os.pipe()[0], 1)), daemon=True).start()",
			"done.wait(); os._exit(0)"}, nil, nil},
		{"programs that exec reads", []string{"os.execv('/bin/sh', ['sh', '-c', '/bin/true; exec /bin/cat data'])"}, nil, nil},
		{"io_uring", []string{
			"r = Ring()",
			"for i in range(3): r.do(23, f, 4096)",
			"r.do(22, f, 100); r.do(3, f, 0); r.do(23, os.pipe()[1], 10); r.do(0, -1, 0)"},
			nil, []coverage.Missing{bytes(coverage.Uring, 5, 1, 3, 3*4096+100)}},
		{"io_uring that is not recorded", []string{"r, w = os.pipe(); os.write(w, b'x'); Ring().do(49, r, 0, flags=32); Ring().do(46, f, 0)"},
			[]coverage.Missing{bytes(coverage.Uring, 1, 0, 0, coverage.Unknown)}, nil},
		{"io_uring in threads of the kernel", []string{"Ring().do(23, f, 4096, flags=16)"}, nil, []coverage.Missing{bytes(coverage.Uring, 1, 0, 1, 4096)}},
		{"io_uring without calls", []string{"Ring(flags=2).do(23, f, 4096)"}, nil, []coverage.Missing{bytes(coverage.Uring, 1, 0, 1, 4096)}},
		{"io_uring without completions", []string{"Ring().do(23, f, 4096, flags=64, wait=0)", "while os.fstat(f).st_size < 4096: pass"},
			nil, []coverage.Missing{bytes(coverage.Uring, 1, 0, 1, 4096)}},
		{"libaio", []string{"aio((1, f, address, 4096), (1, f, address, 4096)); aio((0, f, address, 100), (1, os.pipe()[1], address, 10))"},
			nil, []coverage.Missing{bytes(coverage.AIO, 3, 1, 2, 2*4096+100)}},
		{"a file in memory that is mapped", []string{"f = os.memfd_create('x'); fill(10000); touch(8192)"}, nil, nil},
		{"what is no I/O on files", []string{
			"v = ctypes.create_string_buffer(struct.pack('QQ', address, 1))",
			fmt.Sprintf("call(%d, os.getpid(), v, 1, v, 1, 0)", unix.SYS_PROCESS_VM_READV),
			fmt.Sprintf("call(%d, 0, 0, 0, 0, 0)", unix.SYS_MOUNT)},
			[]coverage.Missing{bytes(coverage.Mount, 1, 0, 0, 0), bytes(coverage.Memory, 1, 0, 0, 0)}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, out := recordOne(t, doing(t, test.lines...), recordkit.Discard{})
			if out == "no rings\n" {
				t.Skip("the kernel has no io_uring, or its use is disabled")
			}
			require.Zero(t, r.Status, out)
			require.Equal(t, test.want, amounts(r.Coverage.Missing))
			require.Equal(t, test.requests, amounts(r.Coverage.Requests))
		})
	}
}

// Bytes that faults read and write are recorded, or counted as missing.
func TestMappedBytes(t *testing.T) {
	const size = 1 << 20
	for _, test := range []struct {
		name  string
		lines string
		more  bool // the kernel can map and write more
	}{
		{"read", fmt.Sprintf("fill(%d); touch(%[1]d)", size), false},
		{"private", fmt.Sprintf("fill(%d); touch(%[1]d, mmap.MAP_PRIVATE)", size), false},
		{"read at once", fmt.Sprintf("fill(%d); mmap.mmap(f, %[1]d, mmap.MAP_SHARED | 0x8000, mmap.PROT_READ)", size), false},
		{"written", fmt.Sprintf("fill(%d); touch(%[1]d, prot=mmap.PROT_READ | mmap.PROT_WRITE)", size), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			// Where a fault finds a large folio locked, by writeback for example, Linux from 6.18
			// on maps all of it, and the tracepoint names only one page.
			var r record.Result
			var m coverage.Missing
			for range 5 {
				o := doing(t, test.lines)
				o.NoFaults = true
				var out string
				r, out = recordOne(t, o, recordkit.Discard{})
				require.Zero(t, r.Status, out)
				require.Len(t, r.Coverage.Missing, 1)
				m = missing(&r, coverage.Mapped)
				require.Equal(t, int64(1), m.Files)
				if m.Bytes >= size {
					break
				}
			}
			before := r.Coverage.Recorded.Bytes

			r, out := recordOne(t, doing(t, test.lines), recordkit.Discard{})
			require.Zero(t, r.Status, out)
			require.Empty(t, amounts(r.Coverage.Missing))
			got := r.Coverage.Recorded.Bytes - before
			if test.more {
				require.GreaterOrEqual(t, m.Bytes, int64(size))
				require.GreaterOrEqual(t, got, int64(size))
				return
			}
			require.Equal(t, int64(size), m.Bytes)
			require.InDelta(t, size, got, size/8, "pages that are mapped already can count again")
		})
	}
}

// watchHuge records lines of Python, of which those before are done when the recorder detects
// that huge pages can be mapped.
func watchHuge(t *testing.T, maps bool, prepare, before, after []string) (record.Result, []format.Event) {
	recordkit.RequireEBPF(t, MeasureCost)
	p, err := load(config{RingBytes: 1 << 20, Type: true, Off: true, Maps: maps})
	require.NoError(t, err)
	defer p.close()
	require.NoError(t, p.attach())
	require.NoError(t, p.attachAdditional())
	require.NoError(t, p.attachHuge())
	require.False(t, p.huge, "no file is mapped")
	ring, err := openRing(p.ring())
	require.NoError(t, err)
	defer ring.close()

	next := []string{"print(flush=True); os.read(0, 1)"}
	o := doing(t, slices.Concat(prepare, next, before, next, after)...)
	o.Command = append([]string{"/usr/bin/env", "--chdir", o.Dir}, o.Command...)
	cmd, in, out, _ := running(t, o)
	pidfd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	require.NoError(t, err)
	defer unix.Close(pidfd)
	require.NoError(t, p.follow(pidfd))
	_, _ = in.WriteString("x")
	_, err = out.ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, p.attachHuge())
	require.True(t, p.huge)
	_, _ = in.WriteString("x")
	require.NoError(t, cmd.Wait())

	var c recordkit.Collect
	d := drain{ring: ring, writer: record.NewWriter(&c, 0), look: p.look}
	require.NoError(t, d.all())
	r := record.Result{Coverage: d.writer.Account()}
	require.NoError(t, p.missing(&r.Coverage))
	return r, c.Of(format.OpMapRead)
}

// One call can write pages that the kernel then maps with one entry of its table. The
// program that detects that is attached when a mapping is large enough for them.
func TestHugePages(t *testing.T) {
	const size = 16 << 20
	for _, maps := range []bool{false, true} {
		t.Run(fmt.Sprint("faults ", maps), func(t *testing.T) {
			r, faults := watchHuge(t, maps, []string{fmt.Sprintf("fill(%d)", size)},
				[]string{fmt.Sprintf("m = mmap.mmap(f, %d, prot=mmap.PROT_READ)", size)},
				[]string{fmt.Sprintf("for i in range(0, %d, 4096): m[i]", size)})
			if !maps {
				require.Equal(t, int64(size), missing(&r, coverage.Mapped).Bytes)
				return
			}
			var bytes int64
			huge := false
			for _, e := range faults {
				bytes += e.Ret
				huge = huge || e.Ret == 2<<20
			}
			require.InDelta(t, size, bytes, size/8, "pages that are mapped already can count again")
			require.Zero(t, missing(&r, coverage.Mapped))
			if !huge {
				t.Skip("the file system has no huge pages")
			}
		})
	}
}

// Pages that a process has mapped one by one before the program is attached are no huge page of
// the next fault, nor one that is missing.
func TestPagesBeforeHugePages(t *testing.T) {
	const size = 8 << 20
	for _, maps := range []bool{false, true} {
		t.Run(fmt.Sprint("faults ", maps), func(t *testing.T) {
			// Written page by page, the file has no folio as large as a huge page.
			r, faults := watchHuge(t, maps, []string{fmt.Sprintf("for i in range(0, %d, 4096): os.pwrite(f, b'x' * 4096, i)", size)},
				[]string{fmt.Sprintf("m = mmap.mmap(f, %d, prot=mmap.PROT_READ)", size), fmt.Sprintf("for i in range(0, %d, 4096): m[i]", size/2)},
				[]string{fmt.Sprintf("m[%d]", size/2)})
			if !maps {
				require.Less(t, missing(&r, coverage.Mapped).Bytes, int64(size/2+2<<20))
				return
			}
			require.NotEmpty(t, faults)
			for _, e := range faults {
				require.Less(t, e.Ret, int64(2<<20), "%+v", e)
			}
			require.Zero(t, missing(&r, coverage.Mapped))
		})
	}
}

// A recording holds the bytes of its reads and writes on files.
func TestRecordedBytes(t *testing.T) {
	var c recordkit.Collect
	r, _ := recordOne(t, doing(t, "fill(10000); os.pread(f, 100, 0); open('/proc/self/maps').read()",
		"r, w = os.pipe(); os.write(w, b'x' * 1000); os.read(r, 1000)"), &c)
	var bytes int64
	others := map[string]bool{}
	for _, e := range c.Events {
		info := e.Op.Info()
		if info.Class != format.ClassRead && info.Class != format.ClassWrite || e.Ret <= 0 {
			continue
		}
		if info.Effect == format.EffectFault {
			continue // on a program that was not in the page cache
		}
		if typ := recordkit.Note(e, "type"); typ != "-" { // of files it is not noted
			others[typ] = true
			continue
		}
		bytes += e.Ret
	}
	require.Equal(t, bytes, r.Coverage.Recorded.Bytes)
	require.Equal(t, map[string]bool{"pseudo": true, "fifo": true}, others)
}

// The recorder knows mappings and rings from before its start, and calls in progress
// are not missing.
func TestMissingAfterAttach(t *testing.T) {
	const size = 1 << 20
	for _, test := range []struct {
		name        string
		first, then string
		want        []coverage.Missing
	}{
		{"a mapping", "m = mmap.mmap(f, %d, prot=mmap.PROT_READ)", "for i in range(0, %d, 4096): m[i]", nil},
		{"a ring", "r = Ring() #%d", "r.do(23, f, 4096, flags=16) #%d",
			[]coverage.Missing{{Kind: coverage.Uring, Writes: 1, Amount: coverage.Amount{Bytes: 4096}}}},
		{"a call", "pass #%d", "pass #%d", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := doing(t, fmt.Sprintf("os.write(f, b'x' * %d)", size), fmt.Sprintf(test.first, size),
				"print(flush=True); os.read(0, 1)", fmt.Sprintf(test.then, size), "os.close(f)")
			o.Command = append([]string{"/usr/bin/env", "--chdir", o.Dir}, o.Command...)
			cmd, in, _, line := running(t, o)
			if line != "" {
				t.Skip("the kernel has no io_uring, or its use is disabled")
			}
			s := watch(nil)
			go func() {
				<-s.began
				_, _ = in.WriteString("x")
			}()
			r, err := Attach(context.Background(), record.Options{PID: cmd.Process.Pid, RingBytes: 1 << 20}, s)
			require.NoError(t, err)
			got := amounts(append(r.Coverage.Missing, r.Coverage.Requests...))
			for i := range got {
				got[i].Calls = 0 // of faults as many as the kernel likes
			}
			require.Equal(t, test.want, got)
		})
	}
}

// accounts is a sink that asks for the account at each batch.
type accounts struct {
	t     *testing.T
	soFar func() (*format.Header, error)
	bytes int64 // of the events so far
	asked int
}

func (a *accounts) Ends(soFar func() (*format.Header, error)) { a.soFar = soFar }
func (a *accounts) WriteHeader(*format.Header) error          { return nil }
func (a *accounts) Write(events []format.Event) error {
	h, err := a.soFar()
	require.NoError(a.t, err)
	account := coverage.Of(h)
	require.True(a.t, account.Known)
	require.Equal(a.t, a.bytes, account.Recorded.Bytes, "of the events before")
	require.Zero(a.t, missing(&record.Result{Coverage: account}, coverage.Elsewhere))
	a.asked++
	for i := range events {
		held, _ := coverage.Held(&events[i])
		a.bytes += held.Bytes
	}
	return nil
}

// The account is right at any time, while threads read and write.
func TestAccountInMidRun(t *testing.T) {
	recordkit.RequireEBPF(t, MeasureCost)
	o := doing(t, "os.write(f, b'x' * 4096)", "def work():",
		"  for i in range(20000): os.pread(f, 100, 0)",
		"threads = [threading.Thread(target=work) for i in range(3)]",
		"for thread in threads: thread.start()",
		"for thread in threads: thread.join()")
	o.NoFaults = true // those on programs are in no account
	a := &accounts{t: t}
	r, err := Run(context.Background(), o, a)
	require.NoError(t, err)
	require.Zero(t, r.Lost)
	require.Greater(t, a.asked, 20)
	require.Equal(t, a.bytes, r.Coverage.Recorded.Bytes)
	require.Zero(t, missing(&r, coverage.Elsewhere))
}

// A call can map huge pages without a fault of its own. The last fault was somewhere else
// then, and its address is not that of the huge page.
func TestHugePagesOfCalls(t *testing.T) {
	const size = 16 << 20
	r, faults := watchHuge(t, true, []string{fmt.Sprintf("fill(%d)", size)},
		[]string{fmt.Sprintf("m = mmap.mmap(f, %d, prot=mmap.PROT_READ)", size), "s = mmap.mmap(f, 300 << 12, prot=mmap.PROT_READ)"},
		[]string{"for i in range(0, 300 << 12, 4096): s[i]", "m.madvise(22)"})
	for _, e := range faults {
		if e.Notes.Known(format.NotedIno) && e.Ret == int64(os.Getpagesize()) {
			continue // of a program that was mapped before the recording, for which the thread waited
		}
		require.True(t, e.Args[0] > 0 && e.Args[2] >= 0 && e.Args[2] < size && e.Ret < 2<<20, "%+v", e)
	}
	require.Zero(t, missing(&r, coverage.Mapped))
}
