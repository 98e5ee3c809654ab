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
// A record in the ring is in the byte order of the machine and begins with
//
//	 0 start   nanoseconds, CLOCK_MONOTONIC
//	 8 dur     nanoseconds; in the upper 16 bits page faults
//	16 ret     result
//	24 tid     thread
//	28 nr      number of the system call, 16 bits
//	30 flags   what follows, and what else is known; in the upper 4 bits the
//	           type of the descriptor
//	32 args    four registers, or what the operation has in their place
//
// A plain record ends here, with 64 bytes. A wide one goes on with
//
//	64 more    two more arguments
//	80 off     nanoseconds off the processor before the call
//
// and a rich one, which is wide too, with bpf.CDetails, 56 bytes, and then the
// bytes of up to two strings without anything between them. The function view
// makes a record.Call of all three.
//
// Which system calls are recorded, and how, follows from the table of
// operations in package format: see plan.go. The program needs Linux 5.17 with
// BTF, CAP_BPF and CAP_PERFMON; it uses no kprobes.
package ebpf
