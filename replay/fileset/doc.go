// Package fileset prepares the files that must exist before the first event of
// a replay, and restores them after an earlier replay.
//
//	files ──► Plan ──► restore ──► build ──► sync ──► page cache
//	      checked      remove, cut  make, write
//
// A Plan checks a fileset and computes its size before anything is written.
// Prepare then compares the root with it, removes extra files, makes missing
// ones, and brings the page cache into its state at the start of the recording.
// It keeps no state besides the files, so the next preparation completes an
// interrupted one.
//
// A pool of threads does the work. A guard binds each thread to the root,
// because a fileset is as untrusted as events are.
package fileset
