package format

import "math"

// NoResult is the Ret of an event that has none: exit does not return, and a
// call that was still running when the recording ended has not returned yet.
// Scripts print it as "?".
const NoResult = math.MinInt64

// Unknown is the Dur of an event whose duration the source did not hold.
const Unknown = -1

// Waited is the shortest duration of a call left out of a trace that counts as
// waiting and not as computing, in nanoseconds: a pipe or socket that is ready is
// faster. A replay can't sleep for less anyway.
const Waited = 20_000

// MaxStrings is the most string arguments an operation can have (rename).
const MaxStrings = 2

// MaxArgs is the most arguments an operation can have, as in the system call
// convention of Linux.
const MaxArgs = 6

// Event is one I/O system call of one thread.
//
// Args stand in the order of the operation's row, flags in canonical form.
// A string argument (a path or a text) stands in Str, in the order in which
// string arguments occur in the row; its place in Args is unused. A nil string
// is a NULL pointer.
//
// Str, Notes and Edges are borrowed: a Reader overwrites them by its next call
// of Read. Clone makes a copy that can be kept.
type Event struct {
	Op  Op
	TID int32 // script: the kernel's thread id; trace: the thread's number, from 1

	// Line is where the event stands in the file that it was read from, from 1,
	// for messages; 0 where that is not known.
	Line int64

	Start   int64 // nanoseconds since the start of the recording
	Dur     int64 // nanoseconds in the call, Unknown where the source has none
	Compute int64 // trace: nanoseconds from the end of the thread's previous event, 0 in a script
	Off     int64 // nanoseconds since the end of the thread's previous event that it was off the processor
	Cut     int64 // script: nanoseconds by which a transform made the time before the event shorter than recorded; less than 0: longer
	Faults  int64 // script: page faults taken inside the call

	Ret  int64 // result, a negative errno, or NoResult
	Args [MaxArgs]int64
	Str  [MaxStrings][]byte

	Notes *Notes // what a recorder noted besides, nil for nothing
	Edges []Edge // trace: events of other threads that must have ended before this one starts
}

// Edge names an event of another thread: the thread's number, from 1, and the
// event's position in that thread, from 0. For a thread-creating event the
// edge is satisfied as soon as that event begins.
type Edge struct {
	Thread int32
	Event  int64
}

// End returns when the event ended, in nanoseconds since the start of the
// recording; an unknown duration counts as none.
func (e *Event) End() int64 { return e.Start + max(e.Dur, 0) }

// Failed reports whether the call returned an error.
func (e *Event) Failed() bool { return e.Ret < 0 && e.Ret != NoResult && e.Ret >= -MaxErrno }

// Clone returns a copy of e that shares no memory with it.
func (e *Event) Clone() Event {
	c := *e
	for i, s := range e.Str {
		if s != nil {
			c.Str[i] = append([]byte{}, s...)
		}
	}
	c.Notes = e.Notes.clone()
	c.Edges = append([]Edge(nil), e.Edges...)
	return c
}

// Reader reads events in batches.
type Reader interface {
	// Read fills events from the front and returns how many it filled. It
	// returns io.EOF, and no events, once there are no more. On any other
	// error the events before the fault are returned first, the error by the
	// call after. The strings, notes and edges of the events are valid until
	// the next call.
	Read(events []Event) (int, error)

	// Header returns what belongs to the whole recording. It is complete
	// once Read has returned io.EOF, and must not be changed.
	Header() *Header
}

// Writer writes events in batches. It keeps nothing of them after Write has
// returned.
type Writer interface {
	Write(events []Event) error
}
