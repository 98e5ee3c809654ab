package replay

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/posix"
	"pianola/replay/replaykit"
)

// A log that doesn't fit into its memory goes through a file and comes back
// the same.
func TestLogSpills(t *testing.T) {
	r := replaykit.New(3)
	const events = 20_000
	for n := int32(1); n <= 3; n++ {
		for range events {
			r.Add(n, format.OpRmdir, -int64(unix.ENOENT), "x")
		}
	}
	// A quarter of the memory is for the log, so the files are made.
	res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Memory: posix.MinMemory}})
	require.NoError(t, err)
	faultless(t, r, res)
	for i := range res.logs {
		require.True(t, res.logs[i].Spilled())
		require.EqualValues(t, events, res.logs[i].Len())
	}
	all := readAll(t, res.Events())
	require.Len(t, all, 3*events)
	last := [4]int64{}
	for i, ev := range all {
		require.Equal(t, format.OpRmdir, ev.Op)
		require.EqualValues(t, -int64(unix.ENOENT), ev.Ret)
		require.GreaterOrEqual(t, ev.Start, last[ev.TID], "event %d", i)
		last[ev.TID] = ev.Start
		if i > 0 {
			require.LessOrEqual(t, all[i-1].End(), ev.End())
		}
	}
}

// The fields of log events other than their times.
func TestEvents(t *testing.T) {
	r := replaykit.New(1)
	r.Head.Set(format.MetaCommand, "app")
	r.Head.Threads[0].Process = 7
	r.Head.Descriptors = []format.Descriptor{{Process: 7, FD: 0, Flags: format.RDONLY, Path: "."}}
	r.Head.Files = []format.File{{Path: "f", Type: format.TypeReg, Mode: 0o644}}
	r.Add(1, format.OpOpen, 42, "f", format.RDONLY)
	r.Add(1, format.OpRename, 0, "f", "")
	r.Add(1, format.OpStat, 0, -1, 4096)
	r.Add(1, format.OpExit, format.NoResult, 3)
	_, res := play(t, r, byOpenat2)
	log := res.Events()
	all := readAll(t, log)
	require.Len(t, all, 4)
	require.EqualValues(t, 42, all[0].Ret)
	require.Equal(t, "f", string(all[0].Str[0]))
	require.Nil(t, all[0].Str[1])
	require.EqualValues(t, [format.MaxArgs]int64{0, format.RDONLY}, all[0].Args)
	require.EqualValues(t, -int64(unix.ENOENT), all[1].Ret)
	require.Equal(t, []byte{}, all[1].Str[1])
	require.EqualValues(t, -int64(unix.EFAULT), all[2].Ret)
	require.Nil(t, all[2].Str[0])
	require.EqualValues(t, format.NoResult, all[3].Ret)

	h := log.Header()
	replay, ok := h.Value(format.MetaReplay)
	require.True(t, ok)
	require.Contains(t, replay, "timing=afap speed=1 wait=auto order=resource backend=posix")
	require.Equal(t, []format.Descriptor{{Process: 1, FD: 0, Flags: format.RDONLY, Path: "."}}, h.Descriptors)
	_, ok = r.Head.Value(format.MetaReplay)
	require.False(t, ok, "the trace's own header is not touched")
	require.Equal(t, all, readAll(t, res.Events()), "each reader begins anew")
}

// The header of a log has the pace of the replay.
func TestPace(t *testing.T) {
	r := replaykit.New(1)
	r.Add(1, format.OpMkdir, 0, "d", 0o700)
	for _, o := range []Options{
		{}, {Speed: 2}, {Speed: 0.5, Timing: Schedule, Order: Thread, Outside: Timed}, {Speed: 2, Timing: AFAP}, {Speed: 3, Order: Total},
	} {
		o.Backend = Null
		res, err := Run(t.Context(), r, o)
		require.NoError(t, err)
		require.Equal(t, o.Pace(), format.PaceOf(res.Events().Header()), "%+v", o)
		require.Equal(t, o.Pace(), res.Options.Pace())
	}
	require.Equal(t, format.Pace{Speed: 2}, (&Options{Speed: 2}).Pace())
}
