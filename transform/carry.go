package transform

import (
	"math"
	"strconv"

	"pianola/format"
)

// carry holds, by thread, what its next event is to say of the time before it.
type carry struct {
	cost format.Cost
	owed map[int32]owed // nil before the first event
}

// owed is in nanoseconds.
type owed struct {
	off int64 // the thread was off the processor before events that are gone
	cut int64 // the time is to be shorter than recorded
}

// begin takes up the header of the recording, at the first event.
func (c *carry) begin(h *format.Header) {
	if c.owed == nil {
		c.cost, c.owed = h.Cost(), make(map[int32]owed)
	}
}

// take notes what an event that is taken out says, and cuts what it took of the
// recorder's time and, where the verdict is Spare, of the thread's.
func (c *carry) take(e *format.Event, v Verdict) {
	cut := c.cost.Inside
	if v == Spare {
		cut = max(e.Dur, 0)
	}
	c.note(e.TID, offProcessor(e), sum(cutBefore(e), sum(cut, c.cost.Around(e.Op))))
}

// cut cuts the time before a thread's next event, in nanoseconds.
func (c *carry) cut(thread int32, nanos int64) { c.note(thread, 0, nanos) }

func (c *carry) note(thread int32, off, cut int64) {
	if off != 0 || cut != 0 {
		o := c.owed[thread]
		c.owed[thread] = owed{sum(o.off, off), sum(o.cut, cut)}
	}
}

// give lets the thread's next event say what was noted.
func (c *carry) give(e *format.Event) {
	if len(c.owed) == 0 {
		return
	}
	o, ok := c.owed[e.TID]
	if !ok {
		return
	}
	delete(c.owed, e.TID)
	if o.off > 0 {
		e.Notes = setNote(e.Notes, "off", sum(o.off, offProcessor(e)))
	}
	if o.cut != 0 {
		e.Notes = setNote(e.Notes, "cut", sum(o.cut, cutBefore(e)))
	}
}

// sum returns a sum, or what is nearest to it.
func sum(a, b int64) int64 {
	if b > 0 {
		return a + min(b, math.MaxInt64-max(a, 0))
	}
	return a + max(b, math.MinInt64-min(a, 0))
}

// offProcessor returns how long the thread had been off the processor before an
// event, in nanoseconds since the one before.
func offProcessor(e *format.Event) int64 {
	off, _ := format.NoteNumber(e.Notes, "off")
	return off
}

// cutBefore returns how much shorter than recorded the time before an event is
// to be, in nanoseconds.
func cutBefore(e *format.Event) int64 {
	if len(e.Notes) == 0 {
		return 0
	}
	v, _ := format.Note(e.Notes, "cut")
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
