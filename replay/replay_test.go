package replay

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/roottest"
	"pianola/replay/engine"
	"pianola/replay/replaykit"
)

func TestOptions(t *testing.T) {
	r := replaykit.New(1)
	for _, test := range []struct {
		want string
		o    Options
	}{
		{"no root", Options{}},
		{"speed -1", Options{Root: "x", Speed: -1}},
		{"an option has an unknown value", Options{Root: "x", Timing: 9}},
		{"an option has an unknown value", Options{Root: "x", Prepare: 9}},
		{"compressibility 101", Options{Root: "x", Compressibility: 101}},
		{"below 0", Options{Root: "x", Limits: Limits{Files: -1}}},
		{"memory", Options{Root: "x", Limits: Limits{Memory: 4096}}},
	} {
		_, err := Run(t.Context(), r, test.o)
		require.ErrorContains(t, err, test.want)
	}
}

// An empty trace is a replay too.
func TestNothing(t *testing.T) {
	for _, r := range []*replaykit.Trace{replaykit.New(1), {Threads: make([]replaykit.Thread, 1)}} {
		res, err := Run(t.Context(), r, Options{Root: t.TempDir()})
		require.NoError(t, err)
		require.Zero(t, res.Executed)
		require.Empty(t, readAll(t, res.Events()))
	}
}

func TestDifferences(t *testing.T) {
	r := replaykit.New(1)
	r.Add(1, format.OpMkdir, -int64(unix.EEXIST), "a", 0o700) // succeeds
	r.Add(1, format.OpMkdir, 0, "a", 0o700)                   // fails
	r.Add(1, format.OpMkdir, 0, "a", 0o700)
	r.Add(1, format.OpRmdir, -int64(unix.EPERM), "x") // another error
	r.Add(1, format.OpRmdir, -int64(unix.ENOENT), "x")
	r.Add(1, format.OpReadlink, 5, "x", 0, 100)
	_, res := play(t, r, byOpenat2)
	require.EqualValues(t, []int64{6, 4, 5}, []int64{res.Executed, res.Failed, res.Differed})
	require.Equal(t, Difference{Op: format.OpMkdir, Recorded: 0, Got: -int64(unix.EEXIST), Count: 2, At: res.Differences[1].At, Thread: 1, Event: 1, Path: "a", Call: `mkdir("a", 0700) = -1 EEXIST (File exists)`}, res.Differences[1])
	require.Zero(t, res.Differences[0].Event, "in the order in which they began")
	require.Len(t, res.Differences, 4)
	var recorded []int64
	for _, e := range readAll(t, res.Events()) {
		if e.Notes.Known(format.NotedRecorded) {
			recorded = append(recorded, e.Notes.Recorded)
		}
	}
	require.Equal(t, []int64{-int64(unix.EEXIST), 0, 0, -int64(unix.EPERM), 5}, recorded, "each one that differs")
	require.Equal(t, OpResult{Executed: 3, Failed: 3, Differed: 3}, res.ByOp[format.OpMkdir])

	res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Strict: true})
	require.ErrorIs(t, err, ErrDiffers)
	require.ErrorContains(t, err, `event 0 of thread 1: mkdir("a", 0700) = 0 of "a", recorded -1 EEXIST`)
	require.True(t, res.Interrupted)
	require.EqualValues(t, 1, res.Executed)
}

// A seek for data or a hole that leads to another offset is one difference: the
// following calls read at the recorded offset.
func TestSeeksLeadElsewhere(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600, Size: 5000, Cached: -1})
		r.Add(1, format.OpOpen, 3, "f", format.RDONLY)
		r.Add(1, format.OpLseek, 4096, 3, 0, format.SeekHole) // leads to the end
		r.Add(1, format.OpRead, 500, 3, 0, 500)
		r.Add(1, format.OpLseek, -int64(unix.ENXIO), 3, 0, format.SeekData) // leads to the start
		r.Add(1, format.OpRead, 404, 3, 0, 500)
		r.Add(1, format.OpLseek, 4990, 3, 9000, format.SeekData) // fails
		r.Add(1, format.OpRead, 10, 3, 0, 500)
		r.Add(1, format.OpLseek, -int64(unix.ENXIO), 3, 9000, format.SeekHole)
		r.Add(1, format.OpLseek, 5000, 3, 0, format.SeekCur)
		_, res := p.play(t, r)
		require.EqualValues(t, 3, res.Differed)
		require.EqualValues(t, 3, res.ByOp[format.OpLseek].Differed)
	})
}

// However many kinds of differences there are, few are told apart.
func TestDifferencesAreBounded(t *testing.T) {
	r := replaykit.New(1)
	r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600})
	r.Add(1, format.OpOpen, 3, "f", format.RDONLY)
	for i := range 10 * 64 {
		r.Add(1, format.OpRead, int64(i+1), 3, 0, 1)
	}
	_, res := play(t, r, byOpenat2)
	require.EqualValues(t, 10*64, res.Differed)
	require.Len(t, res.Differences, 64)
}

// The bytes that events write are bounded for every kind of call.
func TestBytesLimit(t *testing.T) {
	const bytes = 1 << 20
	for _, test := range []struct {
		op   format.Op
		ret  int64
		args []any
	}{
		{format.OpWrite, 0, []any{3, 0, bytes}},
		{format.OpPwrite64, 0, []any{3, 0, 1 << 62, 0}},
		{format.OpWritev, 0, []any{3, 0, 2, bytes}},
		{format.OpPwritev, 0, []any{3, 0, 2, 0, bytes}},
		{format.OpPwritev2, 0, []any{3, 0, 2, 0, bytes, 0}},
		{format.OpFallocate, 0, []any{3, 0, 0, bytes}},
		{format.OpFtruncate, 0, []any{3, bytes + 1}},
		{format.OpTruncate, 0, []any{"f", bytes + 1}},
		{format.OpCopyFileRange, 0, []any{3, 0, 3, bytes / 2, 10, 0}},
		{format.OpSendfile, 0, []any{3, 3, 0, 1 << 62}},
		{format.OpSplice, 10, []any{-1, -1, 3, -1, 10, 0}},
		{format.OpSplice, 1 << 62, []any{-1, -1, 3, 0, 10, 0}},
		{format.OpSetxattr, 0, []any{"f", "user.a", 0, 1000, 0}},
		{format.OpFsetxattr, 0, []any{3, "user.a", 0, 1 << 62, 0}},
	} {
		r := replaykit.New(1)
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600, Size: 1})
		r.Add(1, format.OpOpen, 3, "f", format.RDWR)
		r.Add(1, format.OpWrite, bytes-1, 3, 0, bytes-1)
		r.Add(1, test.op, test.ret, test.args...)
		r.Add(1, format.OpMkdir, 0, "never", 0o700)
		dir := filepath.Join(t.TempDir(), "root")
		res, err := Run(t.Context(), r, Options{Root: dir, Keep: true, Limits: Limits{Bytes: bytes}})
		require.ErrorIs(t, err, ErrLimit, test.op.String())
		require.EqualValues(t, 3, res.Executed)
		require.NoDirExists(t, dir+"/never")
		info, err := os.Stat(dir + "/f")
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(bytes))
	}
}

// A descriptor above the limit is not kept open.
func TestDescriptorLimit(t *testing.T) {
	r := replaykit.New(1)
	r.Add(1, format.OpOpen, 64, ".", format.RDONLY)
	r.Add(1, format.OpDup2, 1<<40, 63, 1<<40)
	r.Add(1, format.OpFstat, -int64(unix.EBADF), 64, 0)
	before := roottest.OpenFiles(t)
	res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Limits: Limits{Descriptors: 64}})
	require.NoError(t, err)
	require.EqualValues(t, 2, res.Failed)
	require.Equal(t, -int64(unix.EMFILE), res.Differences[0].Got)
	require.Equal(t, "--limit descriptors is too low", res.Differences[0].Reason)
	require.LessOrEqual(t, roottest.OpenFiles(t), before)
}

// The difference that began first stands before the more frequent differences that follow from it.
func TestOrderOfDifferences(t *testing.T) {
	var res Result
	for i, d := range []Difference{
		{Op: format.OpFstat, Got: -int64(unix.EBADF), Count: 1, At: 3}, {Op: format.OpFstat, Got: -int64(unix.EBADF), Count: 2, At: 5},
		{Op: format.OpOpen, Recorded: 4, Got: -int64(unix.EMFILE), Count: 1, At: 2}, {Op: format.OpOpen, Recorded: 3, Got: -int64(unix.EMFILE), Count: 1, At: 1},
	} {
		d.Thread = int32(i)
		res.addDifference(&d)
	}
	res.sortDifferences(&playing{Engine: &engine.Engine{Trace: replaykit.New(1)}})
	require.Equal(t, []Difference{
		{Op: format.OpOpen, Recorded: 3, Got: -int64(unix.EMFILE), Count: 2, At: 1, Thread: 3}, // of any number
		{Op: format.OpFstat, Got: -int64(unix.EBADF), Count: 3, At: 3},
	}, res.Differences)
	other := Difference{Op: format.OpFstat, Got: -int64(unix.EBADF), Count: 4, At: -1, Thread: 7}
	res.addDifference(&other)
	require.Equal(t, Difference{Op: format.OpFstat, Got: -int64(unix.EBADF), Count: 7, At: -1, Thread: 7}, res.Differences[1], "the first example is the earliest")
}

func TestUnknownOperation(t *testing.T) {
	for _, op := range []format.Op{0, format.OpChdir, format.OpOpenat, 60000} {
		r := replaykit.New(1)
		r.Add(1, op, 0)
		_, err := Run(t.Context(), r, Options{Root: t.TempDir()})
		require.ErrorContains(t, err, "can't be replayed")
	}
}

// damaged is a trace whose records end in an error.
type damaged struct {
	*replaykit.Trace
	err error
}

func (d damaged) Records(thread int32) format.RecordReader {
	return &damagedReader{d.Trace.Records(thread), d.err}
}

type damagedReader struct {
	format.RecordReader
	err error
}

func (r *damagedReader) Read(batch []format.Record) (int, error) {
	n, err := r.RecordReader.Read(batch[:min(len(batch), 100)])
	if errors.Is(err, io.EOF) {
		return n, r.err
	}
	return n, err
}

func (d damaged) Len(int32) int64 { return 5000 }

func TestDamagedTrace(t *testing.T) {
	for _, fault := range []error{errors.New("checksum"), io.EOF} {
		r := replaykit.New(1)
		for range 3000 {
			r.Add(1, format.OpRmdir, -int64(unix.ENOENT), "x")
		}
		want := fault
		if errors.Is(fault, io.EOF) {
			want = io.ErrUnexpectedEOF
		}
		res, err := Run(t.Context(), damaged{r, fault}, Options{Root: t.TempDir(), Timing: AFAP})
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, "event 3000 of thread 1")
		require.EqualValues(t, 3000, res.Executed)
	}
}

// The recorded compute is spent, at the speed that is asked for, and an
// overdue event takes its lateness from what follows.
func TestTiming(t *testing.T) {
	const events, gap = 40, int64(2 * time.Millisecond)
	r := replaykit.New(2)
	for n := int32(1); n <= 2; n++ {
		for range events {
			r.Add(n, format.OpRmdir, -int64(unix.ENOENT), "x")
			r.Last(n).Compute = gap
		}
		for i := range r.Threads[n-1].Durations {
			r.Threads[n-1].Durations[i] = gap / 2
		}
	}
	r.Head.Threads[1].Start = 3 * gap
	for _, test := range []struct {
		timing Timing
		speed  float64
		least  int64
	}{
		{Compute, 1, (events + 3) * gap},
		{Compute, 4, (events + 3) * gap / 4},
		{Schedule, 1, (events+3)*gap + (events-1)*gap/2},
		{Schedule, 2, ((events+3)*gap + (events-1)*gap/2) / 2},
		{AFAP, 1, 0},
	} {
		res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: test.timing, Speed: test.speed})
		require.NoError(t, err)
		faultless(t, r, res)
		require.GreaterOrEqual(t, int64(res.Elapsed), test.least)
		floor, scheduled := res.Events().Header().ReplayFloor()
		require.Equal(t, test.timing == Schedule, scheduled)
		if scheduled {
			require.Equal(t, test.least, floor.Total)
		}
		all := readAll(t, res.Events())
		require.Len(t, all, 2*events)
		for i := 1; i < len(all); i++ {
			require.LessOrEqual(t, all[i-1].End(), all[i].End())
		}
		if test.timing == AFAP {
			require.Zero(t, res.Lateness)
		} else {
			require.LessOrEqual(t, res.Lateness.P50, res.Lateness.P99)
			require.LessOrEqual(t, res.Lateness.P99, res.Lateness.Max)
			// No event begins before it is due.
			require.GreaterOrEqual(t, all[0].Start, int64(float64(gap)/test.speed))
		}
	}
}

// The hot path allocates nothing: a thousand events cost as much as many more.
func TestNoAllocations(t *testing.T) {
	trace := func(events int) *replaykit.Trace {
		r := replaykit.New(2)
		r.File(format.File{Path: "f", Type: format.TypeReg, Mode: 0o600, Size: 8192})
		for n := int32(1); n <= 2; n++ {
			for i := range events / 20 {
				if n == 2 {
					r.Wait(2, 1, int64(20*i))
				}
				r.Add(n, format.OpOpen, 3, "f", format.RDWR)
				r.Add(n, format.OpRead, 100, 3, 0, 100)
				r.Add(n, format.OpPwritev, 100, 3, 0, 3, 0, 100)
				r.Add(n, format.OpFstat, 0, 3, 0)
				r.Add(n, format.OpDup, 4, 3)
				r.Add(n, format.OpClose, 0, 4)
				r.Add(n, format.OpFcntl, 0, 3, format.FSetlk, 0, unix.F_RDLCK, 0, 10)
				r.Add(n, format.OpStat, 0, "f", 0)
				r.Add(n, format.OpRename, 0, "f", "f")
				r.Add(n, format.OpSetxattr, 0, "f", "user.a", 0, 10, 0)
				r.Add(n, format.OpSplice, 10, -1, -1, 3, 0, 10, 0)
				r.Add(n, format.OpSendfile, 10, -1, 3, 0, 10)
				r.Add(n, format.OpCopyFileRange, 10, 3, 0, 3, 4096, 10, 0)
				r.Add(n, format.OpChmod, 0, "f", 0o644)
				r.Add(n, format.OpUtimens, 0, "f", 0, 0)
				r.Add(n, format.OpFlock, 0, 3, unix.LOCK_SH)
				r.Add(n, format.OpIoctl, 0, 3, unix.FICLONE, -1)
				r.Add(n, format.OpUnshare, 0, format.CloneFiles)
				r.Add(n, format.OpFadvise64, 0, 3, 0, 0, 0)
				r.Add(n, format.OpClose, 0, 3)
				r.Last(n).Compute = 30_000
			}
		}
		for i := range r.Threads { // threads have tables of their own
			r.Head.Threads[i].Process = int32(i + 1)
		}
		return r
	}
	count := func(r *replaykit.Trace, timing Timing) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := Run(t.Context(), r, Options{Root: t.TempDir(), Timing: timing})
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		faultless(t, r, res)
		return after.Mallocs - before.Mallocs
	}
	for _, timing := range []Timing{Compute, AFAP} {
		few, many := trace(1000), trace(20_000)
		count(few, timing) // what is allocated once
		least := count(few, timing)
		require.Less(t, count(many, timing), least+1000, "for 38 000 events more, %d", least)
	}
}
