package replay

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/bin"
	"pianola/internal/testkit"
	"pianola/replay/replaykit"
)

// Registrations and updates allocate nothing, for any number of them and any length of
// the lists, because the garbage collector is off.
func TestRegistrationsDoNotAllocate(t *testing.T) {
	trace := func(events int) *replaykit.Trace {
		r := replaykit.New(1)
		q := r.Ring(format.ViaUring, 1)
		r.Add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		files, buffers := strings.Repeat("-1,", 999)+"3", strings.Repeat("4096+512,", 99)+"0+1"
		for i := range events {
			switch i % 5 {
			case 0:
				r.Add(1, format.OpRingFiles, 0, q, files)
			case 1:
				r.Add(1, format.OpRingBuffers, 0, q, buffers)
			case 2:
				r.Add(1, format.OpRingBuffers, 0, q, "1=8192+100")
			default:
				r.Add(1, format.OpRingFiles, 0, q, "7=3,-2,-1")
			}
		}
		return r
	}
	count := func(r *replaykit.Trace) (bytes int64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := run(t.Context(), r, Options{Root: filepath.Join(t.TempDir(), "root"), Timing: AFAP}, byOpenat2)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		faultless(t, r, res)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	few, many := trace(1000), trace(3000)
	count(few)
	least := count(few)
	require.Less(t, count(many)-least, int64(1<<20), "for 2000 events more")
}

// A replay of 100 000 updates of registered files, in a table as large as can be, allocates as
// often as one of 10 000. The trace is read as it is replayed. The kernel takes no more files
// than a process may open, so there is also a smaller table.
func TestUpdatesOfALargeTable(t *testing.T) {
	play := func(t *testing.T, table int64, updates int) (allocations int64) {
		h := &format.Header{Threads: []format.Thread{{Process: 1}, {Process: 1, Parent: 1, Ring: format.ViaUring}}}
		whole := &format.List{Items: slices.Repeat([]int64{3}, int(table))}
		about := func(op format.Op, list *format.List, args ...int64) format.Event {
			e := format.Event{Op: op, TID: 1, Dur: format.Unknown, List: list}
			copy(e.Args[:], args)
			return e
		}
		opens := about(format.OpOpenm, nil, 0, format.RDWR|format.CREAT, 0o644)
		opens.Ret, opens.Str[0] = 3, []byte("made")
		var file bytes.Buffer
		w := bin.NewWriter(&file, new(testkit.Spool))
		require.NoError(t, w.Write([]format.Event{opens, about(format.OpRingOpen, nil, 2, 8, 0, 16, 0), about(format.OpRingFiles, whole, 2)}))
		for i := range int64(updates) {
			part := &format.List{Update: true, From: i * 7919 % (table - 3), Items: []int64{i%3*4 - 1, format.Unchanged, i%2*4 - 1}}
			require.NoError(t, w.Write([]format.Event{about(format.OpRingFiles, part, 2)}))
		}
		require.NoError(t, w.Write([]format.Event{
			about(format.OpRingSubmit, nil, 2, 1, 1, 0, 0),
			{Op: format.OpPread64, TID: 2, Dur: format.Unknown, Args: [format.MaxArgs]int64{3, 4096, 512, 0}, How: format.How{Flags: format.ReqFixed, Slot: table - 1}},
		}))
		require.NoError(t, w.Close(h))
		trace, err := bin.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), bin.DefaultLimit)
		require.NoError(t, err)
		require.Len(t, trace.Strings(), 1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := run(t.Context(), trace, Options{Root: filepath.Join(t.TempDir(), "root"), Timing: AFAP}, byOpenat2)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.EqualValues(t, updates+5, res.Executed)
		require.Zero(t, res.Failed+res.Differed)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(48<<20))
		t.Log(updates, "updates:", after.Mallocs-before.Mallocs, "allocations,", after.TotalAlloc-before.TotalAlloc, "bytes;", res.Notes)
		return int64(after.Mallocs - before.Mallocs)
	}
	for _, table := range []int64{format.MaxRegistered, 1000} {
		t.Run(fmt.Sprint(table), func(t *testing.T) {
			play(t, table, 1)
			few := play(t, table, 10_000)
			require.Less(t, play(t, table, 100_000)-few, int64(9_000), "for 90 000 updates more")
		})
	}
}

// The lists of registered files count against the memory limit.
func TestRegisteredFilesLimit(t *testing.T) {
	r := replaykit.New(1)
	r.Add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
	for range 4 {
		q := r.Ring(format.ViaUring, 1)
		r.Add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.Add(1, format.OpRingFiles, 0, q, strings.Repeat("3,", 20_000))
		r.How(int32(q), format.How{Flags: format.ReqFixed, Slot: 1})
		r.Add(int32(q), format.OpPread64, 0, 3, 4096, 512, 0)
		r.Add(1, format.OpRingSubmit, 0, q, 1, 1, 0, 0)
	}
	o := Options{Root: filepath.Join(t.TempDir(), "root"), Timing: AFAP}
	o.Limits.Memory = 1 << 20
	res, err := run(t.Context(), r, o, byOpenat2)
	require.NoError(t, err)
	faultless(t, r, res)
	require.Contains(t, res.Notes, "registered files beyond 1048576 bytes are replayed as normal files")
}
