package compile

import (
	"encoding/binary"
	"math"
	"slices"

	"pianola/format"
)

// search looks for an order of calls that overlap which explains their results.
type search struct {
	members []*slot // in the order of their lines
	pos     []int64
	names   []*title // that members change
	serial  uint32
	must    int // members that the order must have, which are the first ones
	has     int // of them, in the order

	threads []queue
	of      map[int32]int // index in threads
	order   []int
	failed  map[string]struct{} // states from which nothing leads on
	key     []byte
	steps   int
	budget  int
	bytes   int64 // of failed
	early   bool  // take calls that only look as early as they fit
}

// queue is the members of a thread, as indexes.
type queue struct {
	members []int
	next    int
}

// marks are what a search notes at a name, by its serial.
type marks struct {
	used    uint32 // a member is about it, or about something below it
	changed uint32 // a member changes it
	inside  uint32 // a member changes a name in it
	listed  uint32 // a member's result depends on the names in it
}

// maxSteps bounds a search, to some ten milliseconds.
const maxSteps = 1 << 16

// rounds are how many events before and after the one that is to be explained a search
// orders. The first round only looks at the calls that had not returned yet, which explain
// most results. The last ones are for calls that were all under way at the same time.
var rounds = [...]struct{ back, forth int64 }{{0, 0}, {16, 4}, {64, 32}, {384, 64}}

// explain looks for an order of the events around a position that explains all of their
// results. If it finds one, it puts the events into that order. In any case scan goes back
// to the first event that was looked at, where the titles are again as they were then.
func (o *overlaps) explain(x int64) bool {
	if o.before(x) {
		return true
	}
	least, most := o.fenced(x)
	for _, r := range rounds {
		from, to := max(x-r.back, least), min(x+1+r.forth, most)
		if o.gather(x, from, to, most); len(o.search.members) == 1 {
			continue // no other call has to do with it
		}
		o.titles.undo(from)
		o.scan = from
		if o.found() {
			o.arrange(from)
			return true
		}
	}
	return false
}

// before moves the event at x, which changes nothing, to where its claim held, if it ran
// then. This is the cheap way to explain what took long and saw an old state.
func (o *overlaps) before(x int64) bool {
	s := o.at(x)
	if s.claim.changes() {
		return false
	}
	least, _ := o.fenced(x)
	n, fits := len(o.titles.log), false
	p := x
	for p > max(least, x-o.apart) && !fits {
		if k := &o.at(p - 1).event; precedes(k, &s.event) || creates(k, s.event.TID) {
			break
		}
		p--
		was := n
		for ; n > 0 && o.titles.log[n-1].at >= p; n-- {
			o.titles.swap(n - 1)
		}
		fits = n < was && s.claim.knows()
	}
	if !fits {
		for ; n < len(o.titles.log); n++ {
			o.titles.swap(n)
		}
		return false
	}
	o.titles.log = o.titles.log[:n]
	for ; x > p; x-- {
		o.put(x, o.at(x-1))
	}
	o.put(p, s)
	o.scan = p
	return true
}

// precedes reports whether an event had its effect before one with a later line in any case.
func precedes(a, b *format.Event) bool { return a.TID == b.TID || a.End() <= b.Start }

// gather makes the event at x a member, and those of a range that have to do with the
// names of members and change any, or whose names members change. The range must be
// ordered as a whole. Calls after it that were under way at its end can be, too.
func (o *overlaps) gather(x, from, to, most int64) {
	f := &o.search
	f.serial++
	f.members, f.pos, f.names = append(f.members[:0], o.at(x)), append(f.pos[:0], x), f.names[:0]
	o.at(x).member = f.serial
	f.mark(&o.at(x).claim)
	stop := o.at(x).event.End()
	for more := true; more; {
		more = false
		for p := from; p < min(to+o.apart, most); p++ {
			s := o.at(p)
			if s.claims && s.member != f.serial && (p < to || s.event.Start < stop) && f.concerns(&s.claim) {
				s.member = f.serial
				f.members, f.pos, more = append(f.members, s), append(f.pos, p), true
				if f.mark(&s.claim); p < to {
					stop = max(stop, s.event.End())
				}
			}
		}
	}
	slices.Sort(f.pos)
	f.must = 0
	for i, p := range f.pos {
		if f.members[i] = o.at(p); p < to {
			f.must++
		}
	}
}

// mark marks the names of a member.
func (f *search) mark(c *claim) {
	for _, t := range c.names {
		if t == nil || t.up == nil {
			continue
		}
		for up := t; up.up != nil; up = up.up {
			up.mark.used = f.serial
		}
		if c.verb == saysFilled {
			t.mark.listed = f.serial
		}
		if c.changes() && t.mark.changed != f.serial {
			t.mark.changed, t.up.mark.inside = f.serial, f.serial
			f.names = append(f.names, t)
		}
	}
}

// concerns reports whether the order of a claim and the members can matter.
func (f *search) concerns(c *claim) bool {
	for _, t := range c.names {
		if t == nil || t.up == nil {
			continue
		}
		if c.changes() && (t.mark.used == f.serial || t.up.mark.listed == f.serial) || c.verb == saysFilled && t.mark.inside == f.serial {
			return true
		}
		for up := t; up.up != nil; up = up.up {
			if up.mark.changed == f.serial {
				return true
			}
		}
	}
	return false
}

// found looks for an order of the members, and leaves it in search.order. It leaves the
// titles as they were.
func (o *overlaps) found() bool {
	f := &o.search
	if f.failed == nil {
		f.failed, f.of = map[string]struct{}{}, map[int32]int{}
	}
	clear(f.of)
	for i := range f.threads {
		f.threads[i].members = f.threads[i].members[:0]
	}
	n := 0
	for i, s := range f.members {
		k, known := f.of[s.event.TID]
		if !known {
			k = n
			f.of[s.event.TID] = k
			if n++; n > len(f.threads) {
				f.threads = append(f.threads, queue{})
			}
		}
		f.threads[k].members = append(f.threads[k].members, i)
	}
	f.threads = f.threads[:n]
	o.titles.at = o.scan
	// Most orders differ from that of the lines in few places, which are near the end.
	for _, try := range [...]struct {
		early bool
		steps int
	}{{false, 4 * len(f.members)}, {true, maxSteps}} {
		f.order, f.has, f.steps, f.budget, f.early = f.order[:0], 0, 0, try.steps, try.early
		clear(f.failed)
		for i := range f.threads {
			f.threads[i].next = 0
		}
		log := len(o.titles.log)
		ok := o.extend()
		o.titles.back(log)
		if ok || f.steps <= f.budget {
			return ok
		}
	}
	o.report.Tangled[tangleSteps]++
	return false
}

// extend extends the order of some members to all.
func (o *overlaps) extend() bool {
	f := &o.search
	if f.has == f.must {
		return true
	}
	f.key = f.key[:0]
	end := int64(math.MaxInt64) // of the first member that is not in the order
	for i := range f.threads {
		q := &f.threads[i]
		f.key = binary.LittleEndian.AppendUint16(f.key, uint16(q.next))
		if q.next < len(q.members) {
			end = min(end, f.members[q.members[q.next]].event.End())
		}
	}
	for i, t := range f.names {
		first := i // of the names of one file
		if t.file != 0 {
			first = slices.IndexFunc(f.names, func(k *title) bool { return k.file == t.file })
		}
		f.key = binary.LittleEndian.AppendUint16(append(f.key, byte(t.now()), byte(t.held)), uint16(first))
		if t.empty {
			f.key = append(f.key, 1)
		}
	}
	if _, known := f.failed[string(f.key)]; known {
		return false
	}
	state := string(f.key)
	if f.early {
		for i := range f.threads {
			if log := len(o.titles.log); o.takes(i, end, true) {
				if o.extend() {
					return true
				}
				o.leave(i, log)
				f.failed[state] = struct{}{} // that it came early does no harm
				return false
			}
		}
	}
	for last := -1; ; {
		// The threads in the order of the lines of their next members.
		k, least := -1, len(f.members)
		for i := range f.threads {
			if q := &f.threads[i]; q.next < len(q.members) && q.members[q.next] > last && q.members[q.next] < least {
				k, least = i, q.members[q.next]
			}
		}
		if k < 0 {
			break
		}
		last = least
		log := len(o.titles.log)
		if !o.takes(k, end, false) {
			continue
		}
		if o.extend() {
			return true
		}
		if o.leave(k, log); f.steps > f.budget {
			return false
		}
	}
	f.failed[state] = struct{}{}
	return false
}

// takes adds the next member of a thread to the order, if it can come next. end is when the
// first of those that are left ended. With looks, only a member is added that changes
// nothing.
func (o *overlaps) takes(thread int, end int64, looks bool) bool {
	f := &o.search
	q := &f.threads[thread]
	if q.next == len(q.members) || f.steps > f.budget {
		return false
	}
	i := q.members[q.next]
	s := f.members[i]
	if s.event.Start >= end && s.event.End() != end || looks && s.claim.changes() {
		return false
	}
	f.steps++
	log := len(o.titles.log)
	if !o.titles.take(&s.claim, s.forced) {
		return false
	}
	if looks && len(o.titles.log) > log {
		o.titles.back(log)
		return false
	}
	f.order = append(f.order, i)
	if i < f.must {
		f.has++
	}
	q.next++
	return true
}

// leave takes the newest member of the order out of it, which is one of a thread.
func (o *overlaps) leave(thread int, log int) {
	f := &o.search
	if n := len(f.order) - 1; f.order[n] < f.must {
		f.has--
	}
	f.order = f.order[:len(f.order)-1]
	f.threads[thread].next--
	o.titles.back(log)
}

// arrange puts the events from a position on into the order that was found. Each member comes as
// early as the next one in the order needs it, and all other events keep their order.
func (o *overlaps) arrange(from int64) {
	f := &o.search
	to := from
	for rank, i := range f.order {
		f.members[i].rank = rank + 1
		to = max(to, f.pos[i]+1)
	}
	var all, out []*slot
	for p := from; p < to; p++ {
		o.at(p).placed = false
		all = append(all, o.at(p))
	}
	var place func(i int)
	place = func(i int) {
		s := all[i]
		if s.placed {
			return
		}
		s.placed = true
		for j := range i {
			if k := all[j]; !k.placed && (precedes(&k.event, &s.event) || creates(&k.event, s.event.TID)) {
				place(j)
			}
		}
		if s.rank > 0 {
			for _, i := range f.order[:s.rank-1] {
				if k := f.members[i]; !k.placed {
					place(int(f.pos[i] - from))
				}
			}
		}
		out = append(out, s)
	}
	for i := range all {
		place(i)
	}
	for i, s := range out {
		o.put(from+int64(i), s)
	}
	for _, s := range f.members {
		s.rank = 0
	}
}

// creates reports whether an event creates a thread.
func creates(e *format.Event, tid int32) bool {
	return e.Op != format.OpSpan && e.Op.Info().Effect == format.EffectFork && e.Ret == int64(tid)
}
