// Package memfs is a file system in the memory of the process. It executes
// system calls with the results and errors of Linux on ext4, without a kernel
// or a device.
//
//	Call(number, arguments) ──► walk ──► inode ──► tree ──► pages
//	                    └──► descriptor ──►┘
//
// Data are in pages of one mapping outside of Go's heap, with a radix tree for each
// file (tree.go). Unwritten parts of a file take no page. Names are in one table by
// directory and name (names.go). Freed pages, inodes, entries and open files are
// reused, so that removed files take no memory. One limit in bytes bounds the memory. Calls
// that would exceed it fail with ENOSPC.
//
// Any number of threads may call at the same time. They never wait in Go: locks
// are futexes (lock.go), a thread that holds one is pinned to its processor
// slot, and a read or a write allocates nothing. Locks are taken in this order:
// that of an open file's offset, that of names, those of inodes, by address. No
// lock is taken while any other lock is held.
//
// Differences from Linux: all callers have the rights of the superuser. Files are
// regular files, directories and symbolic links. Reads and writes do not change times.
// A call for a lock that is taken returns EAGAIN and never waits. Advice, syncs and
// O_DIRECT have no effect.
//
// Addresses in arguments, and lengths at them, are not checked: a caller must
// not pass untrusted ones. They must not be in a goroutine's stack, which
// moves.
package memfs
