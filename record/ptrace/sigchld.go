package ptrace

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigaction is the kernel's struct sigaction, alike on amd64 and arm64.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

const noStops = 1 // SA_NOCLDSTOP

// ignoreStops keeps the kernel from sending SIGCHLD for every stop, whose
// handler, the one of Go, would take longer than the rest. Ends of children
// still send it. The result undoes it.
func ignoreStops() (undo func()) {
	var a sigaction
	if !changeAction(nil, &a) || a.flags&noStops != 0 {
		return func() {}
	}
	old := a
	a.flags |= noStops
	changeAction(&a, nil)
	return func() { changeAction(&old, nil) }
}

func changeAction(to, from *sigaction) bool {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(from)), unsafe.Sizeof(to.mask), 0, 0)
	return e == 0
}
