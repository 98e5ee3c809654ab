package replay

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
)

// The number of files is limited for all ways to make them, and files of the fileset
// count.
func TestFilesLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing of it is concurrent")
	}
	const most = 100
	for name, way := range map[string]func(r *replaykit.Trace, i int){
		"openm": func(r *replaykit.Trace, i int) {
			r.Add(1, format.OpOpenm, 3, fmt.Sprint(i), format.RDWR|format.CREAT, 0o600)
		},
		"mknod":   func(r *replaykit.Trace, i int) { r.Add(1, format.OpMknod, 0, fmt.Sprint(i), unix.S_IFREG|0o600, 0) },
		"mkdir":   func(r *replaykit.Trace, i int) { r.Add(1, format.OpMkdir, 0, fmt.Sprint(i), 0o700) },
		"link":    func(r *replaykit.Trace, i int) { r.Add(1, format.OpLink, 0, "d/f", fmt.Sprint(i)) },
		"symlink": func(r *replaykit.Trace, i int) { r.Add(1, format.OpSymlink, 0, "d/f", fmt.Sprint(i)) },
		"deep": func(r *replaykit.Trace, i int) {
			r.Add(1, format.OpMkdir, 0, fmt.Sprint(i), 0o700)
			r.Add(1, format.OpRename, 0, "d", fmt.Sprint(i, "/d"))
			r.Add(1, format.OpRename, 0, fmt.Sprint(i), "d")
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachBackend(t, func(t *testing.T, p player) {
				r := replaykit.New(1)
				r.File(format.File{Path: "d", Type: format.TypeDir, Mode: 0o700})
				r.File(format.File{Path: "d/f", Type: format.TypeReg, Mode: 0o600})
				for i := range most - 2 {
					way(r, i)
				}
				o := Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Files: most}}
				res, err := p.run(t.Context(), t, r, o)
				require.NoError(t, err)
				faultless(t, r, res)
				way(r, most)
				_, err = p.run(t.Context(), t, r, o)
				require.ErrorIs(t, err, ErrLimit)
			})
		})
	}
}

// Removing names makes room again. So do names whose removal or absence the count
// can't observe.
func TestFilesComeAndGo(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		for range 200 {
			r.Add(1, format.OpOpenm, 3, "f", format.RDWR|format.CREAT, 0o600)
			r.Add(1, format.OpClose, 0, 3)
			r.Add(1, format.OpMkdir, 0, "d", 0o700)
			r.Add(1, format.OpMkdir, 0, "d/d", 0o700)
			r.Add(1, format.OpRename, 0, "f", "d/f")
			r.Add(1, format.OpOpenm, 3, "g", format.RDWR|format.CREAT, 0o600)
			r.Add(1, format.OpClose, 0, 3)
			r.Add(1, format.OpRename, 0, "g", "d/f")
			r.Add(1, format.OpUnlink, 0, "d/f")
			r.Add(1, format.OpRmdir, 0, "d/d")
			r.Add(1, format.OpRmdir, 0, "d")
		}
		res, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Files: 4}})
		require.NoError(t, err)
		faultless(t, r, res)
	})
}
