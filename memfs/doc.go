// Package memfs is a file system in the memory of the process, which answers
// system calls as Linux answers them on ext4: the same results and the same
// errors, without a kernel, a device or a copy of the data anywhere else.
//
//	Call(number, arguments) ──► walk ──► inode ──► tree ──► pages
//	                    └──► descriptor ──►┘
//
// Data lie in pages of one mapping outside of Go's heap, with a radix tree of
// them for each file (tree.go); what is not written takes no page. Names lie in
// one table by directory and name (names.go). Pages, inodes, entries and open
// files that are given back are used again, so that a file system doesn't grow
// by what was in it once. All of it is bounded by one number of bytes; what
// goes beyond has the result ENOSPC.
//
// Any number of threads may call at the same time. They never wait in Go:
// locks are futexes (lock.go), a thread that holds one is pinned to its
// processor slot, and a read or a write allocates nothing. Locks are taken in
// this order: that of an open file's offset, that of names, those of inodes, by
// address; while one of the others is held none is asked for.
//
// What differs from Linux: nothing is denied, as if all callers were the superuser;
// files are regular ones, directories and symbolic links; reads and writes
// leave times as they are; a lock that another holds is EAGAIN even for a
// call that would wait for it; advice, synchronization and O_DIRECT mean nothing.
//
// Addresses in arguments are taken at their word, as are the lengths of what
// lies there: a caller must not pass on what a stranger gave it. They must
// not lie in a goroutine's stack, which moves.
package memfs
