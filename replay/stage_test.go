package replay

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/posix"
	"pianola/replay/replaykit"
)

// Several traces are replayed each in a directory of its own.
func TestRunAll(t *testing.T) {
	trace := func() *replaykit.Trace {
		r := replaykit.New(1)
		r.File(format.File{Path: "f", Type: format.TypeReg, Size: 10, Mode: 0o600})
		r.Add(1, format.OpOpen, 3, "f", format.RDWR)
		r.Add(1, format.OpMkdir, 0, "d", 0o700)
		r.Last(1).Compute = int64(time.Millisecond)
		return r
	}
	a, b := trace(), trace()
	root := filepath.Join(t.TempDir(), "root")
	results, err := RunAll(t.Context(), []Part{{"a", a}, {"b", b}}, Options{Root: root, Keep: true})
	require.NoError(t, err)
	require.Len(t, results, 2)
	faultless(t, a, results[0])
	faultless(t, b, results[1])
	require.DirExists(t, root+"/a/d")
	require.DirExists(t, root+"/b/d")

	results, err = RunAll(t.Context(), []Part{{"a", a}, {"b", b}}, Options{Root: root + "2"})
	require.NoError(t, err)
	require.Len(t, results, 2)
	require.NoDirExists(t, root+"2")

	for _, name := range []string{"../a", "", "a", "x/y", "..", "."} {
		_, err = RunAll(t.Context(), []Part{{"a", a}, {name, b}}, Options{Root: root + "2"})
		require.ErrorContains(t, err, "is not a directory name")
	}
	_, err = os.Stat(root + "2")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A replay does not follow a link in place of a root.
func TestRunAllFollowsNoLink(t *testing.T) {
	base, secret := roottest.Outside(t)
	info, err := os.Lstat(secret)
	require.NoError(t, err)
	root := filepath.Join(base, "root")
	r := replaykit.New(1)
	r.Add(1, format.OpMkdir, 0, "d", 0o700)
	_, err = RunAll(t.Context(), []Part{{"a", r}}, Options{Root: root, Keep: true})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(root, "a")))
	require.NoError(t, os.Symlink("../dir", filepath.Join(root, "a")))
	_, err = RunAll(t.Context(), []Part{{"a", r}, {"b", r}}, Options{Root: root})
	require.ErrorIs(t, err, unix.ENOTDIR)
	left, err := os.ReadDir(filepath.Join(base, "dir"))
	require.NoError(t, err)
	require.Empty(t, left)
	roottest.Unharmed(t, base, info)
}

// The first that fails stops the others, and the error says which it was.
func TestRunAllFails(t *testing.T) {
	endless := replaykit.New(1)
	endless.Add(1, format.OpMkdir, 0, "d", 0o700)
	endless.Last(1).Compute = math.MaxInt64 / 2
	wrong := replaykit.New(1)
	wrong.Add(1, format.OpRmdir, 0, "missing")
	results, err := RunAll(t.Context(), []Part{{"endless", endless}, {"wrong", wrong}}, Options{Root: t.TempDir() + "/root", Strict: true})
	require.ErrorIs(t, err, ErrDiffers)
	require.ErrorContains(t, err, "wrong: event 0")
	require.Zero(t, results[0].Executed)
	require.True(t, results[0].Interrupted)
	require.Equal(t, int64(1), results[1].Executed)
	require.Equal(t, -int64(unix.ENOENT), results[1].Differences[0].Got)
}

// Each copy of a trace has a directory and a result of its own, and copies follow one
// another.
func TestRunAllCopies(t *testing.T) {
	r, single := replaykit.New(1), replaykit.New(1)
	r.Add(1, format.OpMkdir, 0, "d", 0o700)
	single.Add(1, format.OpMkdir, 0, "e", 0o700)
	root := filepath.Join(t.TempDir(), "root")
	results, err := RunAll(t.Context(), []Part{{"a", r}, {"b", single}}, Options{Root: root, Keep: true, Copies: 2})
	require.NoError(t, err)
	require.Len(t, results, 4)
	for i, dir := range []string{"a-1/d", "a-2/d", "b-1/e", "b-2/e"} {
		require.DirExists(t, filepath.Join(root, dir))
		require.EqualValues(t, 1, results[i].Executed)
		require.Equal(t, filepath.Join(root, filepath.Dir(dir)), results[i].Options.Root)
	}
	_, err = Run(t.Context(), r, Options{Root: root, Copies: 2})
	require.ErrorContains(t, err, "RunAll")
	_, err = RunAll(t.Context(), []Part{{"a", r}}, Options{Root: root, Copies: -1})
	require.ErrorContains(t, err, "-1 copies")
}

// Limits hold for all traces and copies together.
func TestLimitsOfAll(t *testing.T) {
	three := func(copies int, l Limits) error {
		r := replaykit.New(3)
		r.File(format.File{Path: "f", Type: format.TypeReg, Size: 1 << 20, Mode: 0o600})
		fd := r.Add(1, format.OpOpen, 3, "f", format.RDWR)
		require.Zero(t, fd)
		r.Add(1, format.OpPwrite64, 1<<20, 3, 0, 1<<20, 0)
		_, err := RunAll(t.Context(), []Part{{"a", r}}, Options{Root: filepath.Join(t.TempDir(), "root"), Copies: copies, Limits: l})
		return err
	}
	for _, test := range []struct {
		name      string
		fit, less Limits // for four copies
	}{
		{"threads", Limits{Threads: 12}, Limits{Threads: 11}},
		{"bytes", Limits{Bytes: 4 * (2<<20 + 4096)}, Limits{Bytes: 2<<20 + 4096}},
		{"files", Limits{Files: 8}, Limits{Files: 3}},
		{"memory", Limits{Memory: 4 * posix.MinMemory}, Limits{Memory: 4*posix.MinMemory - 1}},
	} {
		require.NoError(t, three(4, test.fit), test.name)
		require.NoError(t, three(1, test.less), test.name)
		err := three(4, test.less)
		require.Error(t, err, test.name)
		if test.name != "memory" { // refused before anything is read
			require.ErrorIs(t, err, ErrLimit, test.name)
			require.ErrorContains(t, err, "limit exceeded, divided equally among 4 copies")
		}
	}
	one, eight := Limits{}.Complete(1), Limits{}.Complete(8)
	require.Equal(t, 8*one.Files, eight.Files)
	require.Equal(t, one.Files, eight.Share(8).Files)
	require.LessOrEqual(t, eight.Memory, 8*one.Memory)
	require.LessOrEqual(t, eight.Threads, 8*one.Threads)
}
