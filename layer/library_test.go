package layer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEntry(t *testing.T) {
	for _, test := range []struct {
		name, code string
		want       Entry
		skip       uint64
	}{
		{"push", "\x55\x48\x89\xe5", Push, 0},
		{"push r12", "\x41\x54\x55", Push, 0},
		{"nop of five bytes", "\x0f\x1f\x44\x00\x00", Nop, 0},
		{"nop", "\x90\x90", Carried, 0},
		{"jump", "\xe9\x00\x00\x00\x00", Carried, 0},
		{"sub", "\x48\x83\xec\x18", Stepped, 0},
		{"endbr64, push", "\xf3\x0f\x1e\xfa\x55", Push, 4},
		{"endbr64, sub", "\xf3\x0f\x1e\xfa\x48\x83\xec\x08", Stepped, 4},
		{"nothing", "", Stepped, 0},
		{"a part", "\x41", Stepped, 0},
	} {
		e, skip := entryOf([]byte(test.code), "amd64")
		require.Equal(t, test.want, e, test.name)
		require.Equal(t, test.skip, skip, test.name)
	}
	for _, test := range []struct {
		name, code string
		want       Entry
	}{
		{"bti c", "\x5f\x24\x03\xd5", Stepped},
		{"stp x29, x30", "\xfd\x7b\xbf\xa9", Stepped},
		{"b", "\x00\x00\x00\x14", Carried},
		{"cbz", "\x00\x00\x00\xb4", Carried},
		{"adrp", "\x00\x00\x00\x90", Carried},
		{"nothing", "", Stepped},
	} {
		e, skip := entryOf([]byte(test.code), "arm64")
		require.Equal(t, test.want, e, test.name)
		require.Zero(t, skip, test.name)
	}
}

// The functions of the C library that this machine has are found, except by a name that
// it never had.
func TestLibrary(t *testing.T) {
	l, err := Load("stdio")
	require.NoError(t, err)
	files := l.Installed()
	if len(files) == 0 {
		t.Skip("no C library is installed")
	}
	lib, err := l.Open(files[0])
	require.NoError(t, err)
	byName := map[string]Place{}
	for _, p := range lib.Places {
		byName[p.Function.Name] = p
	}
	require.Contains(t, byName, "fopen")
	require.Contains(t, byName, "fwrite")
	require.NotZero(t, byName["fopen"].Offset)
	require.NotEqual(t, byName["fopen"].Offset, byName["fwrite"].Offset)
	l, err = Parse(strings.NewReader(function(`,"span":"read"`)))
	require.NoError(t, err)
	lib, err = l.Open(files[0])
	require.NoError(t, err)
	require.Empty(t, lib.Places)
	require.Len(t, lib.Missing, 1)
}

func TestLibraryErrors(t *testing.T) {
	l, err := Load("stdio")
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "lib.so")
	_, err = l.Open(name)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(name, []byte("!<arch>\n"), 0o600))
	_, err = l.Open(name)
	require.ErrorContains(t, err, "lib.so: not a library or program")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	_, err = l.Open(name)
	require.ErrorContains(t, err, "lib.so: not a library or program")
}

func TestHas(t *testing.T) {
	l, err := Load("hdf5")
	require.NoError(t, err)
	require.True(t, l.Has("/usr/lib/libhdf5_serial.so.103"))
	require.False(t, l.Has("/usr/lib/libhdf5_hl.so.100"))
}

// Of ld.so.conf, directories and includes are read, comments are not, and a file that
// includes itself ends.
func TestConfDirs(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "ld.so.conf")
	require.NoError(t, os.WriteFile(conf, []byte("# a comment\n/one # first\ninclude more.d/*.conf\ninclude "+conf+"\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "more.d"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "more.d", "a.conf"), []byte("/two\n"), 0o600))
	dirs := confDirs(conf, 0)
	require.Equal(t, []string{"/one", "/two"}, dirs[:2])
	require.Len(t, dirs, 2*maxIncludes+1)
}
