package replay

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/replaykit"
)

// shortProcesses returns a trace of a process that makes n others, so many of which live
// at a time. Each has a file of its own.
func shortProcesses(n, together int) *replaykit.Trace {
	t := replaykit.New(1)
	for i := range n {
		if i%together == 0 {
			for k := max(i-together, 0); k < i; k++ {
				t.Wait(1, int32(k+2), t.Len(int32(k+2))-1)
			}
		}
		child := t.Child(int32(i+2), 1)
		t.Head.Threads[child-1].Start = int64(i) * 100
		t.Add(1, format.OpClone, int64(child), 0)
		t.Add(child, format.OpOpen, 3, "f"+string(rune('a'+i%together)), format.RDWR|format.CREAT|format.TRUNC, 0o600)
		t.Add(child, format.OpWrite, 10, 3, 0, 10)
		t.Add(child, format.OpPread64, 10, 3, 0, 100, 0)
		t.Add(child, format.OpExit, 0, 0)
	}
	for i := range t.Threads { // so that they have an order in time
		for k := range t.Threads[i].Records {
			t.Threads[i].Records[k].Compute, t.Threads[i].Durations[k] = 10, 10
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
			for child := range r.Threads[1:4] { // none of the first three ends before all have begun
				for other := int32(2); other <= 4; other++ {
					if v := (format.Wait{Event: 3, For: format.Edge{Thread: other}}); other != int32(child+2) {
						r.Threads[1+child].Waits = append(r.Threads[1+child].Waits, v)
					}
				}
			}
			_, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Threads: 3}})
			require.ErrorIs(t, err, ErrLimit)
		}
		_, err := p.run(t.Context(), t, replaykit.New(4), Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Threads: 3}})
		require.ErrorIs(t, err, ErrLimit)
	})
}

// A process has nothing of those that had its thread and its memory before: no
// descriptor, and no memory that was touched.
func TestSeatIsEmpty(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := shortProcesses(2*1024, 1)
		for i := range r.Threads[1:] {
			child := int32(i + 2)
			r.Threads[child-1].Records = nil
			r.Add(child, format.OpOpen, 3+int64(i%5), "f", format.RDWR|format.CREAT|format.TRUNC, 0o600)
			for fd := range 10 {
				if fd != 3+i%5 {
					r.Add(child, format.OpRead, -int64(unix.EBADF), fd, 0, 1)
				}
			}
			r.Add(child, format.OpExit, 0, 0)
		}
		for i := range r.Threads[0].Waits {
			r.Threads[0].Waits[i].For.Event = 10
		}
		res, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP})
		require.NoError(t, err)
		faultless(t, r, res)
	})
}

// Threads that no event creates start when their parent ends, for any number of them, and
// those that are created out of their order start when they are created.
func TestOrderOfBirth(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		const n = 2 * 1024
		r := shortProcesses(n, 1)
		r.Threads[0].Records = nil
		r.Threads[0].Waits = nil
		r.Wait(1, n+1, r.Len(n+1)-1)
		r.Add(1, format.OpStat, 0, ".", 0)
		_, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP})
		require.ErrorContains(t, err, "wait for each other")

		r.Threads[0].Waits = nil
		res, err := p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Threads: n}})
		require.NoError(t, err)
		require.EqualValues(t, 4*n+1, res.Executed)

		r.Threads[0].Records = nil
		for i := n - 1; i >= 0; i-- {
			r.Add(1, format.OpClone, int64(i+2), 0)
			r.Wait(1, int32(i+2), 3)
		}
		r.Add(1, format.OpStat, 0, ".", 0)
		res, err = p.run(t.Context(), t, r, Options{Root: t.TempDir(), Timing: AFAP, Limits: Limits{Threads: 3}})
		require.NoError(t, err)
		faultless(t, r, res)
	})
}
