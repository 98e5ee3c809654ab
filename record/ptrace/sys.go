package ptrace

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// seizeOptions: a tracer that dies takes the command with it, for the filter
// would make all of its I/O fail.
const seizeOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK |
	unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEEXIT | unix.PTRACE_O_EXITKILL

// syscallStop is the signal of a stop at the end of a system call.
const syscallStop = unix.SIGTRAP | 0x80

// The requests below return quickly, and so need not tell Go's scheduler.

func seize(tid int32) error {
	return errno(request(unix.PTRACE_SEIZE, tid, seizeOptions))
}

// request makes a request of ptrace that takes a number.
func request(what uintptr, tid int32, data uintptr) unix.Errno {
	return requestAt(what, tid, 0, data)
}

// requestAt makes a request that takes an address, too.
func requestAt(what uintptr, tid int32, addr, data uintptr) unix.Errno {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, what, uintptr(tid), addr, data, 0, 0)
	return e
}

func errno(e unix.Errno) error {
	if e != 0 {
		return e
	}
	return nil
}

// syscallInfo is struct ptrace_syscall_info at a stop of the filter.
type syscallInfo struct {
	op   uint8
	_    [3]uint8
	arch uint32
	ip   uint64
	_    uint64 // stack pointer
	nr   uint64 // at the end of a call, its result
	args [6]uint64
	data uint32
	_    uint32
}

func (s *syscallInfo) result() int64 { return int64(s.nr) }

// getSyscall reads what the call is that a thread stopped at.
func getSyscall(tid int32, s *syscallInfo) bool {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(*s), uintptr(unsafe.Pointer(s)), 0, 0)
	return e == 0
}

// eventMessage reads what a stop says besides: a new thread's id, or a status.
func eventMessage(tid int32) (message uint64, ok bool) {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETEVENTMSG, uintptr(tid), 0, uintptr(unsafe.Pointer(&message)), 0, 0)
	return message, e == 0
}

// stopEvent returns the event of a stop, 0 for that of a signal.
func stopEvent(s unix.WaitStatus) int { return int(s) >> 16 }

// waitOptions: of all threads, but not of the children of other threads of
// this program.
const waitOptions = unix.WALL | unix.WNOTHREAD

const anyThread = -1

// tryWait is a wait that returns 0 at once where nothing has happened.
func tryWait(of int, status *unix.WaitStatus) (int32, unix.Errno) {
	var s int32
	tid, _, e := unix.RawSyscall6(unix.SYS_WAIT4, uintptr(of), uintptr(unsafe.Pointer(&s)), waitOptions|unix.WNOHANG, 0, 0, 0)
	*status = unix.WaitStatus(s)
	return int32(tid), e
}
