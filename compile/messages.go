package compile

import (
	"pianola/format"
	"pianola/format/process"
)

const (
	// maxChannels is the maximum number of channels that are kept, the youngest;
	// sentKept is the maximum number of unreceived messages of each.
	maxChannels = 4096
	sentKept    = 64

	// maxConnections is the maximum number of descriptors of connections to unrecorded
	// programs that are kept, the youngest.
	maxConnections = 4096
)

// connection is a descriptor of one.
type connection struct {
	table *process.Table
	fd    int64
}

// sending is a message that ends at a position of its channel.
type sending struct {
	message
	pos uint32
}

// outsider is an unrecorded program at the other end of a connection. Much can happen
// between a message to it and its next one, so it has the causes that the sender came after.
type outsider struct {
	number int64 // of a client, from 1; 0 before its first request
	sent   bool  // something was sent to it
	at     int64 // the newest time, on the recording's clock
	causes []cause
}

// boundedMap is a map of bounded size that keeps its youngest elements.
type boundedMap[K comparable, V any] struct {
	room  int
	of    map[K]V
	order []K
}

func newBoundedMap[K comparable, V any](room int) boundedMap[K, V] {
	return boundedMap[K, V]{room: room, of: map[K]V{}}
}

func (m *boundedMap[K, V]) set(k K, v V) {
	if _, there := m.of[k]; !there {
		if m.order = append(m.order, k); len(m.order) > m.room {
			delete(m.of, m.order[0])
			m.order = m.order[1:]
		}
	}
	m.of[k] = v
}

// followMessages asks for what messages are about.
func (w *ties) followMessages() {
	if !w.told {
		return
	}
	noted := func(f fact, tell func(s *simEvent)) {
		if f.s.e.Notes.Known(format.NotedMessage) {
			tell(f.s)
		}
	}
	w.when(factActs, func(f fact) { noted(f, w.messaged) })
	if w.out != nil {
		w.when(factMoved, func(f fact) { noted(f, w.serve) })
		return
	}
	w.when(factOver, func(fact) {
		for c, tid := range w.learned.got {
			if w.learned.sent[c] == 0 {
				w.learned.serves, w.learned.servers[tid] = true, true
			}
		}
	})
}

// messaged follows a message through a socket. The passes before the last learn to
// which channels recorded threads send. Messages on other channels come from unrecorded
// programs.
func (w *ties) messaged(of *simEvent) {
	t, e := of.t, of.e
	c := e.Notes.Moved()
	if w.out == nil {
		of := w.learned.got
		switch {
		case e.Sends():
			of = w.learned.sent
		case e.Notes.Known(format.NotedConnected):
			return // from a server, which asks for nothing
		}
		if of[c] == 0 && len(of) < maxSent {
			of[c] = e.TID
			w.learned.bytes += 2 * inMap // servers has it as well
		}
		return
	}
	if e.Sends() {
		list := w.channels.of[c]
		if len(list) == sentKept {
			list = append(list[:0], list[1:]...)
		}
		w.channels.set(c, append(list, sending{message{t, e.Start}, e.Notes.Pos}))
		return
	}
	list := w.channels.of[c]
	for i, s := range list {
		if int32(s.pos-e.Notes.Pos) < 0 {
			continue
		}
		if s.at <= e.End() {
			of.sent = s.message
		}
		if s.pos == e.Notes.Pos {
			i++ // received as a whole
		}
		w.channels.of[c] = list[i:]
		return
	}
	of.arrived = w.learned.sent[c] == 0 && len(w.learned.sent) < maxSent
}

// client returns the other end of a connection.
func (w *ties) client(t *thread, fd int64) *outsider {
	at := connection{t.Table, fd}
	c := w.clients.of[at]
	if c == nil {
		c = new(outsider)
		w.clients.set(at, c)
	}
	return c
}

// serve puts a message of an unrecorded client, and one to it, into the trace.
func (w *ties) serve(s *simEvent) {
	t, e := s.t, s.e
	fd, at := e.Message()
	at = max(at, t.last)
	switch {
	case e.Sends():
		c := w.client(t, fd)
		if c.number > 0 {
			w.atClient(t, format.OpClientReply, c, at, e.Ret)
		}
		c.sent, c.at, c.causes = true, at, t.comesAfter(c.causes[:0], at)
	case s.arrived && !e.Notes.Known(format.NotedConnected):
		c := w.client(t, fd)
		if c.number == 0 {
			w.report.Clients++
			c.number = w.report.Clients
		}
		w.report.Messages++
		if !t.serves {
			t.serves, t.timeouts.until = true, 0
		}
		w.atClient(t, format.OpClientRequest, c, at, e.Ret)
	}
}

// atClient appends an event, for which a replay makes no call.
func (w *ties) atClient(t *thread, op format.Op, c *outsider, at, bytes int64) {
	e := format.Event{Op: op, Start: at, Args: [format.MaxArgs]int64{c.number, bytes}}
	out := w.beginMade(t, &e)
	w.emit(w.rowOf(t, &e, out))
}

// maxSent bounds the channels that recorded threads are known to send to, or receive from. Beyond
// the bound, no message counts as coming from an unrecorded program.
const maxSent = 1 << 16

// arrive ties the wait for a message from an unrecorded program: for clients in a
// closed loop, to the reply before it on the same connection; for clients with their
// own schedule, to the start. It returns how long the thread waited, in the call or
// just before it.
func (w *ties) arrive(t *thread, e *format.Event) (nanos int64, ok bool) {
	at, before, late := e.Start, int64(0), int64(0)
	switch {
	case e.Dur >= format.Waited:
		nanos, at = e.Dur, e.End()
	case e.Off.Wait >= format.Waited:
		nanos, before = min(e.Off.Wait, e.Start-t.last), e.Off.Wait
		late = min(t.ready, e.Start-t.last-nanos)
		t.gap.uncut(at) // the end of this wait takes the place of what was cut after it
	default:
		return 0, false
	}
	if nanos = at - t.notBefore(at-nanos); nanos < format.Waited {
		return 0, false
	}
	t.own.Waits -= before
	t.off.Wait -= before // the caller adds what is tied
	// The message was there before the thread had a processor again.
	came, clock := at-late, t.onTrace(at)-late
	t.held += nanos
	own := t.clock(at)
	start := cause{kind: format.EdgeArrival, lag: clock - own, bound: came - own, since: at, early: t.timeouts.nanos}
	start.floor = format.Floor{Total: clock, Clients: clock}.Minus(t.least(own))
	t.after(start)
	if c := w.client(t, e.FD()); c.sent && c.at <= came {
		// The recorder had the processors of the clients for a part of it.
		answered := int64((1 - w.delayed) * float64(came-c.at))
		t.follow(at, at, c.causes, format.EdgeReply, format.Floor{Total: answered, Clients: answered})
	} else {
		start.kind = format.EdgeReply
		t.after(start)
	}
	t.mark(mark{at: at, own: own})
	return nanos, true
}
