package transform

import (
	"math"

	"pianola/format"
)

// carry holds, by thread, changes to the time before its next event.
type carry struct {
	costs format.Costs
	told  bool // the recording tells who woke whom
	lines *lineage
	owed  map[int32]owed // nil before the first event
}

// owed is in nanoseconds.
type owed struct {
	off format.Off // the thread was off the processor before events that are gone
	cut int64      // the time is to be shorter than recorded
}

// begin reads the header of the recording, at the first event.
func (c *carry) begin(h *format.Header) {
	if c.owed == nil {
		c.costs, c.told, c.owed = h.Costs(), h.TellsWakers(), make(map[int32]owed)
	}
}

// take records the notes of a removed event, and cuts the recorder's time that it took
// and, if the verdict is Spare, the thread's time. A dropped event that took time was
// off the processor.
//
// It returns true if the event has become a wait: one that another thread ended within
// it, or, if the verdict is Spare, an empty one. An empty wait marks when the time was
// cut, because the thread can wake others before its next event.
//
// An event that takes no time of its thread leaves none.
func (c *carry) take(e *format.Event, v Verdict) bool {
	c.lines.takes(e, v)
	if e.Beside() {
		return false
	}
	wait := format.Event{Op: format.OpWait, TID: e.TID, Line: e.Line, Off: e.Off, Cut: e.Cut, Calls: e.Calls}
	cost := c.costs.Of(e.TID)
	off, cut := e.Off, sum(cost.Inside, cost.Around(e.Op)) // the cut is for what follows
	stays := c.told && e.Dur > 0
	switch {
	case v == Spare:
		cut = sum(max(e.Dur, 0), cost.Around(e.Op))
		wait.Start, wait.Cut = e.End(), sum(e.Cut, cut)
	case stays && e.Dur >= format.Waited && e.Notes.Known(format.NotedWaker):
		wait.Start, wait.Dur = e.Start, e.Dur
		wait.Notes = &format.Notes{Has: format.NotedWaker, Waker: e.Notes.Waker, Woken: e.Notes.Woken}
	default:
		stays = false
		if e.Dur >= format.Waited {
			off.Other = sum(off.Other, e.Dur)
		}
	}
	if !stays {
		c.note(e.TID, off, sum(sum(e.Cut, cost.Before(e)), cut))
		return false
	}
	if v == Spare {
		cut = 0 // the wait has it
	}
	*e = wait
	c.give(e)
	// Compile takes what a recorder spends at a wait off the thread's time.
	c.cut(e.TID, sum(cut, -sum(cost.Inside, cost.Around(format.OpWait))))
	return true
}

// cut cuts the time before a thread's next event, in nanoseconds.
func (c *carry) cut(thread int32, nanos int64) { c.note(thread, format.Off{}, nanos) }

func (c *carry) note(thread int32, off format.Off, cut int64) {
	if off != (format.Off{}) || cut != 0 {
		o := c.owed[thread]
		c.owed[thread] = owed{sumOff(o.off, off), sum(o.cut, cut)}
	}
}

// give adds what was noted to the thread's next call.
func (c *carry) give(e *format.Event) {
	if len(c.owed) == 0 || e.Beside() {
		return
	}
	o, ok := c.owed[e.TID]
	if !ok {
		return
	}
	delete(c.owed, e.TID)
	if e.Off.IsZero() && !o.off.IsZero() {
		o.cut = sum(o.cut, -c.costs.Of(e.TID).Switch) // compile takes it off for the time that is moved here
	}
	e.Off, e.Cut = sumOff(e.Off, o.off), sum(e.Cut, o.cut)
}

// sumOff returns the sum of the parts.
func sumOff(a, b format.Off) format.Off {
	parts := b.Parts()
	for i, p := range a.Parts() {
		*p = sum(*p, *parts[i])
	}
	return a
}

// sum returns a sum, which saturates.
func sum(a, b int64) int64 {
	if b > 0 {
		return a + min(b, math.MaxInt64-max(a, 0))
	}
	return a + max(b, math.MinInt64-min(a, 0))
}
