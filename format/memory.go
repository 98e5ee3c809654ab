package format

// In a compiled trace the addresses that memory calls are given and return are
// places in the replay's memory, as those of buffers are, and 0 where compile
// gave none. The argument of brk is the break before the call: what was asked
// for is the result, or came to nothing.

// OwnPages reports whether a mapping can hold pages that are its process's own,
// by the prot and flags arguments of mmap: it is writable, and what is written
// to it doesn't go to a file. Pages that are only read are those of the page
// cache, and what is mapped without reserve is address space first of all.
func OwnPages(prot, flags int64) bool {
	return prot&ProtWrite != 0 && flags&MapNoreserve == 0 && (flags&MapShared == 0 || flags&MapAnonymous != 0)
}
