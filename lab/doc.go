// Package lab sets candidates beside a baseline: ways to do, or to store, the
// I/O of one application.
//
//	Parse → candidates → Experiment → Trial → Report → WriteText, Document
//
// An Experiment knows which trials there are, in which order they run, which
// traces they share and which roots they work in. It compiles and replays nothing
// itself: its caller gives it a Setup of each candidate, which does.
//
// A candidate is a list of steps, "prefetch=4+cache=cold". What a step means is
// the caller's business.
package lab
