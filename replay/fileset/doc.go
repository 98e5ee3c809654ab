// Package fileset prepares what must exist before the first event of a replay, and
// restores it from what an earlier replay has left.
//
//	files ──► Plan ──► restore ──► build ──► sync ──► page cache
//	      checked      remove, cut  make, write
//
// A Plan says what a fileset takes, before anything is written. Prepare then
// compares the root with it, removes what is too much, makes what is missing, and
// brings the page cache into the state that the recording began with. The file
// system itself says what is there, so an interrupted preparation is completed by
// the next.
//
// The work is done by a pool of threads, each bound to the root by a guard of its
// own: a fileset can come from a stranger as events can.
package fileset
