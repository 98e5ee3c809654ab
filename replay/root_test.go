package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
)

// Clear empties a root that a replay has left, and nothing else.
func TestClear(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorIs(t, Clear(dir), ErrRoot)
	require.FileExists(t, file)

	require.NoError(t, os.WriteFile(filepath.Join(dir, marker), nil, 0o600))
	require.NoError(t, Clear(dir))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, Clear(dir), "an empty one")
	require.NoError(t, Clear(filepath.Join(dir, "none")))
	require.NoDirExists(t, filepath.Join(dir, "none"))
}

// A root lies in no other replay's, and holds none: neither while both play, nor
// in what one has left.
func TestNestedRoots(t *testing.T) {
	take := func(path string, o Options) (*root, error) {
		o.Root = path
		return openRoot(&o, nil)
	}
	base := t.TempDir()
	outer, inner := filepath.Join(base, "outer"), filepath.Join(base, "outer/sub")
	deep := filepath.Join(inner, "deep")

	r, err := take(outer, Options{Keep: true})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(inner, 0o700))
	for _, path := range []string{inner, deep} {
		_, err = take(path, Options{})
		require.ErrorIs(t, err, ErrShared, "in one that is playing")
	}
	require.NoError(t, os.Remove(filepath.Join(outer, marker))) // as a trace can
	_, err = take(inner, Options{})
	require.ErrorIs(t, err, ErrShared, "the lock tells")
	require.NoError(t, r.mark("x"))
	require.NoError(t, r.close())
	_, err = take(inner, Options{})
	require.ErrorIs(t, err, ErrShared, "in one that was kept")

	require.NoError(t, Clear(outer))
	r, err = take(inner, Options{Keep: true})
	require.NoError(t, err)
	_, err = take(outer, Options{})
	require.ErrorIs(t, err, ErrShared, "that holds one that is playing")
	beside, err := take(filepath.Join(outer, "beside"), Options{})
	require.NoError(t, err)
	require.NoError(t, beside.close())
	require.NoError(t, r.close())
	_, err = take(outer, Options{})
	require.ErrorIs(t, err, ErrRoot, "that holds one that was kept")
}

// A single trace and several at once don't share a root, or each would remove
// what the other has left.
func TestSharedRoot(t *testing.T) {
	r := newRoll(1)
	r.add(1, format.OpMkdir, 0, "d", 0o700)
	several := []Part{{"a", r}, {"b", r}}
	o := Options{Root: filepath.Join(t.TempDir(), "root"), Keep: true}
	_, err := RunAll(t.Context(), several, o)
	require.NoError(t, err)
	_, err = Run(t.Context(), r, o)
	require.ErrorIs(t, err, ErrShared)
	require.DirExists(t, filepath.Join(o.Root, "a/d"))
	require.DirExists(t, filepath.Join(o.Root, "b/d"))
	_, err = Run(t.Context(), r, Options{Root: filepath.Join(o.Root, "a")})
	require.ErrorIs(t, err, ErrShared)
	_, err = RunAll(t.Context(), several, o)
	require.NoError(t, err)
	require.NoError(t, Clear(o.Root))

	_, err = Run(t.Context(), r, o)
	require.NoError(t, err)
	_, err = RunAll(t.Context(), several, o)
	require.ErrorIs(t, err, ErrShared)
	require.DirExists(t, filepath.Join(o.Root, "d"))
}

// A directory that another process moves out of the root leads nowhere from
// there, though a replay's paths begin in it.
func TestMovedOut(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*guard) error) {
		base, secret := outside(t)
		info, err := os.Lstat(secret)
		require.NoError(t, err)
		path := filepath.Join(base, "outer/root")
		require.NoError(t, os.MkdirAll(filepath.Join(path, "d/below"), 0o755))
		dir, err := os.Open(path)
		require.NoError(t, err)
		defer dir.Close()
		e := &engine{Options: Options{Backend: Posix}, guard: guard{sys: linux, root: dir.Fd()}, begins: map[string]int64{}}
		defer e.guard.close()
		for _, text := range []string{"d//../../secret", "d//../secret", "d//../../new", "d/below//../../../secret", "d//below"} {
			e.texts = append(e.texts, text)
			e.names = append(e.names, newName(text))
		}
		var got []int64
		require.NoError(t, onThread(func() error {
			if err := bind(&e.guard); err != nil {
				return err
			}
			e.openBegins()
			if err := moved(filepath.Join(path, "d"), filepath.Join(base, "outer/d2")); err != nil {
				return err
			}
			for i := range e.names {
				fd := e.guard.open(&e.names[i], unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC, 0o600)
				if got = append(got, fd); fd >= 0 {
					e.guard.shut(fd)
				}
			}
			e.closeBegins()
			return nil
		}))
		for i, fd := range got[:4] {
			require.Equal(t, -int64(unix.ENOENT), fd, e.texts[i])
		}
		unharmed(t, base, info)
		require.NoFileExists(t, filepath.Join(base, "new"))
	})
}

// moved renames as another thread does, which sees all directories.
func moved(from, to string) error {
	done := make(chan error)
	go func() { done <- os.Rename(from, to) }()
	return <-done
}
