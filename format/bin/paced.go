package bin

import (
	"container/heap"
	"fmt"
	"io"
	"math"
	"slices"

	"pianola/format"
)

// EventsAt returns a reader of the events of all threads as they would be at a pace. A
// replay at that pace is compared with them. Calls and requests take as long as
// recorded; compute and the delays of edges are divided by the speed. An event begins
// as in a replay that is never late: after the thread's previous event and its own
// compute, and after the targets of its edges. Operations for which a replay makes no
// call, such as the wait for a process, take no time, and their waits are edges.
//
// The reader is like that of Events, and its order is by the start at that pace. It
// keeps the edges of all events in memory. At the pace of the recording it is that of
// Events.
func (t *Trace) EventsAt(p format.Pace) (format.Reader, error) {
	if p.Recorded() {
		return t.Events(), nil
	}
	r := &paced{merged: merged{trace: t, text: make([]byte, 0, 1<<10)}, pace: p, strands: make([]strand, len(t.threads))}
	for i := range r.strands {
		if err := r.openStrand(i); err != nil {
			return nil, err
		}
	}
	for i := range r.strands {
		s := &r.strands[i]
		slices.Sort(s.targets)
		s.targets = slices.Compact(s.targets)
		if s.turn.thread > 0 && s.parent == 0 {
			s.born = true
			r.ready = append(r.ready, s)
		}
	}
	return r, nil
}

// paced implements format.Reader.
type paced struct {
	merged
	pace    format.Pace
	strands []strand // by the number of the thread, from 0
	starts  strands  // those whose next event has a start
	ready   []*strand
	now     int64 // start of the last event
	looked  int   // position of the search for strands that will never wake
}

// strand is a thread or a ring at a pace. Times are in nanoseconds.
type strand struct {
	turn             // the start is that of the next event, at the pace; the thread is 0 if it has no events
	parent   int32   // number of the thread that creates it, 0 if it exists from the start
	born     bool    // that has come
	over     bool    // no events are left
	recorded int64   // start of the next event in the recording
	began    bool    // recorded is that of an event
	end      int64   // of the event before, at the pace
	due      bool    // its next event has a start
	asleep   bool    // that waits for another strand
	forced   bool    // it waits no longer for what it sleeps for
	done     int64   // events that have begun
	targets  []int64 // events that others wait for, in order
	ends     []int64 // of the first targets

	waits []format.Wait
	wait  int // the next one

	sleepers []*strand // that wait for events of this one
	soonest  int64     // the least done that one of them waits for
	until    int64     // the done of another strand that this one waits for, or unsubmitted

	// For a ring.
	submitted   int64  // requests
	submit      moment // begin of the call that submitted the last ones
	completions completions

	// For a thread: the completions that its last event waited for.
	pending pending
}

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

// openStrand reads what a thread waits for.
func (r *paced) openStrand(i int) error {
	s, header := &r.strands[i], r.trace.header
	s.end = math.MinInt64
	if r.trace.threads[i].events == 0 {
		s.over = true
		return nil
	}
	s.turn = turn{thread: int32(i + 1)}
	if th := header.Threads[i]; th.Ring == format.ViaCall {
		s.parent, s.recorded = th.Parent, max(th.Start, 0)
	} else {
		s.recorded = max(th.Start, 0)
	}
	if s.parent < 0 || int(s.parent) > len(r.strands) || int(s.parent) == i+1 {
		s.parent = 0
	}
	if r.pace.Unordered {
		return nil
	}
	waits, err := r.trace.Waits(s.turn.thread)
	if err != nil {
		return fmt.Errorf("read what thread %d waits for: %w", s.turn.thread, err)
	}
	s.waits = waits
	for _, w := range waits {
		if n := w.For.Thread; n > 0 && int(n) <= len(r.strands) {
			r.strands[n-1].targets = append(r.strands[n-1].targets, w.For.Event)
		}
	}
	return nil
}

// Read implements format.Reader. The strings and edges of the events are valid until the
// next call.
func (r *paced) Read(events []format.Event) (n int, err error) {
	r.text, r.edges = r.text[:0], r.edges[:0]
	r.spans.Reset()
	for n < len(events) && r.err == nil && len(r.spans.Numbers) < batchNumbers {
		if r.err = r.settle(); r.err == nil {
			r.err = r.play(&events[n])
		}
		if r.err == nil {
			n++
		}
	}
	if n == 0 {
		return 0, r.err
	}
	return n, nil
}

// settle gives starts to the next events of all strands that can have one. If all
// strands with events left sleep, because a trace is wrong or leaves out awaited
// events, one of them continues. The error at the end is io.EOF.
func (r *paced) settle() error {
	for {
		for len(r.ready) > 0 {
			s := r.ready[len(r.ready)-1]
			r.ready = r.ready[:len(r.ready)-1]
			if err := r.schedule(s); err != nil {
				return err
			}
		}
		if len(r.starts) > 0 {
			return nil
		}
		s := r.stuck()
		if s == nil {
			return io.EOF
		}
		s.born, s.forced = true, true
		r.ready = append(r.ready, s)
	}
}

// stuck returns a strand that has events left, nil if there is none.
func (r *paced) stuck() *strand {
	for range r.strands {
		s := &r.strands[r.looked]
		if !s.over {
			return s
		}
		r.looked = (r.looked + 1) % len(r.strands)
	}
	return nil
}

// schedule finds the start of a strand's next event, or makes the strand sleep.
func (r *paced) schedule(s *strand) error {
	if s.over || !s.born || s.due {
		return nil
	}
	s.asleep, s.until = false, 0
	if s.line == nil {
		var err error
		if s.line, err = r.trace.line(s.thread); err != nil {
			return err
		}
	}
	switch err := s.line.ready(); err {
	case nil:
	case io.EOF:
		s.line.close(r.trace)
		s.over, s.line = true, nil
		r.wake(s)
		return nil
	default:
		return err
	}
	rec := &s.line.recs[s.line.rec]
	if !s.began {
		s.began, s.recorded = true, later(s.recorded, rec.Compute)
	}
	if s.end == math.MinInt64 {
		s.end = r.pace.Scale(r.trace.header.Threads[s.thread-1].Start)
	}
	if ring := s.pending.ring; ring != nil && !r.await(s, ring, s.pending.n) {
		return nil
	}
	s.wakeUp()
	if s.line.via != format.ViaCall && s.submitted <= s.line.event && !s.forced {
		s.asleep, s.until = true, unsubmitted
		return nil
	}
	after, held, ok := r.release(s)
	if !ok {
		return nil
	}
	s.start = r.startOf(s, rec, after, held)
	if ring := r.ringOf(rec); ring != nil && rec.Args[1] > 0 && rec.Args[3] > 0 {
		if !r.await(s, ring, rec.Args[3]) {
			return nil
		}
		if at, ok := ring.completions.at(rec.Args[3]); ok {
			s.start = max(s.start, later(at.paced, r.pace.Scale(rec.Args[4])))
		}
	}
	s.start = max(s.start, r.now) // a trace can be wrong
	s.forced, s.due = false, true
	heap.Push(&r.starts, s)
	return nil
}

// startOf returns the start of a strand's next event. Its edges release it at a given
// time and cover a part of its compute.
func (r *paced) startOf(s *strand, rec *format.Record, after, held int64) int64 {
	switch {
	case s.line.via != format.ViaCall: // as long after the call that submits it as recorded
		return max(after, later(s.submit.paced, s.recorded-s.submit.recorded))
	case isInside(r.ringOf(rec), rec): // its edges belong to its duration
		after = 0
	}
	if r.pace.Schedule {
		return max(s.end, after, r.pace.Scale(s.recorded))
	}
	return max(after, later(s.end, r.pace.Scale(rec.Compute-held)))
}

// isInside reports whether an event waits for requests that others submit.
func isInside(ring *strand, rec *format.Record) bool { return ring != nil && rec.Args[1] == 0 }

// later returns a time plus a duration. It saturates.
func later(t, nanos int64) int64 {
	const most = 1 << 60
	return min(t, most) + min(max(nanos, 0), most)
}

// await reports whether an event of another strand has begun, or never will. If not,
// the strand sleeps until then.
func (r *paced) await(s, on *strand, n int64) bool {
	if on.done >= n || on.over || on == s || s.forced {
		return true
	}
	if len(on.sleepers) == 0 || n < on.soonest {
		on.soonest = n
	}
	s.asleep, s.until = true, n
	on.sleepers = append(on.sleepers, s)
	return false
}

// wake continues the strands that wait for the progress of another one.
func (r *paced) wake(s *strand) {
	if len(s.sleepers) == 0 || s.soonest > s.done && !s.over {
		return
	}
	all := s.sleepers
	s.sleepers, s.soonest = all[:0], math.MaxInt64
	for _, k := range all {
		switch {
		case !k.asleep: // it was forced to go on
		case k.until <= s.done || s.over:
			r.ready = append(r.ready, k)
		default:
			s.sleepers, s.soonest = append(s.sleepers, k), min(s.soonest, k.until)
		}
	}
}

// release returns when the edges release a strand's next event, and how much of its
// compute they cover. ok is false if the strand sleeps for an edge.
func (r *paced) release(s *strand) (after, held int64, ok bool) {
	next := s.wait
	for ; next < len(s.waits) && s.waits[next].Event <= s.line.event; next++ {
		v := &s.waits[next]
		held += v.Held
		if r.pace.Ignores(v.For.Kind) {
			continue
		}
		from := int64(0)
		if n := v.For.Thread; n > 0 && int(n) <= len(r.strands) {
			on := &r.strands[n-1]
			if !r.await(s, on, later(v.For.Event, 1)) {
				return 0, 0, false
			}
			if from, ok = on.endOf(v.For.Event); !ok {
				held -= v.Held
				continue
			}
		}
		if !r.pace.Schedule {
			from = later(from, r.pace.Scale(v.For.Delay))
		}
		after = max(after, from)
	}
	s.wait = next
	return after, held, true
}

// endOf returns when an event of the strand ended; ok is false if it has not.
func (s *strand) endOf(event int64) (end int64, ok bool) {
	i, found := slices.BinarySearch(s.targets, event)
	if !found || i >= len(s.ends) {
		return 0, false
	}
	return s.ends[i], true
}

// ringOf returns the ring that an event submits to or waits for, nil for none.
func (r *paced) ringOf(rec *format.Record) *strand {
	if n := rec.Args[0]; rec.Op == format.OpRingSubmit && n > 0 && n <= int64(len(r.strands)) && r.strands[n-1].thread > 0 {
		return &r.strands[n-1]
	}
	return nil
}

// play fills e with the earliest event that has a start.
func (r *paced) play(e *format.Event) error {
	s := heap.Pop(&r.starts).(*strand)
	r.now = s.start
	rec := s.line.recs[s.line.rec]
	if err := r.event(e, &s.turn); err != nil {
		return err
	}
	e.Off = e.Off.Each(r.pace.Scale)
	was := moment{s.recorded, s.start}
	recordedEnd := later(s.recorded, e.Dur)
	s.end = later(s.start, e.Dur)
	info := e.Op.Info()
	if info.Class == format.ClassProcess && e.Via == format.ViaCall {
		e.Dur, s.end = min(e.Dur, 0), s.start
	}
	if e.Via != format.ViaCall {
		s.completions.add(moment{recordedEnd, s.end})
		recordedEnd = s.recorded // requests overlap
	}
	if k := len(s.ends); k < len(s.targets) && s.targets[k] == s.done {
		s.ends = append(s.ends, s.end)
	}
	s.done++
	if ring := r.ringOf(&rec); ring != nil {
		if n := rec.Args[1]; n > 0 {
			ring.submit, ring.submitted = was, later(ring.submitted, n)
			if ring.until == unsubmitted {
				r.ready = append(r.ready, ring)
			}
		}
		if n := rec.Args[2]; n > 0 {
			s.pending = pending{ring, later(n, rec.Args[3]), was, recordedEnd}
		}
	}
	if info.Effect == format.EffectFork && e.Ret > 0 && e.Ret <= int64(len(r.strands)) {
		if child := &r.strands[e.Ret-1]; !child.born && child.thread > 0 {
			child.born, child.end = true, s.start
			r.ready = append(r.ready, child)
		}
	}
	r.wake(s)
	s.recorded, s.began, s.due = recordedEnd, false, false
	r.ready = append(r.ready, s)
	return nil
}

// wakeUp computes when the strand's last event ended if it waited for completions: as
// long after the last of them as recorded.
func (s *strand) wakeUp() {
	p := s.pending
	if p.ring == nil {
		return
	}
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

// strands is a heap by the start of the next event, and by thread where it is equal.
type strands []*strand

func (h strands) Len() int { return len(h) }
func (h strands) Less(i, j int) bool {
	return h[i].start < h[j].start || h[i].start == h[j].start && h[i].thread < h[j].thread
}
func (h strands) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *strands) Push(x any)   { *h = append(*h, x.(*strand)) }
func (h *strands) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return s
}
