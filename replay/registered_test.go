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
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/bin"
	"pianola/internal/testkit"
	"pianola/replay/engine"
	"pianola/replay/rings"
)

// Registrations and updates allocate nothing, however many there are and however long
// the lists: the garbage collector is off.
func TestRegistrationsDoNotAllocate(t *testing.T) {
	trace := func(events int) *roll {
		r := newRoll(1)
		q := r.ring(format.ViaUring, 1)
		r.add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
		r.add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		files, buffers := strings.Repeat("-1,", 999)+"3", strings.Repeat("4096+512,", 99)+"0+1"
		for i := range events {
			switch i % 5 {
			case 0:
				r.add(1, format.OpRingFiles, 0, q, files)
			case 1:
				r.add(1, format.OpRingBuffers, 0, q, buffers)
			case 2:
				r.add(1, format.OpRingBuffers, 0, q, "1=8192+100")
			default:
				r.add(1, format.OpRingFiles, 0, q, "7=3,-2,-1")
			}
		}
		return r
	}
	count := func(r *roll) (bytes int64) {
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
	r := newRoll(1)
	r.add(1, format.OpOpenm, 3, "made", format.RDWR|format.CREAT, 0o644)
	for range 4 {
		q := r.ring(format.ViaUring, 1)
		r.add(1, format.OpRingOpen, 0, q, 8, 0, 16, 0)
		r.add(1, format.OpRingFiles, 0, q, strings.Repeat("3,", 20_000))
		r.how(int32(q), format.How{Flags: format.ReqFixed, Slot: 1})
		r.add(int32(q), format.OpPread64, 0, 3, 4096, 512, 0)
		r.add(1, format.OpRingSubmit, 0, q, 1, 1, 0, 0)
	}
	o := Options{Root: filepath.Join(t.TempDir(), "root"), Timing: AFAP}
	o.Limits.Memory = 1 << 20
	res, err := run(t.Context(), r, o, byOpenat2)
	require.NoError(t, err)
	faultless(t, r, res)
	require.Contains(t, res.Notes, "registered files beyond 1048576 bytes are replayed as normal files")
}

// scriptedQueue is a queue whose requests end when a test says so.
type scriptedQueue struct {
	rings.Queue // nil: a method that no test expects
	did         []string
	onReap      func(done []rings.Completion) int
	onReady     func() bool
	flying      int
	closed      chan struct{}
}

func (s *scriptedQueue) Prepare(*rings.Request) error { return nil }
func (s *scriptedQueue) Submit(int) (int, error)      { return 0, nil }
func (s *scriptedQueue) InFlight() int                { return s.flying }
func (s *scriptedQueue) Notes() []string              { return nil }
func (s *scriptedQueue) Ready() bool                  { return s.onReady() }

func (s *scriptedQueue) Reap(done []rings.Completion) int {
	if s.onReap == nil {
		return 0
	}
	n := s.onReap(done)
	s.flying -= n
	return n
}

func (s *scriptedQueue) Wait(int) error     { return nil }
func (s *scriptedQueue) WaitFor(int64) bool { return false }

func (s *scriptedQueue) Close() error {
	s.did = append(s.did, fmt.Sprintf("close with %d in flight", s.flying))
	if s.closed != nil {
		close(s.closed)
	}
	return nil
}

func (s *scriptedQueue) RegisterFiles(fds []int32) error {
	s.did = append(s.did, fmt.Sprint("register ", open(fds)))
	return nil
}

func (s *scriptedQueue) UpdateFiles(at int, fds []int32) error {
	s.did = append(s.did, fmt.Sprint("update ", at, " ", open(fds)))
	if at == 3 {
		return unix.EBADF
	}
	return nil
}

// open shows which descriptors are open.
func open(fds []int32) string {
	var text []byte
	for _, fd := range fds {
		text = append(text, "-x"[min(fd, 0)+1])
	}
	return string(text)
}

// built returns an executor whose workers have seats, but no threads.
func built(t *testing.T, r *roll) *executor {
	t.Helper()
	o, err := Options{Backend: Memory}.complete(1)
	require.NoError(t, err)
	e := newPlaying(engine.NewStage(engine.NewClock(nil)), Part{Trace: r}, o, nil).backing.(*executor)
	require.NoError(t, e.build(t.Context()))
	t.Cleanup(func() { require.NoError(t, e.free()) })
	for _, w := range e.workers {
		require.NoError(t, e.furnish(w.process))
		if w.seat == nil {
			w.Worker.Seat = e.NewSeat()
			w.seat = e.newSeat(w.Worker.Seat)
		}
	}
	e.kernel.open(e)
	return e
}

// ringOn returns the workers of a trace and its only ring, thread 2, which is made
// of a queue.
func ringOn(t *testing.T, r *roll, s rings.Queue) ([]*worker, *ring) {
	t.Helper()
	e := built(t, r)
	q := e.rings[1]
	q.owner.Store(e.workers[0].process)
	q.hold(e.workers[0].process)
	q.queue = s
	q.Open(q)
	return e.workers, q
}

// openAs gives the worker's process a descriptor.
func openAs(t *testing.T, w *worker, fd int64) {
	t.Helper()
	real, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.True(t, w.process.files.Load().set(fd, newSlot(int64(real), 0, 0)))
}

// An update replaces the places that it names, without a drain of the ring.
func TestUpdateFiles(t *testing.T) {
	r := newRoll(1)
	ring := r.ring(format.ViaUring, 1)
	r.add(2, format.OpPread64, 10, 3, 0, 10, 0)
	s := &scriptedQueue{}
	workers, q := ringOn(t, r, s)
	w := workers[0]
	openAs(t, w, 5)
	openAs(t, w, 6)
	register := func(text string) {
		w.Event = int64(len(r.threads[0].records))
		r.add(1, format.OpRingFiles, 0, ring, text)
		engine.Pinned(func() { calls[format.OpRingFiles](w, r.last(1)) })
	}
	register("5,-1,6,9,5")
	require.Equal(t, []int64{5, -1, 6, -1, 5}, q.files)

	s.flying = 1
	engine.Pinned(func() { w.Submit(&format.Record{Op: format.OpRingSubmit, Args: [format.MaxArgs]int64{int64(ring), 1}}) }) // a drain would not end
	register("1=6,9,-2,6")
	require.Equal(t, []int64{5, 6, -1, -1, 6}, q.files)
	register("4=5,5,5") // beyond the end
	require.Equal(t, []int64{5, 6, -1, -1, 5}, q.files)
	register("9=5")
	register("3=5,5") // refused
	require.Equal(t, []int64{5, 6, -1, -1, -1}, q.files)
	require.Equal(t, []string{"register x-x-x", "update 1 x-", "update 4 x", "update 4 x", "update 3 xx"}, s.did)
	require.Equal(t, []string{"registered files are replayed as normal files: bad file descriptor"}, w.e.Notes())
}

// An update waits for requests that find their registered file only when they begin.
func TestUpdateFilesAfterLinks(t *testing.T) {
	r := newRoll(1)
	ring := r.ring(format.ViaUring, 1)
	r.how(2, format.How{Flags: format.ReqLink})
	r.add(2, format.OpPread64, 10, 5, 0, 10, 0)
	s := &scriptedQueue{}
	workers, q := ringOn(t, r, s)
	w := workers[0]
	openAs(t, w, 5)
	s.onReap = func(done []rings.Completion) int {
		s.did = append(s.did, "reap")
		done[0] = rings.Completion{Result: 10}
		return 1
	}
	r.add(1, format.OpRingFiles, 0, ring, "5")
	r.add(1, format.OpRingFiles, 0, ring, "0=5")
	records := r.threads[0].records
	engine.Pinned(func() {
		calls[format.OpRingFiles](w, &records[0])
		w.Submit(&format.Record{Op: format.OpRingSubmit, Args: [format.MaxArgs]int64{int64(ring), 1}})
		w.Event = 1
		calls[format.OpRingFiles](w, &records[1])
	})
	require.Equal(t, []string{"register x", "reap", "update 0 x"}, s.did)
	require.EqualValues(t, 1, q.Done())
}
