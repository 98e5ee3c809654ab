package ebpf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/record"
	"pianola/record/recordkit"
)

// asked is what a request asks for.
type asked struct {
	op           string
	offset, size int64
}

func sortAsked(all []asked) []asked {
	slices.SortFunc(all, func(a, b asked) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

// iolog returns the reads and writes that fio says it made.
func iolog(t *testing.T, path string) (all []asked) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var a asked
		var at int64
		var name string
		if n, _ := fmt.Sscan(line, &at, &name, &a.op, &a.offset, &a.size); n == 5 && (a.op == "read" || a.op == "write") {
			all = append(all, a)
		}
	}
	return sortAsked(all)
}

// requested returns the reads and writes of a recording that are requests.
func requested(via format.Via, events []format.Event) (all []asked) {
	for i := range events {
		e := &events[i]
		if class := e.Op.Info().Class; e.Via == via && (class == format.ClassRead || class == format.ClassWrite) {
			all = append(all, asked{class.String(), e.Offset(), e.Size()})
		}
	}
	return sortAsked(all)
}

// Every request of fio is recorded, in whatever way it makes them.
func TestFioRequests(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is not installed")
	}
	for _, test := range []struct {
		name  string
		via   format.Via
		flags int64        // that all requests have
		op    format.Op    // of all reads
		noted format.Noted // that all requests have
		args  []string
	}{
		{"direct", format.ViaUring, 0, format.OpPread64, 0, []string{"--ioengine=io_uring", "--direct=1", "--iodepth=8"}},
		{"buffered", format.ViaUring, 0, format.OpPread64, 0, []string{"--ioengine=io_uring", "--iodepth=8"}},
		{"vectored", format.ViaUring, 0, format.OpPreadv, 0, []string{"--ioengine=io_uring", "--nonvectored=0", "--direct=1", "--iodepth=8"}},
		{"fixed files and buffers", format.ViaUring, format.ReqFixed, format.OpPread64, format.NotedBuf,
			[]string{"--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1", "--direct=1", "--iodepth=8"}},
		{"sqpoll", format.ViaUring, 0, format.OpPread64, 0, []string{"--ioengine=io_uring", "--sqthread_poll=1", "--direct=1", "--iodepth=8"}},
		{"in threads of the kernel", format.ViaUring, 0, format.OpPread64, 0, []string{"--ioengine=io_uring", "--force_async=1", "--iodepth=8"}},
		{"one at a time", format.ViaUring, 0, format.OpPread64, 0, []string{"--ioengine=io_uring", "--direct=1", "--iodepth=1"}},
		{"many at a time", format.ViaUring, 0, format.OpPread64, 0,
			[]string{"--ioengine=io_uring", "--direct=1", "--iodepth=32", "--iodepth_batch_submit=8", "--iodepth_batch_complete_min=4"}},
		{"libaio", format.ViaAIO, 0, format.OpPread64, 0, []string{"--ioengine=libaio", "--direct=1", "--iodepth=8"}},
		{"libaio, reaped from memory", format.ViaAIO, 0, format.OpPread64, 0, []string{"--ioengine=libaio", "--direct=1", "--iodepth=8", "--userspace_reap"}},
		{"libaio, many at a time", format.ViaAIO, 0, format.OpPread64, 0, []string{"--ioengine=libaio", "--direct=1", "--iodepth=32", "--iodepth_batch_submit=16"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := storage(t)
			var c recordkit.Collect
			o := record.Options{Dir: dir, Command: append([]string{"fio", "--name=x", "--filename=" + filepath.Join(dir, "data"), "--size=4m", "--bs=4k-64k", "--rw=randrw",
				"--number_ios=400", "--thread", "--output=" + filepath.Join(dir, "out"), "--write_iolog=" + filepath.Join(dir, "log")}, test.args...)}
			r, out := recordOne(t, o, &c)
			if said, err := os.ReadFile(filepath.Join(dir, "out")); err == nil {
				out += string(said)
			}
			if r.Status != 0 && strings.Contains(out, "unable to") {
				t.Skip("the kernel has no such requests")
			}
			require.Zero(t, r.Status, out)
			require.Zero(t, r.Lost)
			want := iolog(t, filepath.Join(dir, "log"))
			require.NotEmpty(t, want)
			require.Equal(t, want, requested(test.via, c.Events))
			require.Empty(t, r.Coverage.Missing)

			var bytes int64
			for i := range c.Events {
				e := &c.Events[i]
				if e.Via == format.ViaCall {
					continue
				}
				bytes += e.Ret
				require.Equal(t, e.Size(), e.Ret, "%v", e)
				require.True(t, e.Notes.Known(format.NotedRing|format.NotedBatch|format.NotedReaped|format.NotedSubmitted|test.noted), "%v", e.Notes)
				require.Equal(t, test.flags, e.Notes.Request.Flags&test.flags)
				if e.Op.Info().Class == format.ClassRead {
					require.Equal(t, test.op, e.Op)
				}
				require.GreaterOrEqual(t, e.Dur, int64(0))
			}
			require.Equal(t, bytes, r.Coverage.Requests[0].Bytes)
			checkBatches(t, test.via, c.Events)
		})
	}
}

// checkBatches proves that requests lie within the calls that submitted them, and
// that no more were reaped than had completed.
func checkBatches(t *testing.T, via format.Via, events []format.Event) {
	t.Helper()
	calls := map[int64]*format.Event{}
	polled := false
	for i := range events {
		e := &events[i]
		polled = polled || e.Op == format.OpUringSetup && e.Args[1]&2 != 0
		if e.Via == format.ViaCall && e.Notes.Known(format.NotedBatch) {
			calls[e.Notes.Request.Batch] = e
		}
	}
	taken, all := map[int64]int64{}, []*format.Event{}
	for i := range events {
		if e := &events[i]; e.Via == via {
			taken[e.Notes.Request.Batch]++
			all = append(all, e)
		}
	}
	for _, e := range all {
		if polled {
			break
		}
		done := uint32(0)
		for _, other := range all {
			if other.Notes.Request.Ring == e.Notes.Request.Ring && other.End() <= e.Start {
				done++
			}
		}
		if via == format.ViaUring { // of libaio the index wraps
			require.LessOrEqual(t, e.Notes.Request.Reaped, done)
		}
		call := calls[e.Notes.Request.Batch]
		require.NotNil(t, call, "%v", e.Notes)
		require.Equal(t, call.TID, e.TID)
		require.Equal(t, call.Notes.Request.Ring, e.Notes.Request.Ring)
		require.Equal(t, call.Start+e.Notes.Request.Submitted, e.Start)
		require.LessOrEqual(t, e.Start, call.End())
	}
	for batch, n := range taken {
		if call := calls[batch]; call != nil {
			require.Equal(t, call.Ret, n, "requests of a batch")
		}
	}
}

var address = regexp.MustCompile(`0x[0-9a-f]{6,}`)

// printed returns the lines of requests, and of calls for them, without times and what
// differs from run to run.
func printed(events []format.Event, page string) (lines []string) {
	for i := range events {
		e := events[i].Clone()
		if e.Via == format.ViaCall && e.Op.Info().Class != format.ClassSubmit {
			continue
		}
		e.Dur, e.Off, e.Calls, e.Cut, e.Faults, e.TID = format.Unknown, format.Off{}, 0, 0, 0, 1
		if n := e.Notes; n != nil {
			n.Has &= format.NotedRing | format.NotedBatch | format.NotedReaped | format.NotedFlags | format.NotedBuf | format.NotedRW | format.NotedSlot | format.NotedNew
			n.Type = 0
		}
		line := strings.TrimSpace(strings.TrimPrefix(string(script.AppendEvent(nil, &e, 0)), "1 0.000000000 "))
		lines = append(lines, address.ReplaceAllString(strings.ReplaceAll(line, page, "PAGE"), "ADDRESS"))
	}
	return lines
}

// The arguments of requests, with their flags, names and batches, and the calls that
// set up rings for them.
func TestRequests(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"a file from its open to its removal", []string{
			"r = Ring()",
			"def name(s): return ctypes.addressof(keep.setdefault(s, ctypes.create_string_buffer(s)))",
			"keep = {}",
			"r.put(18, -100, name(b'made'), 0o640, 0, 0, os.O_RDWR | os.O_CREAT); r.enter(1, 1); r.reap()",
			"g = f + 4", // two maps of the ring have descriptors of their own
			"r.put(23, g, address, 100, 0, 4, 2); r.put(3, g, 0, 0, 0, 2, 1); r.put(22, g, address, 100, -1); r.enter(3, 3); r.reap()",
			"r.put(17, g, 4096, 0, 8192); r.put(24, g, 0, 4096, 0, 0, 4); r.put(8, g, 0, 4096, 0, 0, 2); r.enter(3, 3); r.reap()",
			"r.put(35, -100, name(b'made'), 2**32-100, name(b'moved')); r.enter(1, 1); r.reap()",
			"r.put(36, -100, name(b'moved')); r.enter(1, 1); r.reap()",
			"r.put(36, -100, name(b'moved')); r.enter(1, 1); r.reap()",
			"r.put(19, g); r.enter(1, 1)"},
			`io_uring_setup(8, 0, 16, 1000) = 4 {ring=1}
io_uring:openat(AT_FDCWD, "made", O_RDWR|O_CREAT, 0640) = 7 {new ring=1 batch=1 reaped=0}
io_uring_enter(4, 1, 1, IORING_ENTER_GETEVENTS|IORING_ENTER_SQ_WAKEUP, NULL, 0) = 1 {ring=1 batch=1}
io_uring:pwrite64(7, PAGE, 100, 0) = 100 {ring=1 batch=2 reaped=1 flags=link rwf=RWF_DSYNC}
io_uring:fdatasync(7) = 0 {ring=1 batch=2 reaped=1 flags=drain}
io_uring:read(7, PAGE, 100) = 100 {ring=1 batch=2 reaped=1}
io_uring_enter(4, 3, 3, IORING_ENTER_GETEVENTS|IORING_ENTER_SQ_WAKEUP, NULL, 0) = 3 {ring=1 batch=2}
io_uring:fallocate(7, 0, 8192, 4096) = 0 {ring=1 batch=3 reaped=4}
io_uring:fadvise64(7, 0, 4096, POSIX_FADV_DONTNEED) = 0 {ring=1 batch=3 reaped=4}
io_uring:sync_file_range(7, 0, 4096, SYNC_FILE_RANGE_WRITE) = 0 {ring=1 batch=3 reaped=4}
io_uring_enter(4, 3, 3, IORING_ENTER_GETEVENTS|IORING_ENTER_SQ_WAKEUP, NULL, 0) = 3 {ring=1 batch=3}
io_uring:renameat2(AT_FDCWD, "made", AT_FDCWD, "moved", 0) = 0 {ring=1 batch=4 reaped=7}
io_uring_enter(4, 1, 1, IORING_ENTER_GETEVENTS|IORING_ENTER_SQ_WAKEUP, NULL, 0) = 1 {ring=1 batch=4}
io_uring:unlinkat(AT_FDCWD, "moved", 0) = 0 {ring=1 batch=5 reaped=8}
io_uring_enter(4, 1, 1, IORING_ENTER_GETEVENTS|IORING_ENTER_SQ_WAKEUP, NULL, 0) = 1 {ring=1 batch=5}
io_uring:unlinkat(AT_FDCWD, "moved", 0) = -1 ENOENT (No such file or directory) {ring=1 batch=6 reaped=9}
io_uring_enter(4, 1, 1, IORING_ENTER_GETEVENTS|IORING_ENTER_SQ_WAKEUP, NULL, 0) = 1 {ring=1 batch=6}
io_uring:close(7) = 0 {ring=1 batch=7 reaped=10}
io_uring_enter(4, 1, 1, IORING_ENTER_GETEVENTS|IORING_ENTER_SQ_WAKEUP, NULL, 0) = 1 {ring=1 batch=7}
`},
		{"registered files and buffers", []string{
			"r = Ring()",
			"files = struct.pack('3i', f, -1, 1); r.register(2, ctypes.create_string_buffer(files), 3)",
			"r.register(0, ctypes.create_string_buffer(struct.pack('QQ', address, 4096)), 1)",
			"update = ctypes.create_string_buffer(struct.pack('2i', f, f)); r.register(6, ctypes.create_string_buffer(struct.pack('IIQ', 1, 0, ctypes.addressof(update))), 2)",
			"r.put(5, 2, address, 4096, 8192, 1); r.enter(1, 1); r.reap()",
			"r.register(3, 0, 0)"},
			`io_uring_setup(8, 0, 16, 1000) = 4 {ring=1}
io_uring_register(4, IORING_REGISTER_FILES, ADDRESS, 3, "3,-1,1") = 0 {ring=1}
io_uring_register(4, IORING_REGISTER_BUFFERS, ADDRESS, 1, "PAGE+4096") = 0 {ring=1}
io_uring_register(4, IORING_REGISTER_FILES_UPDATE, ADDRESS, 2, "1=3,3") = 2 {ring=1}
io_uring:pwrite64(2, PAGE, 4096, 8192) = 4096 {ring=1 batch=1 reaped=0 flags=fixed buf=0}
io_uring_enter(4, 1, 1, IORING_ENTER_GETEVENTS|IORING_ENTER_SQ_WAKEUP, NULL, 0) = 1 {ring=1 batch=1}
io_uring_register(4, IORING_UNREGISTER_FILES, NULL, 0, NULL) = 0 {ring=1}
`},
		{"libaio", []string{"aio((1, f, address, 4096), (0, f, address, 100)); aio((0, f, address, 100), (0, 77, address, 10), (0, f, address, 10))"},
			`io_setup(8, ADDRESS) = 0 {ring=1}
io_submit(ADDRESS, 2, ADDRESS) = 2 {ring=1 batch=1}
aio:pwrite64(3, PAGE, 4096, 0) = 4096 {ring=1 batch=1 reaped=0}
aio:pread64(3, PAGE, 100, 0) = 100 {ring=1 batch=1 reaped=0}
io_getevents(ADDRESS, 2, 2, ADDRESS, NULL) = 2 {ring=1}
io_setup(8, ADDRESS) = 0 {ring=2}
io_submit(ADDRESS, 3, ADDRESS) = 1 {ring=2 batch=2}
aio:pread64(3, PAGE, 100, 0) = 100 {ring=2 batch=2 reaped=0}
io_getevents(ADDRESS, 1, 3, ADDRESS, NULL) = 1 {ring=2}
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c recordkit.Collect
			r, out := recordOne(t, doing(t, append(test.lines, "print('%x' % address)")...), &c)
			if strings.HasPrefix(out, "no rings") {
				t.Skip("the kernel has no io_uring, or its use is disabled")
			}
			require.Zero(t, r.Status, out)
			lines := printed(c.Events, "0x"+strings.TrimSpace(out))
			want := strings.Split(strings.TrimSuffix(test.want, "\n"), "\n")
			slices.Sort(want) // requests of a batch end in any order
			slices.Sort(lines)
			require.Equal(t, want, lines)
		})
	}
}

// Contexts of libaio at one address differ by all of the number of the process.
func TestContextsOfProcesses(t *testing.T) {
	const file, most = "/proc/sys/kernel/pid_max", "4194304"
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	if err := os.WriteFile(file, []byte(most), 0); err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, os.WriteFile(file, before, 0)) }()
	var c recordkit.Collect
	r, out := recordOne(t, record.Options{Command: []string{built(t, "contexts")}}, &c)
	if r.Status == 2 {
		t.Skip("no process with such a number, or no context at that address")
	}
	require.Zero(t, r.Status, out)
	rings := map[int32][]int32{}
	for _, op := range []format.Op{format.OpIOSetup, format.OpIODestroy} {
		for _, e := range c.Of(op) {
			rings[e.TID] = append(rings[e.TID], e.Notes.Request.Ring)
		}
	}
	require.Len(t, rings, 2)
	for tid, numbers := range rings {
		require.Len(t, numbers, 2)
		require.Equal(t, numbers[0], numbers[1], "process %d", tid)
	}
}
