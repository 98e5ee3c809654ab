package schedule

import (
	"slices"

	"pianola/format"
)

// limit is a wait that ended by a time limit in the recording, before the next event of a
// strand, and is repeated. It ends early if the thread is woken first, or if another one
// waits for the event. The waker is the target of the strand's next edge of EdgeTimed.
type limit struct {
	due   int64 // the event's start if nothing ends the wait
	least int64 // its earliest one; below due
	waits []format.Wait
}

// hastens reports whether a strand that sleeps for another one ends its waits early.
func (s *strand) hastens(on *strand) bool { return s.needs && s.by.Hastens(on.hasTimer()) }

// hasTimer reports whether the wait before the next event is for a timer.
func (s *strand) hasTimer() bool { return s.timer || s.tick > 0 }

// shorten has the wait before a strand's next event end early if it can.
func (r *Schedule) shorten(s *strand, early int64) {
	s.timed = max(s.timed, s.wait)
	for s.timed < len(s.waits) && s.waits[s.timed].For.Kind != format.EdgeTimed {
		s.timed++
	}
	if s.timed == len(s.waits) && !s.hasTimer() {
		return
	}
	i, n := s.timed, s.timed
	for n < len(s.waits) && s.waits[n].Event == s.waits[i].Event && !s.hasTimer() {
		n++
	}
	least := s.start
	if s.timer || s.tick == 0 {
		least -= early
	}
	s.start = max(s.start, s.tick)
	s.limit = limit{s.start, min(max(least, r.now), s.start-1), s.waits[i:n]}
	if slices.ContainsFunc(s.sleepers, func(k *strand) bool { return k.asleep && k.until > s.done && k.hastens(s) }) {
		s.start = s.limit.least
		return
	}
	for _, v := range s.limit.waits {
		if on := r.strandOf(int64(v.For.Thread)); on != nil && v.For.Kind == format.EdgeTimed && on.done <= v.For.Event && !on.over && !slices.Contains(on.watchers, s) {
			on.watchers = append(on.watchers, s)
		}
	}
	s.start = r.woken(s)
}

// woken returns when a strand's next event begins that waits for a time limit: after its
// wakers, if all are known to come.
func (r *Schedule) woken(s *strand) int64 {
	if s.hasTimer() {
		return s.limit.due
	}
	at := max(s.limit.least, r.now)
	for _, v := range s.limit.waits {
		if v.For.Kind != format.EdgeTimed {
			continue
		}
		from, ok := int64(0), true
		if on := r.strandOf(int64(v.For.Thread)); on != nil {
			from, ok = on.endOf(v.For.Event)
		}
		if !ok {
			return s.limit.due
		}
		at = max(at, from)
	}
	return min(at, s.limit.due)
}

// limited reports whether a strand's next event has a start that a waker can bring forward.
func (s *strand) limited() bool { return s.due && s.limit.due > s.limit.least }

// move sets the start of a strand's next event, which has one.
func (r *Schedule) move(s *strand, start int64) {
	s.start = start
	r.starts.Fix(s.place)
}
