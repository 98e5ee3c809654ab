package script

import (
	"pianola/format"
	"pianola/internal/futex"
)

// Strace shows calls in which threads wait and that are not in the table of operations.
// With durations (-T) they are converted to the recorder's form: a sleep becomes time
// off the processor before the thread's next event, other waits become an event of
// format.OpWait. The waking thread is known only for futexes.
//
//	1 0.000010 futex(0x7f00, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
//	2 0.000020 futex(0x7f00, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000005>
//	1 0.000030 <... futex resumed>) = 0 <0.000040>
//
// is wait(FUTEX, 0x7f00) of thread 1, by thread 2.

// ending is how the result of a call that waits shows that a time ended it.
type ending uint8

const (
	endsByZero  ending = iota // poll
	endsByError               // ETIMEDOUT, EAGAIN: futex, sigtimedwait
	endsAlways                // nanosleep
)

type blocking struct {
	kind   int64
	ending ending
}

var blockings = map[string]blocking{
	"futex": {format.WaitFutex, endsByError},
	"poll":  {format.WaitPoll, endsByZero}, "ppoll": {format.WaitPoll, endsByZero}, "select": {format.WaitPoll, endsByZero}, "pselect6": {format.WaitPoll, endsByZero},
	"epoll_wait": {format.WaitPoll, endsByZero}, "epoll_pwait": {format.WaitPoll, endsByZero}, "epoll_pwait2": {format.WaitPoll, endsByZero},
	"rt_sigtimedwait": {format.WaitSignal, endsByError}, "rt_sigsuspend": {format.WaitSignal, endsByError}, "pause": {format.WaitSignal, endsByError},
	"nanosleep": {0, endsAlways}, "clock_nanosleep": {0, endsAlways},
}

const etimedout, eagain, enosys = format.ETIMEDOUT, 11, 38

// waits is what strace has shown of threads that wait. Memory is bounded by that of
// unfinished calls: each entry belongs to one, or to a thread.
type waits struct {
	timers  map[int32]int64 // nanoseconds that threads have waited for a time since their last events
	futexes futex.Pairs
}

// futexCall returns the place and the operation of the text of a call of futex. One
// of another process at the same address is taken for the same place.
func futexCall(text []byte) (at futex.Place, kind futex.Kind, ok bool) {
	c := cursor{b: text}
	if !c.take("futex(") {
		return at, kind, false
	}
	at.Address = c.int()
	if !c.take(", ") {
		return at, kind, false
	}
	return at, futex.KindOfName(string(c.name())), c.msg == ""
}

// begins notes that a thread is in a call that it has not ended.
func (w *waits) begins(tid int32, text []byte) {
	if at, kind, ok := futexCall(text); ok {
		w.futexes.Begin(tid, at, kind)
	}
}

// abandon forgets a call that never ends.
func (w *waits) abandon(tid int32, text []byte) {
	if at, _, ok := futexCall(text); ok {
		w.futexes.Abandon(tid, at)
	}
}

// parseWait parses a call that is not an operation. It returns true if the call is an
// event: a wait with a known duration.
func (r *Reader) parseWait(e *format.Event, name []byte) bool {
	c := r.cursor
	text := c.b[c.i-len(name):]
	if c.take("(<... resuming interrupted ") { // restart_syscall
		name = c.name()
		text = nil
	} else if c.peek() == '(' {
		c.i++
	}
	how, ok := blockings[string(name)]
	if !ok || r.announced || r.dialect != Recorded {
		return false
	}
	at, kind, isFutex := futexCall(text)
	object := int64(0)
	switch {
	case isFutex:
		object = at.Address
	case how.kind == format.WaitPoll && isDigit(c.peek()):
		object = c.int()
	}
	for text != nil && c.peek() != ')' && c.msg == "" {
		if c.value(); c.peek() != ',' {
			break // the end, or a bracket that nothing opened
		}
		c.i++
	}
	if text == nil {
		c.upTo(')')
	} else {
		c.expect(')')
	}
	ended := *e
	r.cursor, c = c, r.cursor
	r.parseResult(&ended)
	r.cursor, c = c, r.cursor
	if c.msg != "" {
		return false
	}
	var waker int32
	if isFutex {
		if kind != futex.Waits {
			r.waits.futexes.Woke(e.TID, at, kind, ended.Ret)
			return false
		}
		waker = r.waits.futexes.Woken(e.TID, at)
	}
	if ended.Dur <= 0 || ended.Ret == -eagain && isFutex || ended.Ret == -enosys {
		return false // it did not wait, or for an unknown time
	}
	timedOut := how.ending == endsByZero && ended.Ret == 0 || how.ending == endsByError && (ended.Ret == -etimedout || ended.Ret == -eagain)
	if how.ending == endsAlways || timedOut && object == 0 { // poll with nothing to wait for is a sleep, too
		r.waits.timed(e.TID, ended.Dur)
		return false
	}
	e.Op, e.Args, e.Dur, e.Ret = format.OpWait, [format.MaxArgs]int64{how.kind, object}, ended.Dur, 0
	if timedOut {
		e.Ret = -etimedout
	} else if ended.Ret == 0 && waker > 0 {
		r.notes = append(r.notes, format.Notes{Has: format.NotedWaker, Waker: waker})
		e.Notes = &r.notes[len(r.notes)-1]
	}
	r.cursor.i = len(r.cursor.b)
	return true
}

// timed notes that a thread has waited for a time.
func (w *waits) timed(tid int32, nanos int64) {
	if w.timers == nil {
		w.timers = make(map[int32]int64)
	}
	if _, ok := w.timers[tid]; ok || len(w.timers) < maxThreads {
		w.timers[tid] = min(w.timers[tid]+nanos, maxNanos)
	}
}

// settle gives an event what its thread has waited for since the last one.
func (w *waits) settle(e *format.Event) {
	if nanos, ok := w.timers[e.TID]; ok {
		e.Off.Timer += nanos
		delete(w.timers, e.TID)
	}
}
