package layer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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

// Files that a program can have put there: none of them makes the recorder wait or fail.
func TestLibraryOdd(t *testing.T) {
	l, err := Load("stdio")
	require.NoError(t, err)
	dir := t.TempDir()
	pipe := filepath.Join(dir, "libc.so.6")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, name := range []string{pipe, dir} {
		_, err = l.Open(name)
		require.ErrorContains(t, err, "not a file with contents")
		require.Error(t, CheckGo(name))
		require.False(t, l.Within(name))
		require.False(t, isELF(name))
	}
	require.False(t, guarded(func() { panic("damaged") }))
}

// The libraries of a program are found as the dynamic linker finds them: by its RUNPATH,
// by LD_LIBRARY_PATH, and by LD_PRELOAD; those of a library, too.
func TestLinked(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	l, err := Parse(strings.NewReader(function(`,"span":"read"`)))
	require.NoError(t, err)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"inner.c": "int f(void) { return 1; }", "outer.c": "int f(void); int g(void) { return f(); }", "main.c": "int g(void); int main(void) { return g(); }"} {
		require.NoError(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	build := func(args ...string) {
		cmd := exec.Command(cc, append([]string{"-o"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	build("libl.so", "-shared", "-fPIC", "inner.c")
	build("libouter.so", "-shared", "-fPIC", "outer.c", "-L.", "-l:libl.so", "-Wl,-rpath,$ORIGIN")
	build("main", "main.c", "-L.", "-l:libouter.so", "-Wl,-rpath,$ORIGIN", "-Wl,-rpath-link,.")
	build("bare", "main.c", "-L.", "-l:libouter.so", "-Wl,-rpath-link,.")
	build("static", "main.c", "outer.c", "inner.c")
	library, err := filepath.EvalSymlinks(at("libl.so"))
	require.NoError(t, err)
	require.Equal(t, []string{library}, l.Linked(at("main"), nil))
	require.Empty(t, l.Linked(at("bare"), nil))
	require.Equal(t, []string{library}, l.Linked(at("bare"), []string{"LD_LIBRARY_PATH=/nosuch:" + dir}))
	require.Equal(t, []string{library}, l.Linked(at("static"), []string{"LD_PRELOAD=" + at("libl.so")}))
	require.Empty(t, l.Linked(at("main.c"), nil))
	require.True(t, l.Within(at("static")))
	require.False(t, l.Within(at("main")))
}
