// Package lab compares candidates with a baseline. A candidate is another way
// to do, or to store, the I/O of an application.
//
//	Parse → candidates → Experiment → Trial → Report → WriteText, Document
//
// An Experiment decides which trials there are, in which order they run, which
// traces they share and which roots they work in. The caller gives it a Setup
// for each candidate, which compiles and replays.
//
// A candidate is a list of steps, "prefetch=4+cache=cold". The caller defines
// what a step means.
package lab
