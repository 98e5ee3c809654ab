package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// The test lists what the last call waits for. Thread 10 has created thread 11, and
// process 12 is their child. All have the file open: 10 and 11 as descriptors 3 and 4,
// 12 as 5.
func TestLocks(t *testing.T) {
	const (
		ex, sh, un, try = "LOCK_EX", "LOCK_SH", "LOCK_UN", "LOCK_EX|LOCK_NB"
		refused         = "-1 EAGAIN (x)"
	)
	flock := func(tid, fd int, how, ret string) string {
		return fmt.Sprintf("%d flock(%d, %s) = %s", tid, fd, how, ret)
	}
	fcntl := func(tid, fd int, cmd, kind string, start, size int, ret string) string {
		return fmt.Sprintf("%d fcntl(%d, %s, SEEK_SET, %s, %d, %d) = %s", tid, fd, cmd, kind, start, size, ret)
	}
	from := func(whence string, tid, fd, start, size int, ret string) string {
		return strings.Replace(fcntl(tid, fd, "F_SETLK", "F_WRLCK", start, size, ret), "SEEK_SET", whence, 1)
	}
	begin := []string{
		`10 clone(SIGCHLD) = 12`,       // 1:1
		`10 open("/w/a", O_RDWR) = 3`,  // 1:2
		`11 open("/w/a", O_RDWR) = 4`,  // 2:0
		`12 open("/w/a", O_RDWR) = 5`,  // 3:0
		`10 pread64(4, 0x1, 9, 0) = 9`, // 1:3
		`11 pread64(3, 0x1, 9, 0) = 9`, // 2:1
	}
	for _, c := range []struct {
		name  string
		calls []string
		want  string
	}{
		{"after it was given up", []string{flock(10, 3, ex, "0"), flock(10, 3, un, "0"), flock(12, 5, ex, "0")}, "1:5"},
		{"before it was given up", []string{flock(10, 3, ex, "0"), flock(12, 5, ex, "0")}, "1:4"},
		{"giving up waits for no other call", []string{flock(10, 3, ex, "0"), flock(12, 5, ex, "0"), flock(10, 3, un, "0")}, ""},
		{"after one that was given up late", []string{flock(10, 3, ex, "0"), flock(12, 5, ex, "0"), flock(10, 3, un, "0"), flock(11, 4, ex, "0")}, "3:1"},
		{"shared after shared", []string{flock(10, 3, sh, "0"), flock(12, 5, sh, "0")}, ""},
		{"shared after exclusive", []string{flock(10, 3, ex, "0"), flock(10, 3, un, "0"), flock(11, 4, sh, "0"), flock(12, 5, sh, "0")}, "1:5"},
		{"shared after a lock that became shared", []string{flock(10, 3, ex, "0"), flock(10, 3, sh, "0"), flock(12, 5, sh, "0")}, "1:5"},
		{"exclusive after shared", []string{flock(10, 3, sh, "0"), flock(11, 4, sh, "0"), flock(10, 3, un, "0"), flock(11, 4, un, "0"), flock(12, 5, ex, "0")}, "1:5 2:3"},
		{"refused after it was taken", []string{flock(10, 3, sh, "0"), flock(12, 5, try, refused)}, "1:4"},
		{"given up after a refusal", []string{flock(10, 3, sh, "0"), flock(12, 5, try, refused), flock(10, 3, un, "0")}, "3:1"},
		{"closed after a refusal", []string{flock(10, 3, ex, "0"), flock(12, 5, try, refused), `10 close(3) = 0`}, "2:1 3:1"},
		{"given up late after a refusal", []string{flock(10, 3, ex, "0"), flock(12, 5, try, refused), flock(11, 4, ex, "0"), flock(10, 3, un, "0")}, "3:1"},
		{"a refused conversion gives up", []string{flock(10, 3, sh, "0"), flock(11, 4, sh, "0"), flock(11, 4, try, refused), flock(10, 3, ex, "0")}, "2:3"},
		{"by a close", []string{flock(10, 3, ex, "0"), `10 close(3) = 0`, flock(12, 5, ex, "0")}, "1:5"},
		{"by the last close of copies", []string{`10 dup(3) = 6`, flock(10, 3, ex, "0"), `10 close(3) = 0`, `11 close(6) = 0`, flock(12, 5, ex, "0")}, "2:2"},
		{"by an exit", []string{flock(12, 5, ex, "0"), `12 exit_group(0) = ?`, flock(10, 3, ex, "0")}, "3:2"},
		{"by a dup2", []string{`10 open("/w/b", O_RDWR) = 6`, flock(10, 3, ex, "0"), `10 dup2(6, 3) = 3`, flock(12, 5, ex, "0")}, "1:6"},
		{"not by the exit of one that shares it", []string{flock(10, 3, ex, "0"), `10 clone(SIGCHLD) = 13`, `13 exit_group(0) = ?`, flock(12, 5, ex, "0")}, "1:4"},

		{"of other bytes", []string{fcntl(10, 3, "F_SETLKW", "F_WRLCK", 0, 10, "0"), fcntl(12, 5, "F_SETLK", "F_WRLCK", 10, 1, "0")}, ""},
		{"to the end", []string{fcntl(10, 3, "F_SETLKW", "F_WRLCK", 5, 0, "0"), fcntl(12, 5, "F_SETLKW", "F_WRLCK", 1000, 1, "0")}, "1:4"},
		{"before the start", []string{fcntl(10, 3, "F_SETLKW", "F_WRLCK", 5, -5, "0"), fcntl(12, 5, "F_SETLKW", "F_WRLCK", 4, 1, "0")}, "1:4"},
		{"in part", []string{fcntl(10, 3, "F_SETLK", "F_WRLCK", 0, 10, "0"), fcntl(10, 3, "F_SETLK", "F_UNLCK", 0, 5, "0"), fcntl(12, 5, "F_SETLK", "F_WRLCK", 5, 2, "-1 EACCES (x)"), fcntl(12, 5, "F_SETLK", "F_RDLCK", 4, 1, "0")}, "1:5"},
		{"of one process", []string{fcntl(10, 3, "F_SETLK", "F_WRLCK", 0, 10, "0"), fcntl(12, 5, "F_SETLK", "F_WRLCK", 0, 10, refused), fcntl(11, 4, "F_SETLK", "F_UNLCK", 0, 10, "0")}, "1:4 3:1"},
		{"of a process, by a close of any descriptor", []string{fcntl(10, 3, "F_SETLK", "F_WRLCK", 0, 10, "0"), `11 close(4) = 0`, fcntl(12, 5, "F_SETLK", "F_WRLCK", 0, 10, "0")}, "2:2"},
		{"of a process that ends", []string{fcntl(12, 5, "F_SETLK", "F_WRLCK", 0, 10, "0"), fcntl(10, 3, "F_SETLK", "F_WRLCK", 0, 10, refused), `12 exit_group(0) = ?`}, "1:4"},
		{"of a description", []string{fcntl(10, 3, "F_OFD_SETLK", "F_WRLCK", 0, 10, "0"), fcntl(10, 3, "F_OFD_SETLK", "F_UNLCK", 0, 10, "0"), fcntl(11, 4, "F_OFD_SETLKW", "F_RDLCK", 0, 10, "0")}, "1:5"},
		{"of a description and of a process", []string{fcntl(10, 3, "F_OFD_SETLK", "F_WRLCK", 0, 10, "0"), fcntl(12, 5, "F_SETLK", "F_WRLCK", 0, 10, refused)}, "1:4"},
		{"counted from the offset", []string{`10 pread64(3, 0x1, 9, 0) = 9`, `10 read(3, 0x1, 9) = 9`, from("SEEK_CUR", 10, 3, 5, 10, "0"), fcntl(12, 5, "F_SETLK", "F_WRLCK", 14, 10, refused)}, "1:6"},
		{"counted from the offset, of other bytes", []string{`10 pread64(3, 0x1, 9, 0) = 9`, `10 read(3, 0x1, 9) = 9`, from("SEEK_CUR", 10, 3, 5, 10, "0"), fcntl(12, 5, "F_SETLK", "F_WRLCK", 5, 9, "0")}, ""},
		{"counted from the end", []string{`10 ftruncate(3, 1000) = 0`, from("SEEK_END", 10, 3, -100, 0, "0"), fcntl(12, 5, "F_SETLK", "F_WRLCK", 899, 2, refused)}, "1:5"},
		{"counted from an offset that another thread moved", []string{`10 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 13`, `13 read(3, 0x1, 9) = 9`, from("SEEK_CUR", 10, 3, 5, 10, "0")}, "4:0"},
		{"the offset moves after the lock", []string{`10 clone(CLONE_VM|CLONE_FILES|CLONE_THREAD) = 13`, from("SEEK_CUR", 10, 3, 5, 10, "0"), `13 read(3, 0x1, 9) = 9`}, "1:5"},
		{"counted from an end that moved", []string{`10 ftruncate(3, 1000) = 0`, from("SEEK_END", 12, 5, -100, 0, "0")}, "1:4"},
		{"the end moves after the lock", []string{from("SEEK_END", 12, 5, -100, 0, "0"), `10 ftruncate(3, 1000) = 0`}, "3:1 2:1"},
		{"of an older recording, with an address", []string{fcntl(10, 3, "F_SETLK", "F_WRLCK", 0, 10, "0"), strings.Replace(fcntl(12, 5, "F_SETLK", "F_WRLCK", 0, 10, refused), "SEEK_SET", "0x7ffc00000001", 1)}, "1:4"},
		{"of bytes and of the whole file", []string{fcntl(10, 3, "F_SETLK", "F_WRLCK", 0, 10, "0"), flock(12, 5, ex, "0")}, ""},
		{"asked for", []string{fcntl(10, 3, "F_SETLK", "F_WRLCK", 0, 10, "0"), fcntl(12, 5, "F_GETLK", "F_UNLCK", 0, 10, "0")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, waits(t, append(begin[:len(begin):len(begin)], c.calls...)))
		})
	}
}

// A call that was refused a lock without a known holder is left out: a
// replay would get that lock.
func TestRefusedWithoutHolder(t *testing.T) {
	calls := []string{`10 clone(SIGCHLD) = 12`, `10 open("/w/a", O_RDWR) = 3`, `12 open("/w/a", O_RDWR) = 5`}
	flock := `12 flock(5, LOCK_EX|LOCK_NB) = -1 EAGAIN (x)`
	fcntl := `12 fcntl(5, F_SETLK, SEEK_SET, F_WRLCK, 0, 1) = -1 EAGAIN (x)`
	for _, c := range []struct {
		name  string
		calls []string
		left  int64
	}{
		{"nobody", []string{flock, fcntl}, 2},
		{"given up before", []string{`10 flock(3, LOCK_SH) = 0`, `10 flock(3, LOCK_UN) = 0`, flock, fcntl}, 2},
		{"another", []string{`10 flock(3, LOCK_SH) = 0`, flock, fcntl}, 1},
		{"of other bytes", []string{`10 fcntl(3, F_SETLK, SEEK_SET, F_RDLCK, 1, 1) = 0`, fcntl}, 1},
		{"late", []string{`10 flock(3, LOCK_SH) = 0`, `12 flock(5, LOCK_EX) = 0`, `10 flock(3, LOCK_EX|LOCK_NB) = -1 EAGAIN (x)`, `12 flock(5, LOCK_EX|LOCK_NB) = -1 EAGAIN (x)`}, 0},
		{"its own is lost", []string{`12 flock(5, LOCK_SH) = 0`, flock, flock}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r := compiled(t, recorded(append(calls[:len(calls):len(calls)], c.calls...)), compile.Options{})
			require.Equal(t, c.left, r.LeftOut.Total())
			require.Zero(t, r.Unexplained)
		})
	}
}

// For any number of locks, conflicting calls come one after the other, and the memory
// for them is bounded.
func TestManyLocks(t *testing.T) {
	var b strings.Builder
	b.WriteString(recorded([]string{`10 clone(SIGCHLD) = 12`, `10 open("/w/a", O_RDWR) = 3`, `12 open("/w/a", O_RDWR) = 5`}))
	for i := range 5000 {
		fmt.Fprintf(&b, "10 0.000001 fcntl(3, F_SETLK, SEEK_SET, F_WRLCK, %d, 1) = 0 <0.000001>\n", 2*i)
	}
	b.WriteString("12 0.000001 fcntl(5, F_SETLKW, SEEK_SET, F_WRLCK, 0, 1) = 0 <0.000001>\n")
	s, _ := compiled(t, b.String(), compile.Options{Memory: 1 << 20})
	last := s.events[len(s.events)-1]
	require.Len(t, last.Edges, 1)
	require.GreaterOrEqual(t, last.Edges[0].Event, int64(3))
}
