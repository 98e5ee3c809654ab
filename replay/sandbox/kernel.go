package sandbox

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Kernel executes system calls: the kernel of the machine, or a backend that
// behaves like it. It takes the number and the arguments of a call, and returns
// the result or -errno. Any thread may call it.
type Kernel func(nr, a, b, c, d, e, f uintptr) int64

// Call makes a call of three arguments at most.
func (k Kernel) Call(nr, a, b, c uintptr) int64 { return k(nr, a, b, c, 0, 0, 0) }

// Linux is the Kernel of the machine. The Go scheduler does not see the calls:
// a blocked one keeps its processor slot.
func Linux(nr, a, b, c, d, e, f uintptr) int64 {
	r, _, errno := syscall.RawSyscall6(nr, a, b, c, d, e, f)
	if errno != 0 {
		return -int64(errno)
	}
	return int64(r)
}

// Error makes an error of a call's result, nil if there is none.
func Error(got int64) error {
	if got < 0 {
		return unix.Errno(-got)
	}
	return nil
}

// OnThread calls f on an operating-system thread that is discarded afterwards,
// because a thread that a guard has bound can't be used for anything else.
func OnThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		result <- f()
	}()
	return <-result
}

// Umask returns the umask of the process, which Guard.Enter may change for all
// threads. It can only be read by changing it.
func Umask() int {
	mask := unix.Umask(0o077)
	unix.Umask(mask)
	return mask
}
