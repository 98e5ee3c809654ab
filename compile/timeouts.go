package compile

import "pianola/format"

// A thread that waits for at most some time, and is not woken within it, may wait at
// the same place again, until another thread wakes it. On faster storage that would
// have been sooner: what it had waited before is no compute, and no part of the
// least run time. Where the waking comes before the thread's next event in the trace,
// the edge for it is enough. Else the events between have what was waited before each
// (Event.Expired), and the edge (format.EdgeTimed) ends these waits early.
//
// What other threads did meanwhile does not hang on these waits, unless one was blocked
// from before the end of such a wait until the thread woke it: that one keeps to the
// time (format.EdgeTimer).
//
// Where the thread is never woken again at the place, the time is that of a timer.

// spot is a place where a thread waits.
type spot struct {
	tid          int32 // the kernel's
	kind, object int64 // the arguments of format.OpWait
}

func spotOf(e *format.Event) spot { return spot{e.TID, e.Args[0], e.Args[1]} }

// maxSpots bounds the places that are known to be woken at.
const maxSpots = 1 << 16

// waits learns where another thread woke one.
func (l *lore) waits(e *format.Event, line int64) {
	if !e.Notes.Known(format.NotedWaker) || e.Notes.Waker == e.TID {
		return
	}
	at := spotOf(e)
	if _, known := l.woken[at]; !known {
		if len(l.woken) == maxSpots {
			return
		}
		l.bytes += inMap
	}
	l.woken[at] = line
}

// timeouts is what a thread waited for at a place since it was last woken there.
type timeouts struct {
	at    spot
	open  bool  // there was such a wait
	told  bool  // events of the trace have some of it
	nanos int64 // in the gap
	total int64 // of all gaps, without those in which the thread was woken after it
	until int64 // when the last one ended, on the recording's clock
}

// expire notes a wait of so many nanoseconds whose time limit has passed.
func (m *model) expire(t *thread, e *format.Event, nanos int64) {
	at, out := spotOf(e), &t.timeouts
	if m.lore.woken[at] <= m.line || out.open && out.at != at {
		t.untied(format.Off{Timer: nanos})
		return
	}
	out.at, out.open = at, true
	out.nanos += nanos
	out.total += nanos
	out.until = e.End()
}

// woken notes that the thread was woken at a place. It returns the kind of the edge
// for that, and how much of the gap's time it ends early.
func (out *timeouts) woken(at spot) (kind format.EdgeKind, early int64) {
	if kind = format.EdgeWake; !out.open || out.at != at {
		return kind, 0
	}
	if out.told {
		kind = format.EdgeTimed
	}
	early = out.nanos
	*out = timeouts{total: out.total - early, until: out.until}
	return kind, early
}

// take returns how much of the gap's time the event at its end has.
func (out *timeouts) take() (nanos int64) {
	nanos, out.nanos = out.nanos, 0
	out.told = out.told || nanos > 0
	return nanos
}
