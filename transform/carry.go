package transform

import (
	"math"

	"pianola/format"
)

// carry holds, by thread, changes to the time before its next event.
type carry struct {
	cost format.Cost
	told bool           // the recording tells who woke whom
	owed map[int32]owed // nil before the first event
}

// owed is in nanoseconds.
type owed struct {
	off format.Off // the thread was off the processor before events that are gone
	cut int64      // the time is to be shorter than recorded
}

// begin reads the header of the recording, at the first event.
func (c *carry) begin(h *format.Header) {
	if c.owed == nil {
		c.cost, c.told, c.owed = h.Cost(), h.TellsWakers(), make(map[int32]owed)
	}
}

// take notes what an event that is taken out says, and cuts what it took of the
// recorder's time and, where the verdict is Spare, of the thread's. What is dropped
// and lasted was off the processor.
//
// It reports true if the event has become a wait of no length that says so: before
// its next event the thread can wake others, and they would come later by the time
// that was cut.
func (c *carry) take(e *format.Event, v Verdict) bool {
	cut, off := c.cost.Inside, e.Off
	switch {
	case v == Spare:
		cut = max(e.Dur, 0)
	case e.Dur >= format.Waited:
		off.Other = sum(off.Other, e.Dur)
	}
	c.note(e.TID, off, sum(sum(e.Cut, c.cost.Before(e)), sum(cut, c.cost.Around(e.Op))))
	if v != Spare || !c.told || e.Dur <= 0 {
		return false
	}
	*e = format.Event{Op: format.OpWait, TID: e.TID, Line: e.Line, Start: e.End()}
	c.give(e)
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

// give adds what was noted to the thread's next event.
func (c *carry) give(e *format.Event) {
	if len(c.owed) == 0 {
		return
	}
	o, ok := c.owed[e.TID]
	if !ok {
		return
	}
	delete(c.owed, e.TID)
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
