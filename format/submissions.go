package format

import (
	"cmp"
	"slices"
)

// Submissions returns a reader of the events of r, with requests where they were
// submitted. A recording has the line of a request at its completion. The reader
// moves it up, to right before the call that submitted it, in the order of
// submission, and notes its place. A request whose call is not in the recording,
// because a thread of the kernel polls the ring, or is too far back, gets such a call
// of its own. Events that have the note stay where they are: transforms read a
// recording through this reader, and compile does again.
//
// Memory is bounded: a call waits for its requests while maxWindow events follow.
// Without requests nothing is kept back.
func Submissions(r Reader) Reader {
	return &submissions{
		Reader: r, batch: make([]Event, causalBatch), calls: map[submission]*pending{}, early: map[submission][]*pending{},
		left: map[int32]int64{}, polled: map[int32]bool{}, orders: map[int32]int64{},
	}
}

// maxWindow is how many events are kept back at most for a call whose requests are
// in flight.
const maxWindow = 1 << 16

// submission identifies a call that submits requests. Copies of an application,
// which a transform makes, have the same numbers.
type submission struct {
	tid   int32
	ring  int32
	batch int64
}

type submissions struct {
	Reader
	batch []Event
	n, i  int
	err   error

	window []*pending // events that are kept back
	first  int        // the first of these
	ready  []*pending // taken from its front, to be given
	given  []*pending // that the caller has got
	unused []*pending

	calls  map[submission]*pending   // in the window, of which not all requests have come
	early  map[submission][]*pending // requests in the window, whose call has not come
	left   map[int32]int64           // when a thread left its newest call
	polled map[int32]bool            // rings that a thread of the kernel polls
	orders map[int32]int64           // completions of each ring so far
}

// pending is an event of the window.
type pending struct {
	event    Event
	kept     Kept
	of       submission // of a request, or of a call that submits
	requests []*pending // of a call
	missing  int64      // requests of a call that have not come
	claimed  bool       // a request whose call has come
}

// Read implements Reader.
func (s *submissions) Read(events []Event) (n int, err error) {
	s.unused = append(s.unused, s.given...)
	s.given = s.given[:0]
	for n < len(events) {
		switch {
		case len(s.ready) > 0:
			p := s.ready[0]
			s.ready = s.ready[1:]
			s.given = append(s.given, p)
			events[n] = p.event
			n++
		case s.kept() > 0 && s.isFree(s.window[s.first]):
			s.take()
		case s.i < s.n:
			e := &s.batch[s.i]
			s.i++
			if s.kept() > 0 || s.concerns(e) {
				s.keep(e)
				continue
			}
			events[n] = *e // borrowed, as it is from the source
			n++
		case n > 0:
			return n, nil // the next batch overwrites what some of them refer to
		case s.err != nil:
			return 0, s.err
		default:
			if n = s.fill(events[:min(len(events), len(s.batch))]); n > 0 || s.n == 0 && s.err == nil {
				return n, nil
			}
		}
	}
	return n, nil
}

// fill reads the next events. Those before the first that concerns requests go to the
// caller: all of most recordings. The others go to the batch. Events are borrowed, as
// they are from the source.
func (s *submissions) fill(events []Event) (n int) {
	read, err := s.Reader.Read(events)
	for n < read && s.kept() == 0 && !s.concerns(&events[n]) {
		n++
	}
	s.n, s.i, s.err = copy(s.batch, events[n:read]), 0, err
	return n
}

// kept returns how many events the window has.
func (s *submissions) kept() int { return len(s.window) - s.first }

// concerns reports whether an event is a request, makes a ring or submits requests.
func (s *submissions) concerns(e *Event) bool {
	if e.Op == OpUringSetup && e.Args[1]&setupSQPoll != 0 && e.Notes.Known(NotedRing) {
		s.polled[e.Notes.Request.Ring] = true
	}
	return e.isRequest() || e.submits() > 0
}

const setupSQPoll = 2 // IORING_SETUP_SQPOLL

// isRequest reports whether an event is a request of a known ring, and not in its
// place.
func (e *Event) isRequest() bool {
	return e.Via != ViaCall && e.Notes.Known(NotedRing|NotedBatch) && !e.Notes.Known(NotedPlaced)
}

// submits returns how many requests a call has submitted that are not in their places.
func (e *Event) submits() int64 {
	if (e.Op == OpUringEnter || e.Op == OpIOSubmit) && e.Notes.Known(NotedRing|NotedBatch) && !e.Notes.Known(NotedPlaced) {
		return max(e.Ret, 0)
	}
	return 0
}

// keep adds an event to the window, unless it is a request whose call is there.
func (s *submissions) keep(e *Event) {
	p := s.copy(e)
	switch n := e.submits(); {
	case e.isRequest():
		request := &p.event.Notes.Request
		if e.Failed() || request.Flags&ReqSkip == 0 { // else it has no completion
			s.orders[p.of.ring]++
			request.Order = s.orders[p.of.ring]
		}
		if call := s.calls[p.of]; call != nil {
			s.claim(call, p)
			return
		}
		s.early[p.of] = append(s.early[p.of], p)
	case n > 0:
		p.missing = n
		s.calls[p.of] = p
		for _, k := range s.early[p.of] {
			s.claim(p, k)
		}
		delete(s.early, p.of)
	}
	if e.Via == ViaCall {
		s.left[e.TID] = e.End()
	}
	if s.first > 0 && len(s.window) == cap(s.window) {
		s.window, s.first = s.window[:copy(s.window, s.window[s.first:])], 0
	}
	s.window = append(s.window, p)
}

// copy returns a copy of an event.
func (s *submissions) copy(e *Event) *pending {
	p := &pending{}
	if n := len(s.unused); n > 0 {
		p, s.unused = s.unused[n-1], s.unused[:n-1]
	}
	*p = pending{event: *e, kept: p.kept, requests: p.requests[:0]}
	p.kept.KeepOne(&p.event)
	if e.Notes != nil {
		p.of = submission{e.TID, e.Notes.Request.Ring, e.Notes.Request.Batch}
	}
	return p
}

// claim gives a request to its call.
func (s *submissions) claim(call, request *pending) {
	request.claimed = true
	call.requests = append(call.requests, request)
	if call.missing--; call.missing == 0 {
		delete(s.calls, call.of)
	}
}

// isFree reports whether an event can leave the window: what comes later does not
// belong before it.
func (s *submissions) isFree(p *pending) bool {
	switch {
	case s.kept() >= maxWindow, s.err != nil && s.i == s.n:
		return true
	case p.event.isRequest() && !p.claimed:
		// Its thread is in the call that submitted it, or has left that.
		left, known := s.left[p.event.TID]
		return s.polled[p.of.ring] || known && left >= p.event.Start
	}
	return p.missing == 0
}

// take takes the first event from the window, with the requests before a call.
func (s *submissions) take() {
	p := s.window[s.first]
	s.window[s.first] = nil
	s.first++
	s.ready = s.ready[:0]
	switch {
	case p.claimed: // its call has it
		return
	case p.event.isRequest():
		s.disown(p)
		p.requests = append(p.requests, p)
		p.place()
		s.ready = append(s.ready, p, p.call())
		return
	}
	if p.of.batch > 0 && s.calls[p.of] == p {
		delete(s.calls, p.of) // what comes later stands for itself
	}
	slices.SortStableFunc(p.requests, func(a, b *pending) int { return cmp.Compare(a.event.Start, b.event.Start) })
	p.place()
	s.ready = append(append(s.ready, p.requests...), p)
}

// place notes that the requests of a call are in their places, and which are linked.
func (p *pending) place() {
	chain, linked := int32(0), false
	for _, k := range p.requests {
		links := k.event.Notes.Request.Flags&ReqLinks != 0
		if links && !linked {
			chain++
		}
		if links || linked {
			k.event.Notes.Request.Chain = chain
		}
		linked = links
		k.event.Notes.Has |= NotedPlaced
	}
	if p.event.submits() > 0 {
		p.event.Notes.Has |= NotedPlaced
	}
}

// disown has a request whose call does not come stand for itself.
func (s *submissions) disown(p *pending) {
	if all := slices.DeleteFunc(s.early[p.of], func(k *pending) bool { return k == p }); len(all) > 0 {
		s.early[p.of] = all
	} else {
		delete(s.early, p.of)
	}
}

// call returns a call that submits a request alone.
func (p *pending) call() *pending {
	op := OpUringEnter
	if p.event.Via == ViaAIO {
		op = OpIOSubmit
	}
	notes := &Notes{Has: NotedRing | NotedBatch | NotedPlaced, Request: Request{Ring: p.of.ring, Batch: p.of.batch}}
	c := &pending{event: Event{Op: op, TID: p.event.TID, Line: p.event.Line, Start: p.event.Start, Ret: 1, Notes: notes}}
	return c
}
