// Package replay executes a compiled trace below one directory, the root: the
// same operations in the same threads, with the recorded compute between them,
// and in an order that keeps their dependencies.
//
//	trace ── records ──► worker 1 ── system calls ──► root
//	      ── records ──► worker 2 ── system calls ──►
//	                        ▲ edges between events ▲
//
// There is one worker per recorded thread, on an operating-system thread of
// its own. A worker takes a record, waits for the events that the record
// depends on (order.go), waits until it is due (pace.go), plays it through one
// table of calls (calls.go) and notes when it began, how long it took and what
// it returned (log.go). That path allocates nothing, takes no lock and leaves
// the Go scheduler out: calls are raw, the worker is pinned to its processor
// slot while it doesn't wait, and the garbage collector is off.
//
// Descriptors are those of the recording, mapped to real ones by a table per
// recorded process (table.go). Paths never lead out of the root, whatever the
// trace holds (package sandbox); what exists in it before the first event is
// built from the trace's fileset (package fileset).
//
// With the backend Simulated no worker runs. Package schedule finds the times, and the
// results and the log are those of any replay (simulate.go).
//
// A Run sets GOMAXPROCS and the garbage collector for the whole process. So
// only one Run is active at a time; others wait for it.
package replay
