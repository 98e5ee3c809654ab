package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// NoResult is the Ret of an event without a result: exit, which does not
// return, or a call that was still running when the recording ended. Scripts
// print it as "?".
const NoResult = math.MinInt64

// Unknown is the Dur of an event whose source has no duration.
const Unknown = -1

// Waited is the minimum duration, in nanoseconds, of a call left out of a trace that
// counts as waiting and not as computing: a pipe or socket that is ready is faster. A
// replay cannot sleep for less anyway.
const Waited = 20_000

// MaxStrings is the maximum number of string arguments of an operation (rename).
const MaxStrings = 2

// MaxArgs is the maximum number of arguments of an operation, as in the system call
// convention of Linux.
const MaxArgs = 6

// Event is one I/O system call of one thread, or one asynchronous request for the same
// operation. A request belongs to the thread that submitted it, or to the thread that
// created the ring if a thread of the kernel polls it. Start is the submission of a
// request, and Dur the time until its completion; the thread continues in the meantime.
//
// Args are in the order of the operation's row, with flags in canonical form.
// String arguments (paths and texts) are in Str, in the order of the row; their
// places in Args are unused. A nil string is a NULL pointer.
//
// Str, Notes, List, Span and Edges are borrowed: a Reader overwrites them by its next call
// of Read. Clone makes a copy that can be kept.
type Event struct {
	Op  Op
	Via Via   // interface of the call or request; in a trace, Thread.Ring of its thread
	TID int32 // script: the kernel's thread id; trace: the thread's number, from 1

	// Line is the line of the event in its source, from 1, for messages; 0 if
	// unknown.
	Line int64

	Start   int64 // nanoseconds since the start of the recording
	Dur     int64 // nanoseconds in the call, or Unknown
	Compute int64 // trace: nanoseconds from the end of the thread's previous event, 0 in a script
	Held    int64 // trace: part of Compute that Edges cover, because the thread waited
	Expired int64 // trace: part of Compute spent in waits whose time limit expired; the thread's next EdgeTimed ends them early. With an EdgeTimer to the start of the recording, it is a timer, which ends early only if another thread needs the event by an EdgeUntimed
	Off     Off   // of the time since the end of the thread's previous event
	Cut     int64 // script: nanoseconds to subtract from the time before the event, because a transform cut them or the recorder took them; negative to add
	Calls   int64 // script: unrecorded system calls since the thread's previous event
	Faults  int64 // script: page faults taken inside the call
	Behind  int64 // script: nanoseconds inside the call in which the thread was ready, but another recorded thread had the processor

	Ret  int64 // result, a negative errno, or NoResult
	Args [MaxArgs]int64
	Str  [MaxStrings][]byte

	Enters *Header // the processes that enter the recording, and their open files, as its remarks and descriptors tell; the Op is OpNone, and no reader of the event changes it

	Notes *Notes // what a recorder noted about the event, nil for nothing
	List  *List  // what the call registers with a ring, nil for nothing; the argument of the kind List
	Span  *Span  // the call of a library that the event is; its Op is OpNone
	Edges []Edge // trace: what the event comes after
	How   How    // trace: how a request is made
}

// End returns the end of the event, in nanoseconds since the start of the
// recording. An unknown duration counts as 0.
func (e *Event) End() int64 { return e.Start + max(e.Dur, 0) }

// Valid reports whether the event is of a known operation, a call of a library, or that
// of processes that enter.
func (e *Event) Valid() bool { return e.Op.Valid() || e.Span != nil || e.Enters != nil }

// Entry returns the event of processes that enter the recording by the header h: a
// header with the remark of at least one, and the descriptors that they have open. It is
// an event of the first thread of these.
func Entry(h *Header, start int64) Event {
	return Event{TID: h.Running()[0].Threads[0], Start: start, Enters: h}
}

// Bytes returns how many bytes a read or a write moved. It is 0 for any other
// call, one that failed, and one whose result counts something else (sendmmsg).
func (e *Event) Bytes() int64 {
	info := &table[e.Op]
	if info.Class != ClassRead && info.Class != ClassWrite || info.Result != ResultBytes {
		return 0
	}
	return max(e.Ret, 0)
}

// Failed reports whether the call returned an error.
func (e *Event) Failed() bool { return e.Ret < 0 && e.Ret != NoResult && e.Ret >= -MaxErrno }

// TimedOut reports whether a wait ended because its time limit had passed.
func (e *Event) TimedOut() bool { return e.Op == OpWait && e.Ret == -ETIMEDOUT }

// Interrupted reports whether a signal, or work of the kernel for the thread, ended a wait. The
// thread may wait again for the same.
func (e *Event) Interrupted() bool { return e.Op == OpWait && e.Ret == -EINTR }

// OwnFields are the rows of the fields of an event that are 0 for most events.
var OwnFields = [...]Field{
	{Key: "faults", At: "read, write", Doc: "page faults in the call: its buffer was fresh",
		Parts: number("count", func(e *Event) any { return &e.Faults })},
	{Key: "behind", At: "any", Doc: "time in the call for which another recorded thread had the processor, from 20 µs on",
		Parts: number("nanoseconds", func(e *Event) any { return &e.Behind })},
	{Key: OffNames[0], Columns: OffNames[0:1], Section: OfOff, At: "any", Doc: "the thread could run, but a program that is not recorded, or the kernel, had the processor",
		Parts: number("nanoseconds", func(e *Event) any { return &e.Off.Ready })},
	{Key: OffNames[1], Columns: OffNames[1:2], Section: OfOff, At: "any", Doc: "the thread could run, but another recorded thread had the processor",
		Parts: number("nanoseconds", func(e *Event) any { return &e.Off.Own })},
	{Key: OffNames[2], Columns: OffNames[2:3], Section: OfOff, At: "any", Doc: "the thread waited for a thread, a process, a socket or a lock",
		Parts: number("nanoseconds", func(e *Event) any { return &e.Off.Wait })},
	{Key: OffNames[3], Columns: OffNames[3:4], Section: OfOff, At: "any", Doc: "the thread slept",
		Parts: number("nanoseconds", func(e *Event) any { return &e.Off.Timer })},
	{Key: OffNames[4], Columns: OffNames[4:5], Section: OfOff, At: "any", Doc: "the thread waited for storage outside of recorded calls: memory that was swapped out, a call that is not recorded",
		Parts: number("nanoseconds", func(e *Event) any { return &e.Off.Storage })},
	{Key: OffNames[5], Section: OfOff, At: "any", Doc: "recordings that do not tell the reasons apart have all here",
		Parts: number("nanoseconds", func(e *Event) any { return &e.Off.Other })},
	{Key: "calls", At: "any", Doc: "calls of this thread since its last event that are not recorded",
		Parts: number("count", func(e *Event) any { return &e.Calls })},
	{Key: "cut", At: "any", Doc: "time that `compile` takes off the time before this event; negative to add",
		Parts: []Part{{Form: InSigned, Unit: "nanoseconds", Min: -MaxNote, Of: func(e *Event) any { return &e.Cut }}}},
	{Key: "held", Columns: []string{"held"}, Trace: true, Section: OfTraces, At: "any", Doc: "the part of the compute that edges account for",
		Parts: []Part{{Form: InSeconds, Unit: "seconds", Of: func(e *Event) any { return &e.Held }}}},
	{Key: "expired", Trace: true, Section: OfTraces, At: "any", Doc: "the part of the compute that a wake-up may end early",
		Parts: []Part{{Form: InSeconds, Unit: "seconds", Of: func(e *Event) any { return &e.Expired }}}},
	{Key: "flags", Trace: true, Section: OfTraces, At: "requests", Doc: "the flags of the recording that a replay heeds",
		Parts: []Part{{Form: InFlags, Flags: RequestFlags, Unit: "words", Of: func(e *Event) any { return &e.How.Flags }}}},
	{Key: "slot", Trace: true, Also: func(e *Event) bool { return e.How.Flags&ReqFixed != 0 }, Section: OfTraces, At: "requests", Doc: "with `fixed`, the registered file",
		Parts: bounded("index", 0, math.MaxUint32, func(e *Event) any { return &e.How.Slot })},
	{Key: "buffer", Trace: true, Section: OfTraces, At: "requests", Doc: "registered buffer",
		Parts: []Part{{Form: InIndex, Unit: "index", Max: math.MaxUint32, Of: func(e *Event) any { return &e.How.Buf }}}},
	{Key: "rwf", Trace: true, Section: OfTraces, At: "requests", Doc: "flags of the read or write",
		Parts: []Part{{Form: InFlags, Flags: ReadWriteFlags, Unit: "words", Of: func(e *Event) any { return &e.How.RW }}}},
	{Parts: number("nanoseconds", func(e *Event) any { return &e.Compute })},
}

// Owns reports whether any of OwnFields is not 0.
func (e *Event) Owns() bool { return e.Compute != 0 || e.Shows() || e.Traces() }

// Shows reports whether any of them is not 0 that recordings show.
func (e *Event) Shows() bool { return e.Faults|e.Behind|e.Cut|e.Calls != 0 || !e.Off.IsZero() }

// Traces reports whether any of them is not 0 that intermediate scripts show as a note.
func (e *Event) Traces() bool { return e.Held|e.Expired != 0 || e.How != (How{}) }

// Reader reads events in batches.
type Reader interface {
	// Read fills events from the front and returns how many it filled. After
	// the last event it returns 0 and io.EOF. On any other error it returns the
	// events before the fault first, and the error from the next call. The
	// strings, notes and edges of the events are valid until the next call.
	Read(events []Event) (int, error)

	// Header returns the header. It is complete once Read has returned io.EOF,
	// and must not be changed.
	Header() *Header
}

// Writer writes events in batches. It does not keep references to them.
type Writer interface {
	Write(events []Event) error
}

// EventKind is the kind of an event. It follows from the row of the operation and from
// the payload.
type EventKind uint8

// The kinds.
const (
	CallKind EventKind = iota
	RequestKind
	FaultKind
	WaitKind
	MadeKind
	SpanKind
	EntryKind
	NumEventKinds
)

// EventKindInfo is a row of the table of kinds.
type EventKindInfo struct {
	Name string
	Doc  string // what an event of the kind is, a sentence
	Line string // how a recording has it, as an example; "" if only traces have it

	// Beside says that the thread does other things meanwhile: the event takes no time of it.
	Beside bool
}

// EventKinds are the rows of the kinds.
var EventKinds = [NumEventKinds]EventKindInfo{
	CallKind: {Name: "call", Doc: "a system call of a thread", Line: "4711 0.000102840 fsync(3) = 0 <0.000120800>"},
	RequestKind: {Name: "request", Beside: true, Doc: "an operation that a thread asks io_uring or libaio for, from its submission to its completion",
		Line: "4711 0.000102840 io_uring:read(3, 0x7f00, 4096) = 4096 <0.000120800> {ring=1 batch=7}"},
	FaultKind: {Name: "fault", Doc: "a page fault on a mapping of a file", Line: "4711 0.000102840 map_read(0x7f0000002000, 65536, 8192) = 65536 <0.000120800> {filled}"},
	WaitKind:  {Name: "wait", Doc: "a wait of a thread outside of recorded calls", Line: "4711 0.000102840 wait(FUTEX, 0x240d6800) = 0 <0.020097979> {by=22510}"},
	MadeKind:  {Name: "made", Doc: "what compile puts in the place of calls: operations of pipes and of the queues of rings"},
	SpanKind: {Name: "span", Beside: true, Doc: "a call of a function of a library, with the events that it caused before it",
		Line: "4711 0.000102840 hdf5:H5Fflush(72057594037927936, 1) = 0 <0.000120800> {span=sync}"},
	EntryKind: {Name: "entry", Beside: true, Doc: "processes that enter the recording, and their open files", Line: `# process: 4712 threads=4712 cwd="/srv"`},
}

// Beside reports whether the thread of the event does other things meanwhile.
func (e *Event) Beside() bool { return EventKinds[e.Kind()].Beside }

// Kind returns the kind of the event.
func (e *Event) Kind() EventKind {
	switch {
	case e.Via != ViaCall:
		return RequestKind
	case e.Span != nil:
		return SpanKind
	case e.Enters != nil:
		return EntryKind
	}
	return table[e.Op].Kind
}

// Counts counts events by operation.
type Counts [NumOps]int64

// ParseCounts reads the output of String. It skips unknown operations.
func ParseCounts(text string) (c Counts) {
	for word := range strings.FieldsSeq(text) {
		name, number, _ := strings.Cut(word, "=")
		if op, ok := Lookup([]byte(name)); ok {
			n, _ := strconv.ParseUint(number, 10, 48)
			c[op] += int64(n)
		}
	}
	return c
}

// String returns "read=12 write=3", in the order of the table.
func (c *Counts) String() string {
	var b strings.Builder
	for op, n := range c {
		if n > 0 {
			fmt.Fprintf(&b, " %s=%d", Op(op), n)
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

// Total returns the sum over all operations.
func (c *Counts) Total() (n int64) {
	for _, v := range c {
		n += v
	}
	return n
}
