package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPaths(t *testing.T) {
	for _, test := range []struct{ dir, name, want string }{
		{"/w", "a", "/w/a"},
		{"/w", "/a/b", "/a/b"},
		{"/w", "../../..", "/"},
		{"/w", "./a/./b//c/", "/w/a/b/c"},
		{"/w", ".git", "/w/.git"},
		{"", "a/../b", "b"},
		{"", "..", "."},
		{"", "a", "a"},
		{"", "", "."},
		{"/", "a", "/a"},
		{"/w", "", "/w"},
		{"/w", "..a/b..", "/w/..a/b.."},
	} {
		require.Equal(t, test.want, string(appendPath(nil, test.dir, []byte(test.name))), "%q in %q", test.name, test.dir)
	}
}
