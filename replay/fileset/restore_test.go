package fileset

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/sandbox"
)

// states returns a line with the visible state of each name in a directory, except the
// marker.
func states(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	first := map[uint64]string{} // name of an inode
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		name := strings.TrimPrefix(path, dir)
		info, err := os.Lstat(path)
		require.NoError(t, err)
		st := info.Sys().(*syscall.Stat_t)
		line := fmt.Sprintf("%s %v", name, info.Mode())
		switch {
		case name == "/"+sandbox.Marker:
			return nil
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			require.NoError(t, err)
			line += " " + target
		case info.Mode().IsRegular():
			if first[st.Ino] == "" {
				first[st.Ino] = name
			}
			f, err := os.Open(path)
			require.NoError(t, err)
			w := &worker{guard: sandbox.Guard{Kernel: sandbox.Linux}, buffer: make([]byte, chunk)}
			whole, end := w.blocks(int64(f.Fd()), &unix.Statx_t{Size: uint64(st.Size), Blocks: uint64(st.Blocks)})
			require.NoError(t, f.Close())
			line += fmt.Sprintf(" size=%d whole=%d end=%d is=%s", st.Size, whole, end, first[st.Ino])
		}
		if name != "" && info.Mode()&fs.ModeSymlink == 0 {
			list := make([]byte, 1000)
			n, _ := unix.Listxattr(path, list)
			for _, a := range strings.Split(string(list[:max(n, 0)]), "\x00") {
				if strings.HasPrefix(a, "user.") {
					size, err := unix.Getxattr(path, a, nil)
					require.NoError(t, err)
					line += fmt.Sprintf(" %s=%d", a, size)
				}
			}
		}
		lines = append(lines, line)
		return nil
	}))
	return lines
}

// kept are files of many kinds.
func kept() []format.File {
	const size = 100_000
	return []format.File{
		{Path: "d", Type: format.TypeDir, Mode: 0o755, Size: 2_000, Attrs: []format.Attr{{Name: "user.d", Size: 3}}},
		{Path: "d/a", Type: format.TypeReg, Mode: 0o640, Size: size, Cached: -1, Attrs: []format.Attr{{Name: "user.a", Size: 10}}},
		{Path: "d/b", Type: format.TypeReg, Mode: 0o644, Size: size, Cached: -1},
		{Path: "d/hard", Type: format.TypeReg, Link: "d/a"},
		{Path: "d/sparse", Type: format.TypeReg, Mode: 0o644, Size: 1 << 30, Sparse: true, Cached: -1},
		{Path: "d/empty", Type: format.TypeReg, Mode: 0o400},
		{Path: "d/e", Type: format.TypeDir, Mode: 0o500},
		{Path: "d/e/in", Type: format.TypeReg, Mode: 0o600, Size: 10, Cached: -1},
		{Path: "soft", Type: format.TypeLnk, Target: "d/a"},
		{Path: "pipe", Type: format.TypeFifo, Mode: 0o644},
	}
}

// After any changes by an earlier replay, the next one restores the fileset, and does
// not write unchanged files again.
func TestRestore(t *testing.T) {
	const size = 100_000
	for _, test := range []struct {
		name   string
		bytes  int64 // that must be written, or -1
		change func(in func(string) string) error
	}{
		{"nothing", 0, func(func(string) string) error { return nil }},
		{"more files", 0, func(in func(string) string) error {
			if err := os.MkdirAll(in("d/more/files"), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(in("d/more/files/f"), nil, 0o644); err != nil {
				return err
			}
			return os.Chmod(in("d/more/files"), 0)
		}},
		{"modes", 0, func(in func(string) string) error {
			for _, name := range []string{"d/a", "d/e", "d/empty"} {
				if err := os.Chmod(in(name), 0); err != nil {
					return err
				}
			}
			return os.Chmod(in("d"), 0)
		}},
		{"longer", 0, func(in func(string) string) error { return os.Truncate(in("d/b"), 2*size) }},
		{"shorter", size - 5000, func(in func(string) string) error { return os.Truncate(in("d/b"), 5000) }},
		{"empty and long again", size, func(in func(string) string) error {
			if err := os.Truncate(in("d/b"), 0); err != nil {
				return err
			}
			return os.Truncate(in("d/b"), size)
		}},
		{"hole", -1, func(in func(string) string) error {
			return allocate(in("d/b"), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 8192, 4096)
		}},
		{"unwritten", -1, func(in func(string) string) error {
			return allocate(in("d/b"), unix.FALLOC_FL_ZERO_RANGE, 8192, 4096)
		}},
		{"blocks beyond the end", 0, func(in func(string) string) error {
			return allocate(in("d/b"), unix.FALLOC_FL_KEEP_SIZE, size, 1<<20)
		}},
		{"sparse no more", 0, func(in func(string) string) error {
			return allocate(in("d/sparse"), 0, 0, 1<<20)
		}},
		{"other types", -1, func(in func(string) string) error {
			for _, name := range []string{"d/b", "soft", "d/e/in", "d/e"} {
				if err := os.Remove(in(name)); err != nil {
					return err
				}
			}
			if err := os.Symlink("a", in("d/b")); err != nil {
				return err
			}
			if err := os.Mkdir(in("soft"), 0o755); err != nil {
				return err
			}
			return os.WriteFile(in("d/e"), nil, 0o644)
		}},
		{"another target", 0, func(in func(string) string) error {
			if err := os.Remove(in("soft")); err != nil {
				return err
			}
			return os.Symlink("d/b", in("soft"))
		}},
		{"linked", size, func(in func(string) string) error {
			if err := os.Remove(in("d/b")); err != nil {
				return err
			}
			return os.Link(in("d/a"), in("d/b"))
		}},
		{"no link", 0, func(in func(string) string) error {
			if err := os.Remove(in("d/hard")); err != nil {
				return err
			}
			return os.WriteFile(in("d/hard"), make([]byte, size), 0o640)
		}},
		{"renamed", size, func(in func(string) string) error { return os.Rename(in("d/b"), in("d/a")) }},
		{"fillers", 0, func(in func(string) string) error {
			if err := os.Remove(in("d/" + fillerName(3))); err != nil {
				return err
			}
			return os.WriteFile(in("d/"+fillerName(4)), []byte("x"), 0o600)
		}},
		{"attributes", 0, func(in func(string) string) error {
			for _, name := range []string{"d", "d/a", "d/b"} {
				if err := unix.Setxattr(in(name), "user.more", []byte("x"), 0); err != nil && err != unix.ENOTSUP {
					return err
				}
			}
			if err := unix.Removexattr(in("d/a"), "user.a"); err != nil && err != unix.ENOTSUP {
				return err
			}
			return nil
		}},
		{"compressible", 2*size + 10, func(in func(string) string) error {
			return os.WriteFile(in(sandbox.Marker), []byte("compressibility 50\n"), 0o600)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
				dir := filepath.Join(t.TempDir(), "root")
				t.Cleanup(func() { _ = os.Chmod(dir+"/d/e", 0o700) })
				done, err := prepare(t.Context(), dir, kept(), Options{Bind: bind})
				require.NoError(t, err)
				want := states(t, dir)
				files := done.Files
				require.NoError(t, os.Chmod(dir+"/d/e", 0o700))
				require.NoError(t, test.change(func(name string) string { return filepath.Join(dir, name) }))

				done, err = prepare(t.Context(), dir, kept(), Options{Bind: bind})
				require.NoError(t, err)
				require.Equal(t, want, states(t, dir))
				require.Equal(t, files, done.Files)
				if test.bytes >= 0 {
					require.Equal(t, test.bytes, done.Bytes)
				}
				if test.bytes == size-5000 {
					require.Equal(t, files+done.Fillers, done.Kept)
				}
			})
		})
	}
}

// allocate changes the blocks of a file, as far as its file system can.
func allocate(name string, mode uint32, from, length int64) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err = unix.Fallocate(int(f.Fd()), mode, from, length); err == unix.EOPNOTSUPP {
		return nil
	}
	return err
}

// A link in place of a directory is not followed.
func TestRestoreStaysInside(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		base, secret := roottest.Outside(t)
		info, err := os.Lstat(secret)
		require.NoError(t, err)
		files := []format.File{
			{Path: "d", Type: format.TypeDir, Mode: 0o711},
			{Path: "d/secret", Type: format.TypeReg, Mode: 0o600, Size: 1},
			{Path: "d/dir", Type: format.TypeDir, Mode: 0o700},
		}
		dir := filepath.Join(base, "root")
		_, err = prepare(t.Context(), dir, files, Options{Bind: bind})
		require.NoError(t, err)
		for _, target := range []string{base, "..", "."} {
			require.NoError(t, os.RemoveAll(dir+"/d"))
			require.NoError(t, os.Symlink(target, dir+"/d"))
			_, err = prepare(t.Context(), dir, files, Options{Bind: bind})
			require.NoError(t, err)
			require.DirExists(t, dir+"/d/dir")
			roottest.Unharmed(t, base, info)
		}
		require.NoError(t, os.RemoveAll(dir+"/d/secret"))
		require.NoError(t, os.Symlink(secret, dir+"/d/secret"))
		_, err = prepare(t.Context(), dir, files, Options{Bind: bind})
		require.NoError(t, err)
		roottest.Unharmed(t, base, info)
		names, err := filepath.Glob(base + "/*")
		require.NoError(t, err)
		require.Equal(t, []string{base + "/dir", dir, secret}, names)
	})
}

// The next preparation completes an interrupted one.
func TestInterruptedPreparation(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		files := []format.File{{Path: "d", Type: format.TypeDir, Mode: 0o555}}
		const size = 20*chunk + 1
		for _, name := range []string{"d/a", "d/b", "c"} {
			files = append(files, format.File{Path: name, Type: format.TypeReg, Mode: 0o444, Size: size, Cached: -1})
		}
		base := t.TempDir()
		whole, dir := filepath.Join(base, "whole"), filepath.Join(base, "root")
		t.Cleanup(func() {
			_ = os.Chmod(whole+"/d", 0o700)
			_ = os.Chmod(dir+"/d", 0o700)
		})
		_, err := prepare(t.Context(), whole, files, Options{Bind: bind})
		require.NoError(t, err)

		for i := range int64(4) {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := prepare(ctx, dir, files, Options{Bind: bind, Progress: func(p Progress) {
				if p.Bytes >= (i+1)*5*chunk {
					cancel()
				}
			}})
			cancel()
			require.ErrorIs(t, err, context.Canceled)
			if os.Geteuid() != 0 {
				break // a file that may not be written is not continued
			}
		}
		done, err := prepare(t.Context(), dir, files, Options{Bind: bind})
		require.NoError(t, err)
		require.Equal(t, states(t, whole), states(t, dir))
		if os.Geteuid() == 0 {
			require.Less(t, done.Bytes, int64(3*size-40*chunk))
		}
		done, err = prepare(t.Context(), dir, files, Options{Bind: bind})
		require.NoError(t, err)
		require.Zero(t, done.Bytes)
		require.EqualValues(t, 4, done.Kept)
	})
}
