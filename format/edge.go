package format

import "slices"

// Edge says that an event of a trace starts no earlier than Delay after the end
// of another event: of Event, counted from 0, of the thread with the number
// Thread, counted from 1. An edge to an event that creates a thread counts from the
// beginning of that event. Thread 0 stands
// for the start of the recording; its Event is 0, and its kind EdgeWake or a later one.
//
// An edge to an event of the same thread leads to an earlier one.
type Edge struct {
	Thread int32
	Kind   EdgeKind
	Event  int64
	Delay  int64 // nanoseconds, at least 0
}

// EdgeKind is why an event comes after another one.
type EdgeKind uint8

// The kinds. Edges up to EdgeExit keep results as recorded. The others reproduce the
// times that threads wait for one another.
const (
	EdgeOrder      EdgeKind = iota // unspecified: an edge that a program added
	EdgeDescriptor                 // it uses, opens or closes a descriptor that the other one opened, used or closed
	EdgeName                       // one of them changes a name that the other one uses
	EdgeBytes                      // one of them changes bytes or the size of a file that the other one reads or changes
	EdgeOffset                     // both move the same offset
	EdgeLock                       // one of them takes a lock on a file that the other one releases
	EdgeBirth                      // the other one creates its thread
	EdgeExit                       // it waits for the end of the process that the other one ends
	EdgeWake                       // the thread was blocked, and the other thread woke it
	EdgeMessage                    // the thread received what the other thread sent
	EdgeReply                      // an unrecorded client answered a message of the other one: for clients in a closed loop
	EdgeArrival                    // a message of an unrecorded client arrived: for clients with their own schedule
	EdgeTimed                      // as EdgeWake, from a wait with a time limit: it also ends earlier waits at the same place that timed out (Event.Expired)
	EdgeTimer                      // as EdgeWake, but while the thread was blocked, the other one waited for a time limit: that wait is not ended early. To the start of the recording: Event.Expired is a timer
	EdgeAny                        // it waits for the end of any process; in a replay another process may end
	EdgeLead                       // the thread commits to a log for all that wait: from here on it writes and syncs. The other event is the sync before in this log
	EdgeJoin                       // since its last event or commit, another thread committed for this one: the other event is the sync
	EdgeUntimed                    // as EdgeWake, but the other thread's last timer had expired before the thread was blocked: it ends timers early
	EdgeTick                       // the thread's work began with a timer of another thread, and so did that of its other event. The delay ends early if an EdgeUntimed needs the event
	NumEdgeKinds
)

var edgeKindNames = [NumEdgeKinds]string{
	EdgeOrder: "order", EdgeDescriptor: "descriptor", EdgeName: "name", EdgeBytes: "bytes", EdgeOffset: "offset", EdgeLock: "lock", EdgeBirth: "birth",
	EdgeExit: "exit", EdgeWake: "wake", EdgeMessage: "message", EdgeReply: "reply", EdgeArrival: "arrival", EdgeTimed: "timed", EdgeTimer: "timer", EdgeAny: "any", EdgeLead: "lead", EdgeJoin: "join", EdgeUntimed: "untimed", EdgeTick: "tick",
}

// String returns the name of the kind, as in scripts and exports.
func (k EdgeKind) String() string {
	if k >= NumEdgeKinds {
		return "?"
	}
	return edgeKindNames[k]
}

// ParseEdgeKind returns the kind of a name.
func ParseEdgeKind(name string) (EdgeKind, bool) {
	k := slices.Index(edgeKindNames[:], name)
	return EdgeKind(max(k, 0)), k >= 0
}

// Commits reports whether an edge is about a commit to a log. Its delay counts from the end
// of the thread's event or commit before. A replay of the recorded groups ignores it.
func (k EdgeKind) Commits() bool { return k == EdgeLead || k == EdgeJoin }

// Wakes reports whether an edge is to the event after which the other thread woke this one.
func (k EdgeKind) Wakes() bool {
	return k == EdgeWake || k == EdgeTimed || k == EdgeTimer || k == EdgeUntimed
}

// Hastens reports whether a thread that waits by such an edge ends earlier waits of the other
// thread: those for a time limit that expired, or for a timer. In the recording, no thread was
// blocked by an edge that only keeps results.
func (k EdgeKind) Hastens(timer bool) bool {
	return k == EdgeUntimed || k >= EdgeDescriptor && k <= EdgeOffset || !timer && k != EdgeTimer
}

// Outside reports whether an edge represents an unrecorded client.
func (k EdgeKind) Outside() bool { return k == EdgeReply || k == EdgeArrival }

// Append appends the edge as scripts and exports have it: 2:17+0.000001200:wake
// is the event 17 of thread 2, a delay and the kind. A delay of 0 and the kind
// EdgeOrder are left out.
func (e *Edge) Append(dst []byte) []byte {
	dst = AppendInt(dst, int64(e.Thread))
	dst = AppendInt(append(dst, ':'), e.Event)
	if e.Delay != 0 {
		dst = AppendSeconds(append(dst, '+'), e.Delay)
	}
	if e.Kind != EdgeOrder {
		dst = append(append(dst, ':'), e.Kind.String()...)
	}
	return dst
}

// Valid reports whether an edge is possible for event number event of a thread, as far
// as that can be checked without the other thread.
func (e *Edge) Valid(thread int32, event int64) bool {
	switch {
	case e.Thread < 0 || e.Event < 0 || e.Delay < 0 || e.Kind >= NumEdgeKinds:
		return false
	case e.Thread == 0:
		return e.Event == 0 && e.Kind >= EdgeWake && e.Kind != EdgeJoin
	}
	return e.Thread != thread || e.Event < event
}
