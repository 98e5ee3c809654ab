package compile

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"pianola/format"
	"pianola/format/process"
	"pianola/format/spool"
	"pianola/internal/table"
)

// A recording has its events in the order in which the calls returned. A call took effect
// at some time between its start and its end. So calls that overlap in time can have taken
// effect in another order, and then their results contradict the order of the lines: a
// mkdir says EEXIST, and the mkdir that made the directory returns 1 µs later.
//
// Most recordings have no such results. So the first pass takes the events as they come.
// If it finds contradictions, and calls on names overlap, the passes after it read the
// events through overlaps. It keeps a window of events, follows which names exist, and
// where a result contradicts that, it looks for an order of the calls that overlap which
// explains all of their results. The simulation needs to know nothing of that: it gets a
// recording whose events are in the order of their effects.

// overlap measures, while the recording is read, how far apart the lines of calls on names
// are that overlap in time.
type overlap struct {
	recent [overlapKept]recentCall
	older  [overlapKept]recentCall // every overlapStep-th call
	n      int64                   // calls so far
	most   int64                   // lines
	lost   bool                    // calls that overlap were further apart than this follows
}

type recentCall struct {
	tid  int32
	line int64
	end  int64
}

// overlapKept is how many calls on names are kept to be compared with later ones, and how
// many of those that are further away. It bounds the cost of a call that takes very long.
const (
	overlapKept = 1 << 10
	overlapStep = 1 << 6
)

// add adds a call on a name or a file. Later lines have later ends.
func (o *overlap) add(e *format.Event, line int64) {
	if last := &o.recent[(o.n+overlapKept-1)%overlapKept]; last.end > e.Start && o.n > 0 {
		o.follow(e, line)
	}
	o.recent[o.n%overlapKept] = recentCall{e.TID, line, e.End()}
	if o.n%overlapStep == 0 {
		o.older[o.n/overlapStep%overlapKept] = recentCall{e.TID, line, e.End()}
	}
	o.n++
}

// follow adds a call that overlaps with the newest one, or is of its thread.
func (o *overlap) follow(e *format.Event, line int64) {
	oldest := max(o.n-overlapKept, 0)
	first := oldest + int64(sort.Search(int(o.n-oldest), func(i int) bool { return o.recent[(oldest+int64(i))%overlapKept].end > e.Start }))
	if first == oldest && oldest > 0 {
		o.addFar(e, line)
	}
	for i := first; i < o.n; i++ {
		if k := &o.recent[i%overlapKept]; k.tid != e.TID {
			o.most = max(o.most, line-k.line)
			break
		}
	}
}

// addFar adds a call that overlaps with all of the recent ones, and maybe with older ones.
// Between those that are kept, it takes the distance for greater than it may be.
func (o *overlap) addFar(e *format.Event, line int64) {
	newest := (o.n - 1) / overlapStep
	for i := newest; i >= 0; i-- {
		if i <= newest-overlapKept {
			o.lost = true
			return
		}
		k := &o.older[i%overlapKept]
		if o.most = max(o.most, line-k.line); k.end <= e.Start {
			return
		}
	}
}

// overlaps reads the events of a recording in the order of their effects.
type overlaps struct {
	events *spool.Reader
	batch  []format.Event
	n, i   int
	err    error // why there are no more events
	fences []int64

	follower *process.Follower
	titles   titles
	sure     bool        // the notes say which opens made their files
	apart    int64       // lines between calls that overlap, at most
	cut      bool        // some are further apart
	most     int64       // events ahead of and behind scan
	ends     [near]int64 // of the newest events of the window, by their lines
	far      []*slot     // calls on names under way when one that is near lines before returned, in the order of their lines

	// The window: events that were returned are before head, those whose claims hold are
	// before scan. Positions count events from 0.
	window           []*slot
	head, scan, next int64

	given, free []*slot
	past        []*slot // given before, and still in the window, for texts that name them
	now         int     // index in given of the event that the simulation is at
	bytes       int64   // of the events in the window
	budget      *budget
	noted       int64 // bytes that the budget knows of
	search      search
	report      *Report
}

// slot is an event of the window.
type slot struct {
	event  format.Event
	at     int64 // position
	claim  claim
	claims bool
	tries  int8   // searches for an order that explains it
	forced bool   // none does
	why    tangle // why the search for one was given up, if it was
	others string // some calls that overlap with it on its names, if it is forced
	member uint32 // serial of the search that it was a member of
	rank   int    // in an order that was found, from 1
	placed bool
}

// maxApart bounds how far apart the lines of calls are that are brought into order. It
// bounds the window, of which an event takes about a kilobyte. A window also takes no more
// than half of the reader's share of the memory.
const maxApart = 1 << 16

// near is how many lines apart most calls are that overlap.
const near = 1 << 8

// behind is how many events before scan the window keeps at least.
const behind = 512

// followedFiles bounds the files whose names the window follows for descriptors: 32 MiB of
// names.
const followedFiles = 1 << 16

// newOverlaps returns a reader of a recording that was read to its end.
func newOverlaps(in *intake, b *budget, r *Report) *overlaps {
	h := *in.first
	h.Threads = nil // these have the kernel's ids
	o := &overlaps{
		events: in.events.Reader(), batch: make([]format.Event, readBatch),
		follower: process.New(&h, followedFiles), titles: newTitles(), sure: h.TellsWakers(), budget: b, report: r,
	}
	o.follower.Closed, o.follower.Dropped = o.titles.closed, o.titles.dropped
	o.search.left = allSteps + stepsPerCall*in.overlap.n
	o.apart, o.cut = in.overlap.most, in.overlap.lost
	if most := max(min(maxApart, b.limit/share/2/(2*slotBytes)), 1); o.apart > most {
		o.apart, o.cut = most, true
	}
	o.most = o.apart + behind
	size := 1
	for int64(size) < 2*o.most+near+readBatch+2 {
		size *= 2
	}
	o.window = make([]*slot, size)
	if cwd := h.Cwd(); cwd != "" {
		if t := o.titles.of([]byte(cwd), true); t != nil {
			o.titles.there(t, kindDir)
			o.titles.log = o.titles.log[:0] // it holds before the first event
		}
	}
	return o
}

func (o *overlaps) at(position int64) *slot { return o.window[position&int64(len(o.window)-1)] }

func (o *overlaps) put(position int64, s *slot) {
	s.at = position
	o.window[position&int64(len(o.window)-1)] = s
}

// Read fills events from the front, as a Reader does.
func (o *overlaps) Read(events []format.Event) (int, error) {
	o.past, o.given = append(o.past, o.given...), o.given[:0]
	if n := len(o.past) - near; n > 0 {
		for _, s := range o.past[:n] {
			o.bytes -= s.bytes()
		}
		o.free = append(o.free, o.past[:n]...)
		o.past = slices.Delete(o.past, 0, n)
	}
	o.far = slices.DeleteFunc(o.far, func(s *slot) bool { return s.at < o.head })
	n := 0
	for n < len(events) {
		if err := o.afford(); err != nil {
			return n, err
		}
		switch {
		case o.err == nil && o.next-o.scan < o.most:
			o.fetch()
		case o.scan < o.next && o.scan-o.head < o.most:
			o.step()
		case o.head < o.next:
			s := o.at(o.head)
			o.head++
			o.titles.forget(o.head)
			events[n] = s.event
			o.given = append(o.given, s)
			n++
		case n == 0:
			return 0, o.err
		default:
			return n, nil
		}
	}
	return n, nil
}

// fetch adds the next event of the recording to the window.
func (o *overlaps) fetch() {
	if o.i == o.n {
		if o.n, o.err = o.events.Read(o.batch); o.err != nil {
			return
		}
		o.i = 0
	}
	s := (*slot)(nil)
	if n := len(o.free); n > 0 {
		s, o.free = o.free[n-1], o.free[:n-1]
	} else {
		s = new(slot)
	}
	*s = slot{event: o.batch[o.i].Clone()}
	o.i++
	e := &s.event
	switch {
	case e.Enters != nil:
		o.follower.Thread(e)
		o.fences = append(o.fences, o.next)
	case e.Span != nil:
	case e.Via != format.ViaCall:
		s.claim = requested(o.follower.Thread(e), e)
	default:
		f := o.follower.Fact(e)
		t := f.Thread
		s.claim = o.titles.claimOf(o.follower, t, e, f.File, o.sure)
		o.titles.learn(&s.claim, e)
		h, p := o.titles.opening(&s.claim, t, e), t.Process
		o.follower.Apply(f)
		entered(t, e, h)
		o.titles.freed(&s.claim, p)
	}
	s.claims = s.claim.verb != saysNothing
	o.bytes += s.bytes()
	if end := &o.ends[o.next%near]; o.next >= near && *end > e.Start && s.claims {
		o.far = append(o.far, s)
	}
	o.ends[o.next%near] = e.End()
	o.put(o.next, s)
	o.next++
}

// slotBytes is the memory of an event of the window, without its strings.
const slotBytes = int64(unsafe.Sizeof(slot{})+unsafe.Sizeof(format.Notes{})+2*unsafe.Sizeof(title{})+unsafe.Sizeof(access{})) + 16

// bytes returns the memory that an event of the window takes.
func (s *slot) bytes() int64 {
	n := slotBytes
	for _, text := range s.event.Str {
		n += int64(len(text))
	}
	if list := s.event.List; list != nil {
		n += 8 * int64(len(list.Items))
	}
	if notes := s.event.Notes; notes != nil {
		n += int64(len(notes.Text) + len(notes.Path) + len(notes.Target) + len(notes.Blocks))
	}
	return n
}

// holds returns the bytes that the reader takes.
func (o *overlaps) holds() int64 {
	return o.titles.holds() + o.bytes + slotBytes*int64(len(o.free)) + 8*int64(len(o.window)) + o.search.bytes
}

// afford tells the budget what the reader takes. It returns a LimitError if that is more
// than its share of the limit: the window runs far ahead of the simulation, which asks after
// each event.
func (o *overlaps) afford() error {
	held := o.holds()
	if held > o.noted {
		o.budget.take(forNames, int(held-o.noted))
		o.noted = held
	}
	if held > o.budget.limit/share {
		return &LimitError{What: purposeNames[forNames], Limit: o.budget.limit}
	}
	return nil
}

// share is the part of the memory that the reader takes at most, as a divisor.
const share = 4

// step follows the event at scan. If what it claims can't be, it looks for an order of the
// events that can.
func (o *overlaps) step() {
	s := o.at(o.scan)
	if s.claims {
		o.titles.at = o.scan
		if !s.forced && !s.claim.fits() {
			found, why := false, tangleTries
			if s.tries++; s.tries <= maxTries {
				found, why = o.explain(o.scan)
			}
			if !found {
				s.forced, s.why, s.others = true, why, o.others(o.scan)
				if why != tangleNone {
					o.report.Tangled[why]++
				}
			}
			return
		}
		if s.claim.verb == saysKept && !o.sure && s.event.FileType() != format.TypeUnknown {
			o.correct(s)
		}
		o.titles.take(&s.claim, s.forced)
	}
	o.scan++
}

// maxOthers bounds the calls that the text about a result names.
const maxOthers = 2

// others names calls that overlap with the event at x, and have to do with its names. It
// returns "" if there are none, or enough examples of unexplained results.
func (o *overlaps) others(x int64) string {
	s, f := o.at(x), &o.search
	if !s.claims || len(o.report.Examples) >= maxExamples {
		return ""
	}
	f.serial++
	f.names, f.from = f.names[:0], x
	f.mark(&s.claim, s.event.TID)
	var names []string
	look := func(k *slot) {
		if k.claims && !precedes(&k.event, &s.event) && !precedes(&s.event, &k.event) && f.concerns(&k.claim, k.event.TID) {
			names = append(names, fmt.Sprintf("%s in thread %d at %s s", k.event.Op, k.event.TID, format.AppendSeconds(nil, k.event.Start)))
		}
	}
	end := min(x+near, o.next)
	for p := max(o.head-int64(len(o.given)+len(o.past)), x-near, 0); p < end; p++ {
		look(o.at(p))
	}
	for _, k := range o.far {
		if k.at >= end {
			look(k)
		}
	}
	text := strings.Join(names[:min(len(names), maxOthers)], " and ")
	if n := len(names) - maxOthers; n > 0 {
		text += fmt.Sprintf(" and %s", table.Plural(n, "other call"))
	}
	return text
}

// blames changes the text about a result that nothing explains, of the event that the
// simulation is at: if recorded calls overlap there, it is not known that another program did
// it.
func (o *overlaps) blames(what string) string {
	s := o.given[o.now]
	others := s.others
	if others == "" {
		others = o.others(s.at)
	}
	if others == "" {
		return what
	}
	what, _, _ = strings.Cut(what, blame)
	if s.why != tangleNone {
		return fmt.Sprintf("%s; the search for its order with %s was given up", what, others)
	}
	return fmt.Sprintf("%s; no order was found for it and %s", what, others)
}

// blame is how a text ends that holds another program responsible.
const blame = ", but the recording did not"

// correct notes whether an open made its file. A recorder by ptrace can only look whether
// the name is there before the call.
func (o *overlaps) correct(s *slot) {
	switch s.claim.names[0].now() {
	case kindUnknown:
	case kindAbsent:
		s.event.Notes.Has |= format.NotedNew
	default:
		s.event.Notes.Has &^= format.NotedNew
	}
}

// maxTries is how often an order is sought that explains an event. A search can spoil what
// an earlier one found, because claims know less than there is to know.
const maxTries = 3

// fenced returns the events around a position that can change places.
func (o *overlaps) fenced(position int64) (from, to int64) {
	from, to = o.head, o.next
	for _, f := range o.fences {
		if f <= position {
			from = max(from, f)
		} else {
			to = min(to, f)
		}
	}
	o.fences = slices.DeleteFunc(o.fences, func(f int64) bool { return f <= o.head })
	return from, to
}
