// Package record runs a command and records the I/O system calls of all its
// threads and descendants.
//
//	command → eBPF program (package bpf) → ring buffer → decoder → Sink
//
// The command runs free: it is stopped once, before its first instruction, and
// never again. The program in the kernel wakes nobody up; one goroutine polls
// the ring, turns records into format.Events and hands them on in batches.
// Where the ring is full, events are lost, counted by operation and reported.
//
// Run may be called once at a time in a process, for it takes over its signals.
package record
