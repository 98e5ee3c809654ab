// Package replay executes a compiled trace below one directory, the root: the
// same operations in the same threads, with the recorded compute between them,
// and in an order that keeps their dependencies.
//
//	trace ── records ──► worker 1 ── system calls ──► root
//	      ── records ──► worker 2 ── system calls ──►
//	                        ▲ edges between events ▲
//
// Package engine has the order, the times and the log. An executor plays the events: package
// posix by system calls, of the kernel or of a file system in memory, package null without
// calls, and package program by another program. This package has their common parts: options,
// backends, ranks, results and logs.
//
// A Run sets GOMAXPROCS and the garbage collector for the whole process. So
// only one Run is active at a time; others wait for it.
package replay
