package record

import "pianola/format"

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
	Flags   Flags
	Behind  int64    // nanoseconds within the call for which the thread could run, but another recorded one had the processor
	Faults  uint32   // page faults within the call, of reads and writes
	Type    uint32   // of the descriptor of reads and writes, as the upper four bits of a mode, or PseudoType; 0 if not known
	Details *Details // nil where only registers were read
	Text    []byte   // the strings, one behind the other
}

// Details is what a recorder read besides registers: a file, and how long the
// strings are. Its layout is that of the eBPF program.
type Details struct {
	Size   uint64 // bytes
	Blocks uint64 // of 512 bytes
	Cached uint64 // pages in the page cache, or UnknownCached
	Ino    uint64
	Dev    uint32 // major << 20 | minor
	Nlink  uint32
	Mode   uint32 // type and permissions
	Len    [format.MaxStrings]uint16
	State  [format.MaxStrings]StringState
	_      [6]uint8
}

// NrWait stands in Call.Nr for format.OpWait, which is no system call.
const NrWait = format.MaxSys - 1

// OpOf returns the operation of a Call.Nr, OpNone for a system call that is not
// recorded.
func OpOf(a format.Arch, nr int) format.Op {
	if nr == NrWait {
		return format.OpWait
	}
	return format.BySyscall(a, nr)
}

// PseudoType stands in Call.Type for a file of a pseudo file system.
const PseudoType = 15

// UnknownCached stands in Details.Cached where the pages in the page cache are
// not known.
const UnknownCached = ^uint64(0)

// Flags say what else is known of a call.
type Flags uint32

// The bits of Call.Flags. They are those of the eBPF program, whose bit 0 has
// no meaning here.
const (
	FlagStat       Flags = 2 << iota // Mode and Size are set
	FlagFile                         // all of Details is set
	FlagCreated                      // the call created the file
	FlagTarget                       // string 1 is what a symbolic link holds
	FlagUnreadable                   // what an argument points to could not be read
	FlagSignal                       // the thread was ended by the signal Args[1]
	FlagKilled                       // the thread was ended by another of its process
	FlagRenumbered                   // execve gave the thread a new id; Args[5] is the old one
	_
	FlagUNIX  // Channel is of UNIX sockets, not of TCP
	FlagBatch // Channel is the number of a batch of requests, 0 for none, and Pos that of its ring
)

// StringState says what is known of a string.
type StringState uint8

// The values of Details.State.
const (
	StringNull       StringState = iota // a NULL pointer, or no such string
	StringWhole                         //
	StringCut                           // longer than any path can be
	StringUnreadable                    // not in memory, or not the caller's
)

// major and minor take a device number of the kernel apart.
func major(dev uint32) uint32 { return dev >> 20 }
func minor(dev uint32) uint32 { return dev & (1<<20 - 1) }

// Records reports whether a recording has events of an operation. Operations on
// memory are recorded only if asked for.
func Records(op format.Op, memory bool) bool {
	return op != format.OpNone && (memory || op.Info().Class != format.ClassMemory)
}
