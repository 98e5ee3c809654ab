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
	names   []*title // of members, and the directories above
	serial  uint32
	must    int // members that the order must have, which are the first ones
	has     int // of them, in the order

	threads []queue
	of      map[int32]int  // index in threads
	files   map[*title]int // file → its number in the key of a state
	handles []*title       // of members
	from    int64          // the first position of an event that can change places
	order   []int
	failed  map[string]struct{} // states from which nothing leads on
	key     []byte
	steps   int64 // of this search
	budget  int64
	left    int64 // steps of all searches
	state   int64 // steps that a state of this search takes
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
	used    uint32  // a member is about it, or about something below it
	changed uint32  // a member changes it
	inside  uint32  // a member changes a name in it
	listed  uint32  // a member's result depends on the names in it
	handle  uint32  // a member is about this handle
	shared  uint32  // a handle whose offset members of several threads move
	tid     int32   // of one that moves it
	bytes   touched // of a file, of a name that leads to one, or of the offset of a handle
	locks   touched // of a file, or of such a name
}

// touched is what members do, by the serial of a search.
type touched struct{ looked, changed uint32 }

// A step takes some ten nanoseconds: a position that is looked at, or 16 bytes of a state, or
// eight directories above a name.
// maxSteps bounds a search, to some ten milliseconds. All searches of a pass together have
// allSteps, and stepsPerCall for each recorded call on a name.
const (
	maxSteps     = 1 << 19
	allSteps     = 1 << 25
	stepsPerCall = 1 << 10
)

// maxMembers bounds the calls that a search orders.
const maxMembers = 1 << 10

// rounds are how many events before and after the one that is to be explained a search
// orders. The first round only looks at the calls that had not returned yet, which explain
// most results. The last ones are for calls that were all under way at the same time; the
// very last one goes back to where the first of the calls that were found began.
var rounds = [...]struct{ back, forth int64 }{{0, 0}, {16, 4}, {64, 32}, {384, 64}, {math.MaxInt64, 64}}

// explain looks for an order of the events around a position that explains all of their
// results. If it finds one, it puts the events into that order. In any case scan goes back
// to the first event that was looked at, where the titles are again as they were then. If it
// finds none, it returns why it gave up.
func (o *overlaps) explain(x int64) (found bool, why tangle) {
	if o.before(x) {
		return true, tangleNone
	}
	f := &o.search
	least, most := o.fenced(x)
	if o.cut {
		why = tangleFar
	}
	for _, r := range rounds {
		from, to := max(least, x-min(r.back, x)), min(x+1+r.forth, most)
		if r.back == math.MaxInt64 {
			if from = o.reach(max(x-384, least), least); from >= x-384 {
				break
			}
		}
		if f.left <= 0 {
			return false, tangleTotal
		}
		if !o.gather(x, from, to, most) {
			return false, tangleCalls
		}
		if len(f.members) == 1 {
			continue // no other call has to do with it
		}
		f.left -= 2 * (o.scan - from) // for the way back
		o.titles.undo(from)
		o.scan = from
		found, whole := o.found()
		if found {
			o.arrange(from)
			return true, tangleNone
		}
		if !whole {
			why = tangleSteps
		}
	}
	return false, why
}

// reach returns the first position before from of an event that was under way when the
// first member began.
func (o *overlaps) reach(from, least int64) int64 {
	start := int64(math.MaxInt64)
	for _, s := range o.search.members {
		start = min(start, s.event.Start)
	}
	for from > least && o.at(from-1).event.End() > start {
		from--
		o.search.left--
	}
	return from
}

// before moves the event at x, which changes nothing, to where its claim held, if it ran
// then. This is the cheap way to explain what took long and saw an old state.
func (o *overlaps) before(x int64) bool {
	s := o.at(x)
	if s.claim.changes() || o.search.left <= 0 {
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
		o.search.left -= 1 + 2*int64(was-n)
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
// ordered as a whole. Calls after it that were under way at its end can be, too. It returns
// false if these are more than a search orders.
func (o *overlaps) gather(x, from, to, most int64) bool {
	f := &o.search
	f.serial++
	f.from = from
	f.members, f.pos, f.names = append(f.members[:0], o.at(x)), append(f.pos[:0], x), f.names[:0]
	f.handles = f.handles[:0]
	o.at(x).member = f.serial
	f.mark(&o.at(x).claim, o.at(x).event.TID)
	stop, more := o.at(x).event.End(), true
	join := func(s *slot, p int64) {
		f.left--
		if !s.claims || s.member == f.serial || p >= to && s.event.Start >= stop {
			return
		}
		f.left -= s.claim.steps()
		if !f.concerns(&s.claim, s.event.TID) {
			return
		}
		s.member = f.serial
		f.members, f.pos, more = append(f.members, s), append(f.pos, p), true
		if f.mark(&s.claim, s.event.TID); p < to {
			stop = max(stop, s.event.End())
		}
	}
	for more {
		more = false
		end := min(to+near, most)
		f.left -= int64(len(o.far)) / 4
		for p := from; p < end; p++ {
			join(o.at(p), p)
		}
		for _, s := range o.far {
			if s.at >= end && s.at < min(to+o.apart, most) {
				join(s, s.at)
			}
		}
		if len(f.members) > maxMembers {
			return false
		}
	}
	slices.Sort(f.pos)
	f.must = 0
	for i, p := range f.pos {
		if f.members[i] = o.at(p); p < to {
			f.must++
		}
	}
	return true
}

// mark marks the names and the files of a member of a thread.
func (f *search) mark(c *claim, tid int32) {
	for _, t := range c.names {
		if t == nil || t.up == nil {
			continue
		}
		for up := t; up.up != nil && up.mark.used != f.serial; up = up.up {
			up.mark.used = f.serial
			f.names = append(f.names, up)
		}
		if c.verb == saysFilled {
			t.mark.listed = f.serial
		}
		if c.renames() && t.mark.changed != f.serial {
			t.mark.changed, t.up.mark.inside = f.serial, f.serial
		}
	}
	c.handles(func(h *title, path bool) {
		if h.mark.handle != f.serial {
			h.mark.handle = f.serial
			f.handles = append(f.handles, h)
		}
		if !path && !h.unsettled(f.from) {
			return // whatever becomes of its name
		}
		for up := h.up; up.up != nil && up.mark.used != f.serial; up = up.up {
			up.mark.used = f.serial
			f.names = append(f.names, up)
		}
	})
	c.uses(f.from, func(u use) {
		if m := u.marks(); u.changes {
			m.changed = f.serial
		} else {
			m.looked = f.serial
		}
	})
	if h := c.moved(); h != nil {
		if h.mark.bytes.changed == f.serial && h.mark.tid != tid {
			h.mark.shared = f.serial
		}
		h.mark.bytes.changed, h.mark.tid = f.serial, tid
	}
}

// marks returns the notes about what is used.
func (u *use) marks() *touched {
	if u.locks {
		return &u.of.mark.locks
	}
	return &u.of.mark.bytes
}

// concerns reports whether the order of a claim and the members can matter.
func (f *search) concerns(c *claim, tid int32) bool {
	for _, t := range c.names {
		if t == nil || t.up == nil {
			continue
		}
		if c.renames() && (t.mark.used == f.serial || t.up.mark.listed == f.serial) || c.verb == saysFilled && t.mark.inside == f.serial {
			return true
		}
		for up := t; up.up != nil; up = up.up {
			if up.mark.changed == f.serial {
				return true
			}
		}
	}
	found := c.opens != nil && c.opens.mark.handle == f.serial
	c.handles(func(h *title, path bool) {
		if !path && !h.unsettled(f.from) {
			return
		}
		for up := h.up; up.up != nil && !found; up = up.up {
			found = up.mark.changed == f.serial
		}
	})
	c.uses(f.from, func(u use) {
		m := u.marks()
		found = found || m.changed == f.serial || u.changes && m.looked == f.serial
	})
	h := c.moved()
	return found || h != nil && h.mark.bytes.changed == f.serial && (h.mark.tid != tid || h.mark.shared == f.serial)
}

// found looks for an order of the members, and leaves it in search.order. It leaves the
// titles as they were. whole reports whether it has tried all orders.
func (o *overlaps) found() (found, whole bool) {
	f := &o.search
	if f.failed == nil {
		f.failed, f.of, f.files = map[string]struct{}{}, map[int32]int{}, map[*title]int{}
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
	// The key of a state takes some bytes for each thread, name and handle, and looks at all
	// directories above these.
	depths := int64(0)
	for _, t := range f.names {
		depths += int64(t.depth)
	}
	f.state = 1 + int64(2*n+8*len(f.names)+len(f.members))/16 + depths/8
	for _, h := range f.handles {
		f.state += 2 + int64(h.up.depth)/8
	}
	for _, try := range [...]struct {
		early bool
		steps int64
	}{{false, 4 * int64(len(f.members)) * (1 + f.state)}, {true, maxSteps}} {
		f.order, f.has, f.steps, f.budget, f.early = f.order[:0], 0, 0, min(try.steps, max(f.left, 0)), try.early
		clear(f.failed)
		f.bytes = 0
		for i := range f.threads {
			f.threads[i].next = 0
		}
		log := len(o.titles.log)
		found = o.extend()
		o.titles.back(log)
		f.left -= f.steps
		if whole = f.steps <= f.budget; found || whole {
			break
		}
	}
	if len(f.failed) > 1<<10 {
		f.failed = nil // a map that is cleared keeps its size
	}
	return found, whole
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
	clear(f.files)
	// The state of a file comes with the first name or handle of it.
	file := func(b *title) {
		if b == nil {
			f.key = append(f.key, 0)
			return
		}
		k, known := f.files[b]
		if !known {
			k = len(f.files) + 1
			f.files[b] = k
		}
		if f.key = binary.AppendUvarint(f.key, uint64(k)); !known {
			n := len(f.key)
			f.key = b.appendState(f.key)
			f.steps += int64(len(f.key)-n) / 16
		}
	}
	for _, t := range f.names {
		// The state of a name: its kind, whether a recorded call made the directory, how many
		// names are known in that, and its file.
		flags := byte(t.now()) << 1
		if t.bare() {
			flags |= 1
		}
		f.key = binary.AppendVarint(append(f.key, flags), int64(t.holds()))
		file(t.body())
	}
	for _, h := range f.handles {
		state := byte(h.kind) << 2
		if h.stray() {
			state |= 1
		}
		if h.gone != h.up.gone {
			state |= 2
		}
		if f.key = append(f.key, state); h.id > 0 {
			f.key = binary.AppendVarint(f.key, h.offset(own))
			file(h.file)
		}
	}
	f.steps += f.state
	if f.steps > f.budget {
		return false
	}
	if _, known := f.failed[string(f.key)]; known {
		return false
	}
	state := string(f.key)
	fail := func() {
		f.failed[state] = struct{}{}
		f.bytes += int64(len(state) + inMap)
	}
	if f.early {
		for i := range f.threads {
			if log := len(o.titles.log); o.takes(i, end, true) {
				if o.extend() {
					return true
				}
				o.leave(i, log)
				fail() // that it came early does no harm
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
		if f.steps += int64(len(f.threads)) / 16; k < 0 {
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
	fail()
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
	h := s.claim.moved()
	if s.event.Start >= end && s.event.End() != end || looks && (s.claim.changes() || h != nil && h.mark.shared == f.serial) {
		return false
	}
	f.steps += s.claim.steps()
	log := len(o.titles.log)
	if !o.titles.take(&s.claim, s.forced) {
		return false
	}
	if looks && h == nil && len(o.titles.log) > log {
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
	first := 0 // before it, all are placed
	var place func(i int)
	place = func(i int) {
		s := all[i]
		if s.placed {
			return
		}
		s.placed = true
		for ; first < len(all) && all[first].placed; first++ {
		}
		o.search.left -= int64(max(i-first, 0)+s.rank) / 4
		for j := first; j < i; j++ {
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
	return e.Op.Info().Acts.Any(format.Starts) && e.Ret == int64(tid)
}
