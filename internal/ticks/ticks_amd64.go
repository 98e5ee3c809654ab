package ticks

const available = true

// Now reads the processor's time-stamp counter. Unlike the vDSO, it does not
// wait for the instructions before it, which takes as long as the reading
// itself and is not needed after a system call.
//
//go:noescape
func Now() uint64
