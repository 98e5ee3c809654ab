package compile_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

// An open that empties a file says nothing of the size that it had before.
func TestSizeBeforeTruncation(t *testing.T) {
	s, _ := compiled(t, `# pianola script 1
1 0.001 open("/f", O_RDONLY) = 3 <0.000001> {size=12 type=reg}
1 0.001 read(3, 0x10, 12) = 12 <0.000001>
1 0.001 open("/f", O_WRONLY|O_TRUNC) = 4 <0.000001> {size=0 type=reg}
1 0.001 open("/g", O_WRONLY|O_TRUNC) = 5 <0.000001> {size=0 type=reg}
`, compile.Options{})
	sizes := map[string]int64{}
	for _, f := range s.header.Files {
		sizes[f.Path] = f.Size
	}
	require.Equal(t, map[string]int64{"f": 12, "g": 0}, sizes)
}

// A name that is known only to exist, or to be no link, is a directory if something below
// it was missing: below a file the error would have been ENOTDIR.
func TestDirectoryOfMissingNames(t *testing.T) {
	for _, shown := range []string{`readlink("/w/d", 0x1, 100) = -1 EINVAL (x)`, `access("/w/d", F_OK) = 0`, `chmod("/w/d", 0755) = 0`} {
		for _, missing := range []string{`access("/w/d/x", F_OK) = -1 ENOENT (x)`, `readlink("/w/d/x/y", 0x1, 100) = -1 ENOENT (x)`,
			`open("/w/d/x", O_WRONLY|O_CREAT, 0600) = -1 ENOENT (x)`, `rename("/w/d/x", "/w/y") = -1 ENOENT (x)`} {
			s, r := compiled(t, fmt.Sprintf("# pianola script 1\n1 0.001 %s <0.000001>\n1 0.001 %s <0.000001>\n", shown, missing), compile.Options{})
			require.Zero(t, r.Unexplained)
			types := map[string]format.FileType{}
			for _, f := range s.header.Files {
				types[f.Path] = f.Type
			}
			require.Equal(t, map[string]format.FileType{"w": format.TypeDir, "w/d": format.TypeDir}, types, "%s, %s", shown, missing)
		}
	}
	// Without that, it counts as a file, and a missing name may itself be what is missing.
	s, _ := compiled(t, `# pianola script 1
1 0.001 readlink("/w/f", 0x1, 100) = -1 EINVAL (x) <0.000001>
1 0.001 access("/w/g/x", F_OK) = -1 ENOENT (x) <0.000001>
`, compile.Options{})
	require.Len(t, s.header.Files, 2)
	require.Equal(t, format.TypeReg, s.header.Files[1].Type)
}
