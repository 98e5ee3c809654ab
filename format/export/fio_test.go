package export

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// counts is what a replay by fio says that it did.
type counts struct{ Reads, Writes, BytesRead, BytesWritten int64 }

// replayed lets fio replay what a trace is exported as, in a directory of its
// own, and returns what it says.
func replayed(t *testing.T, kind string, h *format.Header, events []format.Event) (c counts) {
	t.Helper()
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("fio is not installed")
	}
	dir, log := t.TempDir(), filepath.Join(t.TempDir(), "trace.iolog")
	require.NoError(t, os.WriteFile(log, exported(t, kind, h, events), 0o644))
	sh := exec.Command("sh", "-s")
	script := string(exported(t, "fiofiles", h, events))
	sh.Dir, sh.Stdin = dir, strings.NewReader(script)
	out, err := sh.CombinedOutput()
	require.NoError(t, err, "%s", out)

	_, command, ok := strings.Cut(script, "\n# fio ")
	require.True(t, ok)
	run := exec.Command(fio, append(strings.Fields(strings.Replace(command, "=LOG ", "="+log+" ", 1)), "--output-format=json")...)
	run.Dir = dir
	out, err = run.Output()
	require.NoError(t, err, "%s", out)
	type side struct {
		Bytes int64 `json:"io_bytes"`
		Calls int64 `json:"total_ios"`
	}
	var result struct {
		Jobs []struct {
			Error       int
			Read, Write side
		}
	}
	require.NoError(t, json.Unmarshal(out, &result), "%s", out)
	require.Len(t, result.Jobs, 1)
	j := result.Jobs[0]
	require.Zero(t, j.Error)
	return counts{j.Read.Calls, j.Write.Calls, j.Read.Bytes, j.Write.Bytes}
}

// fio does as many reads and writes of as many bytes as the trace.
func TestFioReplaysSample(t *testing.T) {
	h, events := sample(t)
	// The copy counts as a read and a write.
	want := counts{Reads: 4, Writes: 7, BytesRead: 4096 + 904 + 50 + 5000, BytesWritten: 100 + 300 + 10 + 7 + 4 + 5000 + 8}
	for _, kind := range []string{"fio", "fio2"} {
		require.Equal(t, want, replayed(t, kind, h, events), kind)
	}
}

// Requests are in flight at fio's as they were.
func TestFioReplaysRequests(t *testing.T) {
	for via, want := range map[format.Via]string{format.ViaUring: "--ioengine=io_uring --iodepth=4", format.ViaAIO: "--ioengine=libaio --iodepth=4"} {
		h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1, Ring: via}}, Files: []format.File{{Path: "a", Type: format.TypeReg, Size: 1 << 20}}}
		events := []format.Event{{Op: format.OpOpen, TID: 1, Dur: 10, Args: [6]int64{0, format.RDWR}, Str: [2][]byte{[]byte("a")}, Ret: 3}}
		for i := range int64(64) {
			e := format.Event{Op: format.OpPread64, Via: via, TID: 2, Start: 1000 + 100*i, Dur: 400, Ret: 4096, Args: [6]int64{3, 0, 4096, i * 4096}}
			if i%2 == 1 {
				e.Op = format.OpPwrite64
			}
			events = append(events, e)
		}
		events = append(events, format.Event{Op: format.OpFsync, Via: via, TID: 2, Start: 8000, Dur: 400, Args: [6]int64{3}},
			format.Event{Op: format.OpClose, TID: 1, Start: 9000, Args: [6]int64{3}})
		require.Contains(t, string(exported(t, "fiofiles", h, events)), "# fio --name=replay --thread --read_iolog=LOG "+want+"\n")
		got := replayed(t, "fio", h, events)
		require.Equal(t, [2]int64{32, 32}, [2]int64{got.Reads, got.Writes}, want) // fio 3.33 counts no bytes of what was in flight at a sync
	}
}

func TestFioReplaysAny(t *testing.T) {
	if testing.Short() {
		t.Skip("short: many runs of fio")
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h, events, want := workload(rand.New(rand.NewPCG(seed, 7)), 3000)
			require.Equal(t, want, replayed(t, "fio", h, events))
		})
	}
}

// workload returns a trace of n calls on a few files that are opened, renamed
// and removed in any order, and what it reads and writes.
func workload(rnd *rand.Rand, n int) (h *format.Header, events []format.Event, c counts) {
	h = &format.Header{Threads: []format.Thread{{Process: 1}}, Files: []format.File{
		{Path: "d", Type: format.TypeDir}, {Path: "d/0 0%'", Type: format.TypeReg, Size: 70_000}, {Path: "d/1 1%'", Type: format.TypeReg},
	}}
	path := func() []byte { return fmt.Appendf(nil, "d/%d %[1]d%%'", rnd.IntN(6)) }
	open := map[int64]bool{}
	for range n {
		e := format.Event{TID: 1, Start: int64(len(events)) * 1000, Dur: 1000, Args: [6]int64{3 + rnd.Int64N(8)}}
		fd, size := e.Args[0], 1+rnd.Int64N(10_000)
		switch k := rnd.IntN(20); {
		case !open[fd]:
			e.Op, e.Ret, e.Str[0] = format.OpOpenm, fd, path()
			e.Args = [6]int64{0, format.RDWR | format.CREAT | rnd.Int64N(2)*format.APPEND | rnd.Int64N(2)*format.TRUNC, 0o600}
			open[fd] = true
		case k == 0:
			e.Op, open[fd] = format.OpClose, false
		case k == 1:
			e.Op, e.Str = format.OpRename, [2][]byte{path(), path()}
		case k == 2:
			e.Op, e.Str[0] = format.OpUnlink, path()
		case k == 3:
			e.Op = format.OpFdatasync
		case k == 4:
			e.Op, e.Args[1], e.Ret = format.OpDup2, 3+rnd.Int64N(8), e.Args[1]
			e.Ret = e.Args[1]
			open[e.Ret] = true
		case k == 5:
			e.Op, e.Args[1] = format.OpLseek, rnd.Int64N(100_000)
			e.Ret = e.Args[1]
		case k == 6:
			e.Op, e.Args[1] = format.OpFtruncate, rnd.Int64N(100_000)
		case k < 12:
			e.Op, e.Args[2], e.Ret = format.OpRead, size, size
			c.Reads, c.BytesRead = c.Reads+1, c.BytesRead+size
		case k < 16:
			e.Op, e.Args[2], e.Ret = format.OpWrite, size, size
			c.Writes, c.BytesWritten = c.Writes+1, c.BytesWritten+size
		case k == 16:
			e.Op, e.Args[2], e.Args[3], e.Ret = format.OpPwrite64, size, rnd.Int64N(1<<20), size
			c.Writes, c.BytesWritten = c.Writes+1, c.BytesWritten+size
		case k == 17:
			e.Op, e.Args[2], e.Args[3], e.Ret = format.OpPread64, size, rnd.Int64N(1<<20), size
			c.Reads, c.BytesRead = c.Reads+1, c.BytesRead+size
		default:
			e.Op, e.Args[2], e.Ret = format.OpRead, size, int64(-rnd.IntN(2)*5)
		}
		events = append(events, e)
	}
	return h, events, c
}

// A trace may come from a stranger: nothing outside of the directory is named.
func TestFioStaysInside(t *testing.T) {
	for _, path := range []string{"../x", "/etc/passwd", "a/../../b", ""} {
		e := []format.Event{{Op: format.OpOpenm, TID: 1, Args: [6]int64{0, format.RDWR | format.CREAT}, Ret: 3, Str: [2][]byte{[]byte(path)}}}
		for _, kind := range []string{"fio", "fio2", "fiofiles"} {
			w, err := New(kind, &strings.Builder{}, &format.Header{})
			require.NoError(t, err)
			err = w.Write(e)
			require.ErrorContains(t, err, "leaves the root", "%s %q", kind, path)
			require.Error(t, w.Close())
		}
	}
}

func TestFioNames(t *testing.T) {
	long := strings.Repeat("x", maxLogName)
	h := &format.Header{Threads: []format.Thread{{Process: 1}}}
	var events []format.Event
	for i, path := range []string{"a b", "a%20b", "-", "dir/\t\n", long, long + "y", "dir", "a b/c", "ö\xff"} {
		events = append(events, format.Event{Op: format.OpOpenm, TID: 1, Ret: int64(i), Args: [6]int64{0, format.RDWR | format.CREAT}, Str: [2][]byte{[]byte(path)}})
	}
	tmp := format.Event{Op: format.OpOpen, TID: 1, Ret: 90, Args: [6]int64{0, format.RDWR | format.TMPFILE}, Str: [2][]byte{[]byte("dir")}}
	events = append(events, tmp, tmp)
	events[len(events)-1].Ret++
	var names []string
	for line := range strings.Lines(string(exported(t, "fio", h, events))) {
		if words := strings.Fields(line); words[2] == "add" {
			names = append(names, words[1])
		}
	}
	require.Equal(t, []string{"a%20b", "a%2520b", "%2D", "dir/%09%0A", long, "%~1", "%~2", "%~3", "ö\xff", "dir/%~tmp", "dir/%~tmp%~2"}, names)
}

// A layout that no disk holds is refused, as by a replay.
func TestLayoutIsBounded(t *testing.T) {
	h := &format.Header{Threads: []format.Thread{{Process: 1}}, Files: []format.File{{Path: "x", Type: format.TypeReg, Size: 1}}}
	events := []format.Event{
		{Op: format.OpOpen, TID: 1, Ret: 3, Args: [6]int64{0, format.RDONLY}, Str: [2][]byte{[]byte("x")}},
		{Op: format.OpPread64, TID: 1, Ret: 1, Args: [6]int64{3, 0, 1, 1 << 60}},
	}
	w, err := New("fiofiles", &strings.Builder{}, h)
	require.NoError(t, err)
	require.NoError(t, w.Write(events))
	require.EqualError(t, w.Close(), "x: files of more than 1 TiB")
}
