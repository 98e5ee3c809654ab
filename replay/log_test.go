package replay

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
)

// A log that doesn't fit into its memory goes through a file and comes back
// the same.
func TestLogSpills(t *testing.T) {
	r := newRoll(3)
	const events = 20_000
	for n := int32(1); n <= 3; n++ {
		for range events {
			r.add(n, format.OpRmdir, -int64(unix.ENOENT), "x")
		}
	}
	// A quarter of the memory is the log's: the files are made.
	res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Memory: minMemory}})
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
	r := newRoll(1)
	r.header.Set(format.MetaCommand, "app")
	r.header.Threads[0].Process = 7
	r.header.Descriptors = []format.Descriptor{{Process: 7, FD: 0, Flags: format.RDONLY, Path: "."}}
	r.header.Files = []format.File{{Path: "f", Type: format.TypeReg, Mode: 0o644}}
	r.add(1, format.OpOpen, 42, "f", format.RDONLY)
	r.add(1, format.OpRename, 0, "f", "")
	r.add(1, format.OpStat, 0, -1, 4096)
	r.add(1, format.OpExit, format.NoResult, 3)
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
	_, ok = r.header.Value(format.MetaReplay)
	require.False(t, ok, "the trace's own header is not touched")
	require.Equal(t, all, readAll(t, res.Events()), "each reader begins anew")
}

func TestRegion(t *testing.T) {
	m, err := newRegion(3 * pageSize)
	require.NoError(t, err)
	defer m.free()
	require.Len(t, m, 2*pageSize)
	base := m.at(0, 0)
	for _, test := range []struct{ place, size, want uint64 }{
		{0, 2 * pageSize, 0}, {100, 10, 100}, {2*pageSize + 7, 10, 7}, {pageSize + 5, pageSize, 5}, {pageSize - 1, 2 * pageSize, 0},
		{1<<64 - 1, 1, 2*pageSize - 1}, {1<<64 - 1, 2, pageSize - 1},
	} {
		got := m.at(test.place, test.size)
		require.EqualValues(t, test.want, got-base, "%+v", test)
	}
	var iov [maxSegments]unix.Iovec
	require.True(t, m.segments(&iov, 0, 10, 3))
	require.Equal(t, []uint64{3, 3, 4}, []uint64{iov[0].Len, iov[1].Len, iov[2].Len})
	require.False(t, m.segments(&iov, 0, 1<<20, 3), "a segment larger than the region")
	require.True(t, m.segments(&iov, 0, 0, 0))
}

// The duration of an event is that of its system call. The engine's time before and
// after is not part of it, even if the previous event has just ended.
func TestEngineIsNoPartOfEvents(t *testing.T) {
	r := newRoll(1)
	const events = 100
	for range events {
		r.add(1, format.OpRmdir, -int64(unix.ENOENT), "x")
	}
	var before, after []int64 // times around the call
	rmdir := calls[format.OpRmdir]
	t.Cleanup(func() { calls[format.OpRmdir] = rmdir })
	calls[format.OpRmdir] = func(w *worker, r *format.Record) int64 {
		before = append(before, w.e.Elapsed())
		got := rmdir(w, r)
		after = append(after, w.e.Elapsed())
		return got
	}
	res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: Compute})
	require.NoError(t, err)
	faultless(t, r, res)
	for i, ev := range readAll(t, res.Events()) {
		require.GreaterOrEqual(t, ev.Start, before[i])
		require.LessOrEqual(t, ev.End(), after[i])
	}
}

// The header of a log tells the pace of the replay.
func TestPace(t *testing.T) {
	r := newRoll(1)
	r.add(1, format.OpMkdir, 0, "d", 0o700)
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
