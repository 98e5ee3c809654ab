package engine

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Stage is the state that all traces of a run share. Its engines are made before Play.
type Stage struct {
	*Clock
	Extra    int                     // processor slots that executors need besides those of workers
	Sleeper  func() error            // makes the calling thread of a worker wake up on time; can be nil
	Collect  bool                    // executors allocate: the garbage collector stays on
	Progress func(events, all int64) // see Play; can be nil

	engines     []*Engine
	lateStart   int64 // nanoseconds that the workers were released after the start that several processes agreed on
	maxSpinning int32 // processors that waiting workers may keep busy

	_           [64]byte
	stopped     atomic.Bool
	unanswered  atomic.Int64          // replies to clients that are yet to come, if the last one ends the run; see awaitReplies
	answered    bool                  // that one ended the run; set before stopped
	done        chan struct{}         // closed by a stop
	err         atomic.Pointer[error] // why it stopped, unless by cancellation
	stopChecked func()                // for tests: called when a worker that may sleep has read stopped; else nil
	_           [64]byte
	spinning    atomic.Int32
	_           [64]byte
}

// NewStage returns a stage without engines.
func NewStage(c *Clock) *Stage { return &Stage{Clock: c, done: make(chan struct{})} }

// usualThreads is the default maximum number of threads of a Go program.
const usualThreads = 10_000

// Play starts the workers of all engines at the same time, waits until all have
// ended, and returns the first error. It sets GOMAXPROCS and the garbage collector of the
// process meanwhile, so only one Play may run at a time.
//
// Progress is called about five times a second during Play, by one goroutine, with the number of
// executed events and of all events. A thread's events count when it pauses, reads more of
// the trace or ends. That costs the workers nothing.
func (s *Stage) Play(ctx context.Context) error {
	n := 0
	for _, e := range s.engines {
		n += e.MaxSlots()
	}
	// A raw call keeps its processor slot, so each worker needs one, and one
	// more is needed to stop them.
	slots := runtime.GOMAXPROCS(n + 4 + s.Extra)
	defer runtime.GOMAXPROCS(slots)
	if n > usualThreads/2 {
		defer debug.SetMaxThreads(debug.SetMaxThreads(2*n + usualThreads))
	}
	if !s.Collect {
		runtime.GC()
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	}

	s.awaitReplies()
	s.maxSpinning = maxSpinners(s.engines[0].Wait, n, runtime.NumCPU())
	for _, e := range s.engines {
		e.startWorkers()
	}
	release := context.AfterFunc(ctx, s.Stop)
	defer release()
	start, err := s.firstStart(ctx)
	if err != nil {
		s.Fail(err)
	}
	for _, e := range s.engines {
		if e.start = start; e.Timing != AFAP && e.Peers == nil {
			// Time for the threads to wake up, so that their first events
			// are not late.
			e.start += 200_000 + int64(n)*20_000
		}
	}
	for _, e := range s.engines {
		close(e.begin)
	}
	s.lateStart = max(s.Now()-start, 0)
	if s.Progress != nil {
		defer s.startProgress(s.Progress)()
	}
	for _, e := range s.engines {
		e.running.Wait()
		e.slots.closeIdle()
	}
	switch err := s.err.Load(); {
	case err != nil:
		return *err
	case s.stopped.Load() && !s.answered:
		return context.Cause(ctx)
	}
	return nil
}

// progressInterval is the time between two calls of Stage.Progress.
const progressInterval = 200 * time.Millisecond

// startProgress calls playing from now on until end is called. When end returns, no call
// runs.
func (s *Stage) startProgress(playing func(events, all int64)) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				playing(s.countPlayed())
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// countPlayed returns how many events of all have been replayed, as far as workers have
// published or noted them.
func (s *Stage) countPlayed() (events, all int64) {
	for _, e := range s.engines {
		for _, w := range e.Workers {
			events += min(max(w.done.Load(), w.noted.Load()), w.length)
			all += w.length
		}
	}
	return events, all
}

// awaitReplies lets the last reply to a client end the run, if each trace is of a server whose
// clients are not recorded. The timers of a server never end, but the work of its clients does.
func (s *Stage) awaitReplies() {
	var sum int64
	for _, e := range s.engines {
		own := int64(0)
		for _, t := range e.Trace.Header().Threads {
			own += t.Replies
		}
		if own == 0 || e.Timing == Schedule || e.Peers != nil {
			return
		}
		sum += own
	}
	s.unanswered.Store(sum)
}

// replied counts a reply to a client.
func (s *Stage) replied() {
	if s.unanswered.Add(-1) == 0 {
		s.answered = true
		s.Stop()
	}
}

// Fail stops the run because of an error. Only the first error counts.
func (s *Stage) Fail(err error) {
	s.err.CompareAndSwap(nil, &err)
	s.Stop()
}

// Stop ends the run: no worker begins another event, and all sleeping ones wake
// up.
func (s *Stage) Stop() {
	if !s.stopped.Swap(true) {
		close(s.done)
	}
	for _, e := range s.engines {
		for _, w := range e.Workers {
			w.WakeUp.Advance()
			if w.remote != nil {
				w.remote.Ended().Advance()
			}
		}
	}
}

// Stopped reports whether the run has been stopped.
func (s *Stage) Stopped() bool { return s.stopped.Load() }

// Done is closed when the run has been stopped.
func (s *Stage) Done() <-chan struct{} { return s.done }

// Err returns the error that stopped the run, nil if there is none.
func (s *Stage) Err() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

// LateStart returns for how many nanoseconds the workers were late at a start that peers have
// agreed on.
func (s *Stage) LateStart() int64 { return s.lateStart }

// hasStopped reports whether the run has stopped, for a worker that is about to sleep. The
// worker has read the number of the futex before, so that a stop in the meantime wakes it.
func (s *Stage) hasStopped() bool {
	stopped := s.stopped.Load()
	if s.stopChecked != nil {
		s.stopChecked()
	}
	return stopped
}

// maxSpinners returns how many workers may spin at a time. With more workers
// than processors, one processor is left to those that have work.
func maxSpinners(wait Wait, workers, processors int) int32 {
	switch {
	case wait == Spin:
		return math.MaxInt32
	case wait == Sleep:
		return 0
	case workers > processors:
		return int32(processors - 1)
	}
	return int32(processors)
}

// acquireSpin claims one of the processors for spinning workers.
func (s *Stage) acquireSpin() bool {
	if s.spinning.Add(1) <= s.maxSpinning {
		return true
	}
	s.spinning.Add(-1)
	return false
}

func (s *Stage) releaseSpin() { s.spinning.Add(-1) }
