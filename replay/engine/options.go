package engine

import (
	"pianola/format"
	"pianola/format/filter"
	"pianola/internal/option"
)

// Timing says when an event is due.
type Timing uint8

// The timings.
const (
	Compute  Timing = iota // when the thread's last event ended, plus the recorded compute
	Schedule               // at its recorded time since the start
	AFAP                   // at once: as fast as possible
)

// Wait is how a worker waits until an event is due.
type Wait uint8

// The ways to wait.
const (
	Auto  Wait = iota // sleep while there is time, then spin if a processor is free
	Spin              // spin, even if others need the processor
	Sleep             // sleep, even if it wakes up late
)

// Order says for which events of other threads an event waits, in addition to the one
// that creates its thread. The names are those of ROOT (Weiss et al., "ROOT: Replaying
// Multithreaded Traces with Resource-Oriented Ordering", SOSP 2013).
type Order uint8

// The orders.
const (
	Resource Order = iota // events that created or last used its resources, as found by compile
	Thread                // none: only the order within each thread
	Total                 // all events that had ended in the recording before it began
)

// Outside says when messages of clients that are not part of the recording arrive.
type Outside uint8

// The ways of clients.
const (
	Closed Outside = iota // a client sends its next message as long after the reply as recorded
	Timed                 // at their recorded times
)

// ignores reports whether the replay ignores edges of a kind.
func (o Outside) ignores(k format.EdgeKind) bool {
	pace := format.Pace{Timed: o == Timed}
	return pace.Ignores(k)
}

// The names of the values.
var (
	Commitments = option.Names[Commits]{What: "way to commit", All: []string{Elastic: "elastic", Recorded: "recorded"}}
	Outsides    = option.Names[Outside]{What: "client mode", All: []string{Closed: "closed", Timed: "timed"}}
	Timings     = option.Names[Timing]{What: "timing", All: []string{Compute: "compute", Schedule: "schedule", AFAP: "afap"}}
	Waits       = option.Names[Wait]{What: "wait method", All: []string{Auto: "auto", Spin: "spin", Sleep: "sleep"}}
	Orders      = option.Names[Order]{What: "order", All: []string{Resource: "resource", Thread: "thread", Total: "total"}}
)

func (t Timing) String() string  { return Timings.All[t] }
func (w Wait) String() string    { return Waits.All[w] }
func (o Order) String() string   { return Orders.All[o] }
func (o Outside) String() string { return Outsides.All[o] }
func (c Commits) String() string { return Commitments.All[c] }

// Options are the choices of an engine.
type Options struct {
	Timing  Timing  // when events are due
	Wait    Wait    // how a worker waits until then
	Order   Order   // which events of other threads an event waits for
	Outside Outside // when messages of unrecorded clients arrive
	Commits Commits // in which groups threads commit to a log
	Speed   float64 // scales compute: 2 is twice as fast
	Strict  bool    // end at the first result that differs
	Buffer  int     // records that each thread and ring decodes at a time; 1 for none ahead, 0 for the default

	Model    Model // makes calls take longer; nil for none
	Recorded bool  // calls take their recorded durations as changed by the model
	Idle     bool  // Player.Idle uses the time between events

	Only filter.Selection // the events that the executor plays, of a trace without rings; nil for all. Then there is no model

	Threads int   // the limit of threads alive at a time; a ring counts as one
	Memory  int64 // bytes: a quarter is for the log, another for a total order

	Changes   Changer // changes events while the replay runs; nil for none
	Peers     Peers   // nil if this process plays all threads
	LogsOfAll bool    // there is room for the logs of all threads
}

// Model is a model of a device, which delays the ends of calls. Workers of several traces
// call it.
type Model interface {
	// Covers reports whether the model is about an operation.
	Covers(op format.Op) bool

	// Until returns when an event of a thread ends, which began at a time and took so
	// long. Times are in nanoseconds by one clock.
	Until(thread int32, event int64, op format.Op, result, begin, took int64) int64
}
