package replay

import "syscall"

// kernel answers system calls: that of the machine, or a backend that behaves
// like one. It takes the number of a call and its arguments, and returns the
// result or -errno. Any thread may call it.
type kernel func(nr, a, b, c, d, e, f uintptr) int64

// call makes a call of three arguments at most.
func (k kernel) call(nr, a, b, c uintptr) int64 { return k(nr, a, b, c, 0, 0, 0) }

// linux makes system calls of which the Go scheduler doesn't know.
func linux(nr, a, b, c, d, e, f uintptr) int64 {
	r, _, errno := syscall.RawSyscall6(nr, a, b, c, d, e, f)
	if errno != 0 {
		return -int64(errno)
	}
	return int64(r)
}
