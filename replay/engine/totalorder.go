package engine

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"

	"pianola/format"
	"pianola/format/schedule"
	"pianola/internal/limit"
)

// cursor is the position of a thread in the recording, while orderAll goes through it.
type cursor struct {
	w        *Worker
	from, to int64 // of the event that began last, in nanoseconds of the recording
	begun    int64 // events
	ended    int64 // events
	endedAt  int64 // when the last of them did
	place    int   // in ordering.running; -1 if the last event has ended
	wait     int   // index of the next wait found by compile

	newer, older *cursor // of those with an ended event, by its end
}

// maxWaits is the fraction of Options.Memory for the waits of a total order.
const maxWaits = 4

// ordering is the state of orderAll.
type ordering struct {
	threads []cursor             // by number, from 0
	running format.Heap[*cursor] // threads within an event, by its end
	found   [][]format.Wait
	left    int64 // waits that may still be found

	newest *cursor // of the threads with an ended event: the one that ended last
	begun  int64   // the latest beginning of an ended event
}

// orderAll makes each event wait for all events that had ended in the recording
// when it began. It keeps the waits found by compile: an event begins after
// what it waits for. The times are those of package schedule, because the recorder's cost
// is not in durations and computes, so that their sums drift apart.
//
// Let L be the latest start among the events that ended before an event began.
// Only the events that ended after L matter, because the event that started at
// L waited for the others. They overlap, so there are at most as many as
// threads. All edges lead to an event that began earlier, so there is no cycle,
// unless there is one among the waits found by compile.
func (e *Engine) orderAll() error {
	o := &ordering{
		threads: make([]cursor, len(e.Workers)), found: make([][]format.Wait, len(e.Workers)), begun: -1,
		left: e.Memory / maxWaits / int64(unsafe.Sizeof(format.Wait{})),
		running: format.NewHeap(func(a, b **cursor) bool {
			return (*a).to < (*b).to || (*a).to == (*b).to && (*a).w.Number < (*b).w.Number
		}, func(m *cursor, place int) { m.place = place }),
	}
	for i, w := range e.Workers {
		o.threads[i] = cursor{w: w, place: -1}
	}
	l, err := newTimeline(e.Trace, schedule.Options{})
	for err == nil {
		var at schedule.Event
		if at, err = l.Next(); err != nil {
			break
		}
		if m := &o.threads[at.Thread-1]; m.w.ring == nil { // requests come in the order of their submissions
			o.begin(m, at.Start, at.End)
		}
		if o.left < 0 {
			return fmt.Errorf("a total order of the events takes more than a quarter of %d bytes: %w", e.Memory, limit.Of("memory"))
		}
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("order all events: %w", err)
	}
	for i, w := range e.Workers {
		if w.ring == nil {
			w.waits = o.found[i]
		}
	}
	return nil
}

// begin begins the next event of m, after those that have ended by then.
func (o *ordering) begin(m *cursor, from, to int64) {
	for len(o.running.Items) > 0 && o.running.Items[0].to <= from {
		o.end(o.running.Items[0])
	}
	if m.place >= 0 { // its thread goes on at once, although the recorded duration is longer
		o.end(m)
	}
	all := &o.found[m.w.Number-1]
	before := len(*all)
	for k := o.newest; k != nil && k.endedAt >= o.begun; k = k.older {
		if k != m {
			*all = append(*all, format.Wait{Event: m.begun, For: format.Edge{Thread: k.w.Number, Event: k.ended - 1}})
		}
	}
	for ; m.wait < len(m.w.waits) && m.w.waits[m.wait].Event == m.begun; m.wait++ {
		v := m.w.waits[m.wait]
		implied := func(w format.Wait) bool { return w.For.Thread == v.For.Thread && w.For.Event >= v.For.Event }
		if v.Held > 0 || v.Expired > 0 || v.For.Delay > 0 || !slices.ContainsFunc((*all)[before:], implied) {
			*all = append(*all, v)
		}
	}
	o.left -= int64(len(*all) - before)
	m.begun++
	m.from, m.to = from, to
	o.running.Push(m)
}

// end ends the current event of m.
func (o *ordering) end(m *cursor) {
	o.running.Remove(m.place)
	o.begun = max(o.begun, m.from)
	o.newest = m.moveToFront(o.newest)
	m.ended, m.endedAt = m.begun, m.to
}

// moveToFront moves m to the front of a list and returns it.
func (m *cursor) moveToFront(newest *cursor) *cursor {
	if newest == m {
		return m
	}
	if m.newer != nil {
		m.newer.older = m.older
	}
	if m.older != nil {
		m.older.newer = m.newer
	}
	m.newer, m.older = nil, newest
	if newest != nil {
		newest.newer = m
	}
	return m
}
