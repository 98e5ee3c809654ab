package transform

import (
	"math"
	"strconv"

	"pianola/format"
)

// carry holds, by thread, the nanoseconds that a thread was off the processor
// before events that were taken out since its last one that stayed.
type carry map[int32]int64

// take notes what an event that is taken out says.
func (c carry) take(e *format.Event) {
	if off := offProcessor(e); off > 0 {
		c[e.TID] += min(off, math.MaxInt64-c[e.TID])
	}
}

// give adds what was noted to the thread's next event.
func (c carry) give(e *format.Event) {
	if len(c) == 0 || c[e.TID] == 0 {
		return
	}
	off := c[e.TID]
	delete(c, e.TID)
	off += min(offProcessor(e), math.MaxInt64-off)
	e.Notes = setNote(e.Notes, "off", strconv.AppendInt(nil, off, 10))
}

// offProcessor returns how long the thread had been off the processor before an
// event, in nanoseconds since the one before.
func offProcessor(e *format.Event) int64 {
	v, ok := format.Note(e.Notes, "off")
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
