package replay

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/replaykit"
)

// playMemory replays a trace with its memory.
func playMemory(t *testing.T, r *replaykit.Trace, o Options) *Result {
	t.Helper()
	o.Root, o.Memory = filepath.Join(t.TempDir(), "root"), true
	res, err := Run(context.Background(), r, o)
	require.NoError(t, err)
	faultless(t, r, res)
	return res
}

// Each process has its own memory until an exec or its end.
func TestMemoryOfProcesses(t *testing.T) {
	const populate = 0x22 | format.MapPopulate
	r := replaykit.New(1)
	child := r.Child(2, 1)
	r.Add(1, format.OpMmap, pageSize, 0, 1<<20, own, populate, -1, 0)
	r.Add(1, format.OpClone, 2, 0)
	r.Add(child, format.OpMmap, pageSize, 0, 1<<19, own, populate, -1, 0)
	r.Add(child, format.OpExecve, 0, "program")
	r.Add(child, format.OpMmap, pageSize, 0, 1<<18, own, populate, -1, 0)
	ended := r.Add(child, format.OpExitGroup, format.NoResult, 0)
	r.Wait(1, child, ended)
	r.Add(1, format.OpMmap, 2<<20, 0, 1<<18, own, populate, -1, 0)
	r.Add(1, format.OpExitGroup, format.NoResult, 0)
	require.Equal(t, int64(1<<20+1<<19), playMemory(t, r, Options{Timing: AFAP}).MemoryBytes)
}

// The memory that a trace maps, in all processes together, is bounded by the memory
// that a replay may use.
func TestMemoryBounded(t *testing.T) {
	const populate = 0x22 | format.MapPopulate
	r := replaykit.New(1)
	child := r.Child(2, 1)
	r.Add(1, format.OpMmap, pageSize, 0, 1<<40, own, populate, -1, 0)
	mapped := r.Add(1, format.OpClone, 2, 0)
	r.Wait(child, 1, mapped)
	r.Add(child, format.OpMmap, pageSize, 0, 2*pageSize, own, populate, -1, 0)
	r.Add(child, format.OpMadvise, 0, pageSize, 2*pageSize, format.MadvPopulateWrite)
	r.Add(child, format.OpMmap, 4*pageSize, 0, pageSize, own, populate, -1, 0)
	ended := r.Add(child, format.OpExitGroup, format.NoResult, 0)
	r.Wait(1, child, ended)
	r.Add(1, format.OpMunmap, 0, pageSize, 1<<40)
	res := playMemory(t, r, Options{Timing: AFAP, Limits: Limits{Memory: 8 << 20}})
	require.Equal(t, int64(4<<20), res.MemoryBytes)
}

// Without the option memory calls are bookkeeping.
func TestMemoryNotPlayed(t *testing.T) {
	r := replaykit.New(1)
	r.Add(1, format.OpMmap, pageSize, 0, 1<<20, own, 0x22|format.MapPopulate, -1, 0)
	r.Add(1, format.OpMunmap, -22, pageSize, 1<<20)
	_, res := play(t, r, byOpenat2)
	faultless(t, r, res)
	require.Zero(t, res.MemoryBytes)
}

// Memory is touched while an event is waited for.
func TestTouchedInCompute(t *testing.T) {
	r := replaykit.New(1)
	r.Add(1, format.OpMmap, pageSize, 0, 16*pageSize, own, 0x22)
	r.Add(1, format.OpStat, 0, ".", 0)
	r.Last(1).Compute = int64(20 * time.Millisecond)
	res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Memory: true})
	require.NoError(t, err)
	require.EqualValues(t, 16*pageSize, res.MemoryBytes)
}
