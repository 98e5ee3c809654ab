package format

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
	EntryKind: {Name: "entry", Beside: true, Doc: "processes that enter the recording, and what they have open", Line: `# process: 4712 threads=4712 cwd="/srv"`},
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
