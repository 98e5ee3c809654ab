// Package bpf holds the recorder's part in the kernel, an eBPF program in C,
// and loads it. The program notes the system calls of the threads that it is
// told to follow, and of all their descendants, in a ring buffer; package
// record reads them there.
//
// A record in the ring is in the byte order of the machine and begins with an
// Event, 88 bytes:
//
//	 0 Start   nanoseconds, CLOCK_MONOTONIC
//	 8 Dur     nanoseconds
//	16 Ret     result
//	24 Args    six registers, or what the operation has in their place
//	72 Tid     thread
//	76 Tgid    process
//	80 Nr      number of the system call
//	84 Flags   what follows, and what else is known
//
// A plain record ends here. A rich one (FlagRich) goes on with Details, 56
// bytes, and then the bytes of up to two strings without anything between them.
//
// Which system calls are recorded, and how, follows from the table of
// operations in package format: see plan.go. The program needs Linux 5.17 with
// BTF, CAP_BPF and CAP_PERFMON; it uses no kprobes.
package bpf
