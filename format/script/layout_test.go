package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// Each way in which strace writes the same three calls gives the same events,
// as far as it says when they were.
func TestLayouts(t *testing.T) {
	const open, write, exit = `openat(AT_FDCWD, "f", O_RDONLY) = 3`, `close(3) = 0`, `exit_group(0) = ?`
	for _, tt := range []struct {
		name   string
		prefix [3]string
		tid    int32
		starts [3]int64 // milliseconds
		stamp  Stamp
		origin int64 // seconds, 0 for none
	}{
		{"nothing", [3]string{"", "", ""}, 1, [3]int64{}, Untimed, 0},
		{"-f", [3]string{"7 ", "7  ", "7\t"}, 7, [3]int64{}, Untimed, 0},
		{"-f -r", [3]string{"7     0.000000 ", "7     0.001000 ", "7     0.002000 "}, 7, [3]int64{0, 1, 3}, Relative, 0},
		{"-r", [3]string{"     0.000000 ", "     0.001000 ", "     0.002000 "}, 1, [3]int64{0, 1, 3}, Relative, 0},
		{"-r, milliseconds", [3]string{"0.000 ", "0.001 ", "0.002 "}, 1, [3]int64{0, 1, 3}, Relative, 0},
		{"-r, nanoseconds", [3]string{"0.000000000 ", "0.001000000 ", "0.002000000 "}, 1, [3]int64{0, 1, 3}, Relative, 0},
		{"-t", [3]string{"10:00:00 ", "10:00:00 ", "10:00:01 "}, 1, [3]int64{0, 0, 1000}, Clock, 36000},
		{"-f -t", [3]string{"7 10:00:00 ", "7 10:00:00 ", "7 10:00:01 "}, 7, [3]int64{0, 0, 1000}, Clock, 36000},
		{"-tt", [3]string{"10:00:00.000000 ", "10:00:00.001000 ", "10:00:59.001000 "}, 1, [3]int64{0, 1, 59001}, FineClock, 36000},
		{"-tt over midnight", [3]string{"23:59:59.999000 ", "00:00:00.001000 ", "00:00:01.000000 "}, 1, [3]int64{0, 2, 1001}, FineClock, 86399},
		{"-tt and a clock set back", [3]string{"10:00:00.002000 ", "10:00:00.001000 ", "10:00:00.003000 "}, 1, [3]int64{0, -1, 1}, FineClock, 36000},
		{"-ttt", [3]string{"1712345678.000000 ", "1712345678.001000 ", "1712345680.000000 "}, 1, [3]int64{0, 1, 2000}, Epoch, 1712345678},
		{"-f -ttt", [3]string{"7 1712345678.000000 ", "7 1712345678.001000 ", "7 1712345680.000000 "}, 7, [3]int64{0, 1, 2000}, Epoch, 1712345678},
		{"whole seconds of the epoch", [3]string{"1712345678 ", "1712345678 ", "1712345680 "}, 1, [3]int64{0, 0, 2000}, Epoch, 1712345678},
		{"-r -tt", [3]string{"10:00:00.000000 (+     0.000000) ", "10:00:00.001000 (+     0.001000) ", "10:00:00.002000 (+     0.001000) "}, 1, [3]int64{0, 1, 2}, FineClock, 36000},
		{"-f -n", [3]string{"7 [ 257] ", "7 [   3] ", "7 [ 231] "}, 7, [3]int64{}, Untimed, 0},
		{"-tt -n", [3]string{"10:00:00.000000 [ 257] ", "10:00:00.001000 [   3] ", "10:00:00.002000 [ 231] "}, 1, [3]int64{0, 1, 2}, FineClock, 36000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events, r := parse(t, tt.prefix[0]+open+"\n"+tt.prefix[1]+write+"\n"+tt.prefix[2]+exit+"\n"+tt.prefix[2]+"+++ exited with 0 +++\n")
			require.Equal(t, Recorded, r.Dialect())
			require.Equal(t, tt.stamp, r.Stamp())
			require.False(t, r.Own())
			origin, ok := r.Origin()
			require.Equal(t, tt.origin != 0, ok)
			require.Equal(t, tt.origin, origin/1e9)
			require.Len(t, events, 3)
			for i, e := range events {
				require.Equal(t, tt.tid, e.TID)
				require.Equal(t, tt.starts[i]*1e6, e.Start, "event %d", i)
				require.EqualValues(t, format.Unknown, e.Dur)
			}
		})
	}
}

func TestLayoutErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"25:00:00 close(3) = 0\n", "x:1: not an event: expected a call and its result, as strace -f -r -T prints it"},
		{"10:00:00 close(3) = 0\n10:00:60 close(3) = 0\n10:00:61 close(3) = 0\n", "x:3: malformed time of day"},
		{"10:00:00 close(3) = 0\n10:00 close(3) = 0\n", "x:2: expected ':'"},
		{"10:00:00.1 close(3) = 0\n10:00:00. close(3) = 0\n", "x:2: malformed time"},
		{"1712345678.0 close(3) = 0\n1712345678.0close(3) = 0\n", "x:2: expected a space after the time"},
		{"close(3) = 0\n10:00:00 close(3) = 0\n", "x:2: expected a call"},
		{"7 close(3) = 0\nclose(3) = 0\n", "x:2: expected a thread id"},
		{"close(3</a<b>) = 0\n", "x:1: close: fd: expected '>'"},
	} {
		_, err := readAll(NewReader(strings.NewReader(tt.text), "x"), 3)
		require.EqualError(t, err, tt.want, tt.text)
	}
}

// On a terminal, strace shows ids only while it follows more threads than one.
func TestTerminal(t *testing.T) {
	events, r := parse(t, `execve("/bin/sh", ["sh"], 0x7ffd /* 3 vars */) = 0
vfork(strace: Process 4712 attached
 <unfinished ...>
[pid  4712] close(3</tmp/x>(deleted))           = 0
[pid  4711] <... vfork resumed>)        = 4712
[pid  4711] close(4<TCP:[127.0.0.1:56818->127.0.0.1:5555]>) = 0
[pid  4711] exit_group(0)               = ?
[pid  4711] +++ exited with 0 +++
close(0</dev/null<char 1:3>>)           = 0
strace: Process 4712 detached
read(0,  <detached ...>
`)
	var got []int64
	for _, e := range events {
		got = append(got, int64(e.TID), e.Args[0])
	}
	require.Equal(t, []int64{1, 0, 4712, 3, 1, 0, 1, 4, 1, 0, 4712, 0}, got)
	require.Equal(t, format.Skipped{"remark": 2, "read": 1}, r.Skipped)
}

// Contents of memory that strace shows become notes.
func TestShown(t *testing.T) {
	for _, tt := range []struct{ line, notes string }{
		{`stat("/x", {st_mode=S_IFREG|S_ISUID|0755, st_size=123, ...}) = 0`, "type=reg mode=04755 size=123"},
		{`lstat("/x", {st_mode=S_IFLNK|0777, st_size=5, ...}) = 0`, "type=lnk mode=0777 size=5"},
		{`fstat(0, {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}) = 0`, "type=chr mode=0666"},
		{`stat("/x", {st_dev=makedev(0x1, 0x3), st_ino=4, st_mode=S_IFDIR|S_ISVTX|0777, st_nlink=2, st_size=4096}) = 0`, "type=dir mode=01777 size=4096"},
		{`statx(AT_FDCWD, "/x", 0, STATX_SIZE, {stx_mask=STATX_SIZE|STATX_MODE, stx_mode=S_IFREG|0600, stx_size=7, ...}) = 0`, "type=reg mode=0600 size=7"},
		{`stat("/x", 0x7ffd) = -1 ENOENT (No such file or directory)`, ""},
		{`stat("/x", {st_mode=0644, ...}) = 0`, ""},
		{`readlink("/x", "a\"b/c", 4095) = 5`, `target="a\"b/c"`},
		{`readlinkat(AT_FDCWD, "/x", "abc"..., 4095) = 50`, ""},
		{`read(3, "abc", 4095) = 3`, ""},
	} {
		e := parseOne(t, "7 "+tt.line)
		require.Equal(t, tt.notes, printed(&e), tt.line)
	}
}
