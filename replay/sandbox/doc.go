// Package sandbox confines a trace to one directory, the root. A compiled trace
// can be untrusted, and be replayed by the superuser.
//
//	Name ──► Guard (one per thread) ──► Kernel ──► below the root
//	         jail or openat2, and Landlock
//	Root: the directory, locked and marked, and removal below it
//
// A Guard binds a thread to the root and turns each Name into arguments of a system call.
// A Root is the directory itself: it is locked against other replays and marked as
// Pianola's. Only files in a marked directory are ever removed.
//
// Calls return results as the kernel gives them: a number, or -errno.
package sandbox
