package posix

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/internal/roottest"
	"pianola/replay/engine"
	"pianola/replay/sandbox"
)

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
	w := &worker{Worker: &engine.Worker{Slot: &engine.Slot{}}, e: e, slotState: &slotState{guard: e.guard, sys: func(uintptr, uintptr, uintptr, uintptr, uintptr, uintptr, uintptr) int64 {
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
		e.namesLeft.Store(-1)
		w.FirstCall, w.LastCall = 5, last
		engine.Pinned(w.recount)
		require.Zero(t, e.namesLeft.Load())
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
