package transform

import (
	"maps"
	"slices"

	"pianola/format"
	"pianola/format/process"
)

// queued is a request in the queue, which is held until the call that submits it, with
// what its transform knows of it.
type queued struct {
	*entry
	of      *process.Description
	serial  int64 // of that
	fd      int64 // that leads to it
	aligned bool  // it can be direct
	run     *run  // of requests that become one
}

// batches are the requests of each thread that wait for the call which submits them.
// That is the thread's next one.
type batches map[int32][]*queued

// add holds a request.
func (b batches) add(q *queued) {
	q.held = true
	b[q.TID] = append(b[q.TID], q)
}

// take returns a thread's requests, and forgets them.
func (b batches) take(tid int32) []*queued {
	all := b[tid]
	if len(all) > 0 {
		delete(b, tid)
	}
	return all
}

// threads returns the threads with requests, in order.
func (b batches) threads() []int32 { return slices.Sorted(maps.Keys(b)) }

// isPlaced reports whether an event is a request of which it is known what submits it.
func isPlaced(e *format.Event) bool {
	return e.Via != format.ViaCall && e.Notes.Known(format.NotedPlaced)
}
