package replay

const hasTicks = true

// ticks reads the processor's time-stamp counter. It doesn't wait for the
// instructions before it, as the vDSO does: that takes as long as the reading
// itself, and a system call's end is no such instruction.
//
//go:noescape
func ticks() uint64
