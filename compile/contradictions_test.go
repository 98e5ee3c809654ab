package compile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// Results are compared with the simulated directories and files that the trace created.
func TestContradictions(t *testing.T) {
	const head = "# pianola script 1\n"
	const made = head + `10 0.000010000 mkdir("/w/d", 0700) = 0 <0.000001000>
10 0.000010000 openat(AT_FDCWD, "/w/d/f", O_RDWR|O_CREAT|O_TRUNC, 0600) = 3 <0.000001000> {type=reg mode=0600 size=0 new}
10 0.000010000 write(3, 0x1000, 100) = 100 <0.000001000>
`
	for _, c := range []struct {
		name, script string
		want         int64
	}{
		{"all is known", made + `10 0.000010000 pread64(3, 0x1000, 50, 0) = 50 <0.000001000>
10 0.000010000 pread64(3, 0x1000, 500, 0) = 100 <0.000001000>
10 0.000010000 pread64(3, 0x1000, 500, 200) = 0 <0.000001000>
10 0.000010000 lseek(3, 0, SEEK_END) = 100 <0.000001000>
10 0.000010000 rmdir("/w/d") = -1 ENOTEMPTY (x) <0.000001000>
10 0.000010000 unlink("/w/d/f") = 0 <0.000001000>
10 0.000010000 rmdir("/w/d") = 0 <0.000001000>
`, 0},
		{"not empty", made + `10 0.000010000 unlink("/w/d/f") = 0 <0.000001000>
10 0.000010000 rmdir("/w/d") = -1 ENOTEMPTY (x) <0.000001000>
10 0.000010000 mkdir("/w/e", 0700) = 0 <0.000001000>
10 0.000010000 rename("/w/e", "/w/d") = -1 ENOTEMPTY (x) <0.000001000>
`, 2},
		{"empty", made + `10 0.000010000 mkdir("/w/e", 0700) = 0 <0.000001000>
10 0.000010000 rmdir("/w/d") = 0 <0.000001000>
`, 1},
		{"replaced", made + `10 0.000010000 mkdir("/w/e", 0700) = 0 <0.000001000>
10 0.000010000 rename("/w/e", "/w/d") = 0 <0.000001000>
`, 1},
		{"one that was there is not empty", head + `10 0.000010000 stat("/w/e/f", 0x1) = 0 <0.000001000>
10 0.000010000 rmdir("/w/e") = 0 <0.000001000>
`, 1},
		{"one that was there is replaced", made + `10 0.000010000 stat("/w/e/f", 0x1) = 0 <0.000001000>
10 0.000010000 rename("/w/d", "/w/e") = 0 <0.000001000>
`, 1},
		{"larger", made + "10 0.000010000 pread64(3, 0x1000, 500, 0) = 101 <0.000001000>\n", 1},
		{"smaller", made + "10 0.000010000 pread64(3, 0x1000, 500, 0) = 99 <0.000001000>\n", 1},
		{"end too early", made + "10 0.000010000 pread64(3, 0x1000, 500, 50) = 0 <0.000001000>\n", 1},
		{"end elsewhere", made + "10 0.000010000 lseek(3, -10, SEEK_END) = 91 <0.000001000>\n", 1},
		{"append of nothing", head + `10 0.000010000 openat(AT_FDCWD, "/w/f", O_RDWR|O_TRUNC|O_APPEND) = 3 <0.000001000> {type=reg mode=0600 size=0}
10 0.000010000 write(3, 0x1000, 10) = 10 <0.000001000>
10 0.000010000 lseek(3, 100, SEEK_SET) = 100 <0.000001000>
10 0.000010000 write(3, 0x1000, 0) = 0 <0.000001000>
10 0.000010000 read(3, 0x1000, 500) = 0 <0.000001000>
10 0.000010000 pwrite64(3, 0x1000, 10, 0) = 10 <0.000001000>
10 0.000010000 read(3, 0x1000, 500) = 0 <0.000001000>
`, 0},
		{"truncated", head + `10 0.000010000 openat(AT_FDCWD, "/w/f", O_RDWR) = 3 <0.000001000> {type=reg mode=0600 size=4096}
10 0.000010000 ftruncate(3, 10) = 0 <0.000001000>
10 0.000010000 read(3, 0x1000, 500) = 11 <0.000001000>
`, 1},
		{"unknown", head + `10 0.000010000 openat(AT_FDCWD, "/w/f", O_RDWR) = 3 <0.000001000> {type=reg mode=0600 size=4096}
10 0.000010000 read(3, 0x1000, 5000) = 11 <0.000001000>
10 0.000010000 rmdir("/w/d") = -1 ENOTEMPTY (x) <0.000001000>
`, 0},
		// Calls that overlap: the result is that of before or after the other one.
		{"write returns later", made + `10 0.000010000 clone(CLONE_VM|CLONE_FILES|CLONE_FS|CLONE_THREAD|CLONE_SIGHAND) = 11 <0.000001000>
11 0.000010000 pread64(3, 0x1000, 500, 0) = 200 <0.000001000>
10 -0.000005000 pwrite64(3, 0x1000, 100, 100) = 100 <0.000010000>
`, 0},
		{"write returned before", made + `10 0.000010000 clone(CLONE_VM|CLONE_FILES|CLONE_FS|CLONE_THREAD|CLONE_SIGHAND) = 11 <0.000001000>
10 0.000010000 pwrite64(3, 0x1000, 100, 100) = 100 <0.000010000>
11 -0.000005000 pread64(3, 0x1000, 500, 0) = 100 <0.000017000>
`, 0},
		{"write began later", made + `10 0.000010000 clone(CLONE_VM|CLONE_FILES|CLONE_FS|CLONE_THREAD|CLONE_SIGHAND) = 11 <0.000001000>
11 0.000010000 pread64(3, 0x1000, 500, 0) = 200 <0.000001000>
10 0.000005000 pwrite64(3, 0x1000, 100, 100) = 100 <0.000010000>
`, 1},
		{"unlink returned before", made + `10 0.000010000 clone(CLONE_VM|CLONE_FILES|CLONE_FS|CLONE_THREAD|CLONE_SIGHAND) = 11 <0.000001000>
10 0.000010000 unlink("/w/d/f") = 0 <0.000010000>
11 -0.000005000 rmdir("/w/d") = -1 ENOTEMPTY (x) <0.000017000>
`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r := compiled(t, c.script, compile.Options{})
			require.Equal(t, c.want, r.Unexplained, r.Examples)
		})
	}
}

// A pwrite through a description that appends moves no offset (pwrite(2), bugs).
func TestAppendedByPwrite(t *testing.T) {
	_, report := compiled(t, recorded(strings.Split(`10 open("/w/a", O_RDWR|O_CREAT|O_EXCL|O_APPEND, 0600) = 3; 10 write(3, 0x1, 256) = 256; `+
		`10 pwrite64(3, 0x1, 136, 53248) = 136; 10 read(3, 0x1, 84) = 84; 10 read(3, 0x1, 100) = 52`, "; ")), compile.Options{})
	require.Zero(t, report.Unexplained, report.Examples)
}
