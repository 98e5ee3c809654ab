// Package rings executes asynchronous requests: those of io_uring on a real ring, those
// of libaio in a real context, and both on a pool of threads if the kernel refuses
// them. All three are a Queue.
//
//	Prepare ──► batch ──Submit──► kernel or threads ──► completions ──► Reap
//	                                                        ▲ Wait
//
// A queue with a batch of two requests, of which the second waits for the first:
//
//	q, err := rings.OpenRing(rings.Config{Entries: 32, Flags: rings.SingleIssuer})
//	if err != nil {
//		return err
//	}
//	for _, note := range q.Notes() {
//		fmt.Println(note) // how the queue differs from the requested one
//	}
//	q.Prepare(&rings.Request{Op: rings.OpWrite, Flags: rings.Link, FD: fd, Addr: addr, Length: 4096, User: 1})
//	q.Prepare(&rings.Request{Op: rings.OpFsync, FD: fd, User: 2})
//	if _, err := q.Submit(2); err != nil { // one io_uring_enter that waits for both
//		return err
//	}
//	var done [32]rings.Completion
//	for _, c := range done[:q.Reap(done[:])] {
//		fmt.Println(c.User, c.Result) // 1 4096, then 2 0
//	}
//	return q.Close()
//
// # Memory
//
// The kernel holds the memory of a request until its completion. Buffers are
// therefore addresses in memory that is mapped outside the Go heap, and never
// on a Go stack; the caller keeps them until Reap has returned the request or
// Close has succeeded. Vectors are copied in Prepare, to memory of
// the queue. Prepare, Submit, Wait and Reap allocate nothing. Registrations keep
// their memory for the next one, so they allocate only what a longer list needs.
//
// # Threads
//
// One thread at a time may prepare and submit, and one other at the same time wait
// and reap. With SingleIssuer and DeferTaskrun both are the thread that opened the
// queue: the kernel demands it. The kernel executes requests with the root
// directory, the table of descriptors and the rules of Landlock of the thread that
// submits them. So a replay's worker opens a queue after it has entered its
// sandbox.Guard, and other threads that use it have entered the same one and share
// the table.
// A goroutine that is pinned to its processor slot may call Prepare, Submit, Wait,
// Reap and InFlight of a ring or a context, which wait in the kernel, out of sight
// of the Go scheduler, and no other method.
//
// A pool waits in Go: a pinned goroutine calls none of its methods (Threads tells
// a pool). Its threads share the descriptors of the process, so a worker that has
// left that table (unshare) can't use a pool. To be in flight at once, requests
// need as many slots of GOMAXPROCS (PoolThreads).
//
// # Safety
//
// Requests may come from a stranger's trace. Only operations of one table are executed
// (operations.go), with the flags that it lists. They read, write and sync the files
// of descriptors and registered files. Prepare refuses all others, so they never reach the
// kernel. The caller makes calls that take a path, or make or close a
// descriptor, behind its guard.
//
// # Why not a library
//
// No maintained Go library for io_uring fits (as of November 2026). giouring is the most
// complete: liburing in plain Go, without allocation. Its last release is of 2023, its own
// documentation calls its test coverage low, and its waits with a time limit give the
// kernel addresses on a goroutine's stack, which can move. iouring-go (2023) sends each
// result by a channel, gouring is of 2022, and hodgesds/iouring-go and dshulyak/uring call
// themselves proofs of concept. code.hybscloud.com/uring is a beta that needs Linux 6.18.
// None has libaio, a fallback without io_uring, or a table of permitted operations. The
// interface of the kernel is three system calls and a page of structs, and stays
// compatible.
package rings
