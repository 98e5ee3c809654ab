package replay

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
)

func TestPrepare(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := newRoll(1)
		const size = chunk + 12345
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
			r.file(f)
		}
		listed := r.add(1, format.OpOpen, 3, "d", format.RDONLY|format.DIRECTORY)
		r.add(1, format.OpGetdents64, 9984, 3, 0, 32768)
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

func TestPrepareOptions(t *testing.T) {
	for _, want := range []Prepare{PrepareAuto, PrepareAlways, PrepareNever, PrepareOnly} {
		got, err := ParsePrepare(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, want := range []Cache{CacheRecorded, CacheWarm, CacheCold, CacheAsIs} {
		got, err := ParseCache(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := ParsePrepare("maybe")
	require.ErrorContains(t, err, `"maybe": want auto, always, never, only`)
	_, err = ParseCache("hot")
	require.ErrorContains(t, err, `"hot": want recorded, warm, cold, asis`)
}

func TestPrepareModes(t *testing.T) {
	r := kept()
	r.add(1, format.OpMkdir, 0, "made", 0o755)
	dir := filepath.Join(t.TempDir(), "root")
	t.Cleanup(func() { _ = os.Chmod(dir+"/d/e", 0o700) })
	play := func(how Prepare) *Result {
		res, err := Run(t.Context(), r, Options{Root: dir, Prepare: how})
		require.NoError(t, err)
		return res
	}
	inode := func() uint64 {
		info, err := os.Stat(dir + "/d/a")
		require.NoError(t, err)
		return info.Sys().(*syscall.Stat_t).Ino
	}
	// What is not made is missing (37 are fillers), and the root is as it was: not there.
	res := play(PrepareNever)
	require.Equal(t, Prepared{Missing: 10 + 37, Example: "d", Elapsed: res.Prepared.Elapsed}, res.Prepared)
	require.EqualValues(t, 1, res.Executed)
	require.NoDirExists(t, dir)

	// Nothing is replayed, and what was built is kept.
	res = play(PrepareOnly)
	require.Zero(t, res.Executed)
	require.EqualValues(t, 10, res.Prepared.Files)
	require.NoDirExists(t, dir+"/made")
	before, first := states(t, dir), inode()
	require.NoError(t, os.Remove(dir+"/d/b"))
	require.NoError(t, os.Truncate(dir+"/d/a", 7))
	res = play(PrepareNever)
	require.EqualValues(t, 1, res.Prepared.Missing)
	require.Equal(t, "d/b", res.Prepared.Example)
	info, err := os.Stat(dir + "/d/a")
	require.NoError(t, err)
	require.EqualValues(t, 7, info.Size())
	require.DirExists(t, dir+"/made")

	play(PrepareOnly)
	require.Equal(t, before, states(t, dir))
	require.Equal(t, first, inode())
	held, err := os.Open(dir + "/d/a") // so that its inode is not used again
	require.NoError(t, err)
	defer held.Close()
	res = play(PrepareAlways)
	require.Zero(t, res.Prepared.Kept)
	require.NotEqual(t, first, inode())

	// What is written into files that are not built leaves them mixed.
	_, err = Run(t.Context(), r, Options{Root: dir, Prepare: PrepareNever, Compressibility: 50})
	require.NoError(t, err)
	require.Zero(t, play(PrepareAuto).Prepared.Kept)
}

// A full disk is refused before it is filled.
func TestFullDisk(t *testing.T) {
	for _, test := range []struct {
		name, size string
		file       format.File
		want       string
	}{
		{"bytes", "size=1m", format.File{Path: "f", Type: format.TypeReg, Size: 2 << 20}, "2097152 bytes and 1 files"},
		{"inodes", "nr_inodes=20", format.File{Path: "d", Type: format.TypeDir, Size: 1000}, "files are free"},
	} {
		t.Run(test.name, func(t *testing.T) {
			disk := t.TempDir()
			if err := unix.Mount("tmpfs", disk, "tmpfs", 0, test.size); err != nil {
				t.Skipf("mount: %v", err)
			}
			// A thread of the preparation, bound to it, may still be ending.
			t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH)) })
			r := newRoll(1)
			r.file(test.file)
			var dirty bool
			_, err := Run(t.Context(), r, Options{Root: disk + "/root", Progress: func(Progress) { dirty = true }})
			require.ErrorIs(t, err, unix.ENOSPC)
			require.ErrorContains(t, err, test.want)
			require.False(t, dirty)
			require.NoDirExists(t, disk+"/root")
		})
	}
}

func TestProgress(t *testing.T) {
	r := newRoll(1)
	r.file(format.File{Path: "a", Type: format.TypeReg, Size: chunk + 1})
	r.file(format.File{Path: "b", Type: format.TypeReg, Size: 10})
	var last Progress
	_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Progress: func(p Progress) {
		require.GreaterOrEqual(t, p.Bytes, last.Bytes)
		require.GreaterOrEqual(t, p.Files, last.Files)
		last = p
	}})
	require.NoError(t, err)
	require.Equal(t, Progress{Files: 2, AllFiles: 2, Bytes: chunk + 11, AllBytes: chunk + 11}, last)
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
			r := newRoll(2)
			r.file(format.File{Path: "ok", Type: format.TypeDir})
			r.file(test.file)
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

// What a trace names takes memory, and what it plays takes room for the log,
// before anything is played.
func TestCheckMemory(t *testing.T) {
	for name, fill := range map[string]func(*roll){
		"long names":  func(r *roll) { r.str(strings.Repeat("x", minMemory/6)) },
		"many names":  func(r *roll) { r.strings = make([]string, minMemory/2/nameBytes+1) },
		"descriptors": func(r *roll) { r.header.Descriptors = []format.Descriptor{{Path: strings.Repeat("x", minMemory/6)}} },
		"events":      func(r *roll) { r.threads[0].records = make([]format.Record, minMemory/4/entrySize+1) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoll(1)
			fill(r)
			_, err := Run(t.Context(), r, Options{Root: t.TempDir(), Limits: Limits{Memory: minMemory, Bytes: 1000}})
			require.ErrorIs(t, err, ErrLimit)
		})
	}
}

func TestDescriptorTwice(t *testing.T) {
	r := newRoll(1)
	r.file(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600})
	d := format.Descriptor{Process: 1, FD: 3, Path: "f"}
	r.header.Descriptors = []format.Descriptor{d, d}
	_, err := Run(t.Context(), r, Options{Root: t.TempDir()})
	require.ErrorContains(t, err, "descriptor 3 of process 1 is there twice")
}

func TestUnknownParent(t *testing.T) {
	for _, parent := range []int32{-1, 1, 9} {
		r := newRoll(1)
		r.header.Threads[0].Parent = parent
		_, err := Run(t.Context(), r, Options{Root: t.TempDir()})
		require.ErrorContains(t, err, "there is no thread")
	}
}

func TestNUL(t *testing.T) {
	r := newRoll(1)
	r.str("a\x00b")
	_, err := Run(t.Context(), r, Options{Root: t.TempDir()})
	require.ErrorContains(t, err, "NUL")
}

func TestRoot(t *testing.T) {
	r := newRoll(1)
	r.file(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
	r.file(format.File{Path: "d/f", Type: format.TypeReg, Mode: 0o600, Size: 10})
	r.file(format.File{Path: "closed", Type: format.TypeDir})
	r.file(format.File{Path: "closed/in", Type: format.TypeDir})
	r.file(format.File{Path: "closed/in/f", Type: format.TypeReg})
	r.add(1, format.OpMkdir, 0, "made", 0o755)
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

	// What is kept is there, and stays for any number of replays.
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

	// A directory of somebody else's is left alone.
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
	r := newRoll(1)
	r.file(format.File{Path: "f", Type: format.TypeReg})
	r.file(format.File{Path: "f", Type: format.TypeReg})
	dir := filepath.Join(t.TempDir(), "root")
	_, err := Run(t.Context(), r, Options{Root: dir})
	require.ErrorIs(t, err, fs.ErrExist)
	require.ErrorContains(t, err, `make reg "f"`)
	require.NoDirExists(t, dir)
}

// No folio of the page cache is to be larger than a piece.
func TestPrepareWritesPieces(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		r := newRoll(1)
		const size = 5*piece + 99
		r.file(format.File{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: size, Cached: size / pageSize})
		var written, large atomic.Int64
		dir, _ := play(t, r, func(g *sandbox.Guard) error {
			g.Kernel = func(nr, a, b, c, d, e, f uintptr) int64 {
				if nr == unix.SYS_PWRITE64 {
					written.Add(int64(c))
					if c > piece {
						large.Add(1)
					}
				}
				return sandbox.Linux(nr, a, b, c, d, e, f)
			}
			return bind(g)
		})
		info, err := os.Stat(filepath.Join(dir, "f"))
		require.NoError(t, err)
		require.EqualValues(t, size, info.Size())
		require.EqualValues(t, size, written.Load())
		require.Zero(t, large.Load())
	})
}

// No block is there twice, and each is as compressible as it is to be.
func TestContents(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing of it is concurrent")
	}
	for _, percent := range []int{0, 50} {
		r := newRoll(1)
		const size = 5 << 20 // more than the pool
		for _, name := range []string{"a", "b"} {
			r.file(format.File{Path: name, Type: format.TypeReg, Mode: 0o644, Size: size})
		}
		for i := range 100 {
			r.file(format.File{Path: fmt.Sprint("small", i), Type: format.TypeReg, Mode: 0o644, Size: 1000})
		}
		dir := filepath.Join(t.TempDir(), "root")
		_, err := Run(t.Context(), r, Options{Root: dir, Prepare: PrepareOnly, Compressibility: percent})
		require.NoError(t, err)
		seen := map[string]bool{}
		var all, packed bytes.Buffer
		for _, f := range r.header.Files {
			b, err := os.ReadFile(filepath.Join(dir, f.Path))
			require.NoError(t, err)
			require.Len(t, b, int(f.Size))
			all.Write(b)
			for i := 0; i < len(b); i += 512 {
				block := string(b[i:min(i+512, len(b))])
				require.False(t, seen[block] && percent == 0)
				seen[block] = true
			}
		}
		w := gzip.NewWriter(&packed)
		_, err = w.Write(all.Bytes())
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.InDelta(t, 100-percent, packed.Len()*100/all.Len(), 5)
	}
}
