package transform

import (
	"maps"
	"slices"

	"pianola/format"
	"pianola/format/process"
)

// entry is an event in a queue, with the memory of its strings and notes.
type entry struct {
	format.Event
	held    bool    // its stage has not decided yet
	verdict Verdict // of an event that is taken out only the time remains
	made    bool    // inserted, not recorded
	spent   int64   // nanoseconds by which the time after it is cut

	waits  *use   // for which the event is held
	advice *entry // the last one inserted after the event

	number     int64 // in the order of events; an inserted one has that of the event before
	prev, next *entry
	kept       format.Kept
}

// queue holds the events to return.
type queue struct {
	first, last *entry
	length      int
	pushed      int64
	free        *entry
}

// push puts a copy of an event at the end.
func (q *queue) push(e *format.Event) *entry {
	en := q.insert(q.last, e)
	q.pushed++
	en.number = q.pushed
	return en
}

// put appends an event that was not recorded.
func (q *queue) put(e *format.Event) *entry {
	en := q.push(e)
	en.made = true
	return en
}

// insert puts a copy of an event after an entry, or at the front if after is
// nil.
func (q *queue) insert(after *entry, e *format.Event) *entry {
	en := q.free
	if en == nil {
		en = new(entry)
	} else {
		q.free = en.next
	}
	*en = entry{Event: *e, kept: en.kept, prev: after}
	en.Edges = nil // a recording has none
	en.kept.KeepOne(&en.Event)
	if after == nil {
		en.next, q.first = q.first, en
	} else {
		en.number = after.number
		en.next, after.next = after.next, en
	}
	if en.next == nil {
		q.last = en
	} else {
		en.next.prev = en
	}
	q.length++
	return en
}

// pop removes and returns the first entry.
func (q *queue) pop() *entry {
	en := q.first
	if q.first = en.next; q.first == nil {
		q.last = nil
	} else {
		q.first.prev = nil
	}
	en.next = nil
	q.length--
	return en
}

// recycle frees entries for reuse.
func (q *queue) recycle(entries []*entry) {
	for _, en := range entries {
		en.next, q.free = q.free, en
	}
}

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
