package script

import (
	"bytes"
	"slices"

	"pianola/format"
)

// Strace shows calls in which threads wait, and that are no operations of the
// table. With durations (-T) they become what a recorder says of them: time off the
// processor before the thread's next event where a time ended the wait, else an
// event of format.OpWait. Which thread woke another one shows for futexes only.
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

// The kinds of format.WaitKinds that strace tells.
const (
	waitFutex  = 1
	waitPoll   = 2
	waitSignal = 4
)

type blocking struct {
	kind   int64
	ending ending
}

var blockings = map[string]blocking{
	"futex": {waitFutex, endsByError},
	"poll":  {waitPoll, endsByZero}, "ppoll": {waitPoll, endsByZero}, "select": {waitPoll, endsByZero}, "pselect6": {waitPoll, endsByZero},
	"epoll_wait": {waitPoll, endsByZero}, "epoll_pwait": {waitPoll, endsByZero}, "epoll_pwait2": {waitPoll, endsByZero},
	"rt_sigtimedwait": {waitSignal, endsByError}, "rt_sigsuspend": {waitSignal, endsByError}, "pause": {waitSignal, endsByError},
	"nanosleep": {0, endsAlways}, "clock_nanosleep": {0, endsAlways},
}

var (
	futexWaits = map[string]bool{"FUTEX_WAIT": true, "FUTEX_WAIT_BITSET": true, "FUTEX_LOCK_PI": true, "FUTEX_LOCK_PI2": true, "FUTEX_WAIT_REQUEUE_PI": true}
	futexWakes = map[string]bool{"FUTEX_WAKE": true, "FUTEX_WAKE_BITSET": true, "FUTEX_WAKE_OP": true, "FUTEX_UNLOCK_PI": true,
		"FUTEX_REQUEUE": true, "FUTEX_CMP_REQUEUE": true, "FUTEX_CMP_REQUEUE_PI": true}
	requeue = []byte("REQUEUE") // also lets threads wait elsewhere
)

// maxSleepers is of how many threads at one address a reader keeps track.
const maxSleepers = 1 << 10

const etimedout, eagain, enosys = 110, 11, 38

// waits is what strace has shown of threads that wait. Memory is bounded by that of
// unfinished calls: each entry belongs to one, or to a thread.
type waits struct {
	timers   map[int32]int64     // nanoseconds that threads have waited for a time since their last events
	sleepers map[int64][]sleeper // threads in futex, by address
	wakes    map[int32]*wake     // calls that wake others and have not ended, by thread
}

// sleeper is a thread whose wait at a futex has been shown to begin.
type sleeper struct {
	tid, waker int32 // waker is 0 for none yet, severalWakers for more than one
}

const severalWakers = -1

// wake is a call that wakes others.
type wake struct {
	address int64
	woken   int64 // threads that have been said to be woken by it
	moves   bool  // it may let threads wait elsewhere
}

// futexCall returns the address and the operation of the text of a call of futex.
func futexCall(text []byte) (address int64, op []byte, ok bool) {
	c := cursor{b: text}
	if !c.take("futex(") {
		return 0, nil, false
	}
	address = c.int()
	if !c.take(", ") {
		return 0, nil, false
	}
	return address, bytes.TrimSuffix(c.name(), []byte("_PRIVATE")), c.msg == ""
}

// begins notes that a thread is in a call that it has not ended.
func (w *waits) begins(tid int32, text []byte) {
	address, op, ok := futexCall(text)
	switch {
	case !ok:
	case futexWaits[string(op)]:
		if w.sleepers == nil {
			w.sleepers = make(map[int64][]sleeper)
		}
		if list := w.sleepers[address]; len(list) < maxSleepers {
			w.sleepers[address] = append(list, sleeper{tid: tid})
		}
	case futexWakes[string(op)]:
		if w.wakes == nil {
			w.wakes = make(map[int32]*wake)
		}
		w.wakes[tid] = &wake{address: address, moves: bytes.Contains(op, requeue)}
	}
}

// woke notes that a call of a thread has woken so many others.
func (w *waits) woke(tid int32, call wake, n int64) {
	if under := w.wakes[tid]; under != nil {
		call = *under
		delete(w.wakes, tid)
	}
	list := w.sleepers[call.address]
	if n -= call.woken; n <= 0 || len(list) == 0 {
		return
	}
	by := tid
	if n < int64(len(list)) || len(list) == maxSleepers || call.moves {
		by = severalWakers // which of them is not told
	}
	for i := range list {
		if list[i].waker != 0 {
			by = severalWakers
		}
		list[i].waker = by
	}
}

// leave removes a thread from those that wait at an address, and returns what was
// known of it and how many are left.
func (w *waits) leave(tid int32, address int64) (s sleeper, left int) {
	list := w.sleepers[address]
	at := slices.IndexFunc(list, func(s sleeper) bool { return s.tid == tid })
	if at < 0 {
		return sleeper{waker: severalWakers}, len(list)
	}
	s = list[at]
	if list = slices.Delete(list, at, at+1); len(list) == 0 {
		delete(w.sleepers, address)
	} else {
		w.sleepers[address] = list
	}
	return s, len(list)
}

// abandon forgets a call that never ends.
func (w *waits) abandon(tid int32, text []byte) {
	if address, _, ok := futexCall(text); ok {
		w.leave(tid, address)
		delete(w.wakes, tid)
	}
}

// ends notes that the wait of a thread has ended, and returns which thread has
// woken it, 0 where that is not certain.
func (w *waits) ends(tid int32, address int64) int32 {
	s, left := w.leave(tid, address)
	if s.waker == 0 { // by a call whose end comes on a later line
		for by, call := range w.wakes {
			if call.address != address {
				continue
			}
			if s.waker != 0 || left > 0 || call.moves {
				by = severalWakers
			}
			s.waker = by
			call.woken++
		}
	}
	return max(s.waker, 0)
}

// parseWait parses a call that is no operation. It reports whether that is an
// event: a wait of which the duration is known.
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
	address, op, futex := futexCall(text)
	object := int64(0)
	switch {
	case futex:
		object = address
	case how.kind == waitPoll && isDigit(c.peek()):
		object = c.int()
	}
	for text != nil && c.peek() != ')' && c.msg == "" {
		if c.value(); c.peek() == ',' {
			c.i++
		}
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
	if futex {
		if futexWakes[string(op)] {
			r.waits.woke(e.TID, wake{address: address, moves: bytes.Contains(op, requeue)}, ended.Ret)
			return false
		}
		waker = r.waits.ends(e.TID, address)
		if !futexWaits[string(op)] {
			return false
		}
	}
	if ended.Dur <= 0 || ended.Ret == -eagain && futex || ended.Ret == -enosys {
		return false // it never waited, or nobody knows for how long
	}
	if how.ending == endsAlways || how.ending == endsByZero && ended.Ret == 0 ||
		how.ending == endsByError && (ended.Ret == -etimedout || ended.Ret == -eagain) {
		r.waits.timed(e.TID, ended.Dur)
		return false
	}
	e.Op, e.Args, e.Dur, e.Ret = format.OpWait, [format.MaxArgs]int64{how.kind, object}, ended.Dur, 0
	if ended.Ret == 0 && waker > 0 {
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
