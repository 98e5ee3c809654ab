package fileset

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/sandbox"
)

// eachBinding runs a test in both ways to keep a thread in its root.
func eachBinding(t *testing.T, test func(t *testing.T, bind func(*sandbox.Guard) error)) {
	roottest.EachBinding(t, func(t *testing.T, jail bool) {
		test(t, func(g *sandbox.Guard) error { return g.Enter(jail) })
	})
}

// prepare prepares files in a root as a replay does, and keeps them.
func prepare(ctx context.Context, dir string, files []format.File, o Options) (done Prepared, err error) {
	plan, err := NewPlan(files, 1<<40, 1<<20)
	if err != nil {
		return Prepared{}, err
	}
	if o.Root, err = sandbox.OpenRoot(dir, nil); err != nil {
		return Prepared{}, err
	}
	defer func() {
		if e := o.Root.Close(); err == nil {
			err = e
		}
	}()
	o.Root.Keep()
	if err := InitRoot(o.Root, o.Prepare, o.Compressibility); err != nil {
		return Prepared{}, err
	}
	if o.Data == nil {
		o.Data = make([]byte, 4<<20)
		Fill(rand.NewChaCha8([32]byte{}), o.Data, o.Compressibility)
	}
	if o.Bind == nil {
		o.Bind = (*sandbox.Guard).Probe
	}
	o.Guard = sandbox.Guard{Kernel: sandbox.Linux, Root: o.Root.FD()}
	defer func() { o.Guard.Close() }()
	if err := sandbox.OnThread(func() error { return o.Bind(&o.Guard) }); err != nil {
		return Prepared{}, err
	}
	return plan.Prepare(ctx, o)
}

func TestPrepareOptions(t *testing.T) {
	for _, want := range []Prepare{PrepareAuto, PrepareAlways, PrepareNever, PrepareOnly} {
		got, err := Preparations.Parse(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, want := range []Cache{CacheRecorded, CacheWarm, CacheCold, CacheAsIs} {
		got, err := Caches.Parse(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := Preparations.Parse("maybe")
	require.ErrorContains(t, err, `"maybe": want auto, always, never, only`)
	_, err = Caches.Parse("hot")
	require.ErrorContains(t, err, `"hot": want recorded, warm, cold, asis`)
}

func TestPrepareModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	t.Cleanup(func() { _ = os.Chmod(dir+"/d/e", 0o700) })
	run := func(how Prepare) Prepared {
		done, err := prepare(t.Context(), dir, kept(), Options{Prepare: how})
		require.NoError(t, err)
		return done
	}
	inode := func() uint64 {
		info, err := os.Stat(dir + "/d/a")
		require.NoError(t, err)
		return info.Sys().(*syscall.Stat_t).Ino
	}
	// Files that were not prepared are missing (37 are fillers).
	done := run(PrepareNever)
	require.Equal(t, Prepared{Missing: 10 + 37, Example: "d", Elapsed: done.Elapsed}, done)

	// Existing files are used unchanged.
	require.EqualValues(t, 10, run(PrepareAuto).Files)
	before, first := states(t, dir), inode()
	require.NoError(t, os.Remove(dir+"/d/b"))
	require.NoError(t, os.Truncate(dir+"/d/a", 7))
	done = run(PrepareNever)
	require.EqualValues(t, 1, done.Missing)
	require.Equal(t, "d/b", done.Example)
	info, err := os.Stat(dir + "/d/a")
	require.NoError(t, err)
	require.EqualValues(t, 7, info.Size())

	run(PrepareOnly)
	require.Equal(t, before, states(t, dir))
	require.Equal(t, first, inode())
	held, err := os.Open(dir + "/d/a") // so that its inode is not used again
	require.NoError(t, err)
	defer held.Close()
	require.Zero(t, run(PrepareAlways).Kept)
	require.NotEqual(t, first, inode())

	// Data written into files that were not built leave a mix of compressibilities.
	_, err = prepare(t.Context(), dir, kept(), Options{Prepare: PrepareNever, Compressibility: 50})
	require.NoError(t, err)
	require.Zero(t, run(PrepareAuto).Kept)
}

// A full disk is refused before it is filled.
func TestFullDisk(t *testing.T) {
	for _, test := range []struct {
		name, size string
		file       format.File
		want       string
	}{
		{"bytes", "size=1m", format.File{Path: "f", Type: format.TypeReg, Size: 2 << 20}, "2097152 more bytes and 1 more files"},
		{"inodes", "nr_inodes=20", format.File{Path: "d", Type: format.TypeDir, Size: 1000}, "files are free"},
	} {
		t.Run(test.name, func(t *testing.T) {
			disk := t.TempDir()
			if err := unix.Mount("tmpfs", disk, "tmpfs", 0, test.size); err != nil {
				t.Skipf("mount: %v", err)
			}
			// A thread of the preparation, bound to it, may still be ending.
			t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH)) })
			var dirty bool
			_, err := prepare(t.Context(), disk+"/root", []format.File{test.file}, Options{Progress: func(Progress) { dirty = true }})
			require.ErrorIs(t, err, unix.ENOSPC)
			require.ErrorContains(t, err, test.want)
			require.False(t, dirty)
		})
	}
}

func TestProgress(t *testing.T) {
	files := []format.File{{Path: "a", Type: format.TypeReg, Size: chunk + 1}, {Path: "b", Type: format.TypeReg, Size: 10}}
	var last Progress
	_, err := prepare(t.Context(), t.TempDir(), files, Options{Progress: func(p Progress) {
		require.GreaterOrEqual(t, p.Bytes, last.Bytes)
		require.GreaterOrEqual(t, p.Files, last.Files)
		last = p
	}})
	require.NoError(t, err)
	require.Equal(t, Progress{Files: 2, AllFiles: 2, Bytes: chunk + 11, AllBytes: chunk + 11}, last)
}

// A folio of the page cache is no larger than a piece.
func TestPrepareWritesPieces(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		const size = 5*piece + 99
		files := []format.File{{Path: "f", Type: format.TypeReg, Mode: 0o644, Size: size, Cached: size / pageSize}}
		var written, large atomic.Int64
		dir := t.TempDir()
		_, err := prepare(t.Context(), dir, files, Options{Bind: func(g *sandbox.Guard) error {
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
		}})
		require.NoError(t, err)
		info, err := os.Stat(filepath.Join(dir, "f"))
		require.NoError(t, err)
		require.EqualValues(t, size, info.Size())
		require.EqualValues(t, size, written.Load())
		require.Zero(t, large.Load())
	})
}

// Blocks differ from one another, and each is as compressible as the options say.
func TestContents(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing of it is concurrent")
	}
	for _, percent := range []int{0, 50} {
		var files []format.File
		const size = 5 << 20 // more than the pool
		for _, name := range []string{"a", "b"} {
			files = append(files, format.File{Path: name, Type: format.TypeReg, Mode: 0o644, Size: size})
		}
		for i := range 100 {
			files = append(files, format.File{Path: fmt.Sprint("small", i), Type: format.TypeReg, Mode: 0o644, Size: 1000})
		}
		dir := filepath.Join(t.TempDir(), "root")
		_, err := prepare(t.Context(), dir, files, Options{Compressibility: percent})
		require.NoError(t, err)
		seen := map[string]bool{}
		var all, packed bytes.Buffer
		for _, f := range files {
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
