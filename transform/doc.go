// Package transform changes recordings before they are compiled, to find out
// what a change of the application, or of how it is run, would be worth.
//
//	recording → transform → … → transform → compile → trace
//
// A transform is a function from a format.Reader to a format.Reader. It works
// on recorded events, so compile finds names, ordering, the fileset and compute
// in what comes out as if an application had done it. Compile reads a recording
// more than once: a transform gives the same events each time, and is made anew
// for each pass.
//
// What all of them keep to:
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
