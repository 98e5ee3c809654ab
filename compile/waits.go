package compile

import (
	"slices"
	"sort"
	"unsafe"

	"pianola/format"
)

// A wait between threads takes as long as its cause. So it is not compute. The event
// after the wait has an edge to the last event of the thread that ended the wait. The
// delay of the edge is the compute of that thread from this event to the wake-up, plus
// the compute of the woken thread after it. An event starts at the latest of
//
//	the end of the thread's event before, plus its own compute
//	the end of the event of each edge, plus the delay of the edge
//
// A woken thread also comes after everything that the waking thread came after. So a
// thread without events of its own passes on its causes and its compute.

// cause is an event that a thread comes after, with its delay relative to the thread's
// own clock, which counts the thread's compute. Times are in nanoseconds minus the own
// clock at the cause, so adding the own clock gives the delay at any later position.
type cause struct {
	place place           // event 0 of thread 0 is the start of the recording
	kind  format.EdgeKind // of the edge
	lag   int64           // from the end of the event at place
	bound int64           // when the thread could go on, on the recording's clock
	floor format.Floor
	early int64        // the part of lag that ends early if the thread is woken
	timed int64        // timeouts.until of its thread, at the event
	group *commitGroup // that the event at place ends; nil for none
	since int64        // on the recording's clock, when the thread got the cause
}

// gap is the time of a thread from one of its events in the trace to the next.
type gap struct {
	from   int64        // the recording's clock
	cost   int64        // thread.cost then
	own    format.Floor // the own clock then
	early  int64        // timeouts.cut at the end
	self   cause        // the event before
	marks  []mark       // ends of waits and of cuts within, in order
	causes []cause      // of these waits, and of messages
}

// mark is the end of a wait, or of time that was cut: on the recording's clock, and
// on the own one, without what the waking ended early.
type mark struct {
	at, own, early int64
	cut            bool
}

const (
	// pastKept is how many gaps of a thread are kept, to find what it did when it woke
	// another one. Every second one of the older gaps is dropped repeatedly. A thread
	// that wakes late then gets an earlier event and a longer delay.
	pastKept = 128

	// maxCauses bounds the causes of a thread. The most recent ones are kept.
	maxCauses = 8

	// maxFollowed is the number of threads to which the newest edge is known. Further
	// edges may be redundant.
	maxFollowed = pastKept

	// maxMarks is how many waits of a gap are kept.
	maxMarks = 64

	// maxGone is how many threads that have ended can still be found as wakers,
	// with goneKept gaps each.
	maxGone  = 1024
	goneKept = 8

	// latency is the maximum time that a woken thread takes to run on an idle machine.
	// Time beyond it was taken by other programs.
	latency = 50_000
)

// gapBytes is the memory of a gap with a wait, and of an edge that was followed. All
// passes count it, so that they need the same.
const gapBytes = int(unsafe.Sizeof(gap{})+3*unsafe.Sizeof(cause{})+unsafe.Sizeof(mark{})) + inMap

// waiting is what a thread needs for its waits.
type waiting struct {
	gap  gap
	held int64        // waits within the gap
	past []gap        // in order
	gaps int          // how many of them the budget counts, in all passes
	own  format.Floor // the own clock at the begin of the gap; of its parts, now
	gone int32        // its id, once it has ended
	timeouts
	serves  bool // it has had a request
	attempt attempt
	commit  committing

	followed boundedMap[int32, cause] // the newest edge to each thread that an event of this one has
}

// ties is the concern of waits: it ties those of threads to their causes, in the last pass.
type ties struct {
	*pass
	gone   map[int32]*thread // those that have ended, by id
	oldest []*thread         // the same, the oldest first

	channels boundedMap[format.Channel, []sending] // messages that were not received yet
	clients  boundedMap[connection, *outsider]     // programs that are not recorded
	causes   []cause                               // memory of follow
}

func newTies(p *pass) *ties {
	return &ties{
		pass: p, gone: map[int32]*thread{},
		channels: newBoundedMap[format.Channel, []sending](maxChannels), clients: newBoundedMap[connection, *outsider](maxConnections),
	}
}

func (w *ties) enlist() {
	w.when(factLeft, w.left)
	w.when(factTried, w.attempted)
	w.followMessages()
	if w.out != nil {
		w.when(factTimed, w.comes)
		w.when(factBegan, func(f fact) { f.t.begin(f.maker) })
		w.when(factEnds, w.ended)
		w.when(factFreed, w.freed)
	}
	w.when(factWritten, w.written)
}

// written begins the gap after an event of the trace.
func (w *ties) written(f fact) {
	if w.out != nil {
		w.tie(f.s)
	} else {
		w.syncs(f.s)
	}
	if t := f.s.t; !w.order.alone && t.gaps < pastKept {
		t.gaps++
		w.budget.take(forOrder, gapBytes)
	}
}

// left counts the duration of an event that is left out as compute, except for time spent
// waiting.
func (w *ties) left(f fact) {
	s, t, e := f.s, f.s.t, f.s.e
	held, known, at := int64(0), false, spot{}
	if e.Op == format.OpWait {
		at = t.place(e)
	}
	if w.out != nil {
		held, known = w.tied(s, at)
	} else if e.Op == format.OpWait && e.Notes.Known(format.NotedWaker) && e.Notes.Waker != e.TID {
		w.learned.woke(at, w.line)
		w.awaits(e)
	}
	off, rest := format.Off{}, min(e.Dur, e.End()-t.last)
	switch {
	case w.expires(e, at):
		t.off.Timer += rest
		if w.out != nil {
			w.expire(t, at, rest, e.End())
		}
		return
	case known:
		t.off.Wait += held
		return
	case rest < format.Waited, w.learned.serves && e.Sends() && e.FileType() == format.TypeSock:
		return // a server's send takes the processor; one that waits is rare
	case blocked(e):
		t.off.Wait += rest
		off.Wait = rest
	default:
		t.off.Other += rest
		off.Storage = rest
	}
	if w.out != nil {
		w.untied(t, off, e.End())
	}
}

// blocked reports whether a call is known to have waited for another thread or for an
// unrecorded program.
func blocked(e *format.Event) bool {
	switch e.FileType() {
	case format.TypeFifo, format.TypeSock, format.TypeChr:
		return true
	}
	return e.Op.Info().Acts.Any(format.Awaits|format.Blocks|format.Submits) && e.Kind() != format.MadeKind
}

// message is what a thread sent at a time on the recording's clock. The zero
// message means none.
type message struct {
	from *thread
	at   int64
}

// begin begins the first gap of a thread. maker is nil for one that was there from
// the start.
func (t *thread) begin(maker *thread) {
	t.gap = gap{from: t.last, self: cause{place: t.born, kind: format.EdgeWake, bound: t.last, since: t.last}}
	t.commit.wanted = -1
	if maker == nil {
		t.gap.self.lag, t.gap.self.floor.Total = t.now, t.now
	} else {
		t.gap.self.floor = maker.floor(maker.clock(t.last))
	}
}

// clock returns the own clock of a thread at a time after its last wait.
func (t *thread) clock(at int64) int64 {
	own := t.own.Total + max(at-t.last-t.cost-t.held, 0)
	if n := len(t.gap.marks); n > 0 {
		own = max(own, t.gap.marks[n-1].own)
	}
	return own
}

// least returns the own clock at a position as the floor counts it: without waits that
// can end early.
func (t *thread) least(own int64) format.Floor {
	clock := t.own
	clock.Total = own - t.timeouts.cut()
	return clock
}

// floor returns the floor of a thread at a position of its own clock.
func (t *thread) floor(own int64) format.Floor { return t.highest().Plus(t.least(own)) }

// highest returns the highest floor of the causes of the thread's gap.
func (t *thread) highest() *format.Floor {
	highest := &t.gap.self.floor
	for i := range t.gap.causes {
		if c := &t.gap.causes[i]; c.kind != format.EdgeArrival && c.floor.Total > highest.Total {
			highest = &c.floor
		}
	}
	return highest
}

// gapAt returns the gap in which a thread was at a time, and its own clock then. If that gap is not kept
// any more, it is one before, and the clock is at most that of the next one that is kept.
func (t *thread) gapAt(at int64) (g *gap, own int64) {
	if at >= t.gap.from || len(t.past) == 0 {
		return &t.gap, t.gap.clock(at)
	}
	i := max(sort.Search(len(t.past), func(i int) bool { return t.past[i].from > at }), 1)
	next := &t.gap
	if i < len(t.past) {
		next = &t.past[i]
	}
	g = &t.past[i-1]
	return g, min(g.clock(at), next.own.Total)
}

// clock returns the own clock at a time within the gap. It does not pass that of
// the next mark: between the two the thread waited.
func (g *gap) clock(at int64) int64 {
	i := sort.Search(len(g.marks), func(i int) bool { return g.marks[i].at > at })
	own := g.own.Total + max(at-g.from-g.cost, 0)
	if i > 0 {
		m := &g.marks[i-1]
		own = m.own + at - m.at
	}
	if i < len(g.marks) {
		own = min(own, g.marks[i].own+g.marks[i].early)
	}
	return own
}

// uncut removes the cuts that end at a time.
func (g *gap) uncut(at int64) {
	for n := len(g.marks); n > 0 && g.marks[n-1].cut && g.marks[n-1].at >= at; n-- {
		g.marks = g.marks[:n-1]
	}
}

// comesAfter appends to dst the causes of a thread at a time. The lags are those up to
// that time.
func (t *thread) comesAfter(dst []cause, at int64) []cause {
	g, own := t.gapAt(at)
	least := g.own
	if least.Total = own - g.early; g == &t.gap {
		least = t.least(own)
	}
	pass := func(c cause) {
		c.lag += own
		c.bound += own
		c.floor = c.floor.Plus(least)
		c.early = 0
		dst = append(dst, c)
	}
	pass(g.self)
	for _, c := range g.causes {
		if c.since <= at {
			pass(c)
		}
	}
	return dst
}

// follow makes a thread come after causes that comesAfter returned, with additional
// delays. The thread was blocked from a given time on.
func (t *thread) follow(from, now int64, causes []cause, kind format.EdgeKind, more format.Floor) {
	own := t.clock(now)
	for _, c := range causes {
		switch {
		case c.kind.Outside():
		case from < c.timed:
			c.kind = format.EdgeTimer
		case kind == format.EdgeUntimed && c.timed == 0:
			c.kind = format.EdgeWake
		default:
			c.kind = kind
		}
		c.lag += more.Total - own
		c.bound += more.Total - own
		c.floor = c.floor.Plus(more).Minus(t.least(own))
		c.since, c.early = now, t.timeouts.nanos
		t.after(c)
	}
}

// after adds a cause, unless another one covers it, and drops those that it covers.
func (t *thread) after(c cause) {
	if t.gap.self.covers(&c) {
		return
	}
	for i := range t.gap.causes {
		if t.gap.causes[i].covers(&c) {
			return
		}
	}
	if f, ok := t.followed.of[c.place.thread]; ok && f.covers(&c) {
		return
	}
	causes := append(slices.DeleteFunc(t.gap.causes, func(k cause) bool {
		if k.place == c.place && k.kind == format.EdgeTimer && c.covers(&k) {
			c.kind = k.kind
		}
		return c.covers(&k)
	}), c)
	if len(causes) > maxCauses {
		first := 0
		for i := range causes {
			if causes[i].bound < causes[first].bound {
				first = i
			}
		}
		causes = slices.Delete(causes, first, first+1)
	}
	t.gap.causes = causes
}

// covers reports whether a thread that comes after c also comes after d. Between two
// events of one thread the recording decides. A replay can leave out some of the kinds
// for unrecorded causes, so each of these covers only its own kind. A later wake-up does
// not cover the one that ends a wait for a time limit.
func (c *cause) covers(d *cause) bool {
	if c.place.thread != d.place.thread || c.place.event < d.place.event || c.kind != d.kind && (c.kind.Outside() || d.kind.Outside() || d.kind == format.EdgeTimed) {
		return false
	}
	if c.place.event == d.place.event {
		return c.lag >= d.lag
	}
	if c.kind == format.EdgeUntimed && d.kind == format.EdgeTimer {
		return false // it would not end the timer early
	}
	return c.bound >= d.bound
}

// waker returns the thread with an id that woke another one: a living one, or one that
// ended recently; nil if there is none.
func (w *ties) waker(tid int32) *thread {
	if t := w.state.Living(tid); t != nil {
		return t.Data.(*thread)
	}
	return w.gone[tid]
}

// ended keeps a thread for those that it wakes on its way out.
func (w *ties) ended(f fact) {
	t, tid := f.s.t, f.s.e.TID
	if floor := t.floor(t.clock(f.s.e.Start)); floor.Total > t.proc.floor.Total {
		t.proc.floor = floor
	}
	t.gone, t.followed = tid, boundedMap[int32, cause]{}
	t.past = slices.Clone(t.past[max(len(t.past)-goneKept, 0):])
	w.gone[tid] = t
	if w.oldest = append(w.oldest, t); len(w.oldest) > maxGone {
		if old := w.oldest[0]; w.gone[old.gone] == old {
			delete(w.gone, old.gone)
		}
		w.oldest[0] = nil
		w.oldest = w.oldest[1:]
	}
}

// idles notes that the thread did nothing but wait from its last event, or its last wait,
// until a time.
func (t *thread) idles(until int64) {
	t.held += until - t.notBefore(t.last)
	t.mark(mark{at: until, own: t.clock(until)})
}

// notBefore returns a time, or when the thread's last event in the trace or the last
// wait after it ended, if that is later.
func (t *thread) notBefore(at int64) int64 {
	at = max(at, t.last)
	if n := len(t.gap.marks); n > 0 {
		at = max(at, t.gap.marks[n-1].at)
	}
	return at
}

// awake returns when the thread's last event in the trace or the last wait after it ended.
func (t *thread) awake() int64 {
	for i := len(t.gap.marks) - 1; i >= 0; i-- {
		if m := &t.gap.marks[i]; !m.cut {
			return max(m.at, t.last)
		}
	}
	return t.last
}

// wait ties the wait of a thread at a place, from one time to another, to the thread
// that ended it. It returns for how long it waited.
func (w *ties) wait(t *thread, from, to int64, at spot, on *thread) int64 {
	awake := t.awake()
	if from = t.notBefore(from); to < from {
		return 0
	}
	w.causes = on.comesAfter(w.causes[:0], to)
	joined := w.joins(t, at, awake, from, to, w.causes)
	kind := format.EdgeWake
	switch {
	case on.attachedTo() && t.attachedTo() && w.learned.servers[t.TID]:
		w.causes = w.causes[:0] // in a replay, what they did when the recorder attached is over at once
	case at.kind == format.WaitFutex || w.inBackground(t) && w.inBackground(on):
		until := w.timerOf(on, to)
		if kind = format.EdgeUntimed; w.byTimer(t, until, from, to) && !joined {
			if from < until {
				w.tick(t, from, until)
			}
			return 0
		}
	}
	if len(w.causes) > 0 {
		t.timeouts.untick()
	}
	t.held += to - from
	w.report.Tied += to - from
	w.resume(t, from, to, at, w.causes, kind, format.Floor{})
	t.resumed(at, from, to, joined)
	return to - from
}

// resume makes a thread that was blocked at a place come after causes, by edges of a kind, with
// additional delays. It ends the expired waits at the place.
func (w *ties) resume(t *thread, from, to int64, at spot, causes []cause, kind format.EdgeKind, more format.Floor) {
	own := t.clock(to)
	timed, early := t.timeouts.woken(at)
	if timed {
		kind = format.EdgeTimed
	}
	t.held += early
	t.off.Timer -= early
	t.off.Wait += early
	if early > 0 { // the own clock goes back
		for i := range t.gap.causes {
			c := &t.gap.causes[i]
			c.lag, c.bound, c.early = c.lag+c.early, c.bound+c.early, 0
		}
	}
	t.mark(mark{at: to, own: own - early, early: early})
	t.follow(from, to, causes, kind, more)
}

// mark records that the own clock stops until a time on the recording's clock.
func (t *thread) mark(at mark) {
	if len(t.gap.marks) == maxMarks {
		t.gap.marks = slices.Delete(t.gap.marks, 0, maxMarks/2)
	}
	t.gap.marks = append(t.gap.marks, at)
}

// tied ties the wait at a place, or within a call that is left out, to the threads that ended it. It
// returns how long the thread waited; ok is false if the cause is unknown.
func (w *ties) tied(s *simEvent, at spot) (nanos int64, ok bool) {
	t, e := s.t, s.e
	if e.Notes.Known(format.NotedWaker) {
		if on := w.waker(e.Notes.Waker); on != nil && on != t {
			nanos, ok = w.wait(t, e.Start, e.End()-e.Notes.Woken, at, on), true
		}
	}
	sent := s.sent
	if c := s.pipedBy; c != nil && sent.from == nil {
		if on := w.waker(c.tid); on != nil && on.num == c.thread {
			sent = message{on, c.start}
		}
	}
	if sent.from != nil && sent.from != t {
		w.causes = sent.from.comesAfter(w.causes[:0], sent.at)
		t.follow(e.Start, e.End(), w.causes, format.EdgeMessage, format.Floor{})
	}
	if s.arrived && !ok {
		return w.arrive(t, e)
	}
	return nanos, ok
}

// tie gives an event the edges of its thread's waits, and begins the gap after it. The
// thread's clocks are at the end of the event.
func (w *ties) tie(s *simEvent) {
	t, out := s.t, s.out
	w.ends(s)
	out.Held = min(t.held, out.Compute)
	out.Expired = min(t.timeouts.take(), out.Compute-out.Held)
	if timer := t.timeouts.takeTimer(); timer > 0 && out.Expired == 0 && !w.order.alone {
		out.Expired = min(timer, out.Compute-out.Held)
		w.order.edges = append(w.order.edges, format.Edge{Kind: format.EdgeTimer})
	}
	own := t.own.Total + out.Compute - out.Held
	if edge := t.timeouts.tickEdge(w.order.here, own, t.last); edge.Kind == format.EdgeTick && !w.order.alone {
		w.order.edges = append(w.order.edges, edge)
	}
	for i := range t.gap.causes {
		c := &t.gap.causes[i]
		// A replay leaves out a wait for a group of commits, if the groups differ.
		w.order.edge(format.Edge{Thread: c.place.thread, Kind: c.kind, Event: c.place.event, Delay: max(c.lag+own, 0)}, c.group == nil)
		if t.followed.of == nil {
			t.followed = newBoundedMap[int32, cause](maxFollowed)
		}
		t.followed.set(c.place.thread, *c)
	}
	var ended *commitGroup
	if !w.order.alone {
		ended = w.commits(s)
	}
	if !w.order.alone {
		t.keep()
	}
	t.own.Total, t.held = own, 0
	// Fields are set one by one. Copies of structs whose fields have just been written
	// stall the processor, and this is done for every event.
	g, self := &t.gap, &t.gap.self
	if highest, p := t.highest(), s.joins; p != nil && p.floor.Total > highest.Total+own-t.timeouts.cut() {
		self.floor = p.floor.Minus(t.least(own))
	} else if highest != &self.floor {
		self.floor = *highest
	}
	total := self.floor.Total + own - t.timeouts.cut()
	w.report.raise(out.Op, total, &self.floor, &t.own)
	g.from, g.cost, g.early, g.marks, g.causes = t.last, t.cost, 0, nil, nil
	g.own.Sum(&t.own, &format.Floor{})
	self.place, self.kind, self.lag, self.bound = w.order.here, format.EdgeWake, -own, t.last-own
	self.early, self.timed, self.group, self.since = 0, t.timeouts.until, ended, t.last
}

// keep adds the gap to those that are kept.
func (t *thread) keep() {
	if len(t.past) == pastKept {
		n := pastKept / 4
		for i := range n {
			t.past[i] = t.past[2*i]
		}
		t.past = append(t.past[:n], t.past[2*n:]...)
	}
	t.gap.early = t.timeouts.cut()
	t.past = append(t.past, t.gap)
}

// edge adds an edge of a wait. If all replays keep it, one that only orders the event after the
// same one, or an earlier one of the same thread, is not needed then.
func (o *order) edge(e format.Edge, kept bool) {
	o.forgetPlaces()
	if o.any.thread == e.Thread && o.any.event == e.Event && e.Thread > 0 {
		e.Kind = format.EdgeAny
		o.edges = slices.DeleteFunc(o.edges, func(k format.Edge) bool { return k.Kind == e.Kind })
		o.edges = append(o.edges, e)
		return
	}
	if kept && !e.Kind.Outside() && e.Thread != o.here.thread && e.Thread > 0 {
		o.edges = slices.DeleteFunc(o.edges, func(k format.Edge) bool {
			return k.Thread == e.Thread && k.Event <= e.Event && k.Kind < format.EdgeWake
		})
		if int(e.Thread) < len(o.seen) {
			o.seen[e.Thread] = max(o.seen[e.Thread], e.Event+1)
		}
	}
	o.edges = append(o.edges, e)
}
