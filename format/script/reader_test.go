package script

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// TestStrace reads what strace -f -r -T -y prints and compares it with the
// script that it amounts to.
func TestStrace(t *testing.T) {
	text, err := os.ReadFile("testdata/strace.txt")
	require.NoError(t, err)
	events, r := parse(t, string(text))
	require.Equal(t, Recorded, r.Dialect())
	require.Equal(t, format.Skipped{"SIGCHLD": 1, "write": 1, "poll": 1, "superseded": 1}, r.Skipped)
	got := printRecorded(t, r.Header(), events)
	testkit.Golden(t, "strace.golden", []byte(got))
	again, _ := parse(t, got)
	require.Equal(t, events, again)
}

func TestDialects(t *testing.T) {
	tests := []struct {
		name, text string
		want       Dialect
		events     int
	}{
		{"nothing", "", Unrecognised, 0},
		{"comments only", "# a\n#b: c\n\n \n", Unrecognised, 0},
		{"recorded, announced", "# pianola script 1\n", Recorded, 0},
		{"recorded", "1 0.5 close(3) = 0\n", Recorded, 1},
		{"recorded, backwards", "1 -0.5 close(3) = 0\n", Recorded, 1},
		{"recorded, on a terminal", "[pid  4711]     0.5 close(3) = 0\n", Recorded, 1},
		{"recorded, other line ends", "\r\n1 0.5 close(3) = 0\r\n1 0.5 close(3) = 0\r\n", Recorded, 2},
		{"no end of line", "1 0.5 close(3) = 0 <0.000001>", Recorded, 1},
		{"older", "0.5 close(3) = 0\n", Older, 1},
		{"older, padded", "     0.5 close(3) = 0\n", Older, 1},
		{"intermediate, announced", "# pianola intermediate 1\nclose ( 3 ) = 0\n", Intermediate, 1},
		{"intermediate", "close ( 3 ) = 0\n", Intermediate, 1},
		{"intermediate, compute", "compute ( 1.0 )\n", Intermediate, 0},
		{"intermediate, thread", "# thread: 1 process=1 parent=0 start=0.0\n1 close ( 3 ) = 0\n", Intermediate, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events, r := parse(t, tt.text)
			require.Equal(t, tt.want, r.Dialect())
			require.Len(t, events, tt.events)
		})
	}
}

// TestArguments holds what a text parses to where it is not what the writers
// print.
func TestArguments(t *testing.T) {
	tests := []struct {
		name, text string
		want       format.Event
	}{
		{"numbers of flags are native", "1 0.0 open(NULL, 0x42, 0600) = 0", format.Event{Op: format.OpOpen, TID: 1, Args: [6]int64{0, format.RDWR | format.CREAT, 0o600}}},
		{"older numbers are canonical", "0.0 open(\"\", 36) = 0", format.Event{Op: format.OpOpen, TID: 1, Args: [6]int64{0, 36}, Str: [2][]byte{{}}}},
		{"older, with names", "0.0 open(\"\", O_RDWR|O_CREAT, 0600) = 0", format.Event{Op: format.OpOpen, TID: 1, Args: [6]int64{0, 36, 0o600}, Str: [2][]byte{{}}}},
		{"a mode that does not count", "1 0.0 open(NULL, O_RDWR, 0600) = 0", format.Event{Op: format.OpOpen, TID: 1, Args: [6]int64{0, format.RDWR}}},
		{"lseek of both", "0.0 lseek(3, 10, 10, 0) = 0", format.Event{Op: format.OpLseek, TID: 1, Args: [6]int64{3, 10, 0}, Ret: 10}},
		{"lseek that failed", "0.0 lseek(3, 10, -1, 2) = -22", format.Event{Op: format.OpLseek, TID: 1, Args: [6]int64{3, 10, 2}, Ret: -22}},
		{"unsigned size", "1 0.0 read(3, 0xFFFF, 18446744073709551615) = 0", format.Event{Op: format.OpRead, TID: 1, Args: [6]int64{3, 0xffff, -1}}},
		{"many zeros", "1 0.0 close(000000000000000000000003) = 0", format.Event{Op: format.OpClose, TID: 1, Args: [6]int64{3}}},
		{"hexadecimal result", "1 0.0 close(3) = 0x1f", format.Event{Op: format.OpClose, TID: 1, Args: [6]int64{3}, Ret: 31}},
		{"no name of the error", "1 0.0 close(3) = -9", format.Event{Op: format.OpClose, TID: 1, Args: [6]int64{3}, Ret: -9}},
		{"no name that strace knows", "1 0.0 close(3) = -1 (errno 41)", format.Event{Op: format.OpClose, TID: 1, Args: [6]int64{3}, Ret: -41}},
		{"other name of the error", "1 0.0 close(3) = -1 EWOULDBLOCK (x)", format.Event{Op: format.OpClose, TID: 1, Args: [6]int64{3}, Ret: -11}},
		{"address of a string", "1 0.0 rmdir(0x7ffe) = -14", format.Event{Op: format.OpRmdir, TID: 1, Ret: -14}},
		{"descriptors that are not there", "1 0.0 pipe(0x7ffe) = -14", format.Event{Op: format.OpPipe, TID: 1, Ret: -14}},
		{"vector that is not there", "1 0.0 readv(3, 0x7ffe, 2) = -14", format.Event{Op: format.OpReadv, TID: 1, Args: [6]int64{3, 0x7ffe, 2}, Ret: -14}},
		{"unknown argument of fcntl", "1 0.0 fcntl(3, F_ADD_SEALS, F_SEAL_SEAL|F_SEAL_GROW) = 0", format.Event{Op: format.OpFcntl, TID: 1, Args: [6]int64{3, 1033}}},
		{"more decimals than nanoseconds", "1 0.0000000019 close(3) = 0 <0.1234567899>", format.Event{Op: format.OpClose, TID: 1, Start: 1, Dur: 123456789, Args: [6]int64{3}}},
		{"notes", `1 0.0 close(3) = 0 { a="}" b }`, format.Event{Op: format.OpClose, TID: 1, Args: [6]int64{3}, Notes: &format.Notes{Text: []byte(`a="}" b`)}}},
		{"bytes that are sent", `1 0.0 sendto(5, "GET / HTTP"..., 24, MSG_NOSIGNAL, NULL, 0) = 24`, format.Event{Op: format.OpSendto, TID: 1, Args: [6]int64{5, 0, 24, 0x4000}, Ret: 24}},
		{"bytes from an address", `1 0.0 recvfrom(5<socket:[7]>, "x\0,)"..., 4096, MSG_DONTWAIT|MSG_PEEK, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("1.2.3.4")}, [128 => 16]) = 5`,
			format.Event{Op: format.OpRecvfrom, TID: 1, Args: [6]int64{5, 0, 4096, 0x42}, Ret: 5}},
		{"a message", `1 0.0 sendmsg(3, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base="ab", iov_len=2}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, MSG_NOSIGNAL) = 2`,
			format.Event{Op: format.OpSendmsg, TID: 1, Args: [6]int64{3, 0, 0x4000}, Ret: 2}},
		{"a message that has not come", `1 0.0 recvmsg(3, {msg_namelen=0}, 0) = -1 EAGAIN (Resource temporarily unavailable)`, format.Event{Op: format.OpRecvmsg, TID: 1, Args: [6]int64{3}, Ret: -11}},
		{"messages", `1 0.0 recvmmsg(3, [{msg_hdr={msg_name=NULL, msg_iov=[{iov_base="a", iov_len=9}], msg_iovlen=1}, msg_len=1}], 8, MSG_WAITFORONE, {tv_sec=1, tv_nsec=0}) = 1 (left {tv_sec=0, tv_nsec=9})`,
			format.Event{Op: format.OpRecvmmsg, TID: 1, Args: [6]int64{3, 0, 8, 0x10000}, Ret: 1}},
		{"an eventfd", "1 0.0 eventfd2(0, EFD_CLOEXEC|EFD_NONBLOCK) = 3", format.Event{Op: format.OpEventfd2, TID: 1, Args: [6]int64{0, format.CLOEXEC | format.NONBLOCK}, Ret: 3}},
		{"no notes", "1 0.0 close(3) = 0 {}", format.Event{Op: format.OpClose, TID: 1, Args: [6]int64{3}}},
		{"death", "1 0.0 +++ killed by SIGSEGV +++", format.Event{Op: format.OpExit, TID: 1, Ret: format.NoResult, Args: [6]int64{139}}},
		{"death by an unknown signal", "1 0.0 +++ killed by SIGRT_3 +++", format.Event{Op: format.OpExit, TID: 1, Ret: format.NoResult, Args: [6]int64{128}}},
		{"end", "1 0.0 +++ exited with 3 +++", format.Event{Op: format.OpExit, TID: 1, Ret: format.NoResult, Args: [6]int64{3}}},
		{"intermediate, spaces", "  rename  (  a   \"b c\"  )  =  0  ", format.Event{Op: format.OpRename, TID: 1, Str: [2][]byte{[]byte("a"), []byte("b c")}}},
		{"intermediate, bare names", "rename ( NULLs 12 ) = 0", format.Event{Op: format.OpRename, TID: 1, Str: [2][]byte{[]byte("NULLs"), []byte("12")}}},
		{"intermediate, notes in any order", "read ( 3 4 ) = 0 { x=1  after=1:2 buf=0x10 y }", format.Event{Op: format.OpRead, TID: 1, Args: [6]int64{3, 16, 4},
			Edges: []format.Edge{{Thread: 1, Event: 2}}, Notes: &format.Notes{Text: []byte("x=1 y")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want.Dur == 0 {
				tt.want.Dur = format.Unknown
			}
			require.Equal(t, tt.want, parseOne(t, tt.text))
		})
	}
}

func TestTimes(t *testing.T) {
	events, _ := parse(t, "7 0.5 close(3) = 0\n8 -0.2 close(3) = 0\n7 0.1 nosuchcall(\n\n# x\n8 0.1 close(3) = 0\n")
	require.Equal(t, []int64{5e8, 3e8, 5e8}, []int64{events[0].Start, events[1].Start, events[2].Start})

	events, _ = parse(t, "7 0.5 close(3 <unfinished ...>\n8 0.2 close(4) = 0 <0.1>\n7 0.1 <... close resumed>) = 0 <0.3>\n7 0.1 close(5) = 0\n")
	require.Equal(t, []int64{7e8, 5e8, 9e8}, []int64{events[0].Start, events[1].Start, events[2].Start})
	require.Equal(t, int64(3e8), events[1].Dur)
	require.Equal(t, int32(7), events[1].TID)

	events, _ = parse(t, "# thread: 1 process=1 parent=0 start=0.0\n# thread: 2 process=1 parent=1 start=10.0\n"+
		"compute ( 1.0 )\n2 close ( 3 ) = 0 <0.5>\ncompute ( 2.0 )\n1 close ( 3 ) = 0\n2 compute ( 1.0 )\n2 close ( 3 ) = 0\n")
	require.Equal(t, []int64{10e9, 3e9, 11.5e9}, []int64{events[0].Start, events[1].Start, events[2].Start})
	require.Equal(t, []int64{0, 3e9, 1e9}, []int64{events[0].Compute, events[1].Compute, events[2].Compute})
}

func TestErrors(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	tests := []struct{ text, want string }{
		{"# pianola script 2\n", "trace.txt:1: version 2 is newer than the version that this program reads (1)"},
		{"# pianola intermediate x\n", `trace.txt:1: malformed version "x"`},
		{"# pianola script 1\n# pianola intermediate 1\n", "trace.txt:2: the script changes from recorded to intermediate"},
		{"0.1 close(3) = 0\n# pianola script 1\n", "trace.txt:2: the script changes from older to recorded"},
		{"# thread: x\n", "trace.txt:1: malformed header line: thread"},
		{"hello\n", "trace.txt:1: not an event: expected a call and its result, as strace -f -r -T prints it"},
		{"close(3)\n", "trace.txt:1: not an event: expected a call and its result, as strace -f -r -T prints it"},
		{"# a\n\n" + long + "\n", "trace.txt:3: line longer than 256 KiB"},
		{long, "trace.txt:1: line longer than 256 KiB"},
		{"1 0.1 close(3) = 0\n1 0.1 close(x) = 0\n", "trace.txt:2: close: fd: malformed number"},
		{"1 0.1 close(99999999999999999999) = 0\n", "trace.txt:1: close: fd: number out of range"},
		{"1 0.1 close(-9223372036854775809) = 0\n", "trace.txt:1: close: fd: number out of range"},
		{"1 0.1 close() = 0\n", "trace.txt:1: close: missing argument fd"},
		{"1 0.1 read(3) = 0\n", "trace.txt:1: read: missing argument buf"},
		{"1 0.1 chown(\"a\") = 0\n", "trace.txt:1: chown: missing argument uid"},
		{"1 0.1 open(\"a\", O_CREAT) = 3\n", "trace.txt:1: open: missing argument mode"},
		{"1 0.1 fcntl(3, F_DUPFD) = 4\n", "trace.txt:1: fcntl: missing argument arg"},
		{"1 0.1 fcntl(3, F_SETFL) = 0\n", "trace.txt:1: fcntl: missing argument arg"},
		{"1 0.1 exit() = ?\n", "trace.txt:1: exit: missing argument status"},
		{"1 0.1 close(3, 4) = 0\n", "trace.txt:1: close: too many arguments"},
		{"1 0.1 close(3 4) = 0\n", "trace.txt:1: expected ')'"},
		{"1 0.1 close(3) 0\n", "trace.txt:1: expected '='"},
		{"1 0.1 close(3) = zero\n", "trace.txt:1: malformed number"},
		{"1 0.1 close(3) = -1 ENOSUCH (x)\n", "trace.txt:1: unknown error ENOSUCH"},
		{"1 0.1 close(3) = 0 <x>\n", "trace.txt:1: malformed time"},
		{"1 0.1 close(3) = 0 <-0.1>\n", "trace.txt:1: negative duration"},
		{"1 0.1 close(3) = 0 {a} b\n", "trace.txt:1: unexpected text after the result"},
		{"1 0.1 close(3) = 0 {a\n", "trace.txt:1: notes without an end"},
		{"1 0.1 close(3) = 0 {a=\"}\n", "trace.txt:1: string without an end"},
		{"1 0. close(3) = 0\n", "trace.txt:1: malformed time"},
		{"1 3000000000.0 close(3) = 0\n", "trace.txt:1: time out of range"},
		{"1 0.0 close(3) = 0\n1 2000000000.0 close(3) = 0\n1 2000000000.0 close(3) = 0\n", "trace.txt:3: time out of range"},
		{"1 0.1 close(3) = 0\n1 0.1close(3) = 0\n", "trace.txt:2: expected a space after the time"},
		{"1 0.1 close(3) = 0\nx 0.1 close(3) = 0\n", "trace.txt:2: expected a thread id"},
		{"1 0.1 close(3) = 0\n4294967296 0.1 close(3) = 0\n", "trace.txt:2: thread id out of range"},
		{"1 0.1 ???\n", "trace.txt:1: expected a call"},
		{"1 0.1 rmdir(\"a) = 0\n", "trace.txt:1: rmdir: path: string without an end"},
		{"1 0.1 rmdir(\"a\"...) = 0\n", "trace.txt:1: rmdir: path: truncated string: run strace with a larger -s"},
		{"1 0.1 rmdir(a) = 0\n", "trace.txt:1: rmdir: path: malformed string"},
		{"1 0.1 open(\"a\", O_SOMETHING) = 0\n", "trace.txt:1: open: flags: unknown flag in O_SOMETHING"},
		{"1 0.1 open(\"a\", ) = 0\n", "trace.txt:1: open: flags: expected flags"},
		{"1 0.1 read(3, ) = 0\n", "trace.txt:1: read: buf: expected an address"},
		{"1 0.1 read(3, [(], 5) = 0\n", "trace.txt:1: read: buf: unbalanced brackets"},
		{"1 0.1 read(3, 0x, 5) = 0\n", "trace.txt:1: read: buf: malformed number"},
		{"1 0.1 pipe([3, 4294967296]) = 0\n", "trace.txt:1: pipe: fds: descriptor out of range"},
		{"1 0.1 fcntl(3, F_SETFL, O_X) = 0\n", "trace.txt:1: fcntl: arg: unknown flag in O_X"},
		{"1 0.1 exit(x) = ?\n", "trace.txt:1: exit: status: malformed number"},
		{"1 0.1 +++ exited\n", "trace.txt:1: expected the end of a thread"},
		{"1 0.1 +++ killed by +++\n", "trace.txt:1: expected the name of a signal"},
		{"1 0.1 --- SIGCHLD\n", "trace.txt:1: expected a signal"},
		{"1 0.1 <... read\n", "trace.txt:1: expected a resumed call"},
		{"1 0.1 <unfinished\n", "trace.txt:1: expected a call"},
		{"1 0.1 -x\n", "trace.txt:1: expected a call"},
		{"1 0.1 close(3<a) = 0\n", "trace.txt:1: close: fd: expected '>'"},
		{"1 0.1 getdents64(3, 0x10 /* 5, 10) = 0\n", "trace.txt:1: getdents64: buf: comment without an end"},
		{"1 0.1 read(3, [/* 5, 10) = 0\n", "trace.txt:1: read: buf: comment without an end"},
		{"1 0.1 fcntl(3, F_SETFL, ) = 0\n", "trace.txt:1: fcntl: arg: expected flags"},
		{"close ( 3 ) = 0\nnosuch ( 3 ) = 0\n", "trace.txt:2: unknown operation nosuch"},
		{"close ( 3 ) = 0\n2 close ( 3 ) = 0\n", "trace.txt:2: thread 2 is not in the thread table"},
		{"close ( 3 ) = 0\nclose 3\n", "trace.txt:2: expected an operation and its arguments in parentheses"},
		{"close ( ) = 0\n", "trace.txt:1: close: missing argument fd"},
		{"read ( ) = 0\n", "trace.txt:1: read: missing argument fd"},
		{"open ( a O_CREAT ) = 3\n", "trace.txt:1: open: missing argument mode"},
		{"# pianola script 1\n7 0.5 io_uring_register(4, IORING_REGISTER_FILES, 0x1, 2, \"3,x\") = 0\n", "trace.txt:2: io_uring_register: list: malformed list"},
		{"ring_files ( 2 \"3,,4\" ) = 0\n", "trace.txt:1: ring_files: list: malformed list"},
		{"ring_buffers ( 2 \"1+2+3\" ) = 0\n", "trace.txt:1: ring_buffers: list: malformed list"},
		{"ring_files ( 2 \"x=3\" ) = 0\n", "trace.txt:1: ring_files: list: malformed list"},
		{"ring_files ( 2 \"9223372036854775808\" ) = 0\n", "trace.txt:1: ring_files: list: malformed list"},
		{"close ( 3 4 ) = 0\n", "trace.txt:1: close: too many arguments"},
		{"rmdir ( ? ) = 0\n", "trace.txt:1: rmdir: path: malformed string"},
		{"open ( a O_RDWR ) = 0\nopen ( a O_X ) = 0\n", "trace.txt:2: open: flags: unknown flag in O_X"},
		{"compute ( -1.0 )\n", "trace.txt:1: negative compute"},
		{"compute ( 1.0 -1.0 )\n", "trace.txt:1: negative compute"},
		{"compute ( 1.0 2.0 )\n", "trace.txt:1: the time off the processor is longer than the compute"},
		{"compute ( 1.0 0.5 nap=0.1 )\n", "trace.txt:1: unknown part of the time off the processor"},
		{"compute ( 1.0 0.5 off=0.1 )\n", "trace.txt:1: unknown part of the time off the processor"},
		{"compute ( 1.0 0.5 wait=0.4 timer=0.2 )\n", "trace.txt:1: the parts do not add up to the time off the processor"},
		{"compute ( 1.0 0.5 wait=0.1 wait=0.1 )\n", "trace.txt:1: the parts do not add up to the time off the processor"},
		{"compute ( 1.0 ) x\n", "trace.txt:1: unexpected text after compute"},
		{"compute ( 2000000000.0 )\ncompute ( 2000000000.0 )\n", "trace.txt:2: time out of range"},
		{"close ( 3 ) = 0 {after=1}\n", "trace.txt:1: malformed note after=1"},
		{"close ( 3 ) = 0 {after=0:1}\n", "trace.txt:1: malformed note after=0:1"},
		{"compute ( 2000000000.0 )\nclose ( 3 ) = 0 <2000000000.0>\n", "trace.txt:2: time out of range"},
		{"read ( 3 4 ) = 0 {buf=y}\n", "trace.txt:1: malformed note buf=y"},
		{"1 0.1 close(3) = 0\n1 0.1 close(3) ", "trace.txt:2: cut off in mid-line: expected '='"},
		{"1 0.1 close(3) = 0\n1 0.1 read(3, NULL, 10) = 1", "trace.txt:2: cut off in mid-line: no newline after the last line, so its result may be truncated"},
		{"1 0.1 close(3) = 0\n1 0.", "trace.txt:2: cut off in mid-line: malformed time"},
		{"close ( 3 ) = 0\nopenm ( a 54", "trace.txt:2: cut off in mid-line: openm: mode: malformed number"},
	}
	for _, tt := range tests {
		_, err := readAll(NewReader(strings.NewReader(tt.text), "trace.txt"), 10)
		require.EqualError(t, err, tt.want, "%.100q", tt.text)
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax, tt.want)
	}
}

// TestErrorAfterEvents checks that the events before a fault come first, and
// that the fault stays.
func TestErrorAfterEvents(t *testing.T) {
	broken := errors.New("broken cable")
	good := "1 0.1 close(3) = 0\n1 0.1 close(4) = 0\n"
	for name, r := range map[string]*Reader{
		"syntax": NewReader(strings.NewReader(good+"x\n"+good), "trace.txt"),
		"source": NewReader(&trickle{text: good + "1 0.1 clo", most: 10, err: broken}, "trace.txt"),
	} {
		t.Run(name, func(t *testing.T) {
			var got []format.Event
			batch := make([]format.Event, 10)
			n, err := r.Read(batch)
			for ; err == nil; n, err = r.Read(batch) {
				require.NotZero(t, n)
				got = append(got, batch[:n]...)
			}
			require.Zero(t, n)
			require.Len(t, got, 2)
			require.ErrorContains(t, err, "trace.txt:3: ")
			require.Equal(t, name == "source", errors.Is(err, broken))
			_, again := r.Read(batch)
			require.Equal(t, err, again)
		})
	}
}

// TestUnfinishedIsBounded reads the beginnings of more and longer calls than a
// Reader remembers.
func TestUnfinishedIsBounded(t *testing.T) {
	call := " 0.0 rmdir(\"" + strings.Repeat("x", maxLine-100) + " <unfinished ...>\n"
	calls := maxUnfinished/len(call) + 2
	lines := make([]io.Reader, 0, 2*calls)
	for i := range calls {
		lines = append(lines, strings.NewReader(fmt.Sprint(i+1)), strings.NewReader(call))
	}
	_, err := readAll(NewReader(io.MultiReader(lines...), "trace.txt"), 10)
	require.ErrorContains(t, err, "too many unfinished calls")
}

func TestNoProgress(t *testing.T) {
	_, err := NewReader(stuck{}, "trace.txt").Read(make([]format.Event, 1))
	require.ErrorIs(t, err, io.ErrNoProgress)
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// The argument of F_SETFL is a word of flags. Older scripts, and strace where it
// does not know better, have the native number.
func TestFlagsOfFcntl(t *testing.T) {
	const appends = format.WRONLY | format.APPEND
	tests := []struct {
		lines, shown string
		want         int64
	}{
		{"1 0.1 fcntl(3, F_SETFL, O_WRONLY|O_APPEND) = 0\n", "O_WRONLY|O_APPEND", appends},
		{"1 0.1 fcntl(3, F_SETFL, 0x401 /* flags */) = 0\n", "O_WRONLY|O_APPEND", appends},
		{"# arch: amd64\n1 0.1 fcntl(3, F_SETFL, 1025) = 0\n", "O_WRONLY|O_APPEND", appends},
		{"# arch: amd64\n1 0.1 fcntl(3, F_SETFL, 0x4000) = 0\n", "O_RDONLY|O_DIRECT", format.RDONLY | format.DIRECT},
		{"# arch: arm64\n1 0.1 fcntl(3, F_SETFL, 0x10000) = 0\n", "O_RDONLY|O_DIRECT", format.RDONLY | format.DIRECT},
		{"1 0.1 fcntl(3, F_SETFL, O_APPEND) = 0\n", "O_RDONLY|O_APPEND", format.RDONLY | format.APPEND},
		{"1 0.1 fcntl(3, F_SETFD, 1025) = 0\n", "1025", 1025},
		{"fcntl ( 3 4 10 ) = 0\n", "O_WRONLY|O_APPEND", appends},
	}
	for _, test := range tests {
		events, _ := parse(t, test.lines)
		require.Len(t, events, 1, test.lines)
		require.Equal(t, test.want, events[0].Args[2], test.lines)
		require.Contains(t, string(AppendEvent(nil, &events[0], 0)), ", "+test.shown+") = 0", test.lines)
	}
}

// A bind is an event only if it binds to a path.
func TestBind(t *testing.T) {
	events, r := parse(t, `1 0.1 bind(3, {sa_family=AF_UNIX, sun_path="/run/x"}, 110) = 0
1 0.1 bind(3</tmp/y>, {sa_family=AF_LOCAL, sun_path="x"}, 110) = -1 EADDRINUSE (Address already in use)
1 0.1 bind(3, {sa_family=AF_UNIX, sun_path=@"abstract"}, 20) = 0
1 0.1 bind(3, {sa_family=AF_UNIX}, 2) = 0
1 0.1 bind(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("0.0.0.0")}, 16) = 0
1 0.1 bind(3, 0x7ffe0000, 16) = -1 EFAULT (Bad address)
1 0.1 bind(3, "own", 110) = 0
`)
	var got []string
	for i := range events {
		got = append(got, string(AppendEvent(nil, &events[i], 0)))
	}
	require.Equal(t, []string{
		"1 0.000000000 bind(3, \"/run/x\", 110) = 0\n",
		"1 0.000000000 bind(3, \"x\", 110) = -1 EADDRINUSE (Address already in use)\n",
		"1 0.000000000 bind(3, \"own\", 110) = 0\n",
	}, got)
	require.EqualValues(t, 4, r.Skipped["bind"])
}
