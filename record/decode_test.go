package record

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/format/script"
)

func number(op format.Op) uint32 { return uint32(op.Info().Sys[format.AMD64]) }

func decoderForTests() *decoder { return &decoder{arch: format.AMD64, start: 1000} }

func TestDecode(t *testing.T) {
	const garbage = 0xdeadbeef_00000000
	minus := func(n int64) uint64 { return uint64(uint32(-n)) } // as a compiler leaves an int
	tests := []struct {
		name    string
		call    Call
		details *bpf.CDetails
		strings string
		want    string
	}{
		{"plain", Call{Nr: number(format.OpPread64), Ret: 512, Args: [6]uint64{garbage | 3, 0x7f00, 4096, 1 << 40}}, nil, "",
			"7 0.000000500 pread64(3, 0x7f00, 4096, 1099511627776) = 512 <0.000000042>\n"},
		{"negative int arguments", Call{Nr: number(format.OpWait4), Ret: -int64(unix.ECHILD), Args: [6]uint64{minus(1), 0, 1}}, nil, "",
			"7 0.000000500 wait4(-1, NULL, WNOHANG, NULL) = -1 ECHILD (No child processes) <0.000000042>\n"},
		{"a mode that the kernel does not read", Call{Nr: number(format.OpOpenat), Ret: -2, Args: [6]uint64{minus(100), 1, 0, 0o755}},
			&bpf.CDetails{Len: [2]uint16{1}, State: [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE}}, "a",
			"7 0.000000500 openat(AT_FDCWD, \"a\", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000000042>\n"},
		{"a created file", Call{Flags: bpf.CFlagFLAG_STAT | bpf.CFlagFLAG_FILE, Nr: number(format.OpOpenat), Ret: 5,
			Args: [6]uint64{minus(100), 1, 0o102, 0o600}},
			&bpf.CDetails{Len: [2]uint16{1}, State: [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE}, Mode: unix.S_IFREG | 0o600, Dev: 8<<20 | 17, Ino: 9, Nlink: 1, Created: 1}, "a",
			"7 0.000000500 openat(AT_FDCWD, \"a\", O_RDWR|O_CREAT, 0600) = 5 <0.000000042> {type=reg mode=0600 size=0 cached=0 dev=8:17 ino=9 nlink=1 new}\n"},
		{"a directory", Call{Flags: bpf.CFlagFLAG_STAT, Nr: number(format.OpStat), Args: [6]uint64{1, 2}},
			&bpf.CDetails{Len: [2]uint16{1}, State: [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE}, Mode: unix.S_IFDIR | 0o1777, Size: 40}, "/",
			"7 0.000000500 stat(\"/\", 0x2) = 0 <0.000000042> {type=dir mode=01777 size=40}\n"},
		{"two strings, one cut", Call{Nr: number(format.OpRename), Ret: -36},
			&bpf.CDetails{Len: [2]uint16{2, 3}, State: [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE, bpf.CStringStateSTRING_CUT}}, "abcde",
			"7 0.000000500 rename(\"ab\", \"cde\") = -1 ENAMETOOLONG (File name too long) <0.000000042> {new=cut}\n"},
		{"strings without memory", Call{Nr: number(format.OpRename), Ret: -14},
			&bpf.CDetails{State: [2]bpf.CStringState{bpf.CStringStateSTRING_UNREADABLE, bpf.CStringStateSTRING_NULL}}, "",
			"7 0.000000500 rename(NULL, NULL) = -1 EFAULT (Bad address) <0.000000042> {old=unreadable}\n"},
		{"a link's target", Call{Flags: bpf.CFlagFLAG_TARGET, Nr: number(format.OpReadlink), Ret: 3, Args: [6]uint64{1, 2, 100}},
			&bpf.CDetails{Len: [2]uint16{1, 3}, State: [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE, bpf.CStringStateSTRING_WHOLE}}, "lx\"y",
			"7 0.000000500 readlink(\"l\", 0x2, 100) = 3 <0.000000042> {target=\"x\\\"y\"}\n"},
		{"a program by descriptor", Call{Nr: number(format.OpExecveat), Args: [6]uint64{12}},
			&bpf.CDetails{Len: [2]uint16{13}, State: [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE}}, "/dev/fd/12/ls",
			"7 0.000000500 execveat(12, \"ls\", NULL, NULL, 0) = 0 <0.000000042>\n"},
		{"execve in a thread", Call{Flags: bpf.CFlagFLAG_RENUMBERED, Nr: number(format.OpExecve), Args: [6]uint64{5: 99}},
			&bpf.CDetails{Len: [2]uint16{2}, State: [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE}}, "ls",
			"7 0.000000500 execve(\"ls\", NULL, NULL) = 0 <0.000000042> {was=99}\n"},
		{"exit", Call{Nr: number(format.OpExit), Args: [6]uint64{minus(3)}}, nil, "",
			"7 0.000000500 exit(-3) = ?\n"},
		{"killed by a signal", Call{Flags: bpf.CFlagFLAG_SIGNAL, Nr: number(format.OpExit), Args: [6]uint64{0, 11}}, nil, "",
			"7 0.000000500 exit(0) = ? {signal=SIGSEGV}\n"},
		{"killed by a signal without a name", Call{Flags: bpf.CFlagFLAG_SIGNAL, Nr: number(format.OpExit), Args: [6]uint64{0, 40}}, nil, "",
			"7 0.000000500 exit(0) = ? {signal=40}\n"},
		{"a read from a pipe", Call{Nr: number(format.OpRead), Ret: 1, Args: [6]uint64{3, 16, 1}, Type: unix.S_IFIFO >> 12, Faults: 2, Off: format.Off{Other: 99}}, nil, "",
			"7 0.000000500 read(3, 0x10, 1) = 1 <0.000000042> {type=fifo faults=2 off=99}\n"},
		{"a message that is sent", Call{Nr: number(format.OpSendto), Ret: 1, Args: [6]uint64{3, 16, 1, 0x4000, 0, garbage | 9}, Channel: 0xab, Pos: 12}, nil, "",
			"7 0.000000500 sendto(3, 0x10, 1, MSG_NOSIGNAL, NULL, 9) = 1 <0.000000042> {sent=tcp:ab+12}\n"},
		{"a message that is read", Call{Nr: number(format.OpRead), Ret: 1, Args: [6]uint64{3, 16, 1}, Type: unix.S_IFSOCK >> 12, Flags: bpf.CFlagFLAG_UNIX, Channel: 1, Pos: 12}, nil, "",
			"7 0.000000500 read(3, 0x10, 1) = 1 <0.000000042> {type=sock got=unix:1+12}\n"},
		{"a read from a file", Call{Nr: number(format.OpRead), Ret: 1, Args: [6]uint64{3, 16, 1}, Type: unix.S_IFREG >> 12}, nil, "",
			"7 0.000000500 read(3, 0x10, 1) = 1 <0.000000042>\n"},
		{"an owner that stays", Call{Nr: number(format.OpFchown), Args: [6]uint64{3, garbage | 0xffffffff, minus(1)}}, nil, "",
			"7 0.000000500 fchown(3, -1, -1) = 0 <0.000000042>\n"},
		{"a file and an attribute", Call{Nr: number(format.OpSetxattr), Args: [6]uint64{1, 2, 3, 4, 1}},
			&bpf.CDetails{Len: [2]uint16{1, 6}, State: [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE, bpf.CStringStateSTRING_WHOLE}}, "fuser.a",
			"7 0.000000500 setxattr(\"f\", \"user.a\", 0x3, 4, XATTR_CREATE) = 0 <0.000000042>\n"},
		{"a descriptor and an attribute", Call{Nr: number(format.OpFremovexattr), Ret: -61, Args: [6]uint64{7, 2}},
			&bpf.CDetails{Len: [2]uint16{6}, State: [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE}}, "user.a",
			"7 0.000000500 fremovexattr(7, \"user.a\") = -1 ENODATA (No data available) <0.000000042>\n"},
		{"times of a descriptor", Call{Nr: number(format.OpUtimensat), Args: [6]uint64{7, 0, 9}}, &bpf.CDetails{}, "",
			"7 0.000000500 utimensat(7, NULL, 0x9, 0) = 0 <0.000000042>\n"},
		{"the descriptor's own offset", Call{Nr: number(format.OpSendfile), Ret: 4, Args: [6]uint64{7, 8, ^uint64(0), 9}}, &bpf.CDetails{}, "",
			"7 0.000000500 sendfile(7, 8, -1, 9) = 4 <0.000000042>\n"},
		{"a mapping", Call{Nr: number(format.OpMmap), Ret: -int64(unix.ENOMEM), Args: [6]uint64{0, 4096, 3, 0x22, minus(1), 1 << 12}}, nil, "",
			"7 0.000000500 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 4096) = -1 ENOMEM (Cannot allocate memory) <0.000000042>\n"},
		{"a range to clone", Call{Nr: number(format.OpIoctl), Args: [6]uint64{3, format.Ficlonerange, 4, 5, 6, 7}}, &bpf.CDetails{}, "",
			"7 0.000000500 ioctl(3, FICLONERANGE, 4, 5, 6, 7) = 0 <0.000000042>\n"},
		{"a child that has ended", Call{Nr: number(format.OpWaitid), Args: [6]uint64{0, 0, 16, 4, 0, 77}}, &bpf.CDetails{}, "",
			"7 0.000000500 waitid(P_ALL, 0, 0x10, WEXITED, NULL, 77) = 0 <0.000000042>\n"},
		{"arguments without memory", Call{Flags: bpf.CFlagFLAG_UNREADABLE, Nr: number(format.OpPipe), Ret: -14}, &bpf.CDetails{}, "",
			"7 0.000000500 pipe([0, 0]) = -1 EFAULT (Bad address) <0.000000042> {args=unreadable}\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := test.call
			c.TID, c.Start, c.Dur, c.Details, c.Text = 7, 1500, 42, test.details, []byte(test.strings)
			var e format.Event
			require.NoError(t, decoderForTests().decode(&c, &e))
			require.Equal(t, test.want, string(script.AppendEvent(nil, &e, e.Start)))
		})
	}
}

// Bytes through sockets, pipes and eventfds are not part of the account.
func TestAccountIsOfFiles(t *testing.T) {
	w := NewWriter(discard{}, 0)
	w.decoder.arch = decoderForTests().arch
	for _, c := range []Call{
		{Nr: number(format.OpSendto), Ret: 5, Dur: 10}, {Nr: number(format.OpRecvmmsg), Ret: 5, Dur: 10}, {Nr: number(format.OpRead), Ret: 5, Dur: 10, Type: unix.S_IFSOCK >> 12},
		{Nr: number(format.OpEventfd2), Ret: 5, Dur: 10}, {Nr: number(format.OpPipe2), Dur: 10}, {Nr: number(format.OpRead), Ret: 7, Dur: 1},
	} {
		_, err := w.Add(&c)
		require.NoError(t, err)
	}
	a := w.Account()
	require.Equal(t, coverage.Account{Known: a.Known, Recorded: coverage.Amount{Bytes: 7, Nanos: 1}}, a)
}

func TestDecodeUnknownSyscall(t *testing.T) {
	var e format.Event
	for _, nr := range []uint32{39, uint32(bpf.CNumberNR_WAIT) - 1, format.MaxSys, 1<<16 - 1} {
		require.ErrorIs(t, decoderForTests().decode(&Call{Nr: nr}, &e), errCall)
	}
}

func TestDecodeKeepsNotesApart(t *testing.T) {
	d := decoderForTests()
	exit := Call{Nr: number(format.OpExit), Flags: bpf.CFlagFLAG_SIGNAL, Args: [6]uint64{0, 9}}
	events := make([]format.Event, 500)
	for i := range events {
		require.NoError(t, d.decode(&exit, &events[i]))
	}
	for i := range events {
		require.Contains(t, string(script.AppendEvent(nil, &events[i], 0)), "{signal=SIGKILL}\n")
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	d := decoderForTests()
	whole := [2]bpf.CStringState{bpf.CStringStateSTRING_WHOLE}
	calls := []Call{
		{Nr: number(format.OpRead)},
		{Nr: number(format.OpOpen), Flags: bpf.CFlagFLAG_STAT | bpf.CFlagFLAG_FILE, Details: &bpf.CDetails{Len: [2]uint16{3}, State: whole}, Text: []byte("abc")},
		{Nr: number(format.OpExecveat), Details: &bpf.CDetails{Len: [2]uint16{9}, State: whole}, Text: []byte("/dev/fd/0")},
	}
	var e format.Event
	require.Zero(t, testing.AllocsPerRun(100, func() {
		d.reset()
		for i := range calls {
			if err := d.decode(&calls[i], &e); err != nil {
				panic(err)
			}
		}
	}))
}

func BenchmarkDecode(b *testing.B) {
	d := decoderForTests()
	call := Call{Nr: number(format.OpPread64)}
	var e format.Event
	b.ReportAllocs()
	for b.Loop() {
		if err := d.decode(&call, &e); err != nil {
			b.Fatal(err)
		}
	}
}
