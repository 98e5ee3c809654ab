// Package nodes merges the recordings of the nodes of a parallel program into one recording:
//
//	n1.txt ─┐                                            ┌─► Reader, in the order of the
//	n2.txt ─┼─Inspect─► Run: ranks, clocks, machines ─Open┤   first node's clock
//	n3.txt ─┘                                            └─► ids of threads and files apart
//
// Inspect reads all recordings once or twice, Open once more. Both hold a bounded number of events
// of each recording in memory.
//
// The clocks of the recordings differ. Nodes that share a machine share its clock, and their
// recordings say when they began on it. Each other recording, except that of rank 0, says by how much its
// clock differed at the begin and at the end; between the two measurements the difference changes
// evenly. Then clocks are moved so far that every message is received after its sender began to
// send it: messages of TCP and, between machines, those of MPI and its collectives.
//
// A Run may be used concurrently, a reader belongs to one goroutine at a time.
package nodes
