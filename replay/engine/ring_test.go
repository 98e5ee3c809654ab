package engine

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/spin"
)

// scriptedRequests are requests that end when a test says so.
type scriptedRequests struct {
	Requests // nil: a method that no test expects
	did      []string
	onReap   func(done []Completion) int
	onReady  func() bool
	flying   int
	closed   chan struct{}
}

func (s *scriptedRequests) Reaches(*Worker) bool { return true }
func (s *scriptedRequests) WaitsInGo() bool      { return false }
func (s *scriptedRequests) InFlight() int        { return s.flying }
func (s *scriptedRequests) Ready() bool          { return s.onReady() }
func (s *scriptedRequests) Hold(int)             {}
func (s *scriptedRequests) Wait(*Worker) error   { return nil }

func (s *scriptedRequests) Translate(*Worker, *format.Record, format.How, int64) (Outcome, int64) {
	return Taken, 0
}
func (s *scriptedRequests) Prepare(*Worker, uint64) (Outcome, int64) { return Taken, 0 }
func (s *scriptedRequests) Submit(*Worker) (Outcome, error)          { return Taken, nil }

func (s *scriptedRequests) Reap(_ *Worker, done []Completion) int {
	if s.onReap == nil {
		return 0
	}
	n := s.onReap(done)
	s.flying -= n
	return n
}

func (s *scriptedRequests) Close(*Worker) error {
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
	w, q := e.Workers[0], e.Workers[1].Holds()
	w.Seat = e.NewSeat()
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
		if q.lock.TryTake() { // another worker would submit now
			q.submitted.Add(1)
			s.flying++
			q.lock.Give()
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
	require.Nil(t, q.under.Load())
}

// A worker looks at no queue that another one has closed.
func TestLookAtClosedQueue(t *testing.T) {
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
			q.look(w)
		}()
		<-looks
		Pinned(func() { q.Close(w) })
		<-ended
		require.False(t, closed)
	}
}

// A queue that can't be taken or given back at this moment is waited for, until a stop.
func TestClaimEndsByStop(t *testing.T) {
	w, q := ringOn(t, 1, nil)
	q.lock.Take() // by a worker that has yet to say who it is
	ended := make(chan bool)
	go func() {
		claimed := false
		Pinned(func() { claimed = q.Claim(w) })
		ended <- claimed
	}()
	w.e.Stop()
	require.False(t, <-ended)
	q.lock.Give()
	Pinned(func() { require.False(t, q.Claim(w), "after a stop") })
	require.True(t, q.lock.TryTake())
}

// A stop that comes right after a worker has found that there is none ends the waits for
// completions and for an event, although it wakes no worker that sleeps already.
func TestStopsAreNotLost(t *testing.T) {
	w, q := ringOn(t, 1, nil)
	e := w.e
	q.submitted.Store(1)
	for name, wait := range map[string]func(){
		"completions": func() { q.drive(w, &q.came, 1) },
		"event":       func() { w.awaitUntil(e.Workers[1], 0, math.MaxInt64/2) },
	} {
		t.Run(name, func(t *testing.T) {
			e.stopped.Store(false)
			e.done = make(chan struct{})
			e.asked = sync.OnceFunc(e.Stop)
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
