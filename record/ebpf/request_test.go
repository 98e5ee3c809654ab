package ebpf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit/recordkit"
	"pianola/record"
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
