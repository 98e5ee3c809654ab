package replay

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/fileset"
	"pianola/replay/posix"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

func TestPrepare(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		const chunk, size = 1 << 20, 1<<20 + 12345
		for _, f := range []format.File{
			{Path: ".", Type: format.TypeDir},
			{Path: "d", Type: format.TypeDir, Mode: 0o1555, Size: 10_000},
			{Path: "d/full", Type: format.TypeReg, Mode: 0o4751, Size: size, Cached: 3},
			{Path: "d/cold", Type: format.TypeReg, Mode: 0o600, Size: size},
			{Path: "d/sparse", Type: format.TypeReg, Mode: 0o666, Size: 1 << 33, Sparse: true, Cached: -1},
			{Path: "d/hard", Type: format.TypeReg, Link: "d/full", Size: size},
			{Path: "soft", Type: format.TypeLnk, Target: "/any/where\n"},
			{Path: "pipe", Type: format.TypeFifo, Mode: 0o644},
			{Path: "disk", Type: format.TypeBlk, Mode: 0o600, Size: 1 << 20},
		} {
			r.File(f)
		}
		listed := r.Add(1, format.OpOpen, 3, "d", format.RDONLY|format.DIRECTORY)
		r.Add(1, format.OpGetdents64, 9984, 3, 0, 32768)
		dir, res := p.play(t, r)
		t.Cleanup(func() { _ = os.Chmod(dir+"/d", 0o700) }) // to be removed by its owner
		faultless(t, r, res)
		require.InDelta(t, 10_000, readAll(t, res.Events())[listed+1].Ret, 40)

		stat := func(name string) *syscall.Stat_t {
			info, err := os.Lstat(filepath.Join(dir, name))
			require.NoError(t, err)
			return info.Sys().(*syscall.Stat_t)
		}
		require.EqualValues(t, unix.S_IFDIR|0o1555, stat("d").Mode)
		require.EqualValues(t, unix.S_IFREG|0o751, stat("d/full").Mode, "without set-user-id")
		require.EqualValues(t, size, stat("d/full").Size)
		require.GreaterOrEqual(t, stat("d/full").Blocks*512, int64(size))
		require.Equal(t, stat("d/full").Ino, stat("d/hard").Ino)
		require.EqualValues(t, 1<<33, stat("d/sparse").Size)
		require.Zero(t, stat("d/sparse").Blocks)
		require.EqualValues(t, unix.S_IFREG|0o644, stat("pipe").Mode)
		require.Zero(t, stat("disk").Size)
		target, err := os.Readlink(filepath.Join(dir, "soft"))
		require.NoError(t, err)
		require.Equal(t, "/any/where\n", target)

		done := res.Prepared
		require.Equal(t, []int64{8, 2 * size, 2}, []int64{done.Files, done.Bytes, done.Substituted})
		require.Positive(t, done.Fillers)
		full, err := os.ReadFile(filepath.Join(dir, "d/full"))
		require.NoError(t, err)
		require.NotEqual(t, full[:4096], full[chunk:chunk+4096], "blocks that a storage system can tell apart")
	})
}

// A prepared root is kept and used by the replay; without it there are no files of the
// fileset.
func TestPrepareOnly(t *testing.T) {
	r := replaykit.New(1)
	r.File(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
	r.Add(1, format.OpMkdir, 0, "made", 0o755)
	dir := filepath.Join(t.TempDir(), "root")
	play := func(how fileset.Prepare) *Result {
		res, err := Run(t.Context(), r, Options{Root: dir, Prepare: how})
		require.NoError(t, err)
		return res
	}
	res := play(fileset.PrepareNever)
	require.EqualValues(t, 1, res.Prepared.Missing)
	require.EqualValues(t, 1, res.Executed)
	require.NoDirExists(t, dir)

	res = play(fileset.PrepareOnly)
	require.Zero(t, res.Executed)
	require.EqualValues(t, 1, res.Prepared.Files)
	require.DirExists(t, dir+"/d")
	require.NoDirExists(t, dir+"/made")

	res = play(fileset.PrepareNever)
	require.Zero(t, res.Prepared.Missing)
	require.DirExists(t, dir+"/made")
}

// Nothing is written for a trace that asks for too much or for nonsense.
func TestCheck(t *testing.T) {
	tests := []struct {
		name   string
		limits Limits
		file   format.File
		want   string
		limit  bool
	}{
		{"up", Limits{}, format.File{Path: "../x", Type: format.TypeReg}, "outside the root", false},
		{"absolute", Limits{}, format.File{Path: "/x", Type: format.TypeReg}, "outside the root", false},
		{"empty", Limits{}, format.File{Type: format.TypeReg}, "outside the root", false},
		{"link", Limits{}, format.File{Path: "x", Type: format.TypeReg, Link: "../y"}, "outside the root", false},
		{"size", Limits{Bytes: 99}, format.File{Path: "x", Type: format.TypeReg, Size: 100}, "99 bytes", true},
		{"sparse", Limits{Bytes: 99}, format.File{Path: "x", Type: format.TypeReg, Size: 100, Sparse: true}, "99 bytes", true},
		{"negative", Limits{}, format.File{Path: "x", Type: format.TypeReg, Size: -1}, "bytes", true},
		{"directory", Limits{}, format.File{Path: "x", Type: format.TypeDir, Size: 1 << 39}, "files", true},
		{"files", Limits{Files: 1}, format.File{Path: "x", Type: format.TypeReg}, "1 files", true},
		{"attributes", Limits{Bytes: 99}, format.File{Path: "x", Type: format.TypeReg, Attrs: []format.Attr{{Name: "user.a", Size: 100}}}, "99 bytes", true},
		{"long path", Limits{}, format.File{Path: strings.Repeat("x/", 2048), Type: format.TypeReg}, "longer than 4095 bytes", false},
		{"long target", Limits{}, format.File{Path: "x", Type: format.TypeLnk, Target: strings.Repeat("x", 4096)}, "longer than 4095 bytes", false},
		{"NUL", Limits{}, format.File{Path: "x\x00y", Type: format.TypeReg}, "holds a NUL byte", false},
		{"threads", Limits{Threads: 1}, format.File{Path: "x", Type: format.TypeReg}, "2 threads", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := replaykit.New(2)
			r.File(format.File{Path: "ok", Type: format.TypeDir})
			r.File(test.file)
			dir := filepath.Join(t.TempDir(), "root")
			res, err := Run(t.Context(), r, Options{Root: dir, Limits: test.limits})
			require.ErrorContains(t, err, test.want)
			if test.limit {
				require.ErrorIs(t, err, ErrLimit)
			}
			require.Nil(t, res)
			require.NoDirExists(t, dir)
		})
	}
}

// The names of a trace take memory, and its events take space for the log. Both are
// checked before the replay.
func TestCheckMemory(t *testing.T) {
	for name, fill := range map[string]func(*replaykit.Trace){
		"long names": func(r *replaykit.Trace) { r.Str(strings.Repeat("x", posix.MinMemory/6)) },
		"many names": func(r *replaykit.Trace) { r.Texts = make([]string, posix.MinMemory/2/nameBytes+1) },
		"descriptors": func(r *replaykit.Trace) {
			r.Head.Descriptors = []format.Descriptor{{Path: strings.Repeat("x", posix.MinMemory/6)}}
		},
		"events": func(r *replaykit.Trace) {
			r.Threads[0].Records = make([]format.Record, posix.MinMemory/4/engine.EntrySize+1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := replaykit.New(1)
			fill(r)
			_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Limits: Limits{Memory: posix.MinMemory, Bytes: 1000}})
			require.ErrorIs(t, err, ErrLimit)
		})
	}
}

func TestDescriptorTwice(t *testing.T) {
	r := replaykit.New(1)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600})
	d := format.Descriptor{Process: 1, FD: 3, Path: "f"}
	r.Head.Descriptors = []format.Descriptor{d, d}
	_, err := Run(t.Context(), r, Options{Root: t.TempDir()})
	require.ErrorContains(t, err, "duplicate descriptor 3 of process 1")
}

func TestUnknownParent(t *testing.T) {
	for _, parent := range []int32{-1, 1, 9} {
		r := replaykit.New(1)
		r.Head.Threads[0].Parent = parent
		_, err := Run(t.Context(), r, Options{Root: t.TempDir()})
		require.ErrorContains(t, err, "does not exist")
	}
}

func TestNUL(t *testing.T) {
	r := replaykit.New(1)
	r.Str("a\x00b")
	_, err := Run(t.Context(), r, Options{Root: t.TempDir()})
	require.ErrorContains(t, err, "NUL")
}

func TestRoot(t *testing.T) {
	r := replaykit.New(1)
	r.File(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
	r.File(format.File{Path: "d/f", Type: format.TypeReg, Mode: 0o600, Size: 10})
	r.File(format.File{Path: "closed", Type: format.TypeDir})
	r.File(format.File{Path: "closed/in", Type: format.TypeDir})
	r.File(format.File{Path: "closed/in/f", Type: format.TypeReg})
	r.Add(1, format.OpMkdir, 0, "made", 0o755)
	base := t.TempDir()
	dir := filepath.Join(base, "a", "b")

	// A new one goes, an old one stays, empty.
	_, err := Run(t.Context(), r, Options{Root: dir})
	require.NoError(t, err)
	require.NoDirExists(t, dir)
	require.NoError(t, os.Mkdir(dir, 0o755))
	_, err = Run(t.Context(), r, Options{Root: dir})
	require.NoError(t, err)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	// Kept files exist, and stay for any number of replays.
	t.Cleanup(func() {
		_ = os.Chmod(dir+"/closed", 0o700)
		_ = os.Chmod(dir+"/closed/in", 0o700)
	})
	for i := range 3 {
		res, err := Run(t.Context(), r, Options{Root: dir, Keep: i == 0})
		require.NoError(t, err)
		faultless(t, r, res)
		require.DirExists(t, filepath.Join(dir, "made"))
		require.FileExists(t, filepath.Join(dir, "d/f"))
	}

	// A directory that Pianola did not create is left unchanged.
	foreign := filepath.Join(base, "foreign")
	require.NoError(t, os.Mkdir(foreign, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "precious"), nil, 0o644))
	_, err = Run(t.Context(), r, Options{Root: foreign})
	require.ErrorIs(t, err, sandbox.ErrRoot)
	require.FileExists(t, filepath.Join(foreign, "precious"))
	require.NoError(t, os.Symlink("precious", filepath.Join(foreign, sandbox.Marker)))
	_, err = Run(t.Context(), r, Options{Root: foreign})
	require.ErrorIs(t, err, sandbox.ErrRoot)
	_, err = Run(t.Context(), r, Options{Root: filepath.Join(foreign, "precious")})
	require.ErrorIs(t, err, unix.ENOTDIR)

	// One replay at a time.
	lock, err := os.Open(dir)
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	_, err = Run(t.Context(), r, Options{Root: dir})
	require.ErrorIs(t, err, sandbox.ErrShared)
}

// A preparation that fails leaves nothing.
func TestPreparationCleansUp(t *testing.T) {
	r := replaykit.New(1)
	r.File(format.File{Path: "f", Type: format.TypeReg})
	r.File(format.File{Path: "f", Type: format.TypeReg})
	dir := filepath.Join(t.TempDir(), "root")
	_, err := Run(t.Context(), r, Options{Root: dir})
	require.ErrorIs(t, err, fs.ErrExist)
	require.ErrorContains(t, err, `make reg "f"`)
	require.NoDirExists(t, dir)
}
