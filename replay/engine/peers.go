package engine

import (
	"context"
	"fmt"
	"slices"

	"pianola/internal/eventcount"
)

// Peers are other processes that play threads of the same trace at the same time. They know
// the threads of each other by the events that threads wait for.
type Peers interface {
	// Plays reports whether a peer plays a thread.
	Plays(thread int32) bool

	// Exchange sends the peers the events of their threads that are wanted here, in order,
	// and returns the events of threads here that they want, in order.
	Exchange(ctx context.Context, wanted map[int32][]int64) (asked map[int32][]int64, err error)

	// Wire connects the threads, after Exchange. For each thread with wanted events it
	// returns the Remote, and for each with asked events where their ends are posted.
	Wire() (map[int32]Remote, map[int32]Poster, error)

	// Start returns the time by CLOCK_MONOTONIC at which all begin, in nanoseconds.
	Start(ctx context.Context) (int64, error)
}

// Remote is the progress of a thread that a peer plays. Its methods are for pinned workers.
type Remote interface {
	Done() int64                  // number of events that have ended, as far as threads here wait for them
	Expect(event int64)           // Ended shall advance when this event has ended
	Ended() *eventcount.Count     // also advances at a stop
	End(i int) (sinceStart int64) // when the i-th of the wanted events ended if none had been late, in nanoseconds
}

// Poster tells peers of the end of the i-th of the events that they asked for, when it was due and
// when it was, in nanoseconds since the start. It is for a pinned worker.
type Poster interface {
	Post(i int, due, at int64)
}

// exchange sends the peers the events that threads here wait for, and returns the events of
// threads here that they wait for.
func (e *Engine) exchange(ctx context.Context) (asked map[int32][]int64, err error) {
	if e.Peers == nil {
		return nil, nil
	}
	wanted := make(map[int32][]int64)
	for _, w := range e.Workers {
		if w.Foreign() && len(w.targets) > 0 {
			w.sortTargets()
			wanted[w.Number] = w.targets
		}
	}
	if asked, err = e.Peers.Exchange(ctx, wanted); err != nil {
		return nil, err
	}
	for thread, events := range asked {
		if thread < 1 || int(thread) > len(e.Workers) || e.Workers[thread-1].Foreign() || events[len(events)-1] >= e.Whole.Len(thread) {
			return nil, fmt.Errorf("another process waits for events of thread %d that this one does not replay", thread)
		}
	}
	return asked, nil
}

// wire connects threads here with those of peers.
func (e *Engine) wire(asked map[int32][]int64) error {
	if e.Peers == nil {
		return nil
	}
	remotes, posters, err := e.Peers.Wire()
	if err != nil {
		return err
	}
	for _, k := range e.Workers {
		k.remote, k.poster = remotes[k.Number], posters[k.Number]
		if k.poster == nil {
			continue
		}
		k.posts = make([]int32, len(k.targets))
		for i, event := range k.targets {
			k.posts[i] = -1
			if place, ok := slices.BinarySearch(asked[k.Number], event); ok {
				k.posts[i] = int32(place)
			}
		}
	}
	return nil
}

// post tells peers of the end of a target, when it was due and when it was, by
// the clock.
func (w *Worker) post(target int, due, at int64) {
	if w.posts != nil && w.posts[target] >= 0 {
		w.poster.Post(int(w.posts[target]), due-w.e.start, at-w.e.start)
	}
}

// endOf returns when a target ended if no event had been late, by the clock.
func (w *Worker) endOf(target int32) int64 {
	if w.remote != nil {
		return w.e.start + w.remote.End(int(target))
	}
	return w.ends[target].Load()
}

// ended returns the count that advances when an expected event of the thread has ended.
func (w *Worker) ended() *eventcount.Count {
	if w.remote != nil {
		return w.remote.Ended()
	}
	return &w.WakeUp
}

// firstStart returns when the first event may be due, by the clock. Peers agree on the time.
func (s *Stage) firstStart(ctx context.Context) (int64, error) {
	peers := s.engines[0].Peers
	if peers == nil {
		return s.Now(), nil
	}
	at, err := peers.Start(ctx)
	return s.at(at), err
}
