// Package memfs is a file system in the memory of the process. It executes
// system calls with the results and errors of Linux on ext4, without a kernel
// or a device.
//
//	Call(number, arguments) ──► walk ──► inode ──► tree ──► pages
//	                    └──► descriptor ──►┘
//
// Data lie in pages of one mapping outside of Go's heap, with a radix tree of
// them for each file (tree.go); what is not written takes no page. Names lie in
// one table by directory and name (names.go). Freed pages, inodes, entries and
// open files are reused, so that a file system does not grow by what it no
// longer holds. One limit in bytes bounds all of it; beyond, calls fail with
// ENOSPC.
//
// Any number of threads may call at the same time. They never wait in Go: locks
// are futexes (lock.go), a thread that holds one is pinned to its processor
// slot, and a read or a write allocates nothing. Locks are taken in this order:
// that of an open file's offset, that of names, those of inodes, by address.
// While another lock is held, none is taken.
//
// What differs from Linux: nothing is denied, as if all callers were the superuser;
// files are regular ones, directories and symbolic links; reads and writes
// leave times as they are; a lock that another holds is EAGAIN even for a
// call that would wait for it; advice, synchronization and O_DIRECT mean nothing.
//
// Addresses in arguments, and lengths at them, are not checked: a caller must
// not pass untrusted ones. They must not be in a goroutine's stack, which
// moves.
package memfs
