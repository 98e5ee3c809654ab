// Package ebpf records with an eBPF program, at a fraction of a microsecond an
// event. Run runs a command, Attach follows a process that runs already, and
// Probe says whether this machine can do it.
//
//	command → program in the kernel → ring buffer → drain → record.Writer → Sink
//
// The command runs free: it is stopped once, before its first instruction, and
// never again. The program, in C, notes the system calls of the threads that it
// is told to follow, and of all their descendants, in a ring buffer. It wakes no
// reader: one goroutine polls the ring. Where the ring is full, events are lost,
// counted by operation and reported.
//
// Package bpf has the program, and bpf/headers/layout.h says how its records are laid out. The
// function view makes a record.Call of those of calls; all others are rows of the table records.
//
// Which system calls are recorded, and how, follows from the table of
// operations in package format: see plan.go. The program needs Linux 5.17 with
// BTF, CAP_BPF and CAP_PERFMON; it uses no kprobes.
package ebpf
