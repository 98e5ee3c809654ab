package compile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// A process that enters in mid-recording opens what it had open, when it enters: also a file that
// the recording made, and the one that has a name by then.
func TestNewcomer(t *testing.T) {
	s, r := compiled(t, `# pianola script 1
# process: 10 threads=10 cwd="/srv" root="/"
# fd: 10 3 O_RDWR 100 "/srv/old"
10 0.000010000 write(3, 0x1000, 10) = 10 <0.000001000>
10 0.000010000 openat(AT_FDCWD, "log", O_WRONLY|O_CREAT|O_EXCL, 0600) = 4 <0.000001000> {type=reg mode=0600 size=0 new}
10 0.000010000 write(4, 0x1000, 50) = 50 <0.000001000>
# process: 20 parent=1 threads=20,21 cwd="/srv" root="/"
# fd: 20 0 O_RDONLY 0 "/dev/null"
# fd: 20 1 O_WRONLY 0 "pipe:[7]"
# fd: 20 3 O_RDWR 30 "/srv/log"
# fd: 20 4 O_RDONLY 0 "/srv/gone (deleted)"
# process: 30 parent=1 threads=30 cwd="/" root="/jail"
# fd: 30 3 O_RDONLY 7 "/jail/conf"
# fd: 30 5 O_RDONLY 7 "/etc/outside"
10 0.000010000 rename("/srv/log", "/srv/log.1") = 0 <0.000001000>
21 0.000010000 write(3, 0x1000, 5) = 5 <0.000001000>
20 0.000010000 lseek(3, 0, SEEK_CUR) = 35 <0.000001000>
20 0.000010000 write(1, 0x1000, 5) = 5 <0.000001000>
30 0.000010000 read(3, 0x1000, 5) = 5 <0.000001000>
20 0.000010000 openat(AT_FDCWD, "old", O_RDONLY) = 6 <0.000001000> {type=reg mode=0600 size=110}
# lost: 0
`, compile.Options{})
	require.Zero(t, r.Unexplained, r.Examples)
	require.Zero(t, r.Repaired)
	require.Equal(t, []format.Descriptor{{Process: 1, FD: 3, Flags: format.RDWR, Offset: 100, Path: "srv/old"}}, s.header.Descriptors)
	require.Equal(t, []format.Thread{{Process: 1}, {Process: 2, Start: 40000}, {Process: 2, Start: 40000}, {Process: 3, Start: 40000}}, s.header.Threads)
	require.Equal(t, `1 write ( 3 10 ) = 10
1 openm ( srv//pianola_tmp1 98 384 ) = 4
1 write ( 4 50 ) = 50
2 open ( srv/pianola_tmp1 4 ) = 3
2 lseek ( 3 30 0 ) = 30
4 open ( jail/conf 1 ) = 3
4 lseek ( 3 7 0 ) = 7
1 rename ( srv/pianola_tmp1 srv/pianola_tmp2 ) = 0
3 write ( 3 5 ) = 5
2 lseek ( 3 0 1 ) = 35
4 read ( 3 5 ) = 5
2 open ( srv//old 1 ) = 6
`, s.calls())
}

// A process that has left and enters again begins anew, with another number in the trace.
func TestNewcomerAgain(t *testing.T) {
	s, r := compiled(t, `# pianola script 1
# process: 10 threads=10,11 cwd="/srv" root="/"
# fd: 10 3 O_RDWR 100 "/srv/a"
11 0.000010000 write(3, 0x1000, 10) = 10 <0.000001000>
# process: 10 threads=10,12 cwd="/" root="/"
# fd: 10 3 O_RDWR 7 "/srv/b"
10 0.000010000 read(3, 0x1000, 10) = 10 <0.000001000>
12 0.000010000 lseek(3, 0, SEEK_CUR) = 17 <0.000001000>
10 0.000010000 openat(AT_FDCWD, "srv/a", O_RDONLY) = 4 <0.000001000> {type=reg mode=0600 size=110}
# lost: 0
`, compile.Options{})
	require.Zero(t, r.Unexplained, r.Examples)
	require.Len(t, s.header.Threads, 4)
	require.Equal(t, []int32{1, 1, 2, 2}, []int32{s.header.Threads[0].Process, s.header.Threads[1].Process, s.header.Threads[2].Process, s.header.Threads[3].Process})
	require.Equal(t, `2 write ( 3 10 ) = 10
1 exit ( 0 ) = ?
2 exit ( 0 ) = ?
3 open ( srv/b 4 ) = 3
3 lseek ( 3 7 0 ) = 7
3 read ( 3 10 ) = 10
4 lseek ( 3 0 1 ) = 17
3 open ( srv/a 1 ) = 4
`, s.calls())
}
