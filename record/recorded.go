package record

import (
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/coverage"
)

// Records reports whether a recording has events of an operation. Operations on
// memory are recorded only if asked for.
func Records(op format.Op, memory bool) bool {
	return op != format.OpNone && (memory || op.Info().Class != format.ClassMemory)
}

// Unrecorded are the system calls that do I/O, or change where it goes, and are
// not recorded: recorders count them, by number, for the coverage.
var Unrecorded = map[int]coverage.Kind{
	unix.SYS_MMAP:              coverage.Mapped,
	unix.SYS_MOUNT:             coverage.Mount,
	unix.SYS_UMOUNT2:           coverage.Mount,
	unix.SYS_MOVE_MOUNT:        coverage.Mount,
	unix.SYS_PIVOT_ROOT:        coverage.Mount,
	unix.SYS_PROCESS_VM_READV:  coverage.Memory,
	unix.SYS_PROCESS_VM_WRITEV: coverage.Memory,
}
