// Package schedule plays a compiled trace on a simulated clock: it finds when each event
// begins and ends at a pace, in a replay that is never late.
//
// Calls and requests take as long as recorded; compute and the delays of edges are divided
// by the speed. An event begins after the thread's previous event and its own compute, and
// after the targets of its edges. Operations for which a replay makes no call, such as the
// wait for a process, take no time, and their waits are edges.
package schedule

import (
	"container/heap"
	"fmt"
	"io"
	"math"
	"slices"

	"pianola/format"
)

// Trace is what a schedule reads of a trace besides the events, as format.Trace.
type Trace interface {
	Header() *format.Header
	Len(thread int32) int64
	Waits(thread int32) ([]format.Wait, error)
}

// Source has the events of a thread in their order.
type Source interface {
	// Peek returns the record of the next event and its recorded duration, in
	// nanoseconds or format.Unknown. The error at the end is io.EOF. It is called before
	// the event begins, once or more; after Next has returned the event, the caller of
	// Next takes it out of the source.
	Peek() (r *format.Record, nanos int64, err error)
}

// Event is the place of an event in a schedule. Times are in nanoseconds since the start.
type Event struct {
	Thread     int32
	Number     int64          // in the thread, from 0
	Record     *format.Record // of the source
	Start, End int64          // a call that waits for completions of a ring can end at another time than End
}

// Schedule returns the events of a trace in the order of their starts. It is for one
// goroutine.
type Schedule struct {
	trace   Trace
	pace    format.Pace
	open    func(thread int32) (Source, error)
	strands []strand // by the number of the thread, from 0
	starts  strands  // those whose next event has a start
	ready   []*strand
	now     int64 // start of the last event
	looked  int   // position of the search for strands that will never wake
}

// New makes the schedule of a trace at a pace, of which open opens the events of a thread.
// It keeps the edges of all events in memory.
func New(t Trace, p format.Pace, open func(thread int32) (Source, error)) (*Schedule, error) {
	if p.Recorded() {
		p.Speed = 1
	}
	s := &Schedule{trace: t, pace: p, open: open, strands: make([]strand, max(len(t.Header().Threads), 1))}
	for i := range s.strands {
		if err := s.openStrand(i); err != nil {
			return nil, err
		}
	}
	for i := range s.strands {
		k := &s.strands[i]
		slices.Sort(k.targets)
		k.targets = slices.Compact(k.targets)
		if k.thread > 0 && k.parent == 0 {
			k.born = true
			s.ready = append(s.ready, k)
		}
	}
	return s, nil
}

// strand is a thread or a ring at a pace. Times are in nanoseconds.
type strand struct {
	thread   int32 // 0 if it has no events
	via      format.Via
	source   Source  // nil before the first event
	start    int64   // of the next event, at the pace
	parent   int32   // number of the thread that creates it, 0 if it exists from the start
	begins   int64   // of the thread, in the recording
	born     bool    // its creation has come
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
func (r *Schedule) openStrand(i int) error {
	s := &r.strands[i]
	s.end = math.MinInt64
	if r.trace.Len(int32(i+1)) == 0 {
		s.over = true
		return nil
	}
	s.thread = int32(i + 1)
	if threads := r.trace.Header().Threads; i < len(threads) {
		s.via, s.begins = threads[i].Ring, threads[i].Start
		if s.via == format.ViaCall {
			s.parent = threads[i].Parent
		}
	}
	s.recorded = max(s.begins, 0)
	if s.parent < 0 || int(s.parent) > len(r.strands) || int(s.parent) == i+1 {
		s.parent = 0
	}
	if r.pace.Unordered {
		return nil
	}
	waits, err := r.trace.Waits(s.thread)
	if err != nil {
		return fmt.Errorf("read what thread %d waits for: %w", s.thread, err)
	}
	s.waits = waits
	for _, w := range waits {
		if n := w.For.Thread; n > 0 && int(n) <= len(r.strands) {
			r.strands[n-1].targets = append(r.strands[n-1].targets, w.For.Event)
		}
	}
	return nil
}

// Next returns the earliest event that is left; the error at the end is io.EOF.
func (r *Schedule) Next() (e Event, err error) {
	if err := r.settle(); err != nil {
		return e, err
	}
	return r.play()
}

// settle gives starts to the next events of all strands that can have one. If all
// strands with events left sleep, because a trace is wrong or leaves out awaited
// events, one of them continues. The error at the end is io.EOF.
func (r *Schedule) settle() error {
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
func (r *Schedule) stuck() *strand {
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
func (r *Schedule) schedule(s *strand) error {
	if s.over || !s.born || s.due {
		return nil
	}
	s.asleep, s.until = false, 0
	var err error
	if s.source == nil {
		if s.source, err = r.open(s.thread); err != nil {
			return err
		}
	}
	rec, _, err := s.source.Peek()
	switch err {
	case nil:
	case io.EOF:
		s.over, s.source = true, nil
		r.wake(s)
		return nil
	default:
		return fmt.Errorf("event %d of thread %d: %w", s.done, s.thread, err)
	}
	if !s.began {
		s.began, s.recorded = true, later(s.recorded, rec.Compute)
	}
	if s.end == math.MinInt64 {
		s.end = r.pace.Scale(s.begins)
	}
	if ring := s.pending.ring; ring != nil && !r.await(s, ring, s.pending.n) {
		return nil
	}
	s.wakeUp()
	if s.via != format.ViaCall && s.submitted <= s.done && !s.forced {
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
func (r *Schedule) startOf(s *strand, rec *format.Record, after, held int64) int64 {
	switch {
	case s.via != format.ViaCall: // as long after the call that submits it as recorded
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
func (r *Schedule) await(s, on *strand, n int64) bool {
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
func (r *Schedule) wake(s *strand) {
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
func (r *Schedule) release(s *strand) (after, held int64, ok bool) {
	next := s.wait
	for ; next < len(s.waits) && s.waits[next].Event <= s.done; next++ {
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
func (r *Schedule) ringOf(rec *format.Record) *strand {
	if n := rec.Args[0]; rec.Op == format.OpRingSubmit && n > 0 && n <= int64(len(r.strands)) && r.strands[n-1].thread > 0 {
		return &r.strands[n-1]
	}
	return nil
}

// play begins the earliest event that has a start.
func (r *Schedule) play() (Event, error) {
	s := heap.Pop(&r.starts).(*strand)
	r.now = s.start
	rec, nanos, err := s.source.Peek()
	if err != nil {
		return Event{}, err
	}
	was := moment{s.recorded, s.start}
	recordedEnd := later(s.recorded, nanos)
	s.end = later(s.start, nanos)
	info := rec.Op.Info()
	if info.Class == format.ClassProcess && s.via == format.ViaCall {
		s.end = s.start
	}
	e := Event{s.thread, s.done, rec, s.start, s.end}
	if s.via != format.ViaCall {
		s.completions.add(moment{recordedEnd, s.end})
		recordedEnd = s.recorded // requests overlap
	}
	if k := len(s.ends); k < len(s.targets) && s.targets[k] == s.done {
		s.ends = append(s.ends, s.end)
	}
	s.done++
	if ring := r.ringOf(rec); ring != nil {
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
	if info.Acts.Any(format.Starts) && rec.Ret > 0 && rec.Ret <= int64(len(r.strands)) {
		if child := &r.strands[rec.Ret-1]; !child.born && child.thread > 0 {
			child.born, child.end = true, s.start
			r.ready = append(r.ready, child)
		}
	}
	r.wake(s)
	s.recorded, s.began, s.due = recordedEnd, false, false
	r.ready = append(r.ready, s)
	return e, nil
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
