package schedule

import (
	"slices"

	"pianola/format"
)

// unsubmitted is the until of a ring whose next request has not been submitted.
const unsubmitted = -1

// moment is a time of the recording, and the same at the pace.
type moment struct{ recorded, paced int64 }

// pending is a call that waits for completions of a ring.
type pending struct {
	ring *strand // nil for none
	n    int64   // of all completions of the ring
	from moment  // begin of the call
	end  int64   // recorded
}

// isInside reports whether an event waits for requests that others submit, so that its
// edges belong to its duration.
func isInside(ring *strand, rec *format.Record) bool { return ring != nil && rec.Args[1] == 0 }

// ringOf returns the ring that an event submits to or waits for, nil for none.
func (r *Schedule) ringOf(rec *format.Record) *strand {
	if rec.Op != format.OpRingSubmit {
		return nil
	}
	if ring := r.strandOf(rec.Args[0]); ring != nil && ring.thread > 0 {
		return ring
	}
	return nil
}

// wakeUp computes when the strand's last event ended, which waited for completions: as
// long after the last of them as recorded.
func (s *strand) wakeUp() {
	p := s.pending
	s.pending = pending{}
	at, ok := p.ring.completions.at(p.n)
	if !ok {
		return
	}
	s.end = later(max(p.from.paced, at.paced), p.end-max(p.from.recorded, at.recorded))
	if k := len(s.ends); k > 0 && s.targets[k-1] == s.done-1 {
		s.ends[k-1] = s.end
	}
}

// completions are the recent completions of a ring.
type completions struct {
	gone            int64 // that are not kept any more
	recorded, paced []int64
}

// keptCompletions is how many are kept at least.
const keptCompletions = 4096

func (c *completions) add(m moment) {
	if len(c.paced) == 2*keptCompletions {
		c.gone += keptCompletions
		c.recorded = append(c.recorded[:0], c.recorded[keptCompletions:]...)
		c.paced = append(c.paced[:0], c.paced[keptCompletions:]...)
	}
	c.recorded, c.paced = insert(c.recorded, m.recorded), insert(c.paced, m.paced)
}

// insert inserts a time into times in rising order. It is mostly one of the last.
func insert(times []int64, t int64) []int64 {
	i := len(times)
	for i > 0 && times[i-1] > t {
		i--
	}
	return slices.Insert(times, i, t)
}

// at returns when there had been n completions; ok is false if that is not known.
func (c *completions) at(n int64) (m moment, ok bool) {
	i := n - c.gone - 1
	if i < 0 || i >= int64(len(c.paced)) {
		return m, false
	}
	return moment{c.recorded[i], c.paced[i]}, true
}
