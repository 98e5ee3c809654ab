package files

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// An output exists only once it is complete. Incomplete ones are removed.
func TestOutput(t *testing.T) {
	var s Set
	name := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.WriteFile(name, []byte("old"), 0o640))
	o, err := s.Create(name, Public)
	require.NoError(t, err)
	require.Equal(t, name, o.Name())
	require.False(t, o.InPlace())
	_, err = io.WriteString(o, "new")
	require.NoError(t, err)
	text := func() string {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(b)
	}
	require.Equal(t, "old", text())
	require.NoError(t, o.Commit())
	require.Equal(t, "new", text())
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "that of the file that it replaced")

	s.Release(name)
	o, err = s.Create(name, Public)
	require.NoError(t, err)
	o.Abort()
	require.Equal(t, "new", text())
	s.Release(name)
	o, err = s.Create(name, Public)
	require.NoError(t, err)
	s.RemoveUnfinished()
	_, err = os.Stat(o.File().Name())
	require.ErrorIs(t, err, os.ErrNotExist)

	none, err := s.CreateIf("", Public)
	require.NoError(t, err)
	require.NoError(t, none.Put(func(io.Writer) error { panic("not asked for") }))
	none.Abort()
	require.NoError(t, s.Put("", Public, func(io.Writer) error { panic("not asked for") }))
	put := filepath.Join(t.TempDir(), "put")
	require.ErrorIs(t, s.Put(put, Private, func(io.Writer) error { return io.ErrShortWrite }), io.ErrShortWrite)
	require.NoFileExists(t, put)
	s.Release(put)
	require.NoError(t, s.Put(put, Private, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }))
	require.FileExists(t, put)
}

// No output is the file of an input or of another output, under any name.
func TestClaims(t *testing.T) {
	dir := t.TempDir()
	in, link := filepath.Join(dir, "in"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(in, nil, 0o600))
	require.NoError(t, os.Link(in, link))
	var s Set
	f, err := s.Open(in)
	require.NoError(t, err)
	f.Close()
	var same *SameFileError
	_, err = s.Create(link, Public)
	require.ErrorAs(t, err, &same)
	require.NoError(t, s.Words([]string{in, "no such file"}))

	out := filepath.Join(dir, "out")
	_, err = s.ClaimOutput(out)
	require.NoError(t, err)
	_, err = s.ClaimOutput(filepath.Join(dir, ".", "out"))
	require.ErrorAs(t, err, &same)
	s.Release(out)
	_, err = s.ClaimOutput(out)
	require.NoError(t, err)

	_, err = s.Open(dir)
	require.ErrorContains(t, err, "not a regular file")
	_, err = s.Open(filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "no such file")
	_, err = s.Create(filepath.Join(dir, "none", "out"), Public)
	require.ErrorContains(t, err, "create ")
}
