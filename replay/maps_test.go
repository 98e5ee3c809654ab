package replay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

// mappedRoll makes calls of all kinds on names, some of which are in another root than
// their directory.
func mappedRoll() *replaykit.Trace {
	r := replaykit.New(1)
	for _, f := range []format.File{
		{Path: "db", Type: format.TypeDir, Mode: 0o750},
		{Path: "db/data", Type: format.TypeReg, Mode: 0o644, Size: 100},
		{Path: "db/old.log", Type: format.TypeReg, Mode: 0o644, Size: 5000},
		{Path: "db/wal", Type: format.TypeDir, Mode: 0o755},
		{Path: "db/wal/1", Type: format.TypeReg, Mode: 0o644, Size: 7000},
		{Path: "db/wal/1st", Type: format.TypeReg, Link: "db/wal/1"},
		{Path: "db/wal/link", Type: format.TypeLnk, Target: "1"},
		{Path: "db/wal/sub", Type: format.TypeDir, Mode: 0o755},
		{Path: "other", Type: format.TypeLnk, Target: "db/data"},
	} {
		r.File(f)
	}
	r.Head.Names = []format.AppName{{Path: ".", Name: "/"}, {Path: "db", Name: "/var/lib/db"}, {Path: "db/tmp1", Name: "/var/lib/db/new.log"}}
	r.Head.Descriptors = []format.Descriptor{{Process: 1, FD: 9, Path: "db/wal/1", Flags: format.RDWR, Offset: 6990}}
	r.Add(1, format.OpRead, 10, 9, 0, 100)
	for fd, path := range []string{"db/data", "db/old.log", "db/wal/1", "db/wal/link", "db/wal/../data", "db//old.log", "db/wal//1", "/db/wal/1", "db/wal//../old.log", "other"} {
		size := map[int]int{0: 100, 1: 5000, 4: 100, 5: 5000, 8: 5000, 9: 100}[fd]
		if size == 0 {
			size = 7000
		}
		r.Add(1, format.OpOpen, int64(fd+20), path, format.RDWR)
		r.Add(1, format.OpRead, int64(size), fd+20, 0, 10000)
		r.Add(1, format.OpTruncate, 0, path, size)
		r.Add(1, format.OpStat, 0, path, 0)
		r.Add(1, format.OpStatx, 0, format.AtFDCWD, path, 0, 0xfff, 0)
		r.Add(1, format.OpAccess, 0, path, 0)
		r.Add(1, format.OpFaccessat2, 0, format.AtFDCWD, path, 0, 0)
		r.Add(1, format.OpChmod, 0, path, 0o600)
		r.Add(1, format.OpChown, 0, path, 4711, 4711)
		r.Add(1, format.OpUtimens, 0, path, 0, 0)
		r.Add(1, format.OpStatfs, 0, path, 0)
		r.Add(1, format.OpSetxattr, 0, path, "user.a", 0, 10, 0)
		r.Add(1, format.OpGetxattr, 10, path, "user.a", 0, 10)
		r.Add(1, format.OpRemovexattr, 0, path, "user.a")
		r.Add(1, format.OpStat, 0, "db/data", 0) // after a call that leaves the root's directory
	}
	r.Add(1, format.OpOpenm, 5, "db/tmp1", format.RDWR|format.CREAT|format.EXCL, 0o600)
	r.Add(1, format.OpWrite, 400, 5, 0, 400)
	r.Add(1, format.OpFsync, 0, 5)
	r.Add(1, format.OpSync, 0)
	r.Add(1, format.OpRename, 0, "db/tmp1", "db/old.log")
	r.Add(1, format.OpLink, 0, "db/wal/1", "db/wal/sub/2")
	r.Add(1, format.OpUnlink, 0, "db/wal/1")
	r.Add(1, format.OpMkdir, 0, "db/wal/made", 0o755)
	r.Add(1, format.OpSymlink, 0, "../sub/2", "db/wal/made/link")
	r.Add(1, format.OpReadlink, 8, "db/wal/made/link", 0, 100)
	r.Add(1, format.OpStat, 0, "db/wal/made/link", 0)
	r.Add(1, format.OpRmdir, -int64(unix.ENOTEMPTY), "db/wal/made")
	r.Add(1, format.OpOpen, -int64(unix.ENOENT), "nosuch/x.log", format.RDWR|format.CREAT)
	// A listing has the names in other roots: 5 of db, as before.
	r.Add(1, format.OpOpen, 6, "db", format.RDONLY|format.DIRECTORY)
	r.Add(1, format.OpGetdents64, 24, 6, format.Listing|format.ListingStart, 1000)
	r.Add(1, format.OpGetdents64, 0, 6, format.Listing|9, 1000)
	return r
}

// Names lie in the root of the map that matches them, and calls on them have the
// same results as in one root.
func TestMap(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		base := t.TempDir()
		o := Options{Root: base + "/root", Timing: AFAP, Keep: true, Maps: []Map{{Glob: "*.log", Root: base + "/log"}, {Glob: "/var/*/wal", Root: base + "/wal"}}}
		for range 2 { // the second restores what the first has changed
			r := mappedRoll()
			res, err := run(t.Context(), r, o, bind)
			require.NoError(t, err)
			faultless(t, r, res)
			for path, size := range map[string]int64{"root/db/data": 100, "log/db/old.log": 400, "wal/db/wal/sub/2": 7000} {
				info, err := os.Stat(filepath.Join(base, path))
				require.NoError(t, err)
				require.Equal(t, size, info.Size(), path)
			}
			require.NoFileExists(t, base+"/root/db/wal/sub/2")
			require.NoFileExists(t, base+"/log/db/data")
			require.NoFileExists(t, base+"/log/db/tmp1")
			require.Equal(t, int64(9+2+2), res.Prepared.Files, "of two names something stands in the root, and the directory above them in their roots")
		}
		for _, dir := range []string{"root", "log", "wal"} {
			require.NoError(t, sandbox.Clear(filepath.Join(base, dir)))
		}
		o.Keep = false
		o.Maps[1].Root = base + "/fresh/wal"
		_, err := run(t.Context(), mappedRoll(), o, bind)
		require.NoError(t, err)
		left, err := filepath.Glob(base + "/*/*")
		require.NoError(t, err)
		require.Empty(t, left, "what a replay made in the roots of maps is removed")
	})
}

// A map can take a part of what another one takes, and part of that go back.
func TestMapNested(t *testing.T) {
	base := t.TempDir()
	r := replaykit.New(1)
	for _, dir := range []string{"a", "a/b", "a/b/c"} {
		r.File(format.File{Path: dir, Type: format.TypeDir, Mode: 0o755})
		r.File(format.File{Path: dir + "/f", Type: format.TypeReg, Mode: 0o644, Size: 10})
		r.Add(1, format.OpTruncate, 0, dir+"/f", 10)
		r.Add(1, format.OpMkdir, 0, dir+"/new", 0o755)
	}
	o := Options{Root: base + "/root", Keep: true, Timing: AFAP, Maps: []Map{{Glob: "/a", Root: base + "/1"}, {Glob: "/a/b", Root: base + "/2"}, {Glob: "/a/b/c", Root: base + "/1"}}}
	res, err := Run(t.Context(), r, o)
	require.NoError(t, err)
	faultless(t, r, res)
	for _, name := range []string{"1/a/new", "2/a/b/new", "1/a/b/c/new"} {
		require.DirExists(t, filepath.Join(base, name))
	}
}

// A trace that a map cannot separate is refused with the names, before anything is
// created.
func TestMapAcross(t *testing.T) {
	for _, test := range []struct {
		name string
		add  func(r *replaykit.Trace)
		want []string
	}{
		{"rename", func(r *replaykit.Trace) { r.Add(1, format.OpRename, 0, "d/a", "d/a.log") }, []string{`event 0 of thread 1: rename "d/a"`, `"d/a.log"`, "/log"}},
		{"rename back", func(r *replaykit.Trace) { r.Add(1, format.OpRename, 0, "d/a.log", "d/b") }, []string{`"d/a.log"`, `"d/b"`}},
		{"exchange", func(r *replaykit.Trace) {
			r.Add(1, format.OpRenameat2, 0, format.AtFDCWD, "d/a", format.AtFDCWD, "d/a.log", format.RenameExchange)
		}, []string{"renameat2", `"d/a.log"`}},
		{"rename of a directory", func(r *replaykit.Trace) { r.Add(1, format.OpRename, 0, "d", "e") }, []string{`rename "d" to "e"`, `"d/x.log"`}},
		{"link", func(r *replaykit.Trace) { r.Add(1, format.OpLink, 0, "d/a", "d/a.log") }, []string{"link", `"d/a.log"`}},
		{"symbolic link", func(r *replaykit.Trace) { r.Add(1, format.OpSymlink, 0, "a", "d/a.log") }, []string{"symbolic link", `"d/a.log"`}},
		{"symbolic link to a directory", func(r *replaykit.Trace) { r.Add(1, format.OpSymlink, 0, "d", "e") }, []string{"symbolic link", `"d/x.log"`}},
		{"absolute link", func(r *replaykit.Trace) { r.Add(1, format.OpSymlink, 0, "/d/x.log", "d/a.log") }, []string{"symbolic link", "absolute"}},
		{"hard link of the fileset", func(r *replaykit.Trace) {
			r.File(format.File{Path: "d/h", Type: format.TypeReg, Link: "d/x.log"})
		}, []string{"hard link", `"d/h"`}},
		{"symbolic link of the fileset", func(r *replaykit.Trace) {
			r.File(format.File{Path: "d/s", Type: format.TypeLnk, Target: "x.log"})
		}, []string{"symbolic link", `"d/s"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := t.TempDir()
			r := replaykit.New(1)
			r.File(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
			r.File(format.File{Path: "d/x.log", Type: format.TypeReg, Mode: 0o644})
			test.add(r)
			_, err := Run(t.Context(), r, Options{Root: base + "/root", Maps: []Map{{Glob: "*.log", Root: base + "/log"}}})
			require.Error(t, err)
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
			left, err := os.ReadDir(base)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
	// The failed call moved nothing.
	r := replaykit.New(1)
	r.Add(1, format.OpRename, -int64(unix.ENOENT), "a", "a.log")
	_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Maps: []Map{{Glob: "*.log", Root: t.TempDir()}}})
	require.NoError(t, err)
}

func TestMapErrors(t *testing.T) {
	base := t.TempDir()
	for _, test := range []struct {
		maps    []Map
		backend Backend
		want    string
	}{
		{[]Map{{Glob: "*.nosuch", Root: base + "/x"}}, Posix, "*.nosuch=" + base + "/x: no name of the trace matches"},
		{[]Map{{Glob: "*.log", Root: base + "/root"}}, Posix, "another replay uses this directory"},
		{[]Map{{Glob: "*.log", Root: base + "/root/in"}}, Posix, "another replay uses this directory"},
		{[]Map{{Glob: "*.log", Root: base}}, Posix, "another replay uses this directory"},
		{[]Map{{Glob: "*.log", Root: base + "/x"}}, Memory, "the backend memory has no directories"},
	} {
		_, err := Run(t.Context(), mappedRoll(), Options{Root: base + "/root", Backend: test.backend, Maps: test.maps})
		require.ErrorContains(t, err, test.want)
		left, err := os.ReadDir(base)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	full := base + "/full"
	require.NoError(t, os.MkdirAll(full+"/mine", 0o700))
	_, err := Run(t.Context(), mappedRoll(), Options{Root: base + "/root", Maps: []Map{{Glob: "*.log", Root: full}}})
	require.ErrorIs(t, err, sandbox.ErrRoot)
	require.DirExists(t, full+"/mine")
	require.NoDirExists(t, base+"/root")

	r := replaykit.New(1)
	r.Add(1, format.OpStat, -int64(unix.ENOENT), strings.Repeat("x/", 100)+"a.log", 0)
	_, err = Run(t.Context(), r, Options{Root: base + "/root", Maps: []Map{{Glob: "*.log", Root: base + "/log"}}, Limits: Limits{Files: 10}})
	var limit *LimitError
	require.True(t, errors.As(err, &limit))
	require.Equal(t, "files", limit.Name)
}

// Traces that are replayed at a time have a directory each in the roots of maps.
func TestMapSeveral(t *testing.T) {
	base := t.TempDir()
	parts := []Part{{"a", mappedRoll()}, {"b", mappedRoll()}}
	results, err := RunAll(t.Context(), parts, Options{Root: base + "/root", Keep: true, Timing: AFAP, Maps: []Map{{Glob: "*.log", Root: base + "/log"}}})
	require.NoError(t, err)
	for i, p := range parts {
		faultless(t, p.Trace.(*replaykit.Trace), results[i])
		require.FileExists(t, filepath.Join(base, "log", p.Name, "db/old.log"))
	}
	// One of them need not have names for a map.
	parts[1].Trace = replaykit.New(1)
	_, err = RunAll(t.Context(), parts, Options{Root: base + "/root", Maps: []Map{{Glob: "*.log", Root: base + "/log"}}})
	require.NoError(t, err)
}
