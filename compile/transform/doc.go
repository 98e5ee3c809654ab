// Package transform changes recordings before they are compiled, to find out
// the gain of a change of the application, or of how it is run.
//
//	recording → transform → … → transform → compile → trace
//
// A transform is a function from a format.Reader to a format.Reader. It changes
// recorded events, so compile finds names, ordering, the fileset and compute as if an
// application had made these events. Some readers need several passes over a recording:
// a transform returns the same events each time, and a new reader is created for each
// pass.
//
// Rules for all transforms:
//
//   - Events of a thread stay in the order of the thread. Where a transform
//     looks ahead it does so by a bounded number of events.
//   - An injected event starts between its neighbours and has no known
//     duration.
//   - The time of a removed event becomes compute. The time off the processor
//     before and within it is carried over to the thread's next event.
//   - The duration of a merged event is the sum of the durations, because the
//     real one is unknown.
//
// A Set may be used concurrently. A reader belongs to one goroutine.
package transform
