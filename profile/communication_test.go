package profile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// typed is an event with a noted type.
func typed(e format.Event, typ format.FileType) format.Event {
	e.Notes = &format.Notes{Has: format.NotedType, Type: typ}
	return e
}

// Calls are communication, I/O or neither by the type of their descriptor's file,
// which a note or the open shows.
func TestWhatIsCommunication(t *testing.T) {
	const (
		openat = format.OpOpenat
		cwd    = format.AtFDCWD
	)
	open := func(name string, typ format.FileType) format.Event {
		return typed(on(openat, 1, 0, 1, 3, name, cwd), typ)
	}
	read3 := on(format.OpRead, 1, 10, 5, 7, "", 3, 0, 7)
	write3 := on(format.OpWrite, 1, 10, 5, 7, "", 3, 0, 7)
	h := format.Header{Meta: []format.Meta{{Key: format.MetaCwd, Value: `"/w"`}}, Descriptors: []format.Descriptor{
		{Process: 1, FD: 0, Path: "/dev/pts/1"}, {Process: 1, FD: 1, Path: "pipe:[7]"}, {Process: 1, FD: 2, Path: "/w/log"},
		{Process: 1, FD: 8, Path: "anon_inode:[eventfd]"}, {Process: 1, FD: 9, Path: "/proc/1/stat"},
	}}
	for _, test := range []struct {
		name   string
		events []format.Event
		want   string // calls by category: read write sync metadata communication other
	}{
		{"a file", []format.Event{open("a", format.TypeReg), read3}, "1 0 0 1 0 0"},
		{"a block device", []format.Event{open("/dev/sda", format.TypeBlk), read3}, "1 0 0 1 0 0"},
		{"a FIFO", []format.Event{open("/w/fifo", format.TypeFifo), read3}, "0 0 0 0 2 0"},
		{"a terminal", []format.Event{open("/dev/tty", format.TypeChr), write3}, "0 0 0 0 2 0"},
		{"a terminal without a note", []format.Event{open("/dev/tty", format.TypeUnknown), write3}, "0 0 0 0 2 0"},
		{"a name alone is that of a file", []format.Event{typed(on(format.OpStat, 1, 0, 1, 0, "/w/fifo"), format.TypeFifo)}, "0 0 0 1 0 0"},
		{"an open that fails", []format.Event{on(openat, 1, 0, 1, -2, "/dev/tty", cwd)}, "0 0 0 1 0 0"},
		{"a note at the read", []format.Event{typed(on(format.OpRead, 1, 0, 1, 1, "", 5), format.TypeSock), on(format.OpFcntl, 1, 2, 1, 0, "", 5), on(format.OpClose, 1, 4, 1, 0, "", 5)}, "0 0 0 0 3 0"},
		{"a note at the stat", []format.Event{typed(on(format.OpNewfstatat, 1, 0, 1, 0, "", 5), format.TypeFifo), on(format.OpRead, 1, 2, 1, 1, "", 5)}, "0 0 0 0 2 0"},
		{"nothing is known", []format.Event{on(format.OpRead, 1, 0, 1, 1, "", 5)}, "1 0 0 0 0 0"},
		{"pipe2, dup and fork", []format.Event{
			on(format.OpPipe2, 1, 0, 1, 0, "", 3|4<<32), on(format.OpDup2, 1, 2, 1, 6, "", 4, 6), on(format.OpFork, 1, 4, 1, 2, ""),
			on(format.OpWrite, 2, 6, 1, 1, "", 6), on(format.OpRead, 1, 8, 1, 1, "", 3),
		}, "0 0 0 0 4 1"},
		{"open at the start", []format.Event{on(format.OpRead, 1, 0, 1, 1, "", 0), on(format.OpWrite, 1, 2, 1, 1, "", 1), on(format.OpWrite, 1, 4, 1, 1, "", 2)}, "0 1 0 0 2 0"},
		{"an eventfd", []format.Event{typed(on(format.OpRead, 1, 0, 1, 8, "", 8), format.TypePseudo), typed(on(format.OpWrite, 1, 2, 1, 8, "", 7), format.TypePseudo)}, "0 0 0 0 2 0"},
		{"an eventfd that is made", []format.Event{on(format.OpEventfd2, 1, 0, 1, 3, "", 0, format.CLOEXEC), read3, write3, on(format.OpClose, 1, 20, 1, 0, "", 3)}, "0 0 0 0 4 0"},
		{"what only sockets do", []format.Event{on(format.OpSendto, 1, 0, 1, 9, "", 3), on(format.OpRecvmmsg, 1, 2, 1, -11, "", 4), read3, on(format.OpClose, 1, 20, 1, 0, "", 4)}, "0 0 0 0 4 0"},
		{"no socket", []format.Event{open("a", format.TypeReg), on(format.OpSendmsg, 1, 2, 1, -88, "", 3), read3, on(format.OpSendmsg, 1, 20, 1, -9, "", 8)}, "1 2 0 1 0 0"},
		{"/proc and /sys", []format.Event{
			open("/proc/stat", format.TypeReg), typed(read3, format.TypePseudo), on(format.OpClose, 1, 20, 1, 0, "", 3),
			on(format.OpRead, 1, 22, 1, 8, "", 9), on(format.OpStat, 1, 24, 1, 0, "/sys/x"), on(openat, 1, 26, 1, -2, "/proc/y", cwd),
		}, "0 0 0 0 0 6"},
		{"what /proc leads to", []format.Event{open("/proc/self/fd/1", format.TypeFifo), write3}, "0 0 0 0 2 0"},
		{"sync of a socket", []format.Event{typed(on(format.OpRead, 1, 0, 1, 1, "", 5), format.TypeSock), on(format.OpFsync, 1, 2, 1, -22, "", 5)}, "0 0 0 0 2 0"},
		{"sendfile to a socket", []format.Event{
			open("a", format.TypeReg), typed(on(format.OpRead, 1, 2, 1, 1, "", 5), format.TypeSock), on(format.OpSendfile, 1, 4, 1, 10, "", 5, 3, -1, 10),
		}, "1 0 0 1 1 0"},
		{"splice from a file to a pipe to a file", []format.Event{
			open("a", format.TypeReg), on(format.OpPipe, 1, 2, 1, 0, "", 5|6<<32), on(format.OpSplice, 1, 4, 1, 10, "", 3, -1, 6, -1, 10),
			on(openat, 1, 6, 1, 4, "b", cwd), on(format.OpSplice, 1, 8, 1, 10, "", 5, -1, 4, -1, 10),
		}, "1 1 0 2 1 0"},
		{"splice between a pipe and a socket", []format.Event{
			on(format.OpPipe, 1, 2, 1, 0, "", 5|6<<32), on(format.OpSplice, 1, 4, 1, 10, "", 7, -1, 6, -1, 10), on(format.OpSplice, 1, 8, 1, 10, "", 5, -1, 7, -1, 10),
		}, "0 0 0 0 3 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := readWith(t, h, test.events...)
			var sum Usage
			for _, f := range p.files() {
				sum.merge(&f.Usage)
			}
			require.Equal(t, p.Categories, sum.Categories)
			require.Equal(t, test.want, fmt.Sprint(p.Categories[Reads].Calls, p.Categories[Writes].Calls, p.Categories[Syncs].Calls,
				p.Categories[Metadata].Calls, p.Categories[Communication].Calls, sum.Other.Calls))
			require.Equal(t, p.All, sum.All())
		})
	}
}

// The results of sendmmsg and recvmmsg are not bytes.
func TestMessagesAreNoBytes(t *testing.T) {
	p := readWith(t, format.Header{}, on(format.OpSendmmsg, 1, 0, 1, 2, "", 3), on(format.OpRecvmmsg, 1, 2, 1, 3, "", 4), on(format.OpRecvfrom, 1, 4, 1, 40, "", 4))
	require.EqualValues(t, 40, p.Categories[Communication].Bytes)
	require.EqualValues(t, 40, p.All.Bytes)
}

// A splice from a pipe writes its file, where the last write ended.
func TestSpliceWrites(t *testing.T) {
	p := readWith(t, format.Header{},
		on(format.OpOpenat, 1, 0, 1, 4, "/b", format.AtFDCWD), on(format.OpPipe, 1, 2, 1, 0, "", 5|6<<32),
		on(format.OpWrite, 1, 4, 1, 100, "", 4, 0, 100), on(format.OpSplice, 1, 6, 1, 10, "", 5, -1, 4, -1, 10), on(format.OpWrite, 1, 8, 1, 5, "", 4, 0, 5))
	require.Equal(t, "/b", p.Files[0].Name)
	require.EqualValues(t, 115, p.Files[0].Categories[Writes].Bytes)
	require.EqualValues(t, 3, p.Files[0].Access[Writes].Sequential)
}

// pipeline is sleep 1 | cat, with a file read.
func pipeline(t *testing.T) *Profile {
	wait := on(format.OpRead, 3, 2000, 1e6, 0, "", 0, 0, 4096)
	sleeps := on(format.OpClose, 2, 1001500, 1, 0, "", 1)
	sleeps.Off = format.Off{Ready: 7e3, Own: 2e3, Timer: 1000e6, Wait: 1e3, Storage: 3e3}
	return readWith(t, format.Header{},
		on(format.OpPipe, 1, 0, 10, 0, "", 0|1<<32), on(format.OpFork, 1, 20, 100, 2, ""), on(format.OpFork, 1, 130, 100, 3, ""),
		on(format.OpOpenat, 3, 1000, 10, 4, "/etc/x", format.AtFDCWD), on(format.OpRead, 3, 1020, 20, 50, "", 4, 0, 4096),
		sleeps, wait, on(format.OpWait4, 1, 300, 1002e3, 3, "", -1))
}

func TestCommunicationIsNoIO(t *testing.T) {
	p := pipeline(t)
	require.EqualValues(t, 1e9+10e3+1e3, p.Categories[Communication].Nanos)
	require.EqualValues(t, 30e3, p.IO().Nanos)
	require.EqualValues(t, 20e3, p.Latency[Reads].Max)
	require.EqualValues(t, 1e9, p.Latency[Communication].Max)
	require.EqualValues(t, 1e9, p.OpLatency[format.OpRead].Max, "an operation is whole")
	require.EqualValues(t, 1e9, p.OpComm[format.OpRead].Nanos)
	require.Equal(t, []int64{p.RunTime - 30e3, 30e3}, p.Concurrency)
	require.Len(t, p.Sizes[Reads], 1)
	require.EqualValues(t, 1, p.Sizes[Reads][0].Calls)
	io := p.IOCurve()
	require.EqualValues(t, 30e3, io[len(io)-1].Spent)
	for i := range p.Files {
		if f := &p.Files[i]; f.Name != "/etc/x" {
			require.Nil(t, f.Heat)
			require.Zero(t, f.IO().Calls)
		}
	}
	require.Equal(t, Times{IO: 30e3, Communication: p.Categories[Communication].Nanos, Compute: p.Times.Compute,
		Ready: 9e3, Own: 2e3, Waits: Waits{WaitProcess: 1002e6, WaitRest: 1e3}, Timer: 1000e6, Storage: 3e3, Other: 200e3}, p.Times)

	var b bytes.Buffer
	require.NoError(t, p.WriteText(&b, TextOptions{}))
	require.Regexp(t, `(?m)^communication +1\.000 +- +3 +0 +0 B +0 B$`, b.String())
	require.Regexp(t, `(?m)^time of threads: .*: I/O 0\.0 %, compute .* %, communication \d.* %, ready 0\.0 % \(while own threads ran 0\.0 %\), waiting .* % \(process .* %\), timer .* %, storage 0\.0 %, other calls 0\.0 %$`, strings.ReplaceAll(b.String(), "\n  ", " "))
}

// Time off the processor without a reason in the recording counts as waiting. It is
// never more than the available time.
func TestTimeOffTheProcessor(t *testing.T) {
	for _, test := range []struct {
		off  format.Off
		want Times
	}{
		{format.Off{}, Times{Compute: 100e3}},
		{format.Off{Other: 30e3}, Times{Waits: Waits{WaitRest: 30e3}, Compute: 70e3}},
		{format.Off{Ready: 10e3, Own: 20e3}, Times{Ready: 30e3, Own: 20e3, Compute: 70e3}},
		{format.Off{Wait: 90e3, Timer: 90e3}, Times{Waits: Waits{WaitRest: 90e3}, Timer: 10e3}},
		{format.Off{Wait: -5, Storage: 1e3}, Times{Storage: 1e3, Compute: 99e3}},
	} {
		e := on(format.OpBrk, 1, 100, 0, 0, "")
		e.Off = test.off
		require.Equal(t, test.want, read(t, e).Times)
	}
}

// The number of threads in I/O is at most the number of threads, for any order of
// calls and any overlaps within a thread. No time is lost without overlaps.
func TestConcurrencyOfThreads(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 1))
		threads := 1 + rnd.IntN(6)
		if seed%20 == 0 {
			threads = maxAtOnce + rnd.IntN(20)
		}
		var events []format.Event
		length := int64(1) << (4 + rnd.IntN(16))
		for i := range 1 + rnd.IntN(6000) {
			start := int64(i) * 8
			if rnd.IntN(4) == 0 {
				start = rnd.Int64N(start + 1)
			}
			e := format.Event{Op: format.OpRead, TID: int32(1 + rnd.IntN(threads)), Start: start, Dur: rnd.Int64N(length), Args: [6]int64{3}}
			if rnd.IntN(50) == 0 {
				e.Dur *= 100
			}
			events = append(events, e)
		}
		p := read(t, events...)
		require.LessOrEqual(t, len(p.Concurrency)-1, len(p.Threads), "seed %d", seed)
		var sum int64
		for _, nanos := range p.Concurrency {
			require.GreaterOrEqual(t, nanos, int64(0))
			sum += nanos
		}
		if len(p.Concurrency) > 0 {
			require.Equal(t, p.RunTime, sum)
		}
	}
}
