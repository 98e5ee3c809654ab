// Package ptrace records without privileges the same script as package ebpf makes.
//
//	command → jump → blob → ring ──────────────→ tracer → record.Writer → Sink
//	command → seccomp filter → ptrace stops ──→ tracer
//
// The filter stops the command at the system calls of the table, at those in which
// threads wait for others, and at rare ones that are counted for the coverage; all
// others run as fast as ever. There the tracer, one goroutine on a thread of its own,
// reads what the call is given, lets it run, and reads its results. It makes a
// record.Call of that, as the eBPF recorder does. A second goroutine decodes, so that
// a slow disk does not hold up the command.
//
// The first time that a call site stops, the tracer makes it a jump (package files
// patch and sites) to code in the command's process, the blob, which makes the call
// and writes a record into a ring (space and drain). The filter lets calls of the blob
// pass. What can't be recorded so goes on to stop.
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
