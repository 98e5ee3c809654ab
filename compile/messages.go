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

// channel is a direction of a connection.
type channel struct {
	kind format.ChannelKind
	id   uint64
}

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

// reply is data sent to an unrecorded client. Much can happen before the client's next
// message, so it holds the causes that the sender came after.
type reply struct {
	at     int64 // on the recording's clock
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

// messaged follows a message through a socket. The passes before the last learn to
// which channels recorded threads send. Messages on other channels come from unrecorded
// programs.
func (w *ties) messaged(of *simEvent) {
	t, e := of.t, of.e
	c := channel{e.Notes.ChannelKind, e.Notes.Channel}
	if w.out == nil {
		if e.Sends() && !w.learned.sent[c] && len(w.learned.sent) < maxSent {
			w.learned.sent[c] = true
			w.learned.bytes += inMap
		}
		return
	}
	if e.Sends() {
		list := w.channels.of[c]
		if len(list) == sentKept {
			list = append(list[:0], list[1:]...)
		}
		w.channels.set(c, append(list, sending{message{t, e.Start}, e.Notes.Pos}))
		to := connection{t.Table, e.FD()}
		w.replies.set(to, reply{e.Start, t.comesAfter(w.replies.of[to].causes[:0], e.Start)})
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
	of.arrived = !w.learned.sent[c] && len(w.learned.sent) < maxSent
}

// maxSent bounds the channels that recorded threads are known to send to. Beyond the
// bound, no message counts as coming from an unrecorded program.
const maxSent = 1 << 16

// arrive ties the wait for a message from an unrecorded program: for clients in a
// closed loop, to the reply before it on the same connection; for clients with their
// own schedule, to the start. It returns how long the thread waited, in the call or
// just before it.
func (w *ties) arrive(t *thread, e *format.Event) (nanos int64, ok bool) {
	at, before := e.Start, int64(0)
	switch {
	case e.Dur >= format.Waited:
		nanos, at = e.Dur, e.End()
	case e.Off.Wait >= format.Waited:
		nanos, before = min(e.Off.Wait, e.Start-t.last), e.Off.Wait
	default:
		return 0, false
	}
	if nanos = at - t.notBefore(at-nanos); nanos < format.Waited {
		return 0, false
	}
	t.own.Waits -= before
	clock := t.onTrace(at)
	t.held += nanos
	own := t.clock(at)
	start := cause{kind: format.EdgeArrival, lag: clock - own, bound: at - own, since: at, early: t.timeouts.nanos}
	start.floor = format.Floor{Total: clock, Clients: clock}.Minus(t.least(own))
	t.after(start)
	if reply, ok := w.replies.of[connection{t.Table, e.FD()}]; ok && reply.at <= at {
		answered := at - reply.at
		t.follow(at, at, reply.causes, format.EdgeReply, format.Floor{Total: answered, Clients: answered})
	} else {
		start.kind = format.EdgeReply
		t.after(start)
	}
	t.mark(mark{at: at, own: own})
	return nanos, true
}
