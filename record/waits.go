package record

import (
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
)

// Waits are the calls in which threads wait, by number: for what, and by which result a call shows that
// a time has ended it (their pages of the manual).
var Waits = func() (all [format.MaxSys]bpf.CWait) {
	for _, row := range []struct {
		kind    bpf.CWaitKind
		timed   bpf.CTimedBy
		numbers []int
	}{
		{bpf.CWaitKindWAIT_FUTEX, bpf.CTimedByTIMED_ERROR, []int{unix.SYS_FUTEX, unix.SYS_FUTEX_WAITV}},
		{bpf.CWaitKindWAIT_POLL, bpf.CTimedByTIMED_ZERO, append([]int{unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2}, olderPolls...)},
		{bpf.CWaitKindWAIT_POLL, bpf.CTimedByTIMED_ERROR, []int{unix.SYS_IO_URING_ENTER}},
		{bpf.CWaitKindWAIT_SOCKET, bpf.CTimedByTIMED_ERROR, []int{unix.SYS_ACCEPT, unix.SYS_ACCEPT4}},
		{bpf.CWaitKindWAIT_SOCKET, bpf.CTimedByTIMED_NOT, []int{unix.SYS_CONNECT}},
		{bpf.CWaitKindWAIT_SIGNAL, bpf.CTimedByTIMED_ERROR, []int{unix.SYS_RT_SIGTIMEDWAIT}},
		{bpf.CWaitKindWAIT_SIGNAL, bpf.CTimedByTIMED_NOT, []int{unix.SYS_RT_SIGSUSPEND}},
		{bpf.CWaitKindWAIT_OTHER, bpf.CTimedByTIMED_ALWAYS, []int{unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP}},
		{bpf.CWaitKindWAIT_OTHER, bpf.CTimedByTIMED_ZERO, []int{unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS}},
		{bpf.CWaitKindWAIT_OTHER, bpf.CTimedByTIMED_ERROR, []int{unix.SYS_SEMTIMEDOP, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE}},
	} {
		for _, nr := range row.numbers {
			all[nr] = bpf.CWait{Kind: row.kind, Timed: row.timed}
		}
	}
	return all
}()
