package engine

import (
	"fmt"
	"math"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/spin"
)

// scriptedRequests are requests that end when a test decides.
type scriptedRequests struct {
	Requests // nil: a method that no test expects
	did      []string
	onReap   func(done []Completion) int
	onReady  func() bool
	onWait   func(nanos int64) // 0 without a limit
	flying   int
	held     int // room for requests in flight
	closed   chan struct{}
}

func (s *scriptedRequests) Accessible(*Worker) bool { return true }
func (s *scriptedRequests) InFlight() int           { return s.flying }
func (s *scriptedRequests) Ready() bool             { return s.onReady() }
func (s *scriptedRequests) Reserve(more int)        { s.held += more }

func (s *scriptedRequests) Translate(*Worker, *format.Record, format.How, int64) (Outcome, int64) {
	return Taken, 0
}
func (s *scriptedRequests) Prepare(*Worker, uint64) (Outcome, int64) { return Taken, 0 }
func (s *scriptedRequests) Submit(*Worker) (Outcome, error)          { return Taken, nil }

func (s *scriptedRequests) Wait(w *Worker) error {
	s.WaitFor(w, 0)
	return nil
}

func (s *scriptedRequests) WaitFor(_ *Worker, nanos int64) bool {
	if s.onWait != nil {
		s.onWait(nanos)
	}
	return s.onWait != nil
}

func (s *scriptedRequests) Reap(_ *Worker, done []Completion) int {
	if s.onReap == nil {
		return 0
	}
	n := s.onReap(done)
	s.flying -= n
	return n
}

func (s *scriptedRequests) Close() error {
	s.did = append(s.did, fmt.Sprintf("close with %d in flight", s.flying))
	if s.closed != nil {
		close(s.closed)
	}
	return nil
}

// ringOn returns the worker of a thread without events and a ring of requests, which
// s executes, nil for as calls.
func ringOn(t *testing.T, requests int, s *scriptedRequests) (*Worker, *Ring) {
	t.Helper()
	of := &trace{}
	of.thread(format.Thread{Process: 1}, format.OpRmdir, 1)
	of.thread(format.Thread{Process: 1, Parent: 1, Ring: format.ViaUring}, format.OpPread64, requests)
	e := built(t, of, options, nil)
	w, q := e.Workers[0], e.Workers[1].OwnRing()
	w.Slot = e.NewSlot()
	if s != nil {
		q.Open(s)
	}
	return w, q
}

// While a queue is closed, no other worker submits: its requests would never end.
func TestCloseQueueOfOthers(t *testing.T) {
	s := &scriptedRequests{}
	w, q := ringOn(t, 3, s)
	s.onReap = func(done []Completion) int {
		if q.submitter.CompareAndSwap(0, 9) { // another worker would submit now
			q.submitted.Add(1)
			s.flying++
			q.submitter.Store(0)
		}
		done[0] = Completion{Result: 10}
		return 1
	}
	Pinned(func() {
		q.submit(w, 1)
		s.flying = 1
		q.Close(w)
	})
	require.Equal(t, []string{"close with 0 in flight"}, s.did)
	require.Equal(t, q.submitted.Load(), q.Done())
	require.Nil(t, q.requests.Load())
}

// A worker does not access a queue that another one has closed.
func TestTryReapOfClosedQueue(t *testing.T) {
	w, q := ringOn(t, 1, nil)
	q.submitted.Store(1)
	w.e.Stop() // close does not wait for the request
	for range 100 {
		s := &scriptedRequests{closed: make(chan struct{})}
		looks, closed := make(chan struct{}), false
		s.onReady = sync.OnceValue(func() bool {
			close(looks)
			for range 100 { // the other worker would close it now
				spin.Yield()
			}
			select {
			case <-s.closed:
				closed = true
			default:
			}
			return false
		})
		q.Open(s)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.tryReap(w)
		}()
		<-looks
		Pinned(func() { q.Close(w) })
		<-ended
		require.False(t, closed)
	}
}

// A worker waits until a stop for a ring that it can't acquire.
func TestAcquireEndsByStop(t *testing.T) {
	w, q := ringOn(t, 1, nil)
	q.submitter.Store(w.Number) // by a worker that has not set submitting yet
	ended := make(chan bool)
	go func() {
		claimed := false
		Pinned(func() { claimed = q.Acquire(w) })
		ended <- claimed
	}()
	w.e.Stop()
	require.False(t, <-ended)
	q.submitter.Store(0)
	Pinned(func() { require.False(t, q.Acquire(w), "after a stop") })
	require.Zero(t, q.submitter.Load())
}

// A stop right after a worker has checked for one ends the waits for completions and for
// an event, although it wakes no worker that sleeps already.
func TestStopsAreNotLost(t *testing.T) {
	w, q := ringOn(t, 1, nil)
	e := w.e
	q.submitted.Store(1)
	for name, wait := range map[string]func(){
		"completions": func() { q.awaitCount(w, &q.completions, 1) },
		"event":       func() { w.awaitUntil(e.Workers[1], 0, math.MaxInt64/2) },
	} {
		t.Run(name, func(t *testing.T) {
			e.stopped.Store(false)
			e.done = make(chan struct{})
			e.stopChecked = sync.OnceFunc(e.Stop)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				Pinned(wait)
			}()
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				e.Stop()
				<-ended
				t.Fatal("the stop is lost")
			}
		})
	}
}

// A stop ends the waits of a worker in a ring: they have a limit, after which it checks
// for a stop.
func TestStopsEndWaitsInRings(t *testing.T) {
	for name, wait := range map[string]func(w *Worker, q *Ring){
		"completion": func(w *Worker, q *Ring) { q.awaitCount(w, &q.completions, 1) },
		"gap":        func(w *Worker, q *Ring) { w.SleepUntil(math.MaxInt64 / 2) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &scriptedRequests{}
			w, q := ringOn(t, 1, s)
			w.used = q
			var limits []int64
			s.onWait = func(nanos int64) {
				if limits = append(limits, nanos); len(limits) == 3 {
					w.e.Stop()
				}
			}
			Pinned(func() {
				q.submit(w, 1)
				wait(w, q)
			})
			require.Equal(t, []int64{stopPoll, stopPoll, stopPoll}, limits)
		})
	}
}

// The list of requests in flight grows while another worker ends requests: each place is
// free or has a request, and none is both.
func TestFlightsGrowBesideReaps(t *testing.T) {
	const n = 5000
	s := &scriptedRequests{}
	w, q := ringOn(t, n, s)
	places := make(chan int32, n)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for place := range places {
			q.state.Take()
			q.finish(Completion{User: uint64(place), Result: 10}, 0)
			q.state.Give()
		}
	}()
	kept := map[int32]bool{}
	Pinned(func() {
		for i := range int64(n) {
			place := q.addInFlight(w, &format.Record{Op: format.OpPread64}, i, 0)
			if i%3 == 0 {
				places <- place
				continue
			}
			require.False(t, kept[place], "it has a request")
			kept[place] = true
		}
	})
	close(places)
	<-ended
	require.Len(t, q.free, len(q.flights)-len(kept))
	for _, place := range q.free {
		require.False(t, kept[place])
		kept[place] = true
	}
	require.Len(t, kept, len(q.flights))
	require.Equal(t, len(q.flights), s.held)
}

// playedRequests end with the result 10 once they are submitted.
type playedRequests struct {
	scriptedRequests
	batch, flying []uint64
	onPrepare     func() Outcome
}

func (p *playedRequests) Prepare(_ *Worker, user uint64) (Outcome, int64) {
	if p.onPrepare != nil {
		if outcome := p.onPrepare(); outcome != Taken {
			return outcome, 0
		}
	}
	p.batch = append(p.batch, user)
	return Taken, 0
}

func (p *playedRequests) Submit(*Worker) (Outcome, error) {
	p.flying, p.batch = append(p.flying, p.batch...), nil
	return Taken, nil
}

func (p *playedRequests) InFlight() int { return len(p.flying) }

func (p *playedRequests) Reap(_ *Worker, done []Completion) (n int) {
	for n = 0; n < min(len(done), len(p.flying)); n++ {
		done[n] = Completion{User: p.flying[n], Result: 10}
	}
	p.flying = p.flying[n:]
	return n
}

// onPlayed returns a worker and a ring with a number of requests, whose
// log keeps so many of them in memory.
func onPlayed(t *testing.T, requests, kept int, p *playedRequests) (*Worker, *Ring) {
	t.Helper()
	w, q := ringOn(t, requests, nil)
	q.Open(p)
	l, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	q.g.log.entries, q.g.log.file = make([]Entry, 0, kept), l
	q.entries = q.g.log.entries[:kept]
	return w, q
}

// The log of requests is written out when all in it have ended: before a batch for which
// it has no room, and within one that is longer than the log.
func TestRequestsAreWrittenOutWhole(t *testing.T) {
	const n = 3 + 3 + 10
	w, q := onPlayed(t, n, 4, &playedRequests{})
	var spilled []int64
	Pinned(func() {
		for _, batch := range []int64{3, 3, 10} {
			q.submit(w, batch)
			spilled = append(spilled, q.g.log.spilled)
		}
		q.Drain(w)
	})
	require.NoError(t, w.e.Err())
	require.Equal(t, []int64{0, 3, 14}, spilled)
	entries := make([]Entry, n)
	for at := 0; at < n; {
		k, err := q.g.log.Read(int64(at), entries[at:])
		require.NoError(t, err)
		at += k
	}
	for _, e := range entries {
		require.EqualValues(t, 10, e.Ret)
		require.NotEqual(t, int64(inFlight), e.Dur)
	}
}

// After a stop, a log with requests that have not ended is not written out: their
// completions still go there.
func TestStopBeforeRequestsAreWrittenOut(t *testing.T) {
	w, q := onPlayed(t, 5, 2, &playedRequests{})
	Pinned(func() {
		q.submit(w, 2)
		w.e.Stop()
		require.False(t, q.spill(w))
		require.Zero(t, q.g.log.spilled)
		q.reap(w)
		q.Close(w)
	})
	require.EqualValues(t, 2, q.g.log.Len())
}

// A stop ends a submission whose batch is full.
func TestStopEndsFullBatch(t *testing.T) {
	for _, refuses := range []Outcome{Full, Busy} {
		p, tries := &playedRequests{}, 0
		w, q := onPlayed(t, 5, 5, p)
		p.onPrepare = func() Outcome {
			switch tries++; tries {
			case 3:
				w.e.Stop()
			case 100:
				return Taken
			}
			return refuses
		}
		Pinned(func() { q.submit(w, 5) })
		require.Equal(t, 3, tries)
	}
}

// A worker waits for the requests of its process and not for those of others.
func TestAwaitRequestsOf(t *testing.T) {
	p := &playedRequests{}
	w, q := onPlayed(t, 5, 5, p)
	other := &Worker{e: w.e, Number: 1, Process: 2, Slot: w.e.NewSlot()}
	other.player = w.player
	Pinned(func() {
		q.submit(other, 2)
		q.AwaitRequestsOf(w, 1)
		require.Zero(t, q.Done())
		q.AwaitRequestsOf(w, 2)
	})
	require.EqualValues(t, 2, q.Done())
	require.False(t, q.hasRequestsOf(2))
}

// While a worker has quiesced a ring, such as for a registration, no other one takes completions.
func TestQuiesceExcludesReaps(t *testing.T) {
	s := &scriptedRequests{}
	w, q := ringOn(t, 1, s)
	other := &Worker{e: w.e, Number: 3, Slot: w.e.NewSlot()}
	Pinned(func() {
		q.Quiesce(w)
		q.submitted.Add(1) // so that another worker would wait for it
		s.flying++
		require.False(t, q.waitAndReap(other, 1))
		q.StopReaping()
		s.onReap = func(done []Completion) int { return 1 }
		require.True(t, q.waitAndReap(other, 1))
	})
}
