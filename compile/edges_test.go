package compile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// The order table of docs/internals/compile.md, row by row. Thread 10 makes thread 11
// first; the last call of the case waits for the events that want names, in
// the form thread:event. An event of thread 11 that is its first waits for the
// clone, 1:0, too.
func TestOrderTable(t *testing.T) {
	for _, c := range []struct {
		row, what string
		calls     []string
		want      string
	}{
		{"thread", "first event", []string{`11 stat("/w/a", 0x1) = 0`}, "1:0"},
		{"thread", "second event", []string{`11 stat("/w/a", 0x1) = 0`, `11 stat("/w/a", 0x1) = 0`}, ""},
		{"thread", "wait4", []string{`10 clone(SIGCHLD) = 12`, `12 stat("/w/a", 0x1) = 0`, `12 exit_group(0) = ?`, `11 stat("/w/b", 0x1) = 0`, `11 wait4(12, NULL, 0, NULL) = 12`}, "3:1"},
		{"thread", "wait4 after a waitid that left the process", []string{`10 clone(SIGCHLD) = 12`, `12 stat("/w/a", 0x1) = 0`, `12 exit_group(0) = ?`, `10 waitid(P_PID, 12, 0x1, WEXITED|WNOWAIT, NULL, 12) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 wait4(12, NULL, 0, NULL) = 12`}, "3:1"},
		{"descriptor", "use after open", []string{`10 open("/w/a", O_RDWR) = 3`, `11 stat("/w/b", 0x1) = 0`, `11 fstat(3, 0x1) = 0`}, "1:1"},
		{"descriptor", "name for the file of a descriptor after open", []string{`10 open("/w", O_RDWR|O_TMPFILE, 0600) = 3`, `11 stat("/w/b", 0x1) = 0`, `11 linkat(3, "", AT_FDCWD, "/w/a", AT_EMPTY_PATH) = 0`}, "1:1"},
		{"descriptor", "file of a descriptor in /proc after a copy", []string{`10 open("/w", O_RDWR|O_TMPFILE, 0600) = 3`, `10 dup(3) = 4`, `11 stat("/w/b", 0x1) = 0`, `11 stat("/proc/self/fd/4", 0x1) = 0`}, "1:2"},
		{"descriptor", "close after use", []string{`10 open("/w/a", O_RDWR) = 3`, `11 fstat(3, 0x1) = 0`, `10 close(3) = 0`}, "2:0"},
		{"descriptor", "number again after close: another in the trace", []string{`10 open("/w/a", O_RDWR) = 3`, `10 close(3) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 open("/w/b", O_RDWR) = 3`}, ""},
		{"descriptor", "not of another process", []string{`10 clone(SIGCHLD) = 12`, `10 open("/w/a", O_RDWR) = 3`, `12 stat("/w/b", 0x1) = 0`, `12 open("/w/b", O_RDWR) = 3`}, ""},
		{"shared offset", "read after read", []string{`10 open("/w/a", O_RDWR) = 3`, `10 read(3, 0x1, 9) = 9`, `11 stat("/w/b", 0x1) = 0`, `11 read(3, 0x1, 9) = 9`}, "1:2"},
		{"shared offset", "seek after read", []string{`10 open("/w/a", O_RDWR) = 3`, `10 read(3, 0x1, 9) = 9`, `11 stat("/w/b", 0x1) = 0`, `11 lseek(3, 0, SEEK_SET) = 0`}, "1:2"},
		{"shared offset", "of a copy", []string{`10 open("/w/a", O_RDWR) = 3`, `10 dup(3) = 4`, `10 read(3, 0x1, 9) = 9`, `11 stat("/w/b", 0x1) = 0`, `11 read(4, 0x1, 9) = 9`}, "1:3"},
		{"shared offset", "pread has its own", []string{`10 open("/w/a", O_RDWR) = 3`, `11 fstat(3, 0x1) = 0`, `10 pread64(3, 0x1, 9, 0) = 9`, `11 pread64(3, 0x1, 9, 0) = 9`}, ""},
		{"name", "use after creation", []string{`10 mkdir("/w/d", 0700) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 stat("/w/d", 0x1) = 0`}, "1:1"},
		{"name", "use after creation above", []string{`10 mkdir("/w/d", 0700) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 stat("/w/d/x", 0x1) = -1 ENOENT (x)`}, "1:1"},
		{"name", "failed use after removal", []string{`10 unlink("/w/a") = 0`, `11 stat("/w/b", 0x1) = 0`, `11 stat("/w/a", 0x1) = -1 ENOENT (x)`}, "1:1"},
		{"name", "removal after use", []string{`11 stat("/w/a", 0x1) = 0`, `10 unlink("/w/a") = 0`}, "2:0"},
		{"name", "creation after failed use", []string{`11 stat("/w/a", 0x1) = -1 ENOENT (x)`, `10 open("/w/a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3`}, "2:0"},
		{"name", "renaming after use below", []string{`11 stat("/w/d/x", 0x1) = 0`, `10 rename("/w/d", "/w/e") = 0`}, "2:0"},
		{"name", "use of the new name", []string{`10 rename("/w/a", "/w/b") = 0`, `11 stat("/w/c", 0x1) = 0`, `11 open("/w/b", O_RDONLY) = 3`}, "1:1"},
		{"name", "free where nothing changed", []string{`10 stat("/w/a", 0x1) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 stat("/w/a", 0x1) = 0`}, ""},
		{"bytes", "read after write", []string{`10 open("/w/a", O_RDWR) = 3`, `11 fstat(3, 0x1) = 0`, `10 pwrite64(3, 0x1, 9, 100) = 9`, `11 pread64(3, 0x1, 9, 100) = 9`}, "1:2"},
		{"bytes", "read after truncation", []string{`10 open("/w/a", O_RDWR) = 3`, `11 fstat(3, 0x1) = 0`, `10 ftruncate(3, 50) = 0`, `11 pread64(3, 0x1, 9, 100) = 0`}, "1:2"},
		{"bytes", "read of others", []string{`10 open("/w/a", O_RDWR) = 3`, `11 fstat(3, 0x1) = 0`, `10 pread64(3, 0x1, 500, 0) = 500`, `10 pwrite64(3, 0x1, 9, 100) = 9`, `11 pread64(3, 0x1, 9, 0) = 9`}, ""},
		{"size", "read within what a write has added", []string{`10 open("/w/a", O_RDWR|O_TRUNC) = 3`, `11 fstat(3, 0x1) = 0`, `10 pwrite64(3, 0x1, 9, 100) = 9`, `11 pread64(3, 0x1, 9, 0) = 9`}, "1:2"},
		{"size", "growth after blocks beyond the end", []string{`10 open("/w/a", O_RDWR|O_TRUNC) = 3`, `11 fstat(3, 0x1) = 0`, `10 pwrite64(3, 0x1, 9, 0) = 9`, `11 fallocate(3, FALLOC_FL_KEEP_SIZE, 0, 100) = 0`, `10 pwrite64(3, 0x1, 9, 9) = 9`, `11 pread64(3, 0x1, 5, 10) = 5`}, "1:3"},
		{"size", "truncation after write within the size", []string{`10 open("/w/a", O_RDWR) = 3`, `10 pread64(3, 0x1, 500, 0) = 500`, `11 pwrite64(3, 0x1, 9, 0) = 9`, `10 ftruncate(3, 5) = 0`}, "2:0"},
		{"size", "write within what a write has added", []string{`10 open("/w/a", O_RDWR|O_TRUNC) = 3`, `11 fstat(3, 0x1) = 0`, `10 pwrite64(3, 0x1, 9, 0) = 9`, `10 pwrite64(3, 0x1, 9, 9) = 9`, `10 fsync(3) = 0`, `11 pwrite64(3, 0x1, 9, 9) = 9`}, "1:3"},
		{"size", "write within what an older write has added", []string{`10 open("/w/a", O_RDWR|O_TRUNC) = 3`, `11 fstat(3, 0x1) = 0`, `10 pwrite64(3, 0x1, 9, 0) = 9`, `10 pwrite64(3, 0x1, 9, 9) = 9`, `11 pwrite64(3, 0x1, 9, 0) = 9`}, "1:2"},
		{"size", "write within what was there", []string{`10 open("/w/a", O_RDWR) = 3`, `11 fstat(3, 0x1) = 0`, `10 pread64(3, 0x1, 9, 0) = 9`, `10 pwrite64(3, 0x1, 9, 9) = 9`, `11 pwrite64(3, 0x1, 9, 0) = 9`}, ""},
		{"size", "seek for data after a write", []string{`10 open("/w/a", O_RDWR) = 3`, `10 pread64(3, 0x1, 500, 0) = 500`, `11 fstat(3, 0x1) = 0`, `10 pwrite64(3, 0x1, 9, 100) = 9`, `11 lseek(3, 9, SEEK_DATA) = 100`}, "1:3"},
		{"size", "seek beyond the end after truncation", []string{`10 open("/w/a", O_RDWR) = 3`, `11 fstat(3, 0x1) = 0`, `10 ftruncate(3, 50) = 0`, `11 lseek(3, 100, SEEK_HOLE) = -1 ENXIO (x)`}, "1:2"},
		{"bytes", "write after a seek found a hole", []string{`10 open("/w/a", O_RDWR) = 3`, `10 ftruncate(3, 9000) = 0`, `11 lseek(3, 0, SEEK_HOLE) = 0`, `10 pwrite64(3, 0x1, 9, 0) = 9`}, "2:0"},
		{"bytes", "hole after a seek found data", []string{`10 open("/w/a", O_RDWR) = 3`, `10 ftruncate(3, 9000) = 0`, `11 lseek(3, 0, SEEK_DATA) = 0`, `10 fallocate(3, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 4096) = 0`}, "2:0"},
		{"size", "growth after a seek beyond the end", []string{`10 open("/w/a", O_RDWR|O_TRUNC) = 3`, `11 lseek(3, 100, SEEK_DATA) = -1 ENXIO (x)`, `10 pwrite64(3, 0x1, 9, 200) = 9`}, "2:0"},
		{"size", "read after bytes were taken out", []string{`10 open("/w/a", O_RDWR) = 3`, `10 pread64(3, 0x1, 9000, 0) = 9000`, `11 fstat(3, 0x1) = 0`, `10 fallocate(3, FALLOC_FL_COLLAPSE_RANGE, 0, 4096) = 0`, `11 pread64(3, 0x1, 9000, 0) = 4904`}, "1:3"},
		{"size", "growth after bytes were taken out", []string{`10 open("/w/a", O_RDWR) = 3`, `10 pread64(3, 0x1, 9000, 0) = 9000`, `11 fstat(3, 0x1) = 0`, `11 fallocate(3, FALLOC_FL_COLLAPSE_RANGE, 0, 4096) = 0`, `10 pwrite64(3, 0x1, 4096, 4904) = 4096`}, "2:1"},
		{"directory", "listing after change", []string{`11 open("/w", O_RDONLY|O_DIRECTORY) = 3`, `10 mkdir("/w/d", 0700) = 0`, `11 getdents64(3, 0x1, 4096) = 72`}, "1:1"},
		{"directory", "removal after change", []string{`11 unlink("/w/d/x") = 0`, `10 rmdir("/w/d") = 0`}, "2:0"},
		{"directory", "removal after two changes", []string{`11 unlink("/w/d/x") = 0`, `10 unlink("/w/d/y") = 0`, `10 rmdir("/w/d") = 0`}, "2:0"},
		{"directory", "listing after its removal", []string{`11 open("/w/d", O_RDONLY|O_DIRECTORY) = 3`, `10 rmdir("/w/d") = 0`, `11 getdents64(3, 0x1, 4096) = -1 ENOENT (x)`}, "1:1"},
		{"directory", "removal after its listing", []string{`11 open("/w/d", O_RDONLY|O_DIRECTORY) = 3`, `11 getdents64(3, 0x1, 4096) = 48`, `10 rmdir("/w/d") = 0`}, "2:1"},
		{"directory", "listing after another took its place", []string{`11 open("/w/d", O_RDONLY|O_DIRECTORY) = 3`, `10 rename("/w/e", "/w/d") = 0`, `11 getdents64(3, 0x1, 4096) = -1 ENOENT (x)`}, "1:1"},
		{"name", "failed open after removal", []string{`10 unlink("/w/a") = 0`, `11 stat("/w/b", 0x1) = 0`, `11 open("/w/a", O_RDONLY) = -1 ENOENT (x)`}, "1:1"},
		{"name", "creation after failed open", []string{`11 open("/w/a", O_RDONLY) = -1 ENOENT (x)`, `10 mkdir("/w/a", 0700) = 0`}, "2:0"},
		{"name", "file without a name in it", []string{`10 mkdir("/w/d", 0700) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 open("/w/d", O_RDWR|O_TMPFILE, 0600) = 3`}, "1:1"},
		{"name", "removal after file without a name", []string{`10 mkdir("/w/d", 0700) = 0`, `10 stat("/w/b", 0x1) = 0`, `11 open("/w/d", O_RDWR|O_TMPFILE, 0600) = 3`, `10 rmdir("/w/d") = 0`}, "2:0"},
		{"name", "use below a descriptor's directory", []string{`10 mkdir("/w/d", 0700) = 0`, `10 open("/w/d", O_RDONLY|O_DIRECTORY) = 3`, `11 stat("/w/b", 0x1) = 0`, `11 openat(3, "x", O_RDWR|O_CREAT, 0600) = 4`}, "1:1"},
		{"descriptor", "dup2 over it after use", []string{`10 open("/w/a", O_RDWR) = 3`, `10 open("/w/b", O_RDWR) = 4`, `11 pread64(3, 0x1, 9, 0) = 9`, `10 dup2(4, 3) = 3`}, "2:0"},
		{"descriptor", "close_range after use", []string{`10 open("/w/a", O_RDWR) = 3`, `11 fstat(3, 0x1) = 0`, `10 close_range(3, 4294967295, 0) = 0`}, "2:0"},
		{"descriptor", "number again after close_range", []string{`10 open("/w/a", O_RDWR) = 3`, `10 close_range(3, 3, 0) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 open("/w/b", O_RDWR) = 3`}, "1:2"},
		{"descriptor", "use after dup2 while a close is late", []string{`10 open("/w/a", O_RDWR) = 3`, `10 open("/w/b", O_RDWR) = 3`, `10 open("/w/c", O_RDWR) = 4`, `11 stat("/w/b", 0x1) = 0`, `10 dup2(4, 3) = 3`, `10 close(3) = 0`, `11 fstat(3, 0x1) = 0`}, "1:4"},
		{"descriptor", "close that is late after use", []string{`10 open("/w/a", O_RDWR) = 3`, `11 fstat(3, 0x1) = 0`, `11 open("/w/b", O_RDWR) = 3`, `10 close(3) = 0`}, "2:0"},
		{"descriptor", "number again before the close has returned: another in the trace", []string{`10 open("/w/a", O_RDWR) = 3`, `10 stat("/w/b", 0x1) = 0`, `10 fstat(3, 0x1) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 open("/w/b", O_RDWR) = 3`}, ""},
		{"descriptor", "copy before the close has returned", []string{`10 open("/w/a", O_RDWR) = 3`, `10 open("/w/b", O_RDWR) = 4`, `10 fstat(3, 0x1) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 dup(4) = 3`}, "1:2"},
		{"descriptor", "close after one that was late", []string{`10 open("/w/a", O_RDWR) = 3`, `11 stat("/w/b", 0x1) = 0`, `11 open("/w/b", O_RDWR) = 3`, `10 close(3) = 0`, `11 close(3) = 0`}, ""},
		{"descriptor", "use after an exec of a process that shared it", []string{`10 clone(CLONE_FILES|SIGCHLD) = 12`, `10 open("/w/a", O_RDWR|O_CLOEXEC) = 3`, `12 execve("/bin/x", NULL, NULL) = 0`, `11 fstat(3, 0x1) = 0`}, "1:2"},
		{"bytes", "truncation after read", []string{`10 open("/w/a", O_RDWR) = 3`, `11 pread64(3, 0x1, 9, 0) = 9`, `10 ftruncate(3, 0) = 0`}, "2:0"},
		{"bytes", "growth after a read found the end", []string{`10 open("/w/a", O_RDWR) = 3`, `11 pread64(3, 0x1, 9, 0) = 0`, `10 pwrite64(3, 0x1, 9, 0) = 9`}, "2:0"},
		{"bytes", "seek from the end after a write", []string{`10 open("/w/a", O_RDWR|O_TRUNC) = 3`, `11 fstat(3, 0x1) = 0`, `10 pwrite64(3, 0x1, 9, 0) = 9`, `11 lseek(3, 0, SEEK_END) = 9`}, "1:2"},
		{"directory", "failed removal after change", []string{`10 mkdir("/w/d", 0700) = 0`, `10 mkdir("/w/d/x", 0700) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 rmdir("/w/d") = -1 ENOTEMPTY (x)`}, "1:2"},
		{"directory", "failed renaming over it after change", []string{`10 mkdir("/w/d", 0700) = 0`, `10 mkdir("/w/d/x", 0700) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 rename("/w/e", "/w/d") = -1 ENOTEMPTY (x)`}, "1:2"},
		{"directory", "change after failed renaming over it", []string{`10 mkdir("/w/d", 0700) = 0`, `10 mkdir("/w/d/x", 0700) = 0`, `11 rename("/w/e", "/w/d") = -1 ENOTEMPTY (x)`, `10 rmdir("/w/d/x") = 0`}, "2:0"},
		{"left out", "is waited for by nobody (filter, chdir, EINTR)", []string{`10 open("/w/a", O_RDONLY) = 3`, `11 read(3, 0x1, 3) = -1 EINTR (x)`, `10 close(3) = 0`}, ""},
		{"left out", "hands on what it depended on", []string{`10 mkdir("/w/d", 0700) = 0`, `11 stat("/w/b", 0x1) = 0`, `11 chdir("/w/d/.") = 0`, `11 chdir("/w/d/..") = 0`, `11 stat("/w/b", 0x1) = 0`}, "1:1"},
	} {
		t.Run(c.row+"/"+c.what, func(t *testing.T) {
			require.Equal(t, c.want, waits(t, c.calls))
		})
	}
}

// However many writes come between, a read waits for that of its bytes, and for
// that which made the file so large.
func TestReadAfterManyWrites(t *testing.T) {
	for _, c := range []struct{ name, flags, read, want string }{
		{"bytes", "O_RDWR", `11 pread64(3, 0x1, 9, 18) = 9`, "1:5"},
		{"size", "O_RDWR|O_TRUNC", `11 pread64(3, 0x1, 3, 6) = 3`, "1:3"},
	} {
		calls := []string{`10 open("/w/a", ` + c.flags + `) = 3`, `11 fstat(3, 0x1) = 0`, `10 pread64(3, 0x1, 9000, 0) = 0`}
		for i := range 100 {
			calls = append(calls, fmt.Sprintf(`10 pwrite64(3, 0x1, 9, %d) = 9`, i*9))
		}
		require.Equal(t, c.want, waits(t, append(calls, c.read)), c.name)
	}
}

// An event waits for the newest event of each thread that it depends on, in any order
// of discovery, and with more threads than order tracks.
func TestNewestOfManyThreads(t *testing.T) {
	var calls []string
	const last = 1100
	for tid := 12; tid <= last; tid++ {
		calls = append(calls, fmt.Sprintf(`10 clone(CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD) = %d`, tid))
	}
	for _, names := range [][2]string{{"d", "e"}, {"e", "d"}} {
		got := waits(t, append(slices.Clip(calls), fmt.Sprintf(`%d stat("/w/%s", 0x1) = 0`, last-1, names[0]), fmt.Sprintf(`%d stat("/w/%s", 0x1) = 0`, last-1, names[1]),
			fmt.Sprintf(`%d rename("/w/e", "/w/d") = 0`, last)))
		require.Contains(t, strings.Fields(got), fmt.Sprintf("%d:1", last-1-9)) // threads count from 1
	}
}

// A late close closes the file that the number led to before, even if another call has
// returned the number since.
func TestLateCloses(t *testing.T) {
	for _, again := range [][]string{
		{`11 open("/w/b", O_RDWR) = 3`}, {`11 dup(4) = 3`}, {`11 fcntl(4, F_DUPFD, 0) = 3`}, {`11 pipe([3, 5]) = 0`},
		{`11 open("/w/b", O_RDWR) = 3`, `11 dup2(4, 3) = 3`},
	} {
		calls := append([]string{`10 open("/w/a", O_RDWR) = 3`, `10 open("/w/b", O_RDWR) = 4`}, again...)
		_, r := compiled(t, recorded(append(calls, `10 close(3) = 0`, `10 pread64(3, 0x1, 9, 0) = 9`)), compile.Options{})
		require.Zero(t, r.Repaired, "%s: the number leads nowhere", again)
	}
}

// waits compiles the calls, and returns what the last event waits for.
func waits(t *testing.T, calls []string) string {
	t.Helper()
	s, _ := compiled(t, recorded(calls), compile.Options{})
	require.NotEmpty(t, s.events)
	return edges(s.events[len(s.events)-1].Edges)
}

// recorded returns the script of calls, each with its thread before it. Thread 10 has
// made thread 11.
func recorded(calls []string) string {
	var b strings.Builder
	b.WriteString("# pianola script 1\n10 0.000010000 clone(CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD) = 11 <0.000001000>\n")
	for _, call := range calls {
		tid, call, _ := strings.Cut(call, " ")
		if strings.HasSuffix(call, "= ?") {
			fmt.Fprintf(&b, "%s 0.000010000 %s\n", tid, call)
		} else {
			fmt.Fprintf(&b, "%s 0.000010000 %s <0.000001000>\n", tid, call)
		}
	}
	return b.String()
}

func edges(list []format.Edge) string {
	var words []string
	for _, g := range list {
		words = append(words, fmt.Sprintf("%d:%d", g.Thread, g.Event))
	}
	return strings.Join(words, " ")
}
