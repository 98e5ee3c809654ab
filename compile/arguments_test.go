package compile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// A call that was refused for arguments that a trace does not hold, or for a limit, is not
// made: it could succeed, and change what later results depend on.
func TestRefusedArguments(t *testing.T) {
	for _, call := range []string{
		`linkat(AT_FDCWD, "/w/f", AT_FDCWD, "/w/g", 0x4000) = -1 EINVAL (x)`,
		`unlinkat(AT_FDCWD, "/w/f", 0x1) = -1 EINVAL (x)`,
		`access("/w/f", 8) = -1 EINVAL (x)`,
		`utimensat(AT_FDCWD, "/w/f", 0x1, 0x8000) = -1 EINVAL (x)`,
		`preadv2(3, 0x1000, 1, 0, 100, 0x1000) = -1 EOPNOTSUPP (x)`,
		`fallocate(3, 0x1000, 0, 10) = -1 EOPNOTSUPP (x)`,
		`fallocate(3, FALLOC_FL_COLLAPSE_RANGE, 1, 10) = -1 EINVAL (x)`,
		`sync_file_range(3, 0, 10, 99) = -1 EINVAL (x)`,
		`openat2(AT_FDCWD, "/w/f", O_RDONLY, 0, RESOLVE_BENEATH) = -1 EXDEV (x)`,
		`openat2(AT_FDCWD, "/w/f", O_RDONLY, 0, 0) = -1 E2BIG (x)`,
		`openat(AT_FDCWD, "/w/f", O_RDONLY) = -1 EMFILE (x)`,
		`dup3(3, 3, 0) = -1 EINVAL (x)`,
		`fallocate(3, 0, 0, 1000000) = -1 EFBIG (x)`,
		`write(3, 0x1000, 10) = -1 EPERM (x)`,
		`openat(AT_FDCWD, "/w/f", O_RDWR|O_NONBLOCK) = -1 EAGAIN (x)`,
		`dup2(3, 100000) = -1 EBADF (x)`,
		`fcntl(3, F_DUPFD, 100000) = -1 EINVAL (x)`,
		`setxattr("/w/f", "user.a", 0x1, 10, 7) = -1 EINVAL (x)`,
		`getxattr("/w/f", "", 0x1, 10) = -1 ERANGE (x)`,
	} {
		t.Run(call[:strings.IndexByte(call, '(')], func(t *testing.T) {
			s, r := compiled(t, "# pianola script 1\n"+`10 0.000010000 openat(AT_FDCWD, "/w/f", O_RDWR|O_CREAT, 0600) = 3 <0.000001000> {type=reg mode=0600 size=0 new}
10 0.000010000 `+call+` <0.000001000>
10 0.000010000 fsync(3) = 0 <0.000001000>
`, compile.Options{})
			require.Zero(t, r.Unexplained, r.Examples)
			require.Len(t, s.events, 2)
		})
	}
}

// Calls that a replay refuses for the same reason stay in the trace.
func TestRefusedAgain(t *testing.T) {
	s, _ := compiled(t, "# pianola script 1\n"+`10 0.000010000 openat(AT_FDCWD, "/w/f", O_RDWR|O_CREAT, 0600) = 3 <0.000001000> {type=reg mode=0600 size=0 new}
10 0.000010000 lseek(3, -5, SEEK_SET) = -1 EINVAL (x) <0.000001000>
10 0.000010000 readlink("/w/f", 0x1, 100) = -1 EINVAL (x) <0.000001000>
10 0.000010000 pread64(3, 0x1000, 100, -5) = -1 EINVAL (x) <0.000001000>
10 0.000010000 dup2(99, 5) = -1 EBADF (x) <0.000001000>
10 0.000010000 openat(AT_FDCWD, "/w/f/x", O_RDONLY) = -1 ENOTDIR (x) <0.000001000>
`, compile.Options{})
	require.GreaterOrEqual(t, len(s.events), 5)
}

// A link whose target would be too long for a link in the replay leads to nothing.
func TestLongTarget(t *testing.T) {
	s, r := compiled(t, "# pianola script 1\n"+`10 0.000010000 symlink("/`+strings.Repeat("nothing/", 511)+`x", "/w/d/e/f/link") = 0 <0.000001000>
10 0.000010000 openat(AT_FDCWD, "/w/d/e/f/link", O_RDONLY) = -1 ENOENT (x) <0.000001000>
`, compile.Options{})
	require.Zero(t, r.Unexplained)
	require.Equal(t, "pianola_gone", string(s.events[0].Str[0]))
}
