package replay

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/replaykit"
)

// answers is a Player that records its calls.
type answers struct {
	mu     sync.Mutex
	played [][2]int64 // thread and operation
	answer func(r *format.Record) (int64, error)
	closed error
}

func (a *answers) Play(thread int32, r *format.Record) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.played = append(a.played, [2]int64{int64(thread), int64(r.Op)})
	return a.answer(r)
}

func (a *answers) Close() error { return a.closed }

func (a *answers) open(context.Context, format.Trace) (Player, error) { return a, nil }

func (a *answers) options() Options {
	return Options{Backend: NewBackend("answers", a.open), Timing: AFAP}
}

// twoThreads opens a file, creates a thread that reads and waits for what it
// read.
func twoThreads() *replaykit.Trace {
	r := replaykit.New(1)
	r.Add(1, format.OpOpen, 3, "a", 1)
	second := r.Child(1, 1)
	r.Add(1, format.OpClone, int64(second), format.CloneFiles|format.CloneThread)
	read := r.Add(second, format.OpRead, 10, 3, 0, 10)
	r.Add(second, format.OpExit, format.NoResult, 0)
	r.Wait(1, second, read)
	r.Add(1, format.OpClose, 0, 3)
	return r
}

func TestBackend(t *testing.T) {
	a := &answers{answer: func(r *format.Record) (int64, error) {
		switch r.Op {
		case format.OpOpen:
			return 99, nil // a descriptor of its own
		case format.OpRead:
			return 7, nil
		}
		return r.Ret, nil
	}}
	res, err := Run(t.Context(), twoThreads(), a.options())
	require.NoError(t, err)
	require.EqualValues(t, []int64{5, 0, 1}, []int64{res.Executed, res.Failed, res.Differed})
	require.EqualValues(t, 7, res.Differences[0].Got)
	require.Len(t, a.played, 5)
	require.Equal(t, [2]int64{1, int64(format.OpOpen)}, a.played[0])
	require.Equal(t, [2]int64{1, int64(format.OpClone)}, a.played[1])
	events := readAll(t, res.Events())
	require.EqualValues(t, 3, events[0].Ret)
	meta, _ := res.Events().Header().Value(format.MetaReplay)
	require.Contains(t, meta, "backend=answers")
}

// A pause begins once all is ready, and is not part of the replay. An interrupt ends it.
func TestPause(t *testing.T) {
	a := &answers{answer: func(r *format.Record) (int64, error) { return r.Ret, nil }}
	o := a.options()
	o.Pause = 3 * time.Millisecond
	before := time.Now()
	res, err := Run(t.Context(), twoThreads(), o)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(before), o.Pause+res.Elapsed)

	ctx, cancel := context.WithCancel(t.Context())
	o.Pause = time.Hour
	o.Backend = NewBackend("answers", func(ctx context.Context, trace format.Trace) (Player, error) {
		cancel()
		return a.open(ctx, trace)
	})
	played := len(a.played)
	_, err = Run(ctx, twoThreads(), o)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, a.played, played)
}

func TestBackendFails(t *testing.T) {
	broken := errors.New("broken")
	a := &answers{answer: func(r *format.Record) (int64, error) {
		if r.Op == format.OpRead {
			return 0, broken
		}
		return r.Ret, nil
	}}
	res, err := Run(t.Context(), twoThreads(), a.options())
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "event 0 of thread 2: broken")
	require.True(t, res.Interrupted)

	a = &answers{answer: func(r *format.Record) (int64, error) { return r.Ret, nil }, closed: broken}
	res, err = Run(t.Context(), twoThreads(), a.options())
	require.EqualError(t, err, "broken")
	require.False(t, res.Interrupted)

	o := a.options()
	o.Backend = NewBackend("broken", func(context.Context, format.Trace) (Player, error) { return nil, broken })
	res, err = Run(t.Context(), twoThreads(), o)
	require.EqualError(t, err, "broken")
	require.Nil(t, res)
}

func TestParseBackend(t *testing.T) {
	a := &answers{answer: func(r *format.Record) (int64, error) { return r.Ret, nil }}
	mine := NewBackend("answers", a.open)
	_, err := ParseBackend("answer", mine)
	require.EqualError(t, err, `unknown backend "answer": want posix, null, memory, simulated, answers`)
	b, err := ParseBackend("answers", mine)
	require.NoError(t, err)
	require.True(t, b == mine)
	res, err := Run(t.Context(), twoThreads(), Options{Backend: b, Timing: AFAP})
	require.NoError(t, err)
	require.Zero(t, res.Failed)
	for _, want := range []Backend{Posix, Null, Memory} {
		got, err := ParseBackend(want.String())
		require.NoError(t, err)
		require.True(t, got == want)
	}

	for _, name := range []string{"", "exec:x", "a=b", "a,b", "a b"} {
		require.Panics(t, func() { NewBackend(name, a.open) }, name)
	}
	require.Panics(t, func() { NewBackend("nothing", nil) })
}

// A replay reports its progress while it runs: here an event after the first batch waits
// for that report.
func TestPlaying(t *testing.T) {
	r := replaykit.New(1)
	for range 1024 {
		r.Add(1, format.OpFsync, 0, 3)
	}
	r.Add(1, format.OpClose, 0, 3)
	told := make(chan struct{})
	tell := sync.OnceFunc(func() { close(told) })
	a := &answers{answer: func(r *format.Record) (int64, error) {
		if r.Op == format.OpClose {
			<-told
		}
		return r.Ret, nil
	}}
	o := a.options()
	o.Playing = func(events, all int64) {
		if events == 1024 && all == 1024+1 {
			tell()
		}
	}
	res, err := Run(t.Context(), r, o)
	require.NoError(t, err)
	require.EqualValues(t, 1024+1, res.Executed)
}
