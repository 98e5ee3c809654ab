package format

// Change is what a thread plays before an event, or in its place, other than a trace says.
type Change struct {
	Event   int64    // position in the thread, from 0
	Before  []Record // calls before it, each Compute after the end of the call before
	Altered bool     // As takes its place
	As      Record   // without its Compute, which is the event's
	Removed bool     // the thread waits as for the event, and makes no call
	Compute int64    // nanoseconds of compute besides that of the event
}
