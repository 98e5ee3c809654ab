package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/engine"
	"pianola/replay/sandbox"
)

// No more files are there than may be, however they are made, and those of the
// fileset count.
func TestFilesLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("short: nothing of it is concurrent")
	}
	const most = 100
	for name, way := range map[string]func(r *roll, i int){
		"openm":   func(r *roll, i int) { r.add(1, format.OpOpenm, 3, fmt.Sprint(i), format.RDWR|format.CREAT, 0o600) },
		"mknod":   func(r *roll, i int) { r.add(1, format.OpMknod, 0, fmt.Sprint(i), unix.S_IFREG|0o600, 0) },
		"mkdir":   func(r *roll, i int) { r.add(1, format.OpMkdir, 0, fmt.Sprint(i), 0o700) },
		"link":    func(r *roll, i int) { r.add(1, format.OpLink, 0, "d/f", fmt.Sprint(i)) },
		"symlink": func(r *roll, i int) { r.add(1, format.OpSymlink, 0, "d/f", fmt.Sprint(i)) },
		"deep": func(r *roll, i int) {
			r.add(1, format.OpMkdir, 0, fmt.Sprint(i), 0o700)
			r.add(1, format.OpRename, 0, "d", fmt.Sprint(i, "/d"))
			r.add(1, format.OpRename, 0, fmt.Sprint(i), "d")
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachBackend(t, func(t *testing.T, p player) {
				r := newRoll(1)
				r.file(format.File{Path: "d", Type: format.TypeDir, Mode: 0o700})
				r.file(format.File{Path: "d/f", Type: format.TypeReg, Mode: 0o600})
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

// Removing names makes room again, and so do names whose removal or absence the count
// cannot see.
func TestFilesComeAndGo(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := newRoll(1)
		for range 200 {
			r.add(1, format.OpOpenm, 3, "f", format.RDWR|format.CREAT, 0o600)
			r.add(1, format.OpClose, 0, 3)
			r.add(1, format.OpMkdir, 0, "d", 0o700)
			r.add(1, format.OpMkdir, 0, "d/d", 0o700)
			r.add(1, format.OpRename, 0, "f", "d/f")
			r.add(1, format.OpOpenm, 3, "g", format.RDWR|format.CREAT, 0o600)
			r.add(1, format.OpClose, 0, 3)
			r.add(1, format.OpRename, 0, "g", "d/f")
			r.add(1, format.OpUnlink, 0, "d/f")
			r.add(1, format.OpRmdir, 0, "d/d")
			r.add(1, format.OpRmdir, 0, "d")
		}
		res, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Files: 4}})
		require.NoError(t, err)
		faultless(t, r, res)
	})
}

// Names that are too deep to be counted, or that cannot be read, exceed the limit.
func TestCensusEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "root")
	r, err := sandbox.OpenRoot(path, nil)
	require.NoError(t, err)
	require.NoError(t, r.Mark("x"))
	defer func() { require.NoError(t, r.Close()) }()
	roottest.Bury(t, path+"/d", maxCensus/2)
	e := bare(Options{Limits: Limits{Files: maxCensus}})
	e.guard.Root = r.FD()
	w := &worker{Worker: &engine.Worker{Seat: &engine.Seat{}}, e: e, seat: &seat{guard: e.guard, sys: func(uintptr, uintptr, uintptr, uintptr, uintptr, uintptr, uintptr) int64 {
		t.Error("a census is no part of the event")
		return -int64(unix.ENOSYS)
	}}}
	left := func(limit int64) int64 {
		c := &census{worker: w, left: limit}
		c.visit(r.FD(), dot, 0)
		return c.left
	}
	require.Zero(t, left(maxCensus))
	require.Negative(t, left(maxCensus-1))

	for _, last := range []int64{0, 9} { // before and after the event's call
		e.unmade.Store(-1)
		w.FirstCall, w.LastCall = 5, last
		engine.Pinned(w.recount)
		require.Zero(t, e.unmade.Load())
		require.Equal(t, last > 0, w.FirstCall == 5, "the event begins after a census")
		require.Equal(t, last, w.LastCall)
	}
	roottest.Bury(t, path+"/e", maxCensus+1)
	require.Negative(t, left(1<<40))
	require.NoError(t, r.Remove("e"))
	require.NoError(t, os.Symlink(".", path+"/l"))
	require.EqualValues(t, 1, left(maxCensus+2))
	e.Stop()
	require.EqualValues(t, 10, left(10))
}

func TestDescriptorsOf(t *testing.T) {
	for _, test := range []struct {
		limit     int64
		processes int
		want      int64
	}{{1 << 16, 1, 1 << 16}, {1 << 16, 16, 1 << 16}, {1 << 16, 1024, 1024}, {64, 1024, 64}, {1 << 21, 2, 1 << 20}} {
		l := Limits{Descriptors: test.limit}
		require.Equal(t, test.want, l.descriptorsOf(test.processes))
	}
}
