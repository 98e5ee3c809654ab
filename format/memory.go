package format

// In a compiled trace, addresses in the arguments and results of memory calls
// are offsets in the replay's memory, like those of buffers, and 0 if compile
// did not lay them out. The argument of brk is the break before the call; the
// requested break is the result, unless the call failed.

// MappedFile marks an address of a compiled trace that is a place among the
// mapped files of its process, whose layout is separate. In such a place the
// address of an mmap's mapping is its result, and that of a fault its page.
// Processes that a process forks keep its layout until they exec.
const MappedFile = 1 << 60

// MapsFile reports whether the call maps a file, if it succeeds.
func (e *Event) MapsFile() bool {
	return e.Acts().Any(MapsFiles)
}

// OwnPages reports whether a mapping can hold pages that only its process has,
// by the prot and flags arguments of mmap: it is writable, with reserved
// memory, and no shared mapping of a file. Pages that are only read belong to
// the page cache, and a mapping without reserve is mostly unused address space.
func OwnPages(prot, flags int64) bool {
	return prot&ProtWrite != 0 && flags&MapNoreserve == 0 && (flags&MapShared == 0 || flags&MapAnonymous != 0)
}
