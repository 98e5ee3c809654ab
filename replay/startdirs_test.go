package replay

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/replaykit"
	"pianola/replay/sandbox"
)

// Paths whose directories are too many have a note, and lead to their files.
func TestTooManyStartDirs(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		r := replaykit.New(1)
		r.File(format.File{Path: "a", Type: format.TypeDir, Mode: 0o755})
		r.File(format.File{Path: "a/f", Type: format.TypeReg, Mode: 0o600, Size: 1})
		for i := range 1 << 14 {
			r.Texts = append(r.Texts, fmt.Sprintf("%d//f", i))
		}
		r.Add(1, format.OpStat, 0, "a//f", 0)
		var jailed atomic.Bool
		res, err := run(t.Context(), r, Options{Root: filepath.Join(t.TempDir(), "root"), Timing: AFAP}, func(g *sandbox.Guard) error {
			err := bind(g)
			jailed.Store(g.Jailed())
			return err
		})
		require.NoError(t, err)
		faultless(t, r, res)
		require.Equal(t, jailed.Load(), strings.Contains(strings.Join(res.Notes, "\n"), "directories, so those in the others are looked up from the root"))
	})
}

// A path that starts in a directory leads where the whole path does, and one
// that only looks like it is taken as a whole.
func TestStartDirs(t *testing.T) {
	eachBinding(t, func(t *testing.T, bind func(*sandbox.Guard) error) {
		const enoent = -int64(unix.ENOENT)
		r := replaykit.New(1)
		r.File(format.File{Path: "a", Type: format.TypeDir, Mode: 0o755})
		r.File(format.File{Path: "a/b", Type: format.TypeDir, Mode: 0o755})
		r.File(format.File{Path: "a/b/f", Type: format.TypeReg, Mode: 0o600, Size: 1})
		r.Add(1, format.OpOpen, 3, "a/b//f", format.RDONLY)
		r.Add(1, format.OpStat, 0, "a//b/f", 0)
		r.Add(1, format.OpChmod, 0, "a/b//f", 0o644)
		r.Add(1, format.OpTruncate, 0, "a/b//f", 10)
		r.Add(1, format.OpRename, 0, "a/b//f", "a//g")
		r.Add(1, format.OpLink, 0, "a//g", "a/b//f")
		r.Add(1, format.OpSymlink, 0, "b/f", "a//s")
		r.Add(1, format.OpOpen, 4, "a//s", format.RDWR)
		r.Add(1, format.OpUnlink, 0, "a/b//f")
		r.Add(1, format.OpMkdir, 0, "a//b/new", 0o700)
		r.Add(1, format.OpRmdir, 0, "a//b/new/")
		for _, p := range []string{"none//g", "//none", "a//", "a///none", "a//../../a/none", "a//none"} {
			want := enoent
			if p == "a//" {
				want = 0
			}
			r.Add(1, format.OpStat, want, p, 0)
		}
		r.Add(1, format.OpStat, 0, "a///g", 0)
		r.Add(1, format.OpStat, 0, "a//../../a/g", 0)
		before := roottest.OpenFiles(t)
		_, res := play(t, r, bind)
		faultless(t, r, res)
		require.Equal(t, before, roottest.OpenFiles(t))
	})
}
