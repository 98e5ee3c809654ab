package compile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// linesOf returns the calls of the trace of a script without times and notes,
// with plain paths, and the report.
func linesOf(t *testing.T, script string) (string, *compile.Report) {
	t.Helper()
	s, r := compiled(t, "# pianola script 1\n# cwd: \"/w\"\n"+script, compile.Options{})
	return strings.ReplaceAll(s.calls(), "//", "/"), r
}

// A path that leads through /proc or /dev to a file has that file's name, and a
// file without a name is reached by its descriptor.
func TestNamesOfDescriptors(t *testing.T) {
	got, r := linesOf(t, `10 0.000010000 open("a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.000001000>
10 0.000010000 dup2(3, 0) = 0 <0.000001000>
10 0.000010000 rename("a", "b") = 0 <0.000001000>
10 0.000010000 open("/dev/stdin", O_RDONLY) = 4 <0.000001000>
10 0.000010000 stat("/proc/self/fd/3", 0x1) = 0 <0.000001000>
10 0.000010000 truncate("/proc/10/fd/3", 5) = 0 <0.000001000>
10 0.000010000 chmod("/proc/thread-self/fd/4", 0640) = 0 <0.000001000>
10 0.000010000 link("/proc/self/fd/9", "c") = -1 ENOENT (x) <0.000001000>
10 0.000010000 unlink("b") = 0 <0.000001000>
10 0.000010000 open("/dev/fd/3", O_RDWR|O_CREAT, 0600) = 5 <0.000001000>
10 0.000010000 write(5, 0x1, 10) = 10 <0.000001000>
10 0.000010000 truncate("/proc/self/fd/5", 7) = 0 <0.000001000>
10 0.000010000 truncate("/proc/self/fd/4", 7) = 0 <0.000001000>
10 0.000010000 access("/proc/self/fd/4", R_OK) = 0 <0.000001000>
10 0.000010000 mkdir("d", 0700) = 0 <0.000001000>
10 0.000010000 open("d", O_RDONLY|O_DIRECTORY) = 6 <0.000001000>
10 0.000010000 open("/proc/self/fd/6/x", O_RDONLY) = -1 ENOENT (x) <0.000001000>
10 0.000010000 open("/proc/self/cwd/d", O_RDONLY|O_DIRECTORY) = 7 <0.000001000>
10 0.000010000 open("/proc/self/fd/6", O_RDONLY|O_NOFOLLOW) = -1 ELOOP (x) <0.000001000>
10 0.000010000 open("/proc/meminfo", O_RDONLY) = 8 <0.000001000> {type=reg mode=0444 size=0 dev=0:22 ino=7 nlink=1}
10 0.000010000 open("/proc/self/fd/77", O_RDONLY) = 9 <0.000001000> {type=reg mode=0644 size=100 dev=8:1 ino=7 nlink=1}
10 0.000010000 read(9, 0x1, 100) = 100 <0.000001000>
`)
	require.Zero(t, r.Unexplained)
	require.Equal(t, `openm ( w/pianola_tmp1 100 384 ) = 3
dup2 ( 3 0 ) = 0
rename ( w/pianola_tmp1 w/pianola_tmp2 ) = 0
open ( w/pianola_tmp2 1 ) = 4
stat ( w/pianola_tmp2 ) = 0
truncate ( w/pianola_tmp2 5 ) = 0
chmod ( w/pianola_tmp2 416 ) = 0
unlink ( w/pianola_tmp2 ) = 0
reopen ( 3 4 ) = 5
write ( 5 10 ) = 10
ftruncate ( 5 7 ) = 0
ftruncate ( 0 7 ) = 0
faccess ( 4 4 ) = 0
mkdir ( w/d 448 ) = 0
open ( w/d 129 ) = 6
open ( w/d/x 1 ) = -1 ENOENT (No such file or directory)
open ( w/d 129 ) = 7
open ( pianola_inode_8_1_7 1 ) = 9
read ( 9 100 ) = 100
`, got)
}

// A call by a path in /proc does not need the access mode of that descriptor. For a
// file without a name, the replay uses another descriptor.
func TestRightsOfDescriptors(t *testing.T) {
	got, r := linesOf(t, `10 0.000010000 open(".", O_RDWR|O_TMPFILE, 0600) = 5 <0.000001000>
10 0.000010000 dup(5) = 4 <0.000001000>
10 0.000010000 open("/proc/self/fd/5", O_RDONLY|O_PATH) = 3 <0.000001000>
10 0.000010000 chmod("/proc/self/fd/3", 0702) = 0 <0.000001000>
10 0.000010000 close(4) = 0 <0.000001000>
10 0.000010000 truncate("/proc/self/fd/3", 10) = 0 <0.000001000>
10 0.000010000 close(5) = 0 <0.000001000>
10 0.000010000 chmod("/proc/self/fd/3", 0700) = 0 <0.000001000>
`)
	require.Zero(t, r.Unexplained)
	require.Equal(t, `openm ( w 131076 384 ) = 5
dup ( 5 ) = 4
reopen ( 5 65537 ) = 3
fchmod ( 4 450 ) = 0
close ( 4 ) = 0
ftruncate ( 5 10 ) = 0
close ( 5 ) = 0
`, got)
	require.Contains(t, r.Summary(), "1 unnamed file reached by a path in /proc")
}

// A file that O_TMPFILE made gets its name by its descriptor.
func TestUnnamedFilesGetNames(t *testing.T) {
	got, r := linesOf(t, `10 0.000010000 access("n", F_OK) = -1 ENOENT (x) <0.000001000>
10 0.000010000 open(".", O_RDWR|O_TMPFILE, 0600) = 3 <0.000001000>
10 0.000010000 linkat(AT_FDCWD, "/proc/self/fd/3", AT_FDCWD, "n", AT_SYMLINK_FOLLOW) = 0 <0.000001000>
10 0.000010000 linkat(3, "", AT_FDCWD, "m", AT_EMPTY_PATH) = 0 <0.000001000>
10 0.000010000 linkat(3, "", AT_FDCWD, "m", AT_EMPTY_PATH) = -1 EEXIST (x) <0.000001000>
10 0.000010000 unlink("n") = 0 <0.000001000>
`)
	require.Zero(t, r.Unexplained)
	require.Equal(t, `access ( w/pianola_tmp1 0 ) = -1 ENOENT (No such file or directory)
openm ( w 131076 384 ) = 3
linkat ( 3 NULL AT_FDCWD w/pianola_tmp1 4096 ) = 0
linkat ( 3 NULL AT_FDCWD w/pianola_tmp2 4096 ) = 0
linkat ( 3 NULL AT_FDCWD w/pianola_tmp2 4096 ) = -1 EEXIST (File exists)
unlink ( w/pianola_tmp1 ) = 0
`, got)
}

// Created files have the mode that the application's files got.
func TestModes(t *testing.T) {
	got, _ := linesOf(t, `# umask: 0027
10 0.000010000 mkdir("a", 0777) = 0 <0.000001000>
10 0.000010000 umask(077) = 027 <0.000001000>
10 0.000010000 clone(child_stack=NULL, flags=SIGCHLD) = 11 <0.000001000>
10 0.000010000 umask(0) = 077 <0.000001000>
11 0.000010000 mkdir("b", 0777) = 0 <0.000001000>
10 0.000010000 mkdir("c", 0777) = 0 <0.000001000>
11 0.000010000 open("d", O_WRONLY|O_CREAT, 0666) = 3 <0.000001000> {type=reg mode=0640 new}
11 0.000010000 fchmodat2(AT_FDCWD, "d", 0600, AT_SYMLINK_NOFOLLOW) = 0 <0.000001000>
11 0.000010000 ioctl(3, FS_IOC_RESVSP64, 0, 4096, 8192) = 0 <0.000001000>
11 0.000010000 renameat2(AT_FDCWD, "d", AT_FDCWD, "e", RENAME_WHITEOUT) = 0 <0.000001000>
11 0.000010000 unlink("d") = 0 <0.000001000>
`)
	require.Contains(t, got, "mkdir ( w/a 488 )")
	require.Contains(t, got, "mkdir ( w/b 448 )")
	require.Contains(t, got, "mkdir ( w/c 511 )")
	require.Contains(t, got, "openm ( w/pianola_tmp1 34 416 )")
	require.Contains(t, got, "fchmodat2 ( AT_FDCWD w/pianola_tmp1 384 256 )")
	require.Contains(t, got, "fallocate ( 3 1 4096 8192 )")
	require.NotContains(t, got, "umask")
}

// A file that was missed and then found is made in between, and not there from the
// start.
func TestFilesThatAppear(t *testing.T) {
	s, r := compiled(t, `# pianola script 1
10 0.000010000 stat("/w/d/f", 0x1) = -1 ENOENT (x) <0.000001000>
10 0.000010000 stat("/w/d", 0x1) = -1 ENOENT (x) <0.000001000>
10 0.000010000 open("/w/d/f", O_RDONLY) = 3 <0.000001000> {type=reg mode=0600 size=10}
10 0.000010000 mkdir("/w/e", 0700) = 0 <0.000001000>
10 0.000010000 mkdir("/w/e/x", 0700) = -1 EEXIST (x) <0.000001000>
`, compile.Options{})
	require.EqualValues(t, 2, r.Unexplained)
	require.Equal(t, []format.File{{Path: "w", Type: format.TypeDir, Mode: 0o755, Cached: -1}}, s.header.Files)
	require.Equal(t, `stat ( w/d/pianola_tmp1 ) = -1 ENOENT (No such file or directory)
stat ( w/d ) = -1 ENOENT (No such file or directory)
mkdir ( w/d 493 ) = 0
mknod ( w/d/pianola_tmp1 33152 0 ) = 0
truncate ( w/d/pianola_tmp1 10 ) = 0
open ( w/d/pianola_tmp1 1 ) = 3
mkdir ( w/e 448 ) = 0
mknod ( w/e/pianola_tmp2 33188 0 ) = 0
mkdir ( w/e/pianola_tmp2 448 ) = -1 EEXIST (File exists)
`, s.calls())
}

// O_TMPFILE makes no file of its path: it follows a link there, and needs a directory.
func TestUnnamedFilesBeyondLinks(t *testing.T) {
	got, r := linesOf(t, `10 0.000010000 mkdir("d", 0700) = 0 <0.000001000>
10 0.000010000 symlink("d", "l") = 0 <0.000001000>
10 0.000010000 open("l/", O_RDWR|O_TMPFILE, 0600) = 3 <0.000001000>
10 0.000010000 rmdir("d") = 0 <0.000001000>
10 0.000010000 open("l/", O_RDWR|O_TMPFILE, 0600) = -1 ENOENT (x) <0.000001000>
10 0.000010000 open("d", O_RDWR|O_CREAT|O_EXCL, 0600) = 4 <0.000001000>
10 0.000010000 open("l/", O_RDWR|O_TMPFILE, 0600) = -1 ENOTDIR (x) <0.000001000>
10 0.000010000 open("m/.", O_RDWR|O_TMPFILE, 0600) = -1 ENOENT (x) <0.000001000>
10 0.000010000 open("m", O_RDWR|O_CREAT, 0600) = 5 <0.000001000>
`)
	require.Zero(t, r.Unexplained)
	require.Equal(t, `mkdir ( w/pianola_tmp1 448 ) = 0
symlink ( pianola_tmp1 w/pianola_tmp2 ) = 0
openm ( w/pianola_tmp1/ 131076 384 ) = 3
rmdir ( w/pianola_tmp1 ) = 0
openm ( w/pianola_tmp1/ 131076 384 ) = -1 ENOENT (No such file or directory)
openm ( w/pianola_tmp1 100 384 ) = 4
openm ( w/pianola_tmp1/ 131076 384 ) = -1 ENOTDIR (Not a directory)
openm ( w/pianola_tmp3/pianola_gone 131076 384 ) = -1 ENOENT (No such file or directory)
openm ( w/pianola_tmp3 36 384 ) = 5
`, got)
}

// A replay has no directory that was removed and is still open: a path that leads
// through it is in the trace only if it found nothing, or made a file without a name.
func TestPathsThroughRemovedDirectories(t *testing.T) {
	got, r := linesOf(t, `10 0.000010000 mkdir("d", 0700) = 0 <0.000001000>
10 0.000010000 open("d", O_RDONLY|O_DIRECTORY) = 3 <0.000001000>
10 0.000010000 rmdir("d") = 0 <0.000001000>
10 0.000010000 open("/proc/self/fd/3/a", O_RDONLY) = -1 ENOENT (x) <0.000001000>
10 0.000010000 open("/proc/self/fd/3/a/", O_RDWR|O_CREAT, 0600) = -1 EISDIR (x) <0.000001000>
10 0.000010000 openat(3, "a/", O_RDWR|O_CREAT, 0600) = -1 EISDIR (x) <0.000001000>
10 0.000010000 stat("/proc/self/fd/3/.", 0x1) = 0 <0.000001000>
10 0.000010000 rename("/proc/self/fd/3/./e", "/w/f/g") = -1 ENOTDIR (x) <0.000001000>
10 0.000010000 openat(3, ".", O_RDWR|O_TMPFILE, 0600) = 4 <0.000001000>
10 0.000010000 linkat(4, "", AT_FDCWD, "a", AT_EMPTY_PATH) = 0 <0.000001000>
`)
	require.Zero(t, r.Unexplained)
	require.Equal(t, `mkdir ( w/d 448 ) = 0
open ( w/d 129 ) = 3
rmdir ( w/d ) = 0
open ( pianola_gone/a 1 ) = -1 ENOENT (No such file or directory)
openm ( . 131076 384 ) = 4
linkat ( 4 NULL AT_FDCWD w/pianola_tmp1 4096 ) = 0
`, got)
}

// A file gets no name where the path enters a directory that is missing and leaves it by
// "..". Whether a file without a name can get one again the simulation does not know.
func TestNamesOfDescriptorsBeyondMissing(t *testing.T) {
	got, r := linesOf(t, `10 0.000010000 open("a", O_RDWR|O_CREAT|O_EXCL, 0600) = 3 <0.000001000>
10 0.000010000 open(".", O_RDWR|O_TMPFILE, 0600) = 4 <0.000001000>
10 0.000010000 linkat(4, "", AT_FDCWD, "e/../x", AT_EMPTY_PATH) = -1 ENOENT (x) <0.000001000>
10 0.000010000 linkat(3, "", AT_FDCWD, "e/../x", AT_EMPTY_PATH) = -1 ENOENT (x) <0.000001000>
10 0.000010000 linkat(AT_FDCWD, "/proc/self/fd/3", AT_FDCWD, "f/../x", AT_SYMLINK_FOLLOW) = -1 ENOENT (x) <0.000001000>
10 0.000010000 linkat(4, "", AT_FDCWD, "x", AT_EMPTY_PATH) = 0 <0.000001000>
`)
	require.Zero(t, r.Unexplained)
	require.Equal(t, `openm ( w/pianola_tmp1 100 384 ) = 3
openm ( w 131076 384 ) = 4
linkat ( 3 NULL AT_FDCWD w/e/pianola_gone/x 4096 ) = -1 ENOENT (No such file or directory)
link ( w/pianola_tmp1 w/f/pianola_gone/x ) = -1 ENOENT (No such file or directory)
linkat ( 4 NULL AT_FDCWD w/pianola_tmp2 4096 ) = 0
`, got)
}

// What /proc leads to need not be a file or a pipe.
func TestNamesOfOtherDescriptors(t *testing.T) {
	got, r := linesOf(t, `10 0.000010000 eventfd2(0, 0) = 3 <0.000001000>
10 0.000010000 open("/proc/self/fd/3", O_RDWR) = 4 <0.000001000>
10 0.000010000 close(4) = 0 <0.000001000>
10 0.000010000 open("a", O_RDWR|O_CREAT|O_EXCL, 0600) = 4 <0.000001000>
`)
	require.Zero(t, r.Unexplained)
	require.Equal(t, "openm ( w/pianola_tmp1 100 384 ) = 4\n", got)
}
