// Package transform changes recordings before they are compiled, to find out
// the gain of a change of the application, or of how it is run.
//
//	recording → transform → … → transform → compile → trace
//
// A transform is a function from a format.Reader to a format.Reader. It changes
// recorded events, so compile finds names, ordering, the fileset and compute as
// if an application had made these events. Some readers need several passes
// over a recording: a transform gives the same events each time, and is made
// anew for each pass.
//
// Rules for all transforms:
//
//   - Events of a thread stay in the order of the thread. Where a transform
//     looks ahead it does so by a bounded number of events.
//   - An injected event starts between its neighbours and has no known
//     duration.
//   - The time of an event that is taken out becomes compute; what the thread
//     was off the processor before it, and in it if it lasted, is carried over to
//     its next event.
//   - Durations of merged events are added up; nobody knows what the merged
//     call would have taken.
//
// A Set may be used concurrently. A reader belongs to one goroutine.
package transform
