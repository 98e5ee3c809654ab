package compile

import "pianola/format"

// A thread that could run waits for a processor. The time that other programs took is left out. The
// time that other threads of the recording took stays in the compute, so that sixteen threads on two
// processors take as long as they did. The threads of a server, which unrecorded clients ask, compete
// for processors in the replay as well: how long they wait for one depends on how many wait for
// storage. So there it is no compute, and the trace says how many processors there were.

// crowded removes the time in which a thread could run but others had the processor, of a gap since the
// event before: programs that were not recorded and, of a server, the host of a virtual machine. Of what
// the host took, only the share of all busy time is known.
func (m *model) crowded(t *thread, e *format.Event, gap int64) {
	more := int64(0)
	t.ready = 0
	if !e.Off.IsZero() {
		e.Off = e.Off.Within(gap) // a recording can be wrong
		t.ready = e.Off.Ready + e.Off.Own
		if more = max(e.Off.Ready-latency, 0); more > 0 {
			e.Off.Ready = latency
		}
	}
	inFlight := int64(0)
	if t.attachedTo() { // of a call that began before the recorder attached, nothing else is known
		inFlight, e.Off.Storage = e.Off.Storage, 0
		gap -= inFlight
	}
	if m.learned.serves {
		if t.attachedTo() {
			e.Off.Other += max(gap-e.Off.Total(), 0) // it can have waited when the recorder attached, and takes no processor
		}
		more += int64(m.stolen * float64(max(gap-e.Off.Total(), 0)))
	}
	t.cost += more + inFlight
	m.report.Crowded += more
}

// attachedTo reports whether the recorder attached to a thread that has had no event since.
func (t *thread) attachedTo() bool { return t.born == (place{}) && t.idle == t.Created }

// subtractReady removes, from the duration of a call, the time in which the thread was ready
// to run but another recorded thread had the processor. The time follows the call as
// compute. It returns that time.
func (m *model) subtractReady(e *format.Event) int64 {
	behind := min(e.Behind, e.Dur)
	if behind <= 0 {
		return 0
	}
	e.Dur -= behind
	if e.Notes.Known(format.NotedWaker) {
		m.notes = *e.Notes
		m.notes.Woken = max(m.notes.Woken-behind, 0)
		e.Notes = &m.notes
	}
	return behind
}

// displaced takes the time behind a call.
func (m *model) displaced(t *thread, behind int64) {
	if t.off.Own += behind; m.learned.serves {
		t.held += behind
	}
}

// competed takes the time for which other threads had the processors before a time.
func (w *ties) competed(t *thread, nanos, at int64) {
	if !w.learned.serves || nanos == 0 {
		t.commit.behind += nanos
		return
	}
	t.held += nanos
	t.mark(mark{at: at, own: t.clock(at), cut: true})
}

// comes takes the waits before an event of a thread.
func (w *ties) comes(f fact) {
	t, e := f.s.t, f.s.e
	if t.cost != w.cost {
		t.mark(mark{at: e.Start, own: t.clock(e.Start), cut: true})
	}
	off := e.Off
	w.competed(t, off.Own, e.Start)
	if off.Timer > 0 && t.attempt.at.tid != 0 {
		w.expire(t, t.attempt.at, off.Timer, e.Start)
		off.Timer = 0
	}
	w.untied(t, off, e.Start)
}
