package replay

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/engine"
)

// shortProcesses returns a trace of a process that makes n others, so many of which live
// at a time. Each has a file of its own.
func shortProcesses(n, together int) *roll {
	t := newRoll(1)
	for i := range n {
		if i%together == 0 {
			for k := max(i-together, 0); k < i; k++ {
				t.wait(1, int32(k+2), t.Len(int32(k+2))-1)
			}
		}
		child := t.child(int32(i+2), 1)
		t.header.Threads[child-1].Start = int64(i) * 100
		t.add(1, format.OpClone, int64(child), 0)
		t.add(child, format.OpOpen, 3, "f"+string(rune('a'+i%together)), format.RDWR|format.CREAT|format.TRUNC, 0o600)
		t.add(child, format.OpWrite, 10, 3, 0, 10)
		t.add(child, format.OpPread64, 10, 3, 0, 100, 0)
		t.add(child, format.OpExit, 0, 0)
	}
	for i := range t.threads { // so that they have an order in time
		for k := range t.threads[i].records {
			t.threads[i].records[k].Compute, t.threads[i].durations[k] = 10, 10
		}
	}
	return t
}

// Processes that live one after the other are as many as they like: a Go program has at
// most 10 000 threads, and an ordinary one may map 65 530 regions.
func TestShortProcesses(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		for _, order := range []Order{Resource, Total} {
			processes := 12_000
			if order == Total || testing.Short() {
				processes = 2 * 1024
			}
			roll := shortProcesses(processes, 2)
			o := Options{Root: t.TempDir(), Timing: AFAP, Order: order, Limits: Limits{Threads: 3}}
			before := threadsOf(t)
			r, err := p.run(t.Context(), t, roll, o)
			require.NoError(t, err)
			faultless(t, roll, r)
			require.Less(t, threadsOf(t)-before, 2*128)
			require.Len(t, readAll(t, r.Events()), int(r.Executed))
		}
	})
}

func threadsOf(t *testing.T) int {
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(tasks)
}

// The limit of threads counts those that live at a time.
func TestLimitOfThreads(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		for _, n := range []int{4, 1024} {
			r := shortProcesses(n, 3)
			for child := range r.threads[1:4] { // none of the first three ends before all have begun
				for other := int32(2); other <= 4; other++ {
					if v := (format.Wait{Event: 3, For: format.Edge{Thread: other}}); other != int32(child+2) {
						r.threads[1+child].waits = append(r.threads[1+child].waits, v)
					}
				}
			}
			_, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Threads: 3}})
			require.ErrorIs(t, err, ErrLimit)
		}
		_, err := p.run(t.Context(), t, newRoll(4), Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Threads: 3}})
		require.ErrorIs(t, err, ErrLimit)
	})
}

// A process has nothing of those that had its thread and its memory before: no
// descriptor, and no memory that was touched.
func TestSeatIsEmpty(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := shortProcesses(2*1024, 1)
		for i := range r.threads[1:] {
			child := int32(i + 2)
			r.threads[child-1].records = nil
			r.add(child, format.OpOpen, 3+int64(i%5), "f", format.RDWR|format.CREAT|format.TRUNC, 0o600)
			for fd := range 10 {
				if fd != 3+i%5 {
					r.add(child, format.OpRead, -int64(unix.EBADF), fd, 0, 1)
				}
			}
			r.add(child, format.OpExit, 0, 0)
		}
		for i := range r.threads[0].waits {
			r.threads[0].waits[i].For.Event = 10
		}
		res, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP})
		require.NoError(t, err)
		faultless(t, r, res)
	})
	e := bare(Options{Limits: defaults})
	defer e.free()
	m, err := e.newMemory(1 << 20)
	require.NoError(t, err)
	m.arena[5*pageSize] = 1
	m.touched.mark(5, 5)
	require.True(t, m.forget())
	require.Equal(t, make([]bool, 8), resident(t, m.arena, 8))
	_, any := m.touched.mark(0, 7)
	require.False(t, any)
}

// The table of a process goes to another one when its last thread has emptied it, even
// where a thread that ended before leaves its seat between.
func TestTableIsEmptied(t *testing.T) {
	e := bare(Options{Limits: defaults})
	p := &process{}
	p.own.Store(&table{})
	p.threads.Store(2)
	first, last := &worker{Worker: &engine.Worker{}, e: e, process: p}, &worker{Worker: &engine.Worker{}, e: e, process: p}
	first.End()
	first.Abandon()
	require.Empty(t, e.stock.tables)
	last.End()
	last.Abandon()
	require.Len(t, e.stock.tables, 1)
}

// Threads that no event creates start when their parent ends, however many they are, and
// those that are created out of their order start when they are created.
func TestOrderOfBirth(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		const n = 2 * 1024
		r := shortProcesses(n, 1)
		r.threads[0].records = nil
		r.threads[0].waits = nil
		r.wait(1, n+1, r.Len(n+1)-1)
		r.add(1, format.OpStat, 0, ".", 0)
		_, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP})
		require.ErrorContains(t, err, "wait for each other")

		r.threads[0].waits = nil
		res, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Threads: n}})
		require.NoError(t, err)
		require.EqualValues(t, 4*n+1, res.Executed)

		r.threads[0].records = nil
		for i := n - 1; i >= 0; i-- {
			r.add(1, format.OpClone, int64(i+2), 0)
			r.wait(1, int32(i+2), 3)
		}
		r.add(1, format.OpStat, 0, ".", 0)
		res, err = p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Threads: 3}})
		require.NoError(t, err)
		faultless(t, r, res)
	})
}
