package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Clear empties a root that a replay has left, and nothing else.
func TestClear(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorIs(t, Clear(dir), ErrRoot)
	require.FileExists(t, file)

	require.NoError(t, os.WriteFile(filepath.Join(dir, Marker), nil, 0o600))
	require.NoError(t, Clear(dir))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, Clear(dir), "an empty one")
	require.NoError(t, Clear(filepath.Join(dir, "none")))
	require.NoDirExists(t, filepath.Join(dir, "none"))
}

// A root cannot be inside another replay's root or contain one, neither while both run
// nor in the files that a replay has left.
func TestNestedRoots(t *testing.T) {
	take := func(path string) (*Root, error) {
		r, err := OpenRoot(path, nil)
		if err == nil && r.Fresh() {
			err = r.Mark("x")
		}
		return r, err
	}
	base := t.TempDir()
	outer, inner := filepath.Join(base, "outer"), filepath.Join(base, "outer/sub")
	deep := filepath.Join(inner, "deep")

	r, err := take(outer)
	require.NoError(t, err)
	r.Keep()
	require.NoError(t, os.MkdirAll(inner, 0o700))
	for _, path := range []string{inner, deep} {
		_, err = take(path)
		require.ErrorIs(t, err, ErrShared, "in one that is playing")
	}
	require.NoError(t, os.Remove(filepath.Join(outer, Marker))) // as a trace can
	_, err = take(inner)
	require.ErrorIs(t, err, ErrShared, "the lock tells")
	require.NoError(t, r.Mark("x"))
	require.NoError(t, r.Close())
	_, err = take(inner)
	require.ErrorIs(t, err, ErrShared, "in one that was kept")

	require.NoError(t, Clear(outer))
	r, err = take(inner)
	require.NoError(t, err)
	r.Keep()
	_, err = take(outer)
	require.ErrorIs(t, err, ErrShared, "that holds one that is playing")
	beside, err := take(filepath.Join(outer, "beside"))
	require.NoError(t, err)
	require.NoError(t, beside.Close())
	require.NoError(t, r.Close())
	_, err = take(outer)
	require.ErrorIs(t, err, ErrRoot, "that holds one that was kept")
}

// A root that was closed is free, even if a thread still has copies of what was
// open.
func TestClosedRootIsUnlocked(t *testing.T) {
	r := newRoot(t)
	r.Keep()
	separate, end, ended := make(chan error), make(chan struct{}), make(chan error)
	go func() {
		ended <- OnThread(func() error {
			separate <- unix.Unshare(unix.CLONE_FILES)
			<-end
			return nil
		})
	}()
	require.NoError(t, <-separate)
	defer func() {
		close(end)
		require.NoError(t, <-ended)
	}()
	require.NoError(t, r.Close())
	again, err := OpenRoot(r.path, nil)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

// One who joins a root needs no lock, and leaves it as it is.
func TestJoinedRoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	_, err := JoinRoot(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	r, err := OpenRoot(dir, nil)
	require.NoError(t, err)
	require.NoError(t, r.Mark("x"))
	joined, err := JoinRoot(dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.NoError(t, joined.Close())
	require.FileExists(t, filepath.Join(dir, "file"))
	require.NoError(t, r.Close())
	require.NoDirExists(t, dir)

	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	_, err = JoinRoot(dir)
	require.ErrorIs(t, err, ErrRoot, "another's directory")
	require.FileExists(t, filepath.Join(dir, "mine"))

	require.NoError(t, os.Remove(filepath.Join(dir, "mine")))
	r, err = OpenRoot(dir, nil)
	require.NoError(t, err)
	r.SetCreated()
	require.NoError(t, r.Close())
	require.NoDirExists(t, dir)
}
