package record

import (
	"pianola/bpf"
	"pianola/format"
)

// Call is a system call as a recorder saw it. Details and Text may be borrowed:
// the recorder says how long they stay as they are.
type Call struct {
	Start   int64      // nanoseconds of the recorder's clock
	Dur     int64      // nanoseconds
	Off     format.Off // of the time since the thread's last event
	Taken   int64      // nanoseconds of that time in which the thread could run and the recorder had its processor
	Woken   int64      // nanoseconds from the last waking within the call to its end, where there is a Waker
	Ret     int64
	Args    [format.MaxArgs]uint64 // registers, or what the operation has in their place
	TID     int32
	Space   uint64 // address space of a call on memory and of exec, 0 where faults are not recorded
	Channel uint64 // that the call sent to or received from, 0 for none that is noted
	Pos     uint32 // where what it moved ends in that
	Waker   int32  // the recorded thread that woke this one within the call, 0 for none
	Nr      uint32 // number of the system call
	Calls   uint32 // that are not recorded, since the thread's last event
	Flags   bpf.CFlag
	Behind  int64         // nanoseconds within the call for which the thread could run, but another recorded one had the processor
	Faults  uint32        // page faults within the call, of reads and writes
	Type    uint32        // of the descriptor of reads and writes, as the upper four bits of a mode, or bpf.CFileTypeTYPE_PSEUDO; 0 if not known
	Details *bpf.CDetails // nil where only registers were read
	Text    []byte        // the strings, one behind the other
}

// OpOf returns the operation of a Call.Nr, OpNone for a system call that is not
// recorded.
func OpOf(a format.Arch, nr int) format.Op {
	if nr == int(bpf.CNumberNR_WAIT) {
		return format.OpWait
	}
	return format.BySyscall(a, nr)
}

// UnknownCached stands in bpf.CDetails.Cached where the pages in the page cache are
// not known.
const UnknownCached = ^uint64(0)

// major and minor take a device number of the kernel apart.
func major(dev uint32) uint32 { return dev >> 20 }
func minor(dev uint32) uint32 { return dev & (1<<20 - 1) }
