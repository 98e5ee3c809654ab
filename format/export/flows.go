package export

import "pianola/format"

// flows finds the ends of the arrows of a timeline, within the two events. An arrow
// from an event that has not come yet waits for it. Memory is bounded, so older events
// of a thread have no arrows.
type flows struct {
	draw    func(*flow)
	keep    int64 // events of each thread
	threads map[int32]*times
	waiting map[place][]flow
	count   int // of waiting
}

const (
	// keptEvents is the maximum number of events that can start arrows, and leastKept
	// the minimum per thread.
	keptEvents = 1 << 20
	leastKept  = 1 << 8

	// maxWaitingFlows bounds the arrows that wait for their beginning.
	maxWaitingFlows = 1 << 16
)

// place is an event of a thread, counted from 0.
type place struct {
	thread int32
	index  int64
}

// span is the time of an event. That of an instant ends where it starts.
type span struct{ start, end int64 }

// times are those of the last events of a thread.
type times struct {
	events int64
	last   []span // by index modulo flows.keep
}

// flow is an arrow.
type flow struct {
	kind         format.EdgeKind
	from, to     int32 // threads
	begins, ends int64
}

func newFlows(threads int, draw func(*flow)) flows {
	return flows{draw: draw, keep: max(keptEvents/int64(max(threads, 1)), leastKept), threads: make(map[int32]*times), waiting: make(map[place][]flow)}
}

// add adds the next event of a thread. It draws the arrows to it, and the waiting ones
// from it.
func (f *flows) add(thread int32, s span, edges []format.Edge) {
	t := f.threads[thread]
	if t == nil {
		t = new(times)
		f.threads[thread] = t
	}
	at := place{thread, t.events}
	t.events++
	if int64(len(t.last)) < f.keep {
		t.last = append(t.last, s)
	} else {
		t.last[at.index%f.keep] = s
	}
	for i := range edges {
		e := &edges[i]
		one, from := flow{kind: e.Kind, from: e.Thread, to: thread, begins: s.start, ends: s.end}, place{e.Thread, e.Event}
		switch by := f.threads[e.Thread]; {
		case by != nil && from.index < by.events-f.keep, e.Thread == 0: // forgotten, or the start of the recording
		case by != nil && from.index < by.events:
			f.join(&one, by.last[from.index%f.keep])
		case f.count < maxWaitingFlows:
			f.waiting[from] = append(f.waiting[from], one)
			f.count++
		}
	}
	if f.count > 0 {
		for _, one := range f.waiting[at] {
			f.join(&one, s)
			f.count--
		}
		delete(f.waiting, at)
	}
}

// join draws an arrow from an event. It has had the times of the event that it
// leads to. It begins in the last nanosecond of the event, because at its end
// another one can begin; if that creates the thread, at its start.
func (f *flows) join(one *flow, from span) {
	to := span{one.begins, one.ends}
	one.begins = max(from.start, from.end-1)
	if one.kind == format.EdgeBirth {
		one.begins = from.start
	}
	one.ends = max(one.begins, to.start)
	if one.ends == to.start || one.ends < to.end {
		f.draw(one)
	}
}
