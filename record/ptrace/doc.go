// Package ptrace records without privileges: the same script as package ebpf
// makes, at some microseconds an event instead of a fraction of one.
//
//	command → seccomp filter → ptrace stops → tracer → record.Writer → Sink
//
// The filter stops the command at the system calls of the table, at those in which
// threads wait for others, and at rare ones that are counted for the coverage; all
// others run as fast as ever. At
// each of those the tracer, one goroutine on a thread of its own, reads what the
// call is given, lets it run, and reads its results. It makes a record.Call
// of that, as the eBPF recorder does. A second goroutine decodes, so that a slow
// disk does not hold up the command.
//
// A filter can't be taken off, and calls that it stops fail with ENOSYS where
// there is no tracer. So the command never outlives its tracer: one that dies
// takes the command with it.
//
// The command must have its filter before its first instruction, but Go can't
// run code between fork and exec. So Run starts this program again, and Main,
// which every program that calls Run must call first of all, makes it the
// command.
//
// Run may be called once at a time in a process, for it takes over its signals.
package ptrace
