package compile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// Files named in the header exist before the first event, whether or not a call shows
// them. They are all that a replay needs to fail as recorded.
func TestGiven(t *testing.T) {
	s, r := compiled(t, `# pianola script 1
# file: "w/d" dir mode=0700 size=0 cached=-1
# file: "w/a" reg mode=0600 size=4096 cached=1
# file: "w/unused" reg mode=0644 size=5 cached=-1 sparse
# file: "w/link" lnk mode=0777 size=0 cached=-1 target="a"
# file: "proc/1" reg mode=0644 size=0 cached=-1
10 0.000010000 rename("/w/a", "/w/d") = -1 EISDIR (x) <0.000001000>
10 0.000010000 mkdir("/w/d", 0700) = -1 EEXIST (x) <0.000001000>
10 0.000010000 open("/w/a", O_RDONLY) = 3 <0.000001000> {type=reg mode=0600 size=4096}
10 0.000010000 unlink("/w/a") = 0 <0.000001000>
10 0.000010000 stat("/w/a", 0x1) = -1 ENOENT (x) <0.000001000>
`, compile.Options{})
	require.Zero(t, r.Unexplained)
	require.Equal(t, []format.File{
		{Path: "w", Type: format.TypeDir, Mode: 0o755, Cached: -1},
		{Path: "w/d", Type: format.TypeDir, Mode: 0o700, Cached: -1},
		{Path: "w/a", Type: format.TypeReg, Mode: 0o600, Size: 4096, Cached: 1},
		{Path: "w/unused", Type: format.TypeReg, Mode: 0o644, Size: 5, Cached: -1, Sparse: true},
	}, s.header.Files)
}

// A file that a process has open at the start, or when it enters, has the state in the line of its
// descriptor.
func TestFilesOfDescriptors(t *testing.T) {
	s, r := compiled(t, `# pianola script 1
# process: 10 threads=10 cwd="/" root="/"
# fd: 10 3 O_RDWR 100 "/w/a" type=reg mode=0640 size=409600 cached=3
# fd: 10 4 O_RDONLY 0 "/w/unknown" type=reg mode=0600 size=8192
# file: "/w/mapped" reg mode=0600 size=8192 cached=1
10 0.000010000 pread64(3, 0x1000, 4096, 8192) = 4096 <0.000001000>
# process: 20 parent=1 threads=20 cwd="/" root="/"
# fd: 20 3 O_RDWR 0 "/w/b" type=reg mode=0600 size=8192 cached=2
20 0.000010000 pread64(3, 0x1000, 4096, 0) = 4096 <0.000001000>
`, compile.Options{})
	require.Zero(t, r.Unexplained, r.Examples)
	require.Equal(t, []format.File{
		{Path: "w", Type: format.TypeDir, Mode: 0o755, Cached: -1},
		{Path: "w/mapped", Type: format.TypeReg, Mode: 0o600, Size: 8192, Cached: 1},
		{Path: "w/a", Type: format.TypeReg, Mode: 0o640, Size: 409600, Cached: 3},
		{Path: "w/unknown", Type: format.TypeReg, Mode: 0o600, Size: 8192, Cached: -1},
		{Path: "w/b", Type: format.TypeReg, Mode: 0o600, Size: 8192, Cached: 2},
	}, s.header.Files)
}

// A file that existed is allocated as it was when it was first opened for
// writing, even after writes before the recorder looked.
func TestAllocatedFiles(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
# file: "w/given" reg mode=0600 size=8192 cached=1 blocks=reserved:8192
10 0.000010000 open("/w/a", O_RDONLY) = 3 <0.000001000> {type=reg mode=0600 size=16384 sparse}
10 0.000010000 open("/w/a", O_RDWR) = 4 <0.000001000> {type=reg mode=0600 size=16384 sparse blocks=reserved:8192,data:8192 late=20000}
10 0.000010000 pwrite64(4, 0x1, 4096, 8192) = 4096 <0.000001000>
10 0.000020000 pwrite64(4, 0x1, 4096, 12288) = 4096 <0.000001000>
10 0.000010000 open("/w/a", O_RDWR) = 5 <0.000001000> {type=reg mode=0600 size=16384 blocks=data:16384 late=0}
10 0.000010000 open("/w/given", O_RDWR) = 6 <0.000001000> {type=reg mode=0600 size=8192}
10 0.000010000 open("/w/cut", O_RDWR|O_TRUNC) = 7 <0.000001000> {type=reg mode=0600 size=0}
10 0.000010000 open("/w/cut", O_RDWR) = 8 <0.000001000> {type=reg mode=0600 size=0 blocks=reserved:8192 late=0}
`, compile.Options{})
	reserved := func(bytes int64) format.Stretch { return format.Stretch{Allocation: format.Reserved, Bytes: bytes} }
	want := map[string][]format.Stretch{"w": nil, "w/given": {reserved(8192)}, "w/a": {reserved(12288), {Allocation: format.Data, Bytes: 4096}}, "w/cut": nil}
	for _, f := range s.header.Files {
		require.Equal(t, want[f.Path], f.Blocks, f.Path)
		require.False(t, f.Sparse)
		delete(want, f.Path)
	}
	require.Empty(t, want)
}

// A file that is opened for reading has its share of allocated blocks at the places
// that seeks show, or else at its start.
func TestHoles(t *testing.T) {
	stretches := func(text string) []format.Stretch {
		all, ok := format.ParseBlocks([]byte(text))
		require.True(t, ok)
		return all
	}
	for _, test := range []struct{ name, notes, calls, want string }{
		{"the start", "sparse allocated=12288", "", "data:12288,hole:53248"},
		{"all", "", "", ""},
		{"an old recording", "sparse", "", ""},
		{"what the kernel says", "sparse allocated=12288 blocks=hole:4096,data:12288 late=0", "lseek(3, 0, SEEK_DATA) = 0", "hole:4096,data:12288"},
		{"seeks", "sparse allocated=12288", "lseek(3, 0, SEEK_DATA) = 8192\nlseek(3, 8192, SEEK_HOLE) = 12288", "hole:8192,data:4096,hole:4096,data:8192,hole:40960"},
		{"seeks in what strace shows", "", "lseek(3, 0, SEEK_DATA) = 8192\nlseek(3, 8192, SEEK_HOLE) = 12288\nlseek(3, 12288, SEEK_DATA) = -1 ENXIO (x)", "hole:8192,data:4096,hole:53248"},
		{"no hole", "", "lseek(3, 0, SEEK_HOLE) = 65536", ""},
		{"after a change", "", "pwrite64(3, 0x1, 10, 0) = 10\nlseek(3, 0, SEEK_HOLE) = 4096", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			input := "# pianola script 1\n10 0.000010000 open(\"/w/a\", O_RDWR) = 3 <0.000001000> {type=reg mode=0600 size=65536 " + test.notes + "}\n"
			for line := range strings.Lines(test.calls) {
				input += "10 0.000010000 " + strings.TrimSuffix(line, "\n") + " <0.000001000>\n"
			}
			s, _ := compiled(t, input, compile.Options{})
			f := s.header.Files[1]
			require.Equal(t, test.name == "an old recording", f.Sparse)
			if test.want == "" {
				require.Empty(t, f.Blocks)
			} else {
				require.Equal(t, stretches(test.want), f.Blocks)
			}
		})
	}
}
