package compile

import (
	"slices"

	"pianola/format"
)

// A thread that waits for at most some time, and is not woken within it, may wait at
// the same place again, until another thread wakes it. On faster storage the other
// thread would have done so sooner. So the expired wait is neither compute nor part of
// the minimum run time. If the wake-up comes before the thread's next event in the
// trace, its edge is enough. Otherwise each event in between holds the wait before it
// (Event.Expired), and the edge (format.EdgeTimed) ends these waits early.
//
// Other threads go on without waiting for the time limit. The exception is a thread that
// was blocked from before the end of such a wait until this thread woke it: it waits for
// the whole time (format.EdgeTimer).
//
// If the thread is never woken at the place again, the time counts as a timer. Threads of a
// program can have timers for work in the background. Another thread that meets such work,
// and waits for its end, would not have met it on faster storage. If it began to wait after the
// timer had expired, its edge (format.EdgeUntimed) ends the timers before early.

// The same applies to a thread that is refused a lock, sleeps, and tries again until it
// gets the lock: on faster storage it would have got it sooner. After the release of
// the lock it sleeps for as long as recorded.

// spot is a place where a thread waits.
type spot struct {
	tid          int32 // the kernel's
	kind, object int64 // the arguments of format.OpWait; onLock and the file
}

const onLock = -1

// spotOf returns where a thread waits. A condition variable of glibc has two futexes, one after the
// other, at which its threads wait by turns (nptl/pthread_cond_wait.c).
func spotOf(e *format.Event) spot {
	at := spot{e.TID, e.Args[0], e.Args[1]}
	if at.kind == format.WaitFutex {
		at.object &^= 7
	}
	return at
}

// place returns where a thread waits. When a signal comes, or requests of the thread end, the kernel
// interrupts its wait, and may restart it by a call of which only the first argument is known.
func (t *thread) place(e *format.Event) spot {
	at := spotOf(e)
	if e.Interrupted() {
		t.interrupted = at
	} else if at.kind == format.WaitOther && at.object != 0 && at.object&^7 == t.interrupted.object&^7 {
		at = t.interrupted
	}
	return at
}

// expires reports whether a wait ended before what the thread waits for: its time limit passed, or it was
// interrupted, and the thread is woken at the place later.
func (w *ties) expires(e *format.Event, at spot) bool {
	return e.TimedOut() || e.Interrupted() && w.learned.woken[at] > w.line
}

// maxSpots bounds the places that are known to be woken at.
const maxSpots = 1 << 16

// woke learns at which line a thread was woken.
func (l *learned) woke(at spot, line int64) {
	if _, known := l.woken[at]; !known {
		if len(l.woken) == maxSpots {
			return
		}
		l.bytes += inMap
	}
	l.woken[at] = line
}

// timeouts is what a thread has waited for at a place since it was last woken there.
type timeouts struct {
	interrupted spot // where its last wait was that a signal interrupted

	at    spot
	open  bool  // there was such a wait
	told  bool  // events of the trace have some of it
	nanos int64 // in the gap
	total int64 // of all gaps, without those in which the thread was woken after it
	until int64 // when the last one, or the last timer, ended, on the recording's clock

	timer  int64 // what it has waited in the gap for timers that can end early
	timers int64 // the same, of all gaps

	tick     mark  // in the gap, when the last timer of another thread expired
	ticked   place // the last event after such a gap; thread 0 for none
	tickedAt int64 // when that ended
}

// cut returns how much of the thread's own clock can end early.
func (out *timeouts) cut() int64 { return out.total + out.timers }

// expire records a wait of so many nanoseconds whose time limit passed at end.
func (w *ties) expire(t *thread, at spot, nanos, end int64) {
	out := &t.timeouts
	out.until = end
	if w.learned.woken[at] <= w.line || out.open && out.at != at {
		w.times(t, nanos)
		return
	}
	out.at, out.open = at, true
	out.nanos += nanos
	out.total += nanos
}

// times records a wait of so many nanoseconds for a timer. In a program with several threads, and in
// the background of a server, it can end early.
func (w *ties) times(t *thread, nanos int64) {
	if t.proc.Alive() < 2 && !w.inBackground(t) {
		t.own.Timers += nanos
		return
	}
	t.timeouts.timer += nanos
	t.timeouts.timers += nanos
}

// untied counts the waits of a thread before an event, or within a call that is left
// out, that have no known cause and ended by a time.
func (w *ties) untied(t *thread, off format.Off, end int64) {
	if nanos := off.Timer + off.Wait + off.Other; nanos > 0 && w.inBackground(t) {
		t.timeouts.until = end
		w.times(t, nanos)
		off = format.Off{Storage: off.Storage}
	}
	t.own.Timers += off.Timer
	t.own.Storage += off.Storage
	t.own.Waits += off.Wait + off.Other
}

// inBackground reports whether a thread of a server has had no request yet. It may have timers for
// work that others meet, and its waits without a known cause may be for time, too.
func (w *ties) inBackground(t *thread) bool { return w.learned.serves && !t.serves }

// timerOf returns when the last timer of a thread expired that woke another one at a time; 0 if it has
// had none. A thread of a server that has waited since before the recording may wait for one.
func (w *ties) timerOf(on *thread, woke int64) int64 {
	if w.inBackground(on) && on.attachedTo() {
		return woke
	}
	return on.timeouts.until
}

// byTimer drops the causes that the waking thread had before its last timer, or time limit, expired.
// The timer woke that thread, so a wait for it depends on nothing older. byTimer returns true if it
// drops all causes: then the wait was for compute, after the timer if the thread was blocked before
// it expired.
func (w *ties) byTimer(t *thread, until, from, to int64) bool {
	if until == 0 || until > to {
		return false
	}
	w.causes = slices.DeleteFunc(w.causes, func(c cause) bool { return c.since < until })
	if from < until {
		t.timeouts.until = max(t.timeouts.until, until)
	}
	return len(w.causes) == 0
}

// tick records a wait for the timer of another thread, which expired at a time. The first one is
// a timer of the thread's own. The later ones are as long after the event that followed the one
// before as recorded: so work that another thread starts each 10 ms is done each 10 ms,
// however long it takes.
func (w *ties) tick(t *thread, from, until int64) {
	t.off.Timer += until - from
	if t.timeouts.ticked.thread == 0 {
		w.times(t, until-from)
		t.timeouts.tick = mark{at: until}
		return
	}
	t.held += until - from
	t.timeouts.tick = mark{at: until, own: t.clock(until)}
	t.mark(t.timeouts.tick)
}

// tickEdge returns the edge of the ticks before an event that starts at a time of the own clock,
// and ends at a time of the recording; its kind is EdgeOrder if there are none.
func (out *timeouts) tickEdge(here place, own, end int64) (edge format.Edge) {
	if out.tick.at == 0 {
		return edge
	}
	if p := out.ticked; p.thread > 0 {
		edge = format.Edge{Thread: p.thread, Event: p.event, Kind: format.EdgeTick, Delay: max(out.tick.at-out.tickedAt+own-out.tick.own, 0)}
	}
	out.tick, out.ticked, out.tickedAt = mark{}, here, end
	return edge
}

// untick ends the ticks: the thread was woken for something else, so it does not work at the pace
// of a timer.
func (out *timeouts) untick() { out.tick, out.ticked = mark{}, place{} }

// drop forgets what the thread has waited for in the gap.
func (out *timeouts) drop() {
	out.total, out.timers = out.total-out.nanos, out.timers-out.timer
	out.nanos, out.timer, out.tick = 0, 0, mark{}
}

// woken records that the thread was woken at a place. It returns whether its edge ends waits
// before events of the trace, and how much of the gap's time it ends early.
func (out *timeouts) woken(at spot) (timed bool, early int64) {
	if !out.open || out.at != at {
		return false, 0
	}
	timed, early = out.told, out.nanos
	out.at, out.open, out.told, out.nanos = spot{}, false, false, 0
	out.total -= early
	return timed, early
}

// take returns how much of the gap's time the event at its end has.
func (out *timeouts) take() (nanos int64) {
	nanos, out.nanos = out.nanos, 0
	out.told = out.told || nanos > 0
	return nanos
}

// takeTimer returns how much of the gap's time was for timers.
func (out *timeouts) takeTimer() (nanos int64) {
	nanos, out.timer = out.timer, 0
	return nanos
}

// attempt is a lock that a thread was refused and has not got since.
type attempt struct {
	lock
	at spot // no tid for none
}

// free is the release of a lock by an event.
type free struct {
	off, end int64
	by       cause
}

// freesKept is how many releases are kept per file.
const freesKept = 16

// freed records that the event released a lock.
func (w *ties) freed(f fact) {
	if w.order.alone {
		return
	}
	s, t, c := f.s, f.s.t, f.lock
	l := c.set
	if len(l.freed) == freesKept {
		l.freed = append(l.freed[:0], l.freed[1:]...)
	}
	l.freed = append(l.freed, free{c.off, c.end, cause{
		place: w.order.here, kind: format.EdgeWake, bound: s.e.End(), floor: t.floor(t.clock(s.e.Start)), timed: t.timeouts.until,
	}})
}

// attempted records that a thread was refused a lock, or got it after that.
func (w *ties) attempted(f fact) {
	t, e, c := f.s.t, f.s.e, f.lock
	last, at := &t.attempt, spot{e.TID, onLock, c.file}
	if refused(e.Ret) {
		*last = attempt{c.lock, at}
		return
	}
	if last.at != at || last.off != c.off || last.end != c.end || last.exclusive != c.exclusive {
		return
	}
	*last = attempt{}
	if w.out == nil {
		w.learned.woke(at, w.line)
		return
	}
	if !t.timeouts.open || t.timeouts.at != at {
		return
	}
	for _, f := range slices.Backward(c.set.freed) {
		p := f.by.place
		if p.thread == t.num || f.off >= c.end || c.off >= f.end {
			continue
		}
		if p.event < w.order.count[p.thread] && f.by.bound <= e.Start {
			slept := e.Start - f.by.bound
			w.resume(t, e.Start, e.Start, at, []cause{f.by}, format.EdgeWake, format.Floor{Total: slept, Timers: slept})
		}
		return
	}
}
