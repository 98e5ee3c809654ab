package compile

import (
	"pianola/format"
	"pianola/format/process"
)

const (
	// maxChannels is how many directions of connections are kept, the youngest;
	// sentKept how many messages of each that were not received yet.
	maxChannels = 4096
	sentKept    = 64

	// maxConnections is how many descriptors of connections to what is not
	// recorded are kept, the youngest.
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

// reply is what was sent to a client that is not recorded. Much can pass before the
// client's next message, so it holds what the sender came after.
type reply struct {
	at     int64 // on the recording's clock
	causes []cause
}

// youngest is a map that keeps as many elements as it has room for: the youngest.
type youngest[K comparable, V any] struct {
	room  int
	of    map[K]V
	order []K
}

func newYoungest[K comparable, V any](room int) youngest[K, V] {
	return youngest[K, V]{room: room, of: map[K]V{}}
}

func (y *youngest[K, V]) set(k K, v V) {
	if _, there := y.of[k]; !there {
		if y.order = append(y.order, k); len(y.order) > y.room {
			delete(y.of, y.order[0])
			y.order = y.order[1:]
		}
	}
	y.of[k] = v
}

// messaged follows a message through a socket. The passes before the last learn
// which channels are sent to by recorded threads: what comes through the others
// comes from what is not recorded.
func (m *model) messaged(t *thread, e *format.Event) {
	c := channel{e.Notes.ChannelKind, e.Notes.Channel}
	if m.ties == nil {
		if e.Sends() && !m.lore.sent[c] && len(m.lore.sent) < maxSent {
			m.lore.sent[c] = true
			m.lore.bytes += inMap
		}
		return
	}
	if e.Sends() {
		list := m.ties.channels.of[c]
		if len(list) == sentKept {
			list = append(list[:0], list[1:]...)
		}
		m.ties.channels.set(c, append(list, sending{message{t, e.Start}, e.Notes.Pos}))
		to := connection{t.Table, e.FD()}
		m.ties.replies.set(to, reply{e.Start, t.comesAfter(m.ties.replies.of[to].causes[:0], e.Start)})
		return
	}
	list := m.ties.channels.of[c]
	for i, s := range list {
		if int32(s.pos-e.Notes.Pos) < 0 {
			continue
		}
		if s.at <= e.End() {
			m.ties.sent = s.message
		}
		if s.pos == e.Notes.Pos {
			i++ // received as a whole
		}
		m.ties.channels.of[c] = list[i:]
		return
	}
	m.ties.arrived = !m.lore.sent[c] && len(m.lore.sent) < maxSent
}

// maxSent bounds the channels that are known to be sent to. Beyond, nothing counts
// as coming from what is not recorded.
const maxSent = 1 << 16

// arrive ties the wait for a message that came from what is not recorded: to the
// reply before it on the same connection, for clients in a closed loop, and to the
// start, for those that keep to their times. It returns for how long the thread
// waited, in the call or just before it.
func (m *model) arrive(t *thread, e *format.Event) (nanos int64, ok bool) {
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
	clock := m.clock(t, at)
	t.held += nanos
	own := t.clock(at)
	start := cause{kind: format.EdgeArrival, lag: clock - own, bound: at - own, since: at, early: t.timeouts.nanos}
	start.floor = format.Floor{Total: clock, Clients: clock}.Minus(t.least(own))
	t.after(start)
	if reply, ok := m.ties.replies.of[connection{t.Table, e.FD()}]; ok && reply.at <= at {
		answered := at - reply.at
		t.follow(at, at, reply.causes, format.EdgeReply, format.Floor{Total: answered, Clients: answered})
	} else {
		start.kind = format.EdgeReply
		t.after(start)
	}
	t.mark(mark{at: at, own: own})
	return nanos, true
}
