package format

// lookahead is events that were read ahead, of which creations of threads can
// be taken out of turn. Events count from 0.
type lookahead struct {
	events []aheadEvent
	base   int   // number of the first of these
	first  int   // number of the next one to take
	last   Event // the newest one that was taken, or moved up

	creations map[int32]creation // by the thread that they create
	newest    map[int32]int      // number of the newest event of each thread
}

type aheadEvent struct {
	Event
	moved bool // up
}

// creation is an event that creates a thread.
type creation struct {
	number int
	before int // number of the event of the same thread before it, -1 if it was not read ahead
}

// next returns the next event, nil for none.
func (a *lookahead) next() *Event {
	for ; a.first < a.base+len(a.events); a.first++ {
		if e := &a.events[a.first-a.base]; !e.moved {
			return &e.Event
		}
	}
	if len(a.events) > 0 {
		*a = lookahead{events: a.events[:0]}
	}
	return nil
}

// add adds a copy of an event.
func (a *lookahead) add(e *Event) {
	if a.creations == nil {
		a.creations, a.newest = map[int32]creation{}, map[int32]int{}
	}
	if n := a.first - a.base; n > maxAhead {
		a.events = append(a.events[:0], a.events[n:]...)
		a.base = a.first
	}
	number := a.base + len(a.events)
	before, known := a.newest[e.TID]
	if !known {
		before = -1
	}
	a.newest[e.TID] = number
	if child := int32(e.Ret); e.Op.Valid() && e.Op.Info().Effect == EffectFork && e.Ret > 0 && child != e.TID {
		if _, twice := a.creations[child]; !twice {
			a.creations[child] = creation{number, before}
		}
	}
	a.events = append(a.events, aheadEvent{Event: e.Clone()})
}

// take takes the next event, which is valid until the next call.
func (a *lookahead) take() *Event {
	a.last = a.events[a.first-a.base].Event
	if child := int32(a.last.Ret); a.creations[child].number == a.first {
		delete(a.creations, child)
	}
	a.first++
	return &a.last
}

// reaches reports whether so many events were read ahead, or one that began
// after a time.
func (a *lookahead) reaches(events int, time int64) bool {
	return a.base+len(a.events)-a.first >= events || a.events[len(a.events)-1].Start > time
}

// creation returns the event that creates a thread, nil if it was not read
// ahead. A thread has no event while it creates another, so the event can be
// moved up unless one of its thread is before it.
func (a *lookahead) creation(tid int32) *Event {
	c, known := a.creations[tid]
	if !known || c.before >= a.first {
		return nil
	}
	return &a.events[c.number-a.base].Event
}

// moveUp takes the event that creation returns. It is valid until the next
// call.
func (a *lookahead) moveUp(tid int32) *Event {
	e := &a.events[a.creations[tid].number-a.base]
	a.last, e.moved = e.Event, true
	delete(a.creations, tid)
	return &a.last
}
