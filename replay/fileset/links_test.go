package fileset

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/sandbox"
)

// linkTree makes a directory whose files are hard links of another's, as cp -al does.
func linkTree(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		name := filepath.Join(to, path[len(from):])
		if !d.IsDir() {
			return os.Link(path, name)
		}
		return os.MkdirAll(name, 0o700)
	}))
}

// A file with a name outside the root is replaced by another one, whether or not it fits,
// and whether or not it has other names in the root.
func TestLinksOutside(t *testing.T) {
	const size = 100_000
	files := kept()
	files = append(files, format.File{Path: "d/laid", Type: format.TypeReg, Mode: 0o600, Size: 8192, Cached: -1,
		Blocks: []format.Stretch{{Allocation: format.Data, Bytes: 4096}, {Allocation: format.Reserved, Bytes: 4096}}})
	for i := range files {
		if files[i].Path == "d/e" {
			files[i].Mode = 0o700
		}
	}
	for name, change := range map[string]func(in func(string) string) error{
		"nothing": func(func(string) string) error { return nil },
		"longer":  func(in func(string) string) error { return os.Truncate(in("d/b"), 2*size) },
		"shorter": func(in func(string) string) error { return os.Truncate(in("d/a"), 5000) },
		"blocks":  func(in func(string) string) error { return allocate(in("d/laid"), 0, 0, 1<<20) },
		"dense":   func(in func(string) string) error { return allocate(in("d/sparse"), 0, 0, 1<<20) },
		"mode":    func(in func(string) string) error { return os.Chmod(in("d/a"), 0o400) },
		"attribute": func(in func(string) string) error {
			if err := unix.Setxattr(in("d/b"), "user.more", []byte("x"), 0); err != unix.ENOTSUP {
				return err
			}
			return nil
		},
		"linked": func(in func(string) string) error {
			if err := os.Remove(in("d/b")); err != nil {
				return err
			}
			return os.Link(in("d/a"), in("d/b"))
		},
		"marker": func(in func(string) string) error {
			return os.WriteFile(in(sandbox.Marker), []byte("compressibility 50\n"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
				base := t.TempDir()
				dir, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
				_, err := prepare(t.Context(), dir, files, Options{Bind: bind})
				require.NoError(t, err)
				want := states(t, dir)
				require.NoError(t, change(func(name string) string { return filepath.Join(dir, name) }))
				linkTree(t, dir, outside)
				before := contents(t, outside)

				done, err := prepare(t.Context(), dir, files, Options{Bind: bind})
				require.NoError(t, err)
				require.Equal(t, want, states(t, dir))
				require.Equal(t, before, contents(t, outside))
				require.NoError(t, filepath.WalkDir(outside, func(path string, d fs.DirEntry, err error) error {
					require.NoError(t, err)
					if _, err := os.Lstat(filepath.Join(dir, path[len(outside):])); err == nil && !d.IsDir() {
						require.False(t, same(t, path, filepath.Join(dir, path[len(outside):])), path)
					}
					return nil
				}))
				require.LessOrEqual(t, done.Kept, int64(2), "the directories")

				done, err = prepare(t.Context(), dir, files, Options{Bind: bind})
				require.NoError(t, err)
				require.Equal(t, done.Files+done.Fillers, done.Kept)
				require.Zero(t, done.Bytes)
			})
		})
	}
}

// same reports whether two names lead to one file.
func same(t *testing.T, a, b string) bool {
	t.Helper()
	one, err := os.Lstat(a)
	require.NoError(t, err)
	other, err := os.Lstat(b)
	require.NoError(t, err)
	return os.SameFile(one, other)
}

// contents returns what each file in a directory holds, with its mode, attributes and
// time of change.
func contents(t *testing.T, dir string) map[string]any {
	t.Helper()
	all := map[string]any{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		if d.IsDir() {
			return nil
		}
		st := info.Sys().(*syscall.Stat_t)
		text := make([]byte, 1000)
		if n, err := unix.Llistxattr(path, text); err == nil {
			text = text[:n]
		}
		if st.Size < 1<<20 && d.Type().IsRegular() && info.Mode()&0o400 != 0 {
			held, err := os.ReadFile(path)
			require.NoError(t, err)
			text = append(text, held...)
		}
		all[path] = []any{string(text), st.Mode, st.Size, st.Blocks, st.Mtim}
		return nil
	}))
	return all
}

// Hard links of the fileset are kept if no other name leads to their file.
func TestLinksInside(t *testing.T) {
	files := []format.File{
		{Path: "a", Type: format.TypeReg, Mode: 0o600, Size: 5000, Cached: -1},
		{Path: "b", Type: format.TypeReg, Link: "a"},
		{Path: "c", Type: format.TypeReg, Link: "b"},
		{Path: "d", Type: format.TypeDir, Mode: 0o700},
		{Path: "d/a", Type: format.TypeReg, Mode: 0o600, Size: 5000, Cached: -1},
	}
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		base := t.TempDir()
		dir, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
		run := func() Prepared {
			done, err := prepare(t.Context(), dir, files, Options{Bind: bind})
			require.NoError(t, err)
			return done
		}
		run()
		require.EqualValues(t, 5, run().Kept)
		require.NoError(t, os.Link(dir+"/b", dir+"/d/stray"))
		require.EqualValues(t, 5, run().Kept, "names that are removed count no more")

		require.NoError(t, os.Link(dir+"/c", outside))
		require.EqualValues(t, 2, run().Kept)
		require.False(t, same(t, outside, dir+"/a"))
		require.True(t, same(t, dir+"/a", dir+"/c"))

		// Both names of files are one, which has a third name outside.
		require.NoError(t, os.Remove(outside))
		require.NoError(t, os.Link(dir+"/d/a", outside))
		require.NoError(t, os.Remove(dir+"/a"))
		require.NoError(t, os.Link(outside, dir+"/a"))
		run()
		for _, name := range []string{"/a", "/b", "/c", "/d/a"} {
			require.False(t, same(t, outside, dir+name), name)
		}
	})
}

// With --prepare never, no file in the root may have a name outside of it.
func TestLinksNever(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		base := t.TempDir()
		dir, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
		files := []format.File{{Path: "d", Type: format.TypeDir, Mode: 0o700}, {Path: "d/f", Type: format.TypeReg, Mode: 0o600, Size: 1, Cached: -1}}
		run := func(how Prepare) error {
			_, err := prepare(t.Context(), dir, files, Options{Prepare: how, Bind: bind})
			return err
		}
		require.NoError(t, run(PrepareAuto))
		require.NoError(t, os.Link(dir+"/d/f", dir+"/d/inside"))
		require.NoError(t, os.MkdirAll(dir+"/d/e/e", 0o700))
		require.NoError(t, os.WriteFile(dir+"/d/e/e/stray", []byte("x"), 0o600))
		require.NoError(t, run(PrepareNever))
		for _, name := range []string{"d/f", "d/e/e/stray"} {
			require.NoError(t, os.Link(filepath.Join(dir, name), outside))
			err := run(PrepareNever)
			require.ErrorIs(t, err, ErrLinked)
			require.ErrorContains(t, err, name)
			require.NoError(t, os.Remove(outside))
		}
		// The marker is replaced, because a trace can write to it, too.
		for _, how := range []Prepare{PrepareNever, PrepareAuto} {
			require.NoError(t, os.Link(filepath.Join(dir, sandbox.Marker), outside))
			require.NoError(t, run(how))
			require.False(t, same(t, outside, filepath.Join(dir, sandbox.Marker)))
			require.NoError(t, os.Remove(outside))
		}
	})
}

// A file that gets another name during the preparation is not completed.
func TestLinkedWhilePreparing(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		base := t.TempDir()
		dir, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
		files := []format.File{
			{Path: "d", Type: format.TypeDir, Mode: 0o700}, {Path: "f", Type: format.TypeReg, Mode: 0o600, Size: 5000, Cached: -1},
			{Path: "g", Type: format.TypeReg, Link: "f"},
		}
		_, err := prepare(t.Context(), dir, files, Options{Bind: bind})
		require.NoError(t, err)
		require.NoError(t, os.Truncate(dir+"/f", 10))
		link := outsideRoot(func() { assert.NoError(t, os.Link(dir+"/f", outside)) })
		_, err = prepare(t.Context(), dir, files, Options{Bind: bind, Progress: func(p Progress) {
			if p.Files == 1 { // the directory
				link()
			}
		}})
		require.ErrorIs(t, err, ErrLinked)
		info, err := os.Stat(outside)
		require.NoError(t, err)
		require.EqualValues(t, 10, info.Size())
		_, err = prepare(t.Context(), dir, files, Options{Bind: bind})
		require.NoError(t, err)
		require.False(t, same(t, outside, dir+"/f"))
	})
}

// A file that gets another name after it was checked, and before it is restored, is
// left unchanged and replaced.
func TestLinkedWhileRestoring(t *testing.T) {
	roottest.EachBinding(t, func(t *testing.T, jail bool) {
		base := t.TempDir()
		dir, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
		files := []format.File{{Path: "f", Type: format.TypeReg, Mode: 0o600, Size: 5000, Cached: -1}}
		_, err := prepare(t.Context(), dir, files, Options{})
		require.NoError(t, err)
		require.NoError(t, os.Truncate(dir+"/f", 9000))
		require.NoError(t, os.Chmod(dir+"/f", 0o640))
		before, err := os.Stat(dir + "/f")
		require.NoError(t, err)
		link := outsideRoot(func() { assert.NoError(t, os.Link(dir+"/f", outside)) })
		_, err = prepare(t.Context(), dir, files, Options{Bind: func(g *sandbox.Guard) error {
			g.Kernel = func(trap, a, b, c, d, e, f uintptr) int64 {
				got := sandbox.Linux(trap, a, b, c, d, e, f)
				if trap == unix.SYS_STATX && got == 0 {
					link()
				}
				return got
			}
			return g.Enter(jail)
		}})
		require.NoError(t, err)
		after, err := os.Stat(outside)
		require.NoError(t, err)
		require.Equal(t, []any{before.Mode(), before.Size(), before.ModTime()}, []any{after.Mode(), after.Size(), after.ModTime()})
		require.False(t, same(t, outside, dir+"/f"))
		made, err := os.Stat(dir + "/f")
		require.NoError(t, err)
		require.EqualValues(t, 5000, made.Size())
	})
}
