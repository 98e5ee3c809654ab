package posix

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
	"pianola/replay/replaykit"
	"pianola/replay/rings"
)

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

// built returns an executor whose workers have slots, but no threads.
func built(t *testing.T, r *replaykit.Trace) *Executor {
	t.Helper()
	l := Limits{}.Complete(1)
	s := engine.NewStage(engine.NewClock(nil))
	e := New(s.NewEngine("", r, r, engine.Options{Timing: engine.AFAP, Speed: 1, Threads: l.Threads, Memory: l.Memory}), Options{InMemory: true, Limits: l, Parts: 1})
	require.NoError(t, e.build(t.Context()))
	t.Cleanup(func() { require.NoError(t, e.Free()) })
	for _, w := range e.workers {
		require.NoError(t, e.allocate(w.process))
		if w.slotState == nil {
			w.Worker.Slot = e.NewSlot()
			w.slotState = e.newSlotState(w.Worker.Slot)
		}
	}
	e.kernel.open(e)
	return e
}

// ringOn returns the workers of a trace and its only ring, thread 2, which is made
// of a queue.
func ringOn(t *testing.T, r *replaykit.Trace, s rings.Queue) ([]*worker, *ring) {
	t.Helper()
	e := built(t, r)
	q := e.rings[1]
	q.owner.Store(e.workers[0].process)
	q.addHolder(e.workers[0].process)
	q.queue = s
	q.Open(q)
	return e.workers, q
}

// openAs gives the worker's process a descriptor.
func openAs(t *testing.T, w *worker, fd int64) {
	t.Helper()
	real, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.True(t, w.process.files.Load().set(fd, newEntry(int64(real), 0, 0)))
}

// open shows which descriptors are open.
func open(fds []int32) string {
	var text []byte
	for _, fd := range fds {
		text = append(text, "-x"[min(fd, 0)+1])
	}
	return string(text)
}

// An update replaces the places that it names, without a drain of the ring.
func TestUpdateFiles(t *testing.T) {
	r := replaykit.New(1)
	ring := r.Ring(format.ViaUring, 1)
	r.Add(2, format.OpPread64, 10, 3, 0, 10, 0)
	s := &scriptedQueue{}
	workers, q := ringOn(t, r, s)
	w := workers[0]
	openAs(t, w, 5)
	openAs(t, w, 6)
	register := func(text string) {
		w.Event = int64(len(r.Threads[0].Records))
		r.Add(1, format.OpRingFiles, 0, ring, text)
		engine.Pinned(func() { calls[format.OpRingFiles](w, r.Last(1)) })
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
	r := replaykit.New(1)
	ring := r.Ring(format.ViaUring, 1)
	r.How(2, format.How{Flags: format.ReqLink})
	r.Add(2, format.OpPread64, 10, 5, 0, 10, 0)
	s := &scriptedQueue{}
	workers, q := ringOn(t, r, s)
	w := workers[0]
	openAs(t, w, 5)
	s.onReap = func(done []rings.Completion) int {
		s.did = append(s.did, "reap")
		done[0] = rings.Completion{Result: 10}
		return 1
	}
	r.Add(1, format.OpRingFiles, 0, ring, "5")
	r.Add(1, format.OpRingFiles, 0, ring, "0=5")
	records := r.Threads[0].Records
	engine.Pinned(func() {
		calls[format.OpRingFiles](w, &records[0])
		w.Submit(&format.Record{Op: format.OpRingSubmit, Args: [format.MaxArgs]int64{int64(ring), 1}})
		w.Event = 1
		calls[format.OpRingFiles](w, &records[1])
	})
	require.Equal(t, []string{"register x", "reap", "update 0 x"}, s.did)
	require.EqualValues(t, 1, q.Done())
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

func (s *scriptedQueue) Close() error {
	s.did = append(s.did, fmt.Sprintf("close with %d in flight", s.flying))
	if s.closed != nil {
		close(s.closed)
	}
	return nil
}

func (s *scriptedQueue) Wait(int) error     { return nil }
func (s *scriptedQueue) WaitFor(int64) bool { return false }
