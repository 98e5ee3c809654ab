package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// Where another thread has closed a number, the trace has another one, for all that is
// done with the descriptor.
func TestNumbersOfTheTrace(t *testing.T) {
	const (
		shared = `10 open("/w/a", O_RDWR) = 3; 11 stat("/w/b", 0x1) = 0; 10 close(3) = 0; 11 open("/w/b", O_RDWR) = 3; `
		twice  = shared + `11 close(3) = 0; 10 open("/w/a", O_RDWR) = 3; `
	)
	for _, c := range []struct{ name, calls, want string }{
		{"all uses", shared + `11 pread64(3, 0x1, 9, 0) = 9; 11 fsync(3) = 0; 11 close(3) = 0`, "open 3, close 3, open 4, pread64 4, fsync 4, close 4"},
		{"the own one again", twice + `10 close(3) = 0; 11 open("/w/b", O_RDWR) = 3; 11 fsync(3) = 0`, "open 3, close 3, open 4, close 4, open 3, close 3, open 4, fsync 4"},
		{"the recorded one of what came in between", shared + `10 open("/w/c", O_RDWR) = 4; 10 fsync(4) = 0; 11 fsync(3) = 0`, "open 3, close 3, open 4, open 3, fsync 3, fsync 4"},
		{"by the order of events", `10 open("/w/a", O_RDWR) = 3; 10 close(3) = 0; 10 mkdir("/w/d", 0700) = 0; 11 stat("/w/d", 0x1) = 0; 11 open("/w/b", O_RDWR) = 3`, "open 3, close 3, open 3"},
		{"a copy", shared + `11 dup(3) = 5; 11 fsync(5) = 0; 11 fsync(3) = 0`, "open 3, close 3, open 4, dup 4 5, fsync 5, fsync 4"},
		{"a copy that replaces it", shared + `11 open("/w/c", O_RDWR) = 5; 11 dup2(5, 3) = 3; 11 fsync(3) = 0`, "open 3, close 3, open 4, open 5, dup2 5 4, fsync 4"},
		{"a copy that replaces it still holds it", shared + `11 open("/w/c", O_RDWR) = 5; 11 dup2(5, 3) = 3; 11 open("/w/d", O_RDWR) = 4; 11 fsync(3) = 0`, "open 3, close 3, open 4, open 5, dup2 5 4, open 6, fsync 4"},
		{"of no file that takes its place", shared + `11 socket(AF_UNIX, SOCK_STREAM, 0) = 5; 11 dup2(5, 3) = 3; 11 fsync(3) = -1 EINVAL (x)`, "open 3, close 3, open 4, close 4"},
		{"after a fork", shared + `11 clone(SIGCHLD) = 12; 12 fsync(3) = 0; 12 open("/w/c", O_RDWR) = 4; 12 close(3) = 0; 12 open("/w/c", O_RDWR) = 3; 12 fsync(4) = 0`,
			"open 3, close 3, open 4, fsync 4, open 5, close 4, open 3, fsync 5"},
		{"at an exec", shared + `11 clone(SIGCHLD) = 12; 12 fcntl(3, F_SETFD, FD_CLOEXEC) = 0; 12 execve("/bin/x", NULL, NULL) = 0; 12 open("/w/c", O_RDWR) = 4; 12 fsync(4) = 0`,
			"open 3, close 3, open 4, fcntl 4, open 4, fsync 4"},
		{"both of a copy", shared + `11 open("/w/c", O_RDWR) = 5; 11 copy_file_range(5, NULL, 3, NULL, 9, 0) = 9`, "open 3, close 3, open 4, open 5, copy_file_range 5 4"},
		{"of a clone of extents", shared + `11 open("/w/c", O_RDWR) = 5; 11 ioctl(5, FICLONE, 3) = 0`, "open 3, close 3, open 4, open 5, ioctl 5 4"},
		{"a name for it", shared + `11 linkat(AT_FDCWD, "/proc/self/fd/3", AT_FDCWD, "/w/c", AT_SYMLINK_FOLLOW) = 0; 11 unlink("/w/b") = 0; 11 unlink("/w/c") = 0; 11 stat("/proc/self/fd/3", 0x1) = 0`,
			"open 3, close 3, open 4, fstat 4"},
		{"a name for one without", `10 open("/w/a", O_RDWR) = 3; 11 stat("/w/b", 0x1) = 0; 10 close(3) = 0; 11 open("/w", O_RDWR|O_TMPFILE, 0600) = 3; 11 linkat(AT_FDCWD, "/proc/self/fd/3", AT_FDCWD, "/w/c", AT_SYMLINK_FOLLOW) = 0`,
			"open 3, close 3, open 4, linkat 4"},
		{"a name for one of two that changed places", `10 open("/w", O_RDWR|O_TMPFILE, 0600) = 3; 10 open("/w/a", O_RDWR) = 4; 11 stat("/w/b", 0x1) = 0; 10 close(3) = 0; 11 open("/w/b", O_RDWR) = 3; 11 close(3) = 0; 10 close(4) = 0; ` +
			`10 open("/w", O_RDWR|O_TMPFILE, 0600) = 3; 11 open("/w", O_RDWR|O_TMPFILE, 0600) = 4; 11 open("/w", O_RDWR|O_TMPFILE, 0600) = 5; 11 linkat(5, "", AT_FDCWD, "/w/c", AT_EMPTY_PATH) = 0; 11 linkat(4, "", AT_FDCWD, "/w/d", AT_EMPTY_PATH) = 0`,
			"open 3, open 4, close 3, open 5, close 5, close 4, open 3, open 5, open 6, linkat 6, linkat 5"},
		{"late close", `10 open("/w/a", O_RDWR) = 3; 11 stat("/w/b", 0x1) = 0; 11 open("/w/b", O_RDWR) = 3; 11 fsync(3) = 0; 10 close(3) = 0; 11 close(3) = 0`, "open 3, open 4, fsync 4, close 3, close 4"},
		{"all of a range", shared + `11 close_range(3, 4294967295, 0) = 0; 11 open("/w/b", O_RDWR) = 3`, "open 3, close 3, open 4, close_range, open 4"},
		{"a range with an end", shared + `11 close_range(3, 5, 0) = 0`, "open 3, close 3, open 3, close_range"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, report := compiled(t, recorded(strings.Split(c.calls, "; ")), compile.Options{})
			require.Zero(t, report.Unexplained, report.Examples)
			require.Equal(t, c.want, numbers(s.events))
		})
	}
}

// numbers returns the descriptors of events.
func numbers(events []format.Event) string {
	var all []string
	for i := range events {
		e := &events[i]
		info := e.Op.Info()
		word := strings.TrimSuffix(info.Name, "m")
		switch {
		case e.Op == format.OpLinkat:
			word += fmt.Sprint(" ", e.Dir(0))
		case info.At.FD >= 0:
			word += fmt.Sprint(" ", e.FD())
		case info.Effect != format.EffectOpen && info.Effect != format.EffectCloseRange:
			continue
		}
		switch {
		case info.At.OutFD >= 0:
			word += fmt.Sprint(" ", e.OutFD())
		case info.Result == format.ResultFD:
			word += fmt.Sprint(" ", e.Ret)
		case e.Op == format.OpIoctl:
			word += fmt.Sprint(" ", e.Args[2])
		}
		all = append(all, word)
	}
	return strings.Join(all, ", ")
}
