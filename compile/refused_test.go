package compile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// A call that was refused by permissions or by the file system is left out if it would
// succeed in a replay and change something. A call that only reads is kept.
func TestRefusedCalls(t *testing.T) {
	s, r := compiled(t, `# pianola script 1
10 0.000010000 open("/w/read", O_RDONLY) = -1 EACCES (x) <0.000001000>
10 0.000010000 open("/w/cut", O_WRONLY|O_TRUNC) = -1 EACCES (x) <0.000001000>
10 0.000010000 open("/w/new", O_WRONLY|O_CREAT, 0600) = -1 EROFS (x) <0.000001000>
10 0.000010000 unlink("/w/kept") = -1 EPERM (x) <0.000001000>
10 0.000010000 rename("/w/kept", "/w/other") = -1 EACCES (x) <0.000001000>
10 0.000010000 mkdir("/w/kept/d", 0700) = -1 EACCES (x) <0.000001000>
10 0.000010000 truncate("/w/kept", 0) = -1 EACCES (x) <0.000001000>
10 0.000010000 chmod("/w/kept", 0) = -1 EPERM (x) <0.000001000>
10 0.000010000 chown("/w/kept", 0, 0) = -1 EPERM (x) <0.000001000>
10 0.000010000 open("/w/kept", O_RDONLY) = 3 <0.000001000> {type=reg mode=0644 size=10}
10 0.000010000 rename("/w/kept", "/dev/shm/kept") = -1 EXDEV (x) <0.000001000>
10 0.000010000 renameat2(AT_FDCWD, "/w/kept", AT_FDCWD, "/w/other", RENAME_WHITEOUT) = 0 <0.000001000>
10 0.000010000 open("/w/kept", O_RDONLY) = -1 ENXIO (x) <0.000001000>
10 0.000010000 truncate("/w/kept", 10) = -1 EINVAL (x) <0.000001000>
10 0.000010000 open("/w/missing/..", O_RDWR|O_CREAT, 0600) = -1 ENOENT (x) <0.000001000>
10 0.000010000 renameat2(AT_FDCWD, "/w/missing", AT_FDCWD, "/w/./", RENAME_NOREPLACE) = -1 EEXIST (x) <0.000001000>
10 0.000010000 link("/w/kept", "/dev/shm/kept") = -1 EXDEV (x) <0.000001000>
10 0.000010000 open("/dev/shm/kept", O_WRONLY|O_CREAT|O_EXCL, 0600) = 4 <0.000001000> {type=reg mode=0600 size=0 new}
10 0.000010000 ioctl(4, FICLONE, 3) = -1 EXDEV (x) <0.000001000>
10 0.000010000 copy_file_range(3, -1, 4, -1, 10, 0) = -1 EXDEV (x) <0.000001000>
10 0.000010000 mkdir("/w/d", 0700) = 0 <0.000001000>
10 0.000010000 link("/w/d", "/w/e") = -1 EPERM (x) <0.000001000>
10 0.000010000 unlink("/w/kept") = 0 <0.000001000>
`, compile.Options{})
	require.Zero(t, r.Unexplained)
	require.Contains(t, r.Summary(), "left out 15: 2 interrupted or not reproducible, 13 refused by permissions or by the file system")
	require.Equal(t, `open ( w/read 1 ) = -1 EACCES (Permission denied)
chown ( w/kept 0 0 ) = -1 EPERM (Operation not permitted)
open ( w/kept 1 ) = 3
renameat2 ( AT_FDCWD w/kept AT_FDCWD w/pianola_tmp1 4 ) = 0
openm ( dev/shm/pianola_tmp2 98 384 ) = 4
mkdir ( w/d 448 ) = 0
link ( w/d w/e ) = -1 EPERM (Operation not permitted)
unlink ( w/kept ) = 0
`, s.calls())
}

// Where a seek in a directory leads only its file system knows, unless it is to the
// start or to a place that the application had been told.
func TestSeeksInDirectories(t *testing.T) {
	s, r := compiled(t, `# pianola script 1
10 0.000010000 open("/w", O_RDONLY|O_DIRECTORY) = 3 <0.000001000> {type=dir}
10 0.000010000 lseek(3, 0, SEEK_CUR) = 0 <0.000001000>
10 0.000010000 lseek(3, 0, SEEK_END) = 9223372036854775807 <0.000001000>
10 0.000010000 lseek(3, 74, SEEK_END) = -1 EINVAL (x) <0.000001000>
10 0.000010000 lseek(3, 5, SEEK_DATA) = 5 <0.000001000>
10 0.000010000 lseek(3, 77, SEEK_SET) = 77 <0.000001000>
10 0.000010000 lseek(3, 5, SEEK_CUR) = 82 <0.000001000>
10 0.000010000 lseek(3, 0, SEEK_SET) = 0 <0.000001000>
`, compile.Options{})
	require.Contains(t, r.Summary(), "4 interrupted or not reproducible")
	require.Equal(t, "open ( w 129 ) = 3\nlseek ( 3 0 1 ) = 0\nlseek ( 3 77 0 ) = 77\nlseek ( 3 0 0 ) = 0\n", s.calls())
}

// A whiteout takes the place of a directory in a replay as a file, whose name has no
// slash at its end.
func TestWhiteoutOfDirectory(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
10 0.000010000 mkdir("/w/d", 0700) = 0 <0.000001000>
10 0.000010000 renameat2(AT_FDCWD, "/w/d/", AT_FDCWD, "/w/e", RENAME_WHITEOUT) = 0 <0.000001000>
`, compile.Options{})
	require.Contains(t, s.calls(), "renameat2 ( AT_FDCWD w/pianola_tmp1 AT_FDCWD w/e 4 ) = 0")
}

// A link to a directory is refused after both names were looked up, so the directory of
// the second one is there.
func TestLinkRefusedInKnownDirectory(t *testing.T) {
	s, r := compiled(t, `# pianola script 1
10 0.000010000 link("/", "/elsewhere/link") = -1 EPERM (x) <0.000001000>
`, compile.Options{})
	require.Zero(t, r.Unexplained)
	require.Contains(t, s.String(), `# file: "elsewhere" dir `)
}

// The notes of an open with O_TMPFILE are those of the file. Its path is a directory.
func TestTmpfileInDirectory(t *testing.T) {
	s, r := compiled(t, `# pianola script 1
10 0.000010000 open("/t", O_RDONLY|O_TMPFILE, 0600) = -1 EINVAL (x) <0.000001000>
10 0.000010000 open("/t", O_RDWR|O_TMPFILE, 0600) = 3 <0.000001000> {type=reg mode=0600 size=0}
`, compile.Options{})
	require.Zero(t, r.Unexplained)
	require.Contains(t, s.String(), `# file: "t" dir `)
}

// A directory in which everything was refused is closed to the application, if the recording
// doesn't have its mode. A name below it that was found, made or missing shows that it is open.
func TestClosedDirectories(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls []string
		want  map[string]uint32 // modes of directories
	}{
		{"stat", []string{`stat("/w/d/x", 0x1) = -1 EACCES (x)`}, map[string]uint32{"w": 0o755, "w/d": 0o644}},
		{"open and readlink", []string{`open("/w/d/x", O_RDONLY) = -1 EACCES (x)`, `readlink("/w/d/y", 0x1, 9) = -1 EACCES (x)`}, map[string]uint32{"w": 0o755, "w/d": 0o644}},
		{"each on the way", []string{`access("/w/d/e/x", F_OK) = -1 EACCES (x)`, `access("/w/d/e", F_OK) = -1 EACCES (x)`}, map[string]uint32{"w": 0o755, "w/d": 0o644, "w/d/e": 0o644}},
		{"found before", []string{`access("/w/d/y", F_OK) = 0`, `open("/w/d/x", O_RDONLY) = -1 EACCES (x)`}, map[string]uint32{"w": 0o755, "w/d": 0o755}},
		{"found later", []string{`open("/w/d/x", O_RDONLY) = -1 EACCES (x)`, `access("/w/d/y", F_OK) = 0`}, map[string]uint32{"w": 0o755, "w/d": 0o755}},
		{"made", []string{`open("/w/d/x", O_RDONLY) = -1 EACCES (x)`, `mkdir("/w/d/y", 0700) = 0`}, map[string]uint32{"w": 0o755, "w/d": 0o755}},
		{"missing", []string{`open("/w/d/x", O_RDONLY) = -1 EACCES (x)`, `access("/w/d/y", F_OK) = -1 ENOENT (x)`}, map[string]uint32{"w": 0o755, "w/d": 0o755}},
		{"found below", []string{`open("/w/d/x", O_RDONLY) = -1 EACCES (x)`, `access("/w/d/e/y", F_OK) = 0`}, map[string]uint32{"w": 0o755, "w/d": 0o755, "w/d/e": 0o755}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var script strings.Builder
			script.WriteString("# pianola script 1\n")
			for _, call := range c.calls {
				script.WriteString("10 0.000010000 " + call + " <0.000001000>\n")
			}
			s, r := compiled(t, script.String(), compile.Options{})
			require.Zero(t, r.Unexplained)
			modes := map[string]uint32{}
			for _, f := range s.header.Files {
				if f.Type == format.TypeDir {
					modes[f.Path] = f.Mode
				}
			}
			require.Equal(t, c.want, modes)
		})
	}
	s, _ := compiled(t, `# pianola script 1
10 0.000010000 open("/w/f", O_RDONLY) = -1 EACCES (x) <0.000001000>
10 0.000010000 access("/w/f", X_OK) = -1 EACCES (x) <0.000001000>
10 0.000010000 stat("/w/f", 0x1) = 0 <0.000001000> {type=reg mode=0700 size=9}
10 0.000010000 open("/w/g", O_RDWR) = -1 EACCES (x) <0.000001000>
10 0.000010000 open("/w/g", O_RDONLY) = 3 <0.000001000> {type=reg mode=0604 size=9}
10 0.000010000 stat("/w/h", 0x1) = 0 <0.000001000> {type=reg mode=0600 size=9}
10 0.000010000 open("/w/h", O_WRONLY) = -1 EACCES (x) <0.000001000>
10 0.000010000 open("/w/i", O_WRONLY) = -1 EACCES (x) <0.000001000>
10 0.000010000 stat("/w/j", 0x1) = -1 EACCES (x) <0.000001000>
10 0.000010000 open("/w/k", O_WRONLY) = -1 EACCES (x) <0.000001000>
10 0.000010000 open("/w/k", O_WRONLY|O_CREAT|O_EXCL, 0600) = 5 <0.000001000> {type=reg mode=0600 size=0 new}
10 0.000010000 creat("/w/new", 0600) = 4 <0.000001000> {type=reg mode=0600 size=0 new}
10 0.000010000 open("/w/new", O_RDONLY) = -1 EACCES (x) <0.000001000>
`, compile.Options{})
	modes := map[string]uint32{}
	for _, f := range s.header.Files {
		modes[f.Path] = f.Mode
	}
	require.Equal(t, map[string]uint32{"w": 0o755, "w/f": 0o200, "w/g": 0o404, "w/h": 0o400, "w/i": 0o444}, modes, "of files that the application could not open")
	s, _ = compiled(t, `# pianola script 1
10 0.000010000 stat("/w/d", 0x1) = 0 <0.000001000> {type=dir mode=0700}
10 0.000010000 stat("/w/d/x", 0x1) = -1 EACCES (x) <0.000001000>
`, compile.Options{})
	require.EqualValues(t, 0o600, s.header.Files[1].Mode, "the user of a replay owns it")
}
