package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/experiment"
)

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
		roots, err := experiment.ParseRoots(test.roots)
		require.NoError(t, err)
		nameRoots(roots)
		var names []string
		for _, r := range roots {
			names = append(names, r.Name)
		}
		require.Equal(t, test.names, names, test.roots)
	}
}
