// Package lab sets candidates beside a baseline: ways to do, or to store, the
// I/O of one application.
//
//	Parse → candidates → Order → replays (the caller's) → Trial → Report → WriteText, Document
//
// The package plays nothing itself. The caller replays the baseline and the
// candidates in the order that Order gives, adds what each run was like to its
// Trial, and reports when all is done, or when somebody has stopped it.
//
// A candidate is a list of steps, "prefetch=4+cache=cold". What a step means is
// the caller's business.
package lab
