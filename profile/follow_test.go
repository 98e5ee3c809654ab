package profile

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// on returns an event of microseconds with arguments and a name.
func on(op format.Op, tid int32, start, dur, ret int64, name string, args ...int64) format.Event {
	e := testkit.Event(op, start, dur, ret)
	e.TID = tid
	copy(e.Args[:], args)
	if name != "" {
		e.Str[0] = []byte(name)
	}
	return e
}

// fileCalls returns a line for each file: its name, calls and bytes read and
// written.
func fileCalls(p *Profile) (lines []string) {
	for i := range p.Files {
		f := &p.Files[i]
		lines = append(lines, fmt.Sprintf("%s %d %d %d", f.Name, f.All().Calls, f.Categories[Reads].Bytes, f.Categories[Writes].Bytes))
	}
	return lines
}

func readWith(t *testing.T, h format.Header, events ...format.Event) *Profile {
	t.Helper()
	p, err := Read(&testkit.Reader{Events: events, Batch: 100, Err: io.EOF, Head: h})
	require.NoError(t, err)
	return p
}

func TestDescriptorsLeadToFiles(t *testing.T) {
	const (
		openat = format.OpOpenat
		read   = format.OpRead
		write  = format.OpWrite
		close  = format.OpClose
		cwd    = format.AtFDCWD
	)
	script := format.Header{Meta: []format.Meta{{Key: format.MetaCwd, Value: `"/w"`}}}
	for _, test := range []struct {
		name   string
		header format.Header
		events []format.Event
		want   string
	}{
		{"open, read, close", script, []format.Event{
			on(openat, 1, 0, 1, 3, "a", cwd), on(read, 1, 2, 9, 10, "", 3), on(close, 1, 12, 1, 0, "", 3), on(close, 1, 14, 1, -9, "", 3),
		}, "/w/a 3 10 0"},
		{"a number used again", script, []format.Event{
			on(openat, 1, 0, 1, 3, "a", cwd), on(read, 1, 2, 9, 10, "", 3), on(close, 1, 12, 1, 0, "", 3),
			on(openat, 1, 20, 1, 3, "./x/../b", cwd), on(read, 1, 22, 5, 7, "", 3),
		}, "/w/a 3 10 0; /w/b 2 7 0"},
		{"below a directory", script, []format.Event{
			on(openat, 1, 0, 1, 3, "/d//e/", cwd), on(openat, 1, 2, 1, 4, "f", 3), on(write, 1, 4, 5, 6, "", 4), on(format.OpNewfstatat, 1, 10, 3, 0, "", 4),
			on(openat, 1, 20, 1, -2, "g", 77),
		}, "/d/e/f 3 0 6; /d/e 1 0 0; ?/g 1 0 0"},
		{"chdir and fchdir", script, []format.Event{
			on(format.OpChdir, 1, 0, 4, 0, "sub"), on(format.OpMkdir, 1, 5, 3, 0, "m"), on(openat, 1, 9, 2, 3, "..", cwd),
			on(format.OpFchdir, 1, 12, 1, 0, "", 3), on(format.OpRmdir, 1, 14, 1, 0, "n"),
		}, "/w/sub 1 0 0; /w 2 0 0; /w/sub/m 1 0 0; /w/n 1 0 0"},
		{"dup, dup2, fcntl", script, []format.Event{
			on(openat, 1, 0, 1, 3, "a", cwd), on(openat, 1, 2, 1, 4, "b", cwd), on(format.OpDup, 1, 4, 1, 5, "", 3), on(read, 1, 6, 1, 1, "", 5),
			on(format.OpDup2, 1, 8, 1, 4, "", 3, 4), on(read, 1, 10, 1, 2, "", 4), on(format.OpFcntl, 1, 12, 1, 10, "", 4, format.FDupfd), on(read, 1, 14, 1, 4, "", 10),
		}, "/w/a 7 7 0; /w/b 1 0 0"},
		{"fork copies, and a child's own close", script, []format.Event{
			on(openat, 1, 0, 1, 3, "a", cwd), on(close, 2, 8, 1, 0, "", 3), on(openat, 2, 10, 1, 3, "b", cwd), on(read, 2, 12, 3, 5, "", 3),
			on(format.OpFork, 1, 5, 9, 2, ""), on(read, 1, 16, 9, 6, "", 3),
		}, "/w/a 3 6 0; /w/b 2 5 0"},
		{"threads share", script, []format.Event{
			on(format.OpClone, 1, 0, 1, 2, "", format.CloneFiles|format.CloneThread|format.CloneFS), on(openat, 2, 2, 1, 3, "a", cwd), on(read, 1, 5, 5, 6, "", 3),
		}, "/w/a 2 6 0"},
		{"exec closes", script, []format.Event{
			on(openat, 1, 0, 1, 3, "a", cwd, 0, format.CLOEXEC), on(openat, 1, 2, 5, 4, "b", cwd), on(format.OpExecve, 1, 8, 3, 0, "/bin/x"),
			on(read, 1, 12, 1, 1, "", 4), on(read, 1, 14, 1, 2, "", 3),
		}, "/w/b 2 1 0; /w/a 1 0 0; fd 3 1 2 0; /bin/x 1 0 0"},
		{"close_range", script, []format.Event{
			on(openat, 1, 0, 1, 3, "a", cwd), on(format.OpCloseRange, 1, 2, 1, 0, "", 3, 1<<32-1), on(read, 1, 4, 1, 2, "", 3),
		}, "/w/a 1 0 0; fd 3 1 2 0"},
		{"a close that comes late", script, []format.Event{
			on(openat, 1, 0, 1, 3, "a", cwd), on(openat, 1, 4, 1, 3, "b", cwd), on(close, 1, 2, 9, 0, "", 3), on(read, 1, 14, 1, 2, "", 3),
		}, "/w/a 2 0 0; /w/b 2 2 0"},
		{"dup2 while a close is late", script, []format.Event{
			on(openat, 1, 0, 1, 3, "a", cwd), on(openat, 1, 4, 1, 3, "b", cwd), on(openat, 1, 6, 1, 4, "c", cwd), on(format.OpDup2, 1, 8, 1, 3, "", 4, 3),
			on(close, 1, 2, 9, 0, "", 3), on(read, 1, 14, 1, 2, "", 3),
		}, "/w/a 2 0 0; /w/c 3 2 0; /w/b 1 0 0"},
		{"open at the start", format.Header{Descriptors: []format.Descriptor{{Process: 1, FD: 0, Path: "/in"}, {Process: 1, FD: 1, Path: "pipe:[7]"}}}, []format.Event{
			on(read, 1, 0, 2, 2, "", 0), on(write, 1, 4, 1, 3, "", 1), on(write, 1, 8, 0, 3, "", 2),
		}, "/in 1 2 0; pipe:[7] 1 0 0; stderr 1 0 3"},
		{"no files", script, []format.Event{
			{Op: read, TID: 1, Args: [6]int64{5}, Ret: 1, Notes: &format.Notes{Has: format.NotedType, Type: format.TypeSock}}, on(format.OpMemfdCreate, 1, 2, 1, 3, "m"), on(write, 1, 4, 5, 9, "", 3),
			on(format.OpPipe, 1, 12, 1, 0, "", 6|7<<32), on(write, 1, 14, 2, 1, "", 7), on(format.OpSync, 1, 20, 1, 0, ""),
		}, "memfd:m 1 0 9; pipe 2 0 0; socket 1 0 0"},
		{"two descriptors", script, []format.Event{
			on(openat, 1, 0, 1, 3, "a", cwd), on(openat, 1, 2, 1, 4, "b", cwd),
			on(format.OpCopyFileRange, 1, 4, 1, 9, "", 3, -1, 4, -1, 9), on(format.OpSendfile, 1, 6, 3, 4, "", 4, 3, -1, 4),
		}, "/w/a 2 4 0; /w/b 2 0 9"},
		{"a trace", format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 0, Start: 1000}}}, []format.Event{
			on(format.OpOpen, 1, 0, 1, 3, "home/x"), on(read, 2, 2, 4, 7, "", 3),
		}, "home/x 2 7 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := readWith(t, test.header, test.events...)
			require.Equal(t, test.want, strings.Join(fileCalls(p), "; "))
			all := p.NoFile.All()
			for i := range p.Files {
				sum := p.Files[i].All()
				all.add(&sum)
			}
			require.Equal(t, p.All, all, "every call is about one file or none")
		})
	}
}

func TestThreadsAndProcesses(t *testing.T) {
	off := on(format.OpRead, 1, 100, 10, 1, "", 3)
	off.Off = format.Off{Wait: 30000}
	p := readWith(t, format.Header{Meta: []format.Meta{{Key: format.MetaCommand, Value: "app x"}}},
		on(format.OpRead, 1, 10, 10, 1, "", 3),
		on(format.OpClone, 1, 20, 10, 2, "", format.CloneThread|format.CloneFiles),
		on(format.OpWrite, 2, 40, 20, 5, "", 3),
		on(format.OpFork, 2, 60, 5, 9, ""),
		on(format.OpExecve, 9, 70, 10, 0, "/bin/sh"),
		off,
		on(format.OpBrk, 9, 80, 5, 0, ""),
		format.Event{Op: format.OpExitGroup, TID: 9, Start: 90e3, Dur: format.Unknown, Ret: format.NoResult},
		on(format.OpWait4, 2, 65, 27, 9, "", -1),
	)
	type row struct {
		tid, process int32
		times        Times
	}
	var rows []row
	for i := range p.Threads {
		rows = append(rows, row{p.Threads[i].TID, p.Threads[i].Process, p.Threads[i].Times})
	}
	require.Equal(t, []row{
		{1, 1, Times{IO: 20e3, Waits: Waits{WaitRest: 30e3}, Other: 10e3, Compute: 50e3}},
		{2, 1, Times{IO: 20e3, Waits: Waits{WaitProcess: 27e3}, Other: 5e3, Compute: 20e3}},
		{9, 9, Times{Other: 15e3, Compute: 15e3}},
	}, rows)
	require.Equal(t, Times{IO: 40e3, Waits: Waits{WaitProcess: 27e3, WaitRest: 30e3}, Other: 30e3, Compute: 85e3}, p.Times)
	require.Len(t, p.Processes, 2)
	require.Equal(t, "app x", p.Processes[0].Command)
	require.Equal(t, 2, p.Processes[0].Threads)
	require.Equal(t, "/bin/sh", p.Processes[1].Command)
	require.EqualValues(t, 3, p.Processes[1].All().Calls)
	require.EqualValues(t, 70e3, p.Processes[1].First)
}

func TestAccess(t *testing.T) {
	open := on(format.OpOpenat, 1, 0, 1, 3, "/a", format.AtFDCWD)
	pread := func(at, size int64) format.Event { return on(format.OpPread64, 1, at, 1, size, "", 3, 0, size, at) }
	var events []format.Event
	events = append(events, open)
	for i := range int64(10) {
		events = append(events, pread(4096*i, 4096)) // sequential, also the first
	}
	for i := range int64(10) {
		events = append(events, pread(1<<20+i*8192, 4096)) // two random, eight strided
	}
	events = append(events, pread(5, 100), pread(1<<30, 7)) // random
	for range 4 {
		events = append(events, on(format.OpWrite, 1, 9, 1, 10, "", 3, 0, 1<<63-4096)) // the same
	}
	events = append(events, on(format.OpPread64, 1, 9, 1, 0, "", 3, 0, 10, 77)) // moved nothing
	a := readWith(t, format.Header{}, events...).Files[0].Access
	require.Equal(t, [2]Access{
		{Moves: 22, To: 1<<30 + 7, Sequential: 10, Strided: 8, Random: 4, Sizes: []Frequent{{4096, 20}, {7, 1}, {100, 1}}, Asked: []Frequent{{4096, 20}, {7, 1}, {100, 1}}, Strides: []Frequent{{8192, 8}}},
		{Moves: 4, To: 40, Sequential: 4, Sizes: []Frequent{{10, 4}}, Asked: []Frequent{{1<<63 - 4096, 4}}},
	}, a)
	share, ok := a[Reads].SequentialShare()
	require.True(t, ok)
	require.InDelta(t, 10.0/22, share, 1e-12)
}

// Appends go to the end of the file, wherever the descriptor is.
func TestAppends(t *testing.T) {
	open := on(format.OpOpenat, 1, 0, 1, 3, "/a", format.AtFDCWD, 0, format.APPEND|format.WRONLY)
	testAppends(t, open)
	open.Args[2] = format.WRONLY
	testAppends(t, open, on(format.OpFcntl, 1, 1, 1, 0, "", 3, format.FSetfl, format.WRONLY|format.APPEND))
}

func testAppends(t *testing.T, open format.Event, more ...format.Event) {
	open.Notes = &format.Notes{Has: format.NotedType | format.NotedSize, Type: format.TypeReg, Size: 8192}
	events := append([]format.Event{open}, more...)
	p := readWith(t, format.Header{}, append(events, on(format.OpWrite, 1, 2, 1, 4096, "", 3, 0, 4096))...)
	require.Equal(t, &Heat{ColumnNanos: p.Files[0].Heat.ColumnNanos, RowBytes: 4096, Columns: p.Files[0].Heat.Columns, Rows: 3,
		Read: make([]int64, 3*p.Files[0].Heat.Columns), Written: p.Files[0].Heat.Written}, p.Files[0].Heat)
	last := p.Files[0].Heat.Written
	require.EqualValues(t, 4096, last[len(last)-1])
}

func TestMoreFilesThanAreToldApart(t *testing.T) {
	var c Collector
	e := []format.Event{on(format.OpStat, 1, 0, 1, 0, "-")}
	for i := range maxFiles + 10 {
		e[0].Str[0] = fmt.Appendf(e[0].Str[0][:0], "/f%d", i)
		require.NoError(t, c.Write(e))
	}
	p := c.Profile()
	require.Len(t, p.Files, maxFiles)
	require.EqualValues(t, 10, p.OtherFiles.Categories[Metadata].Calls)
}

func TestMoreThreadsThanAreToldApart(t *testing.T) {
	var c Collector
	for i := range maxThreads + 10 {
		require.NoError(t, c.Write([]format.Event{
			on(format.OpRead, int32(i+1), int64(i), 1, 5, "", 3),
			{Op: format.OpExit, TID: int32(i + 1), Start: int64(i) * 1000, Dur: format.Unknown, Ret: format.NoResult},
		}))
	}
	p := c.Profile()
	require.Len(t, p.Threads, maxThreads)
	require.EqualValues(t, 20, p.OtherThreads.All().Calls)
	require.EqualValues(t, p.All.Nanos, p.Times.IO)
}

func TestFewerRows(t *testing.T) {
	c := Collector{Rows: 2}
	for i := range int32(5) {
		require.NoError(t, c.Write([]format.Event{on(format.OpStat, i+1, int64(i), 1, 0, fmt.Sprint("/f", i))}))
	}
	p := c.Profile()
	require.Len(t, p.Files, 2)
	require.EqualValues(t, 3, p.OtherFiles.Categories[Metadata].Calls)
	require.Len(t, p.Threads, 2)
	require.EqualValues(t, 3, p.OtherThreads.All().Calls)
}
