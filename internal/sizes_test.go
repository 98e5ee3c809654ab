package internal

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxLines is more than a reader keeps in mind of one file.
const maxLines = 600

// longFiles may have more lines, for a reason.
var longFiles = map[string]string{"format/ops.go": "the table of operations"}

// TestFileSizes holds that no file of Go or C that people write is too long. Tests may be.
func TestFileSizes(t *testing.T) {
	top, files := os.DirFS(".."), 0
	require.NoError(t, fs.WalkDir(top, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name != "." && strings.HasPrefix(d.Name(), ".") || name == "bin" || name == "demo" || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		case !strings.Contains(".go .c .h", path.Ext(name)) || path.Ext(name) == "" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(top, name)
		require.NoError(t, err)
		if head, _, _ := bytes.Cut(text, []byte("\n")); bytes.Contains(head, []byte("generated")) {
			return nil
		}
		files++
		if _, long := longFiles[name]; !long {
			require.LessOrEqual(t, bytes.Count(text, []byte("\n")), maxLines, name)
		}
		return nil
	}))
	require.Greater(t, files, 500)
}
