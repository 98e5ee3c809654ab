package replay

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"pianola/replay/sandbox"
)

// stage is the state that all traces of a run share.
type stage struct {
	*clock
	parts     int             // traces
	engines   []*engine       // the engines that are set up
	parents   []*sandbox.Root // of their roots, by place; none for a single trace or without a root
	device    *modelled       // nil without a model
	lateStart int64           // nanoseconds that the workers were released after the start that several processes agreed on
	spinners  int32           // processors that waiting workers may keep busy

	_        [64]byte
	stopped  atomic.Bool
	err      atomic.Pointer[error] // why it stopped, unless by cancellation
	asked    func()                // for tests: called when a worker that may sleep has read stopped; else nil
	_        [64]byte
	spinning atomic.Int32
	_        [64]byte
}

// usualThreads is the default maximum number of threads of a Go program.
const usualThreads = 10_000

// play starts the workers of all engines at the same time, waits until all have
// ended, and returns the first error.
func (s *stage) play(ctx context.Context, wait Wait) error {
	n, pools := 0, 0
	for _, e := range s.engines {
		n += e.mostSeats()
		pools += e.pools
	}
	// A raw call keeps its processor slot, so each worker needs one, and one
	// more is needed to stop them.
	slots := runtime.GOMAXPROCS(n + 4 + pools*poolThreads)
	defer runtime.GOMAXPROCS(slots)
	if n > usualThreads/2 {
		defer debug.SetMaxThreads(debug.SetMaxThreads(2*n + usualThreads))
	}
	runtime.GC() // the collector is off until the end
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))

	s.spinners = mayWaitAwake(wait, n, runtime.NumCPU())
	for _, e := range s.engines {
		e.startWorkers()
	}
	release := context.AfterFunc(ctx, s.stop)
	defer release()
	start, err := s.begin(ctx)
	if err != nil {
		s.fail(err)
	}
	for _, e := range s.engines {
		if e.start = start; e.Timing != AFAP && e.Session == nil {
			// Time for the threads to wake up, so that their first events
			// are not late.
			e.start += 200_000 + int64(n)*20_000
		}
	}
	for _, e := range s.engines {
		close(e.begin)
	}
	s.lateStart = max(s.now()-start, 0)
	if s.engines[0].Playing != nil {
		defer s.show(s.engines[0].Playing)()
	}
	for _, e := range s.engines {
		e.running.Wait()
		e.seats.dismiss()
		e.closeAll()
	}
	switch err := s.err.Load(); {
	case err != nil:
		return *err
	case s.stopped.Load():
		return context.Cause(ctx)
	}
	return nil
}

// showEvery is the time between two calls of Options.Playing.
const showEvery = 200 * time.Millisecond

// show calls playing from now on until end is called. When end returns, no call
// runs.
func (s *stage) show(playing func(events, all int64)) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(showEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				playing(s.shown())
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// shown returns how many events of all have been replayed, by what workers have
// announced to others or noted.
func (s *stage) shown() (events, all int64) {
	for _, e := range s.engines {
		for _, w := range e.workers {
			events += min(max(w.done.Load(), w.noted.Load()), w.length)
			all += w.length
		}
	}
	return events, all
}

// fail stops the run because of an error. Only the first error counts.
func (s *stage) fail(err error) {
	s.err.CompareAndSwap(nil, &err)
	s.stop()
}

// stop ends the run: no worker begins another event, and all sleeping ones wake
// up.
func (s *stage) stop() {
	s.stopped.Store(true)
	for _, e := range s.engines {
		for _, w := range e.workers {
			w.wakeUp.Advance()
			if w.source != nil {
				w.source.Ends.Advance()
			}
		}
	}
}

// hasStopped is for a worker that sleeps if the run goes on. The worker has read the
// number of the futex before, so that a stop in the meantime wakes it.
func (s *stage) hasStopped() bool {
	stopped := s.stopped.Load()
	if s.asked != nil {
		s.asked()
	}
	return stopped
}

// mayWaitAwake returns how many workers may spin at a time. With more workers
// than processors, one processor is left to those that have work.
func mayWaitAwake(wait Wait, workers, processors int) int32 {
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

// claimSpin claims one of the processors for spinning workers.
func (s *stage) claimSpin() bool {
	if s.spinning.Add(1) <= s.spinners {
		return true
	}
	s.spinning.Add(-1)
	return false
}

func (s *stage) releaseSpin() { s.spinning.Add(-1) }
