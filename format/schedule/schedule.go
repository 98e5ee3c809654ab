// Package schedule plays a compiled trace on a simulated clock: it finds when each event
// begins and ends at a pace, in a replay that is never late.
//
// Calls and requests take as long as recorded; compute and the delays of edges are divided
// by the speed. An event begins after the thread's previous event and its own compute, and
// after the targets of its edges. Operations for which a replay makes no call, such as the
// wait for a process, take no time, and their waits are edges.
package schedule

import (
	"fmt"
	"io"
	"math"
	"slices"

	"pianola/format"
	"pianola/format/commits"
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
	Thread   int32
	Number   int64          // in the thread, from 0
	Record   *format.Record // of the source
	Start    int64
	End      int64 // of a call that waits for completions of a ring: as if they came as recorded
	Before   int64 // when the thread's previous event ended
	Waited   int64 // how long the thread waited for others before the event
	Recorded int64 // start in the recording

	Group     *Group // that the call is for; it is in no thread's order. nil for an event of a thread
	Regrouped bool   // a call for a group took the place of the event
}

// Options are the choices of a schedule.
type Options struct {
	Pace format.Pace

	// AFAP leaves out compute, delays of edges and the recorded distances of requests: as
	// fast as possible.
	AFAP bool

	// Duration, if not nil, returns how long an event takes that begins now, instead of its
	// recorded duration, both in nanoseconds. It gets the events in the order of their
	// starts.
	Duration func(e *Event, recorded int64) int64

	// Plan, if not nil, has commits that form groups of their own. The waits of the trace are without
	// those for the recorded groups.
	Plan *commits.Plan
}

// Schedule returns the events of a trace in the order of their starts. It is for one
// goroutine.
type Schedule struct {
	Options
	trace   Trace
	open    func(thread int32) (Source, error)
	strands []strand             // by the number of the thread, from 0
	starts  format.Heap[*strand] // those whose next event has a start, by that, and by thread where it is equal
	ready   []*strand
	any     map[format.Edge]*strand // by thread and event: the one that waits for this or another end, see anyOf
	now     int64                   // start of the last event
	looked  int                     // position of the search for strands that will never wake
	logs    []*log                  // of the plan
}

// New makes the schedule of a trace, of which open opens the events of a thread. It keeps the
// edges of all events in memory.
func New(t Trace, o Options, open func(thread int32) (Source, error)) (*Schedule, error) {
	if o.Pace.Recorded() {
		o.Pace.Speed = 1
	}
	s := &Schedule{Options: o, trace: t, open: open, strands: make([]strand, max(len(t.Header().Threads), 1)), any: make(map[format.Edge]*strand),
		starts: format.NewHeap(func(a, b **strand) bool {
			return (*a).start < (*b).start || (*a).start == (*b).start && (*a).thread < (*b).thread
		}, func(s *strand, place int) { s.place = place })}
	for i := range s.strands {
		if err := s.openStrand(i); err != nil {
			return nil, err
		}
	}
	s.openLogs()
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
	source   Source // nil before the first event
	start    int64  // of the next event, at the pace
	parent   int32  // number of the thread that creates it, 0 if it exists from the start
	begins   int64  // of the thread, in the recording
	born     bool   // its creation has come
	over     bool   // no events are left
	recorded int64  // start of the next event in the recording
	began    bool   // recorded is that of an event
	end      int64  // of the event before, at the pace
	waited   int64  // before the next event
	due      bool   // its next event has a start
	place    int    // in Schedule.starts
	asleep   bool   // that waits for another strand
	needs    bool   // an edge of this kind makes it wait:
	by       format.EdgeKind
	timer    bool  // its own wait that can end early is for a timer
	tick     int64 // when a timer of another thread lets the next event begin
	limit    limit
	forced   bool    // it waits no longer for what it sleeps for
	done     int64   // events that have begun
	targets  []int64 // events that others wait for, in order
	ends     []int64 // of the first targets

	waits []format.Wait
	wait  int // the next one
	timed int // none of EdgeTimed is between the next one and this one

	watchers []*strand // whose wait for a time limit ends with an event of this one
	sleepers []*strand // that wait for events of this one
	soonest  int64     // the least done that one of them waits for
	until    int64     // the done of another strand that this one waits for, or unsubmitted

	anyOf
	committing
	log *log // whose groups the strand makes; nil for a thread or a ring

	// For a ring.
	submitted   int64  // requests
	submit      moment // begin of the call that submitted the last ones
	completions completions

	// For a thread: the completions that its last event waited for.
	pending pending
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
	if r.Pace.Unordered {
		return nil
	}
	waits, err := r.trace.Waits(s.thread)
	if err != nil {
		return fmt.Errorf("read the waits of thread %d: %w", s.thread, err)
	}
	s.waits = waits
	for _, w := range waits {
		if on := r.strandOf(int64(w.For.Thread)); on != nil {
			on.targets = append(on.targets, w.For.Event)
			r.expect(s, &w.For)
		}
	}
	return nil
}

// Next returns the earliest event that is left; the error at the end is io.EOF.
func (r *Schedule) Next() (e Event, err error) {
	if _, err := r.Start(); err != nil {
		return e, err
	}
	return r.play()
}

// Start returns when the event begins that Next returns; the error at the end is io.EOF.
func (r *Schedule) Start() (int64, error) {
	if err := r.settle(); err != nil {
		return 0, err
	}
	return r.starts.Items[0].start, nil
}

// Ended returns when the last event of a thread that has begun ends, or ended. Once no
// events are left, it holds for calls that wait for completions, too.
func (r *Schedule) Ended(thread int32) int64 { return r.strands[thread-1].end }

// scale returns recorded nanoseconds between events in the schedule.
func (r *Schedule) scale(nanos int64) int64 {
	if r.AFAP {
		return 0
	}
	return r.Pace.Scale(nanos)
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
		if len(r.starts.Items) > 0 {
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
	if s.pending.ring != nil {
		if !r.await(s, s.pending.ring, s.pending.n) {
			return nil
		}
		s.wakeUp()
		r.wake(s)
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
		s.end = r.scale(s.begins)
	}
	if s.via != format.ViaCall && s.submitted <= s.done && !s.forced {
		s.asleep, s.until = true, unsubmitted
		return nil
	}
	if s.skipped > 0 {
		s.start, s.due = max(s.end, r.now), true
		r.starts.Push(s)
		return nil
	}
	if s.wants() {
		return r.commit(s)
	}
	after, held, early, ok := r.release(s, isInside(r.ringOf(rec), rec))
	if !ok {
		return nil
	}
	if s.resumes > 0 {
		after, held, s.resumes = max(after, s.resumes), rec.Compute, 0
	}
	s.start = r.startOf(s, rec, after, held)
	if ring := r.ringOf(rec); ring != nil && rec.Args[1] > 0 && rec.Args[3] > 0 {
		if !r.await(s, ring, rec.Args[3]) {
			return nil
		}
		if at, ok := ring.completions.at(rec.Args[3]); ok {
			s.start = max(s.start, later(at.paced, r.scale(rec.Args[4])))
		}
	}
	s.start = max(s.start, r.now) // a trace can be wrong
	s.forced, s.due = false, true
	if s.limit = (limit{}); (early > 0 || s.tick > 0) && s.via == format.ViaCall && !r.AFAP && !r.Pace.Schedule {
		r.shorten(s, r.Pace.Scale(early))
	}
	r.starts.Push(s)
	return nil
}

// strandOf returns a strand by its number, nil for none.
func (r *Schedule) strandOf(thread int64) *strand {
	if thread < 1 || thread > int64(len(r.strands)) {
		return nil
	}
	return &r.strands[thread-1]
}

// startOf returns the start of a strand's next event. Its edges release it at a given
// time and cover a part of its compute.
func (r *Schedule) startOf(s *strand, rec *format.Record, after, held int64) int64 {
	if s.via != format.ViaCall { // as long after the call that submits it as recorded
		return max(after, later(s.submit.paced, r.distance(s.recorded-s.submit.recorded)))
	}
	own := later(s.end, r.scale(rec.Compute-held))
	if r.Pace.Schedule {
		own = max(s.end, r.scale(s.recorded))
	}
	if s.waited = 0; after > 0 && s.done > 0 {
		s.waited = max(after-own, 0)
	}
	return max(after, own)
}

// distance returns the distance of a request from the call that submits it.
func (r *Schedule) distance(nanos int64) int64 {
	if r.AFAP {
		return 0
	}
	return nanos
}

// later returns a time plus a duration. It saturates.
func later(t, nanos int64) int64 {
	const most = 1 << 60
	return min(t, most) + min(max(nanos, 0), most)
}

// known returns how many events of the strand have an end that is known.
func (s *strand) known() int64 {
	if s.pending.ring != nil {
		return s.done - 1
	}
	return s.done
}

// await reports whether the ends of the first n events of another strand are known, or
// never will be. If not, the strand sleeps until then.
func (r *Schedule) await(s, on *strand, n int64) bool {
	if on.known() >= n || on.over || on == s || s.forced {
		return true
	}
	if len(on.sleepers) == 0 || n < on.soonest {
		on.soonest = n
	}
	s.asleep, s.until, s.needs = true, n, false
	on.sleepers = append(on.sleepers, s)
	return false
}

// wake continues the strands that wait for the progress of another one.
func (r *Schedule) wake(s *strand) {
	s.watchers = slices.DeleteFunc(s.watchers, func(k *strand) bool {
		if k.limited() {
			r.move(k, r.woken(k))
		}
		return !k.limited()
	})
	if len(s.sleepers) == 0 || s.soonest > s.known() && !s.over {
		return
	}
	all := s.sleepers
	s.sleepers, s.soonest = all[:0], math.MaxInt64
	for _, k := range all {
		switch {
		case !k.asleep: // it was forced to go on
		case k.until <= s.known() || s.over:
			r.ready = append(r.ready, k)
		default:
			s.sleepers, s.soonest = append(s.sleepers, k), min(s.soonest, k.until)
		}
	}
}

// release returns when the edges release a strand's next event, how much of its compute
// they cover, and how much of the rest can end early. ok is false if the strand sleeps for
// an edge. Edges of an event that holds them inside don't count.
func (r *Schedule) release(s *strand, inside bool) (after, held, early int64, ok bool) {
	next, ends := s.wait, s.reaped
	s.timer, s.tick = false, 0
	for ; next < len(s.waits) && s.waits[next].Event <= s.done; next++ {
		v := &s.waits[next]
		held += v.Held
		early += v.Expired
		s.timer = s.timer || v.Timer()
		if v.For.Kind == format.EdgeJoin && v.For.Thread == 0 { // for the thread's last commit
			after = max(after, later(s.synced, r.scale(v.For.Delay)))
			continue
		}
		if inside || r.Pace.Ignores(v.For.Kind) {
			continue
		}
		from := int64(0)
		if r.isAny(s, &v.For) {
			ends++
			if from, ok = s.reap(ends); !ok && !s.forced {
				s.asleep, s.until, s.needs = true, anyEnd, false
				return 0, 0, 0, false
			}
		} else if on := r.strandOf(int64(v.For.Thread)); on != nil {
			if !r.await(s, on, later(v.For.Event, 1)) {
				if s.needs, s.by = true, v.For.Kind; s.hastens(on) && on.limited() {
					r.move(on, min(on.start, max(on.limit.least, r.now)))
				}
				return 0, 0, 0, false
			}
			if from, ok = on.endOf(v.For.Event); !ok {
				held -= v.Held
				continue
			}
		}
		if !r.Pace.Schedule {
			from = later(from, r.scale(v.For.Delay))
		}
		if v.For.Kind == format.EdgeTick {
			s.tick = max(s.tick, from)
		} else {
			after = max(after, from)
		}
	}
	s.wait, s.reaped = next, ends
	return after, held, early, true
}

// endOf returns when an event of the strand ended; ok is false if it has not.
func (s *strand) endOf(event int64) (end int64, ok bool) {
	i, found := slices.BinarySearch(s.targets, event)
	if !found || i >= len(s.ends) {
		return 0, false
	}
	return s.ends[i], true
}

// unknown describes operations that are none, because a trace can be wrong.
var unknown format.Info

// play begins the earliest event that has a start.
func (r *Schedule) play() (Event, error) {
	s := r.starts.Pop()
	r.now = s.start
	if s.log != nil {
		return r.playGroup(s), nil
	}
	rec, nanos, err := s.source.Peek()
	if err != nil {
		return Event{}, err
	}
	was := moment{s.recorded, s.start}
	recordedEnd := later(s.recorded, nanos)
	e := Event{Thread: s.thread, Number: s.done, Record: rec, Start: s.start, End: s.start, Before: s.end, Waited: s.waited, Recorded: s.recorded}
	info := &unknown
	if rec.Op.Valid() {
		info = rec.Op.Info()
	}
	if s.skipped > 0 {
		e.Regrouped = true
		s.skipped--
	} else if info.Class != format.ClassProcess || s.via != format.ViaCall {
		if r.Duration != nil {
			nanos = r.Duration(&e, nanos)
		}
		e.End = later(s.start, nanos)
	}
	s.end = e.End
	if s.via != format.ViaCall {
		s.completions.add(moment{recordedEnd, s.end})
		recordedEnd = s.recorded // requests overlap
	}
	if k := len(s.ends); k < len(s.targets) && s.targets[k] == s.done {
		s.ends = append(s.ends, s.end)
		r.tell(s)
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
	if info.Acts.Any(format.Starts) {
		if child := r.strandOf(rec.Ret); child != nil && !child.born && child.thread > 0 {
			child.born, child.end = true, s.start
			r.ready = append(r.ready, child)
		}
	}
	r.wake(s)
	s.recorded, s.began, s.due = recordedEnd, false, false
	r.ready = append(r.ready, s)
	return e, nil
}
