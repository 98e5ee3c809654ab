package experiment

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseRoots(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("there=1/x", 0o700))
	require.NoError(t, os.Symlink("there=1", "link"))
	require.NoError(t, os.WriteFile("file=1", nil, 0o600))
	for text, want := range map[string]Root{
		"dir":       {"", "dir"},
		"nvme=dir":  {"nvme", "dir"},
		"nvme=/a=b": {"nvme", "/a=b"},
		"./a=b":     {"", "./a=b"},
		"/mnt/a=b":  {"", "/mnt/a=b"},
		"there=1":   {"", "there=1"}, // it exists
		"there=2":   {"there", "2"},
		"file=1":    {"file", "1"}, // no directory
		"x=there=1": {"x", "there=1"},
	} {
		roots, err := ParseRoots([]string{text})
		require.NoError(t, err, text)
		require.Equal(t, []Root{want}, roots, text)
	}
	for want, texts := range map[string][]string{
		"no directory given":                  {""},
		`"=dir" is neither DIR nor NAME=DIR`:  {"=dir"},
		`"nvme=" is neither DIR nor NAME=DIR`: {"nvme="},
		`"my disk" is not a name (want for example nvme, without spaces, commas, slashes and quotes, at most 32 bytes)`: {"my disk=dir"},
		`duplicate "a"`:                               {"a=x", "a=y"},
		`duplicate "b"`:                               {"b", "b"},
		`duplicate "c"`:                               {"c", "c=d"}, // they could not be told apart
		"a and b are the same directory":              {"a=./dir/", "b=dir"},
		"there=1 and l are the same directory":        {"there=1", "l=link"},
		"there=1/x and link/x are the same directory": {"there=1/x", "link/x"},
	} {
		_, err := ParseRoots(texts)
		require.EqualError(t, err, want)
	}
	roots, err := ParseRoots(nil)
	require.NoError(t, err)
	require.Empty(t, roots)
	roots, err = ParseRoots([]string{"a", "b", "there=1", "c=./there=1/x"})
	require.NoError(t, err)
	require.Len(t, roots, 4)
}

func TestNameRoots(t *testing.T) {
	t.Chdir("/tmp")
	for _, test := range []struct{ roots, names []string }{
		{[]string{"/mnt/a/root", "/mnt/b/root"}, []string{"a", "b"}},
		{[]string{"r1", "/dev/shm/r2"}, []string{"r1", "r2"}},
		{[]string{".", "/dev/shm/x"}, []string{"tmp", "x"}},
		{[]string{"a=/mnt/x", "/mnt/a", "/var/b"}, []string{"a", "mnt", "var"}},
		{[]string{"/a b/x", "/c/x"}, []string{"root-1", "root-2"}},
		{[]string{"fast=/a/x", "/c\n/x y", "/"}, []string{"fast", "root-2", "root-3"}},
	} {
		roots, err := ParseRoots(test.roots)
		require.NoError(t, err)
		NameRoots(roots)
		var names []string
		for _, r := range roots {
			names = append(names, r.Name)
		}
		require.Equal(t, test.names, names, test.roots)
	}
}
