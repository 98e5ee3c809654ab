package schedule

import "pianola/format"

// anyEnd is the until of a strand that waits for the end of any of several processes.
const anyEnd = -2

// anyOf are the ends of the processes that a strand waits for without naming one: its n-th
// such wait is for as many ends, of whichever of them.
type anyOf struct {
	times  []int64 // of the ends, in rising order: calls that end a process take no time
	reaped int     // that it has waited for
}

// targetOf returns the thread and the event of an edge alone.
func targetOf(edge *format.Edge) format.Edge {
	return format.Edge{Thread: edge.Thread, Event: edge.Event}
}

// expect notes that a strand waits for the end of a process or another one, unless another
// strand waits for this end as well: then both wait for it and for no other.
func (r *Schedule) expect(s *strand, edge *format.Edge) {
	if edge.Kind != format.EdgeAny {
		return
	}
	if at := targetOf(edge); r.any[at] == nil {
		r.any[at] = s
	}
}

// isAny reports whether an edge of a strand is for any of several ends.
func (r *Schedule) isAny(s *strand, edge *format.Edge) bool {
	return edge.Kind == format.EdgeAny && r.any[targetOf(edge)] == s
}

// reap returns when the n-th end came; ok is false if it has not.
func (a *anyOf) reap(n int) (at int64, ok bool) {
	if n > len(a.times) {
		return 0, false
	}
	return a.times[n-1], true
}

// tell notes that the last event of a strand has ended, for one that waits for any end.
func (r *Schedule) tell(s *strand) {
	if len(r.any) == 0 {
		return
	}
	k := r.any[format.Edge{Thread: s.thread, Event: s.done}]
	if k == nil {
		return
	}
	k.times = insert(k.times, s.end)
	if k.asleep && k.until == anyEnd {
		r.ready = append(r.ready, k)
	}
}
