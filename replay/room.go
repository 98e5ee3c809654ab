package replay

import "golang.org/x/sys/unix"

// maxRoom bounds the descriptors that room is made for, 8 bytes of the
// kernel's each.
const maxRoom = 1 << 16

// makeRoom lets the kernel make its table of descriptors as large at once as
// the replay may need it, by the use of a high number.
// All workers share that table, where each process of the application had its
// own, and a table that threads share grows only after every processor has
// been through the scheduler: that would take an open or dup 10 ms and more. A
// limit that allows less is left to be met by the replay.
func makeRoom() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	low, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(low)
	fd, err := unix.FcntlInt(uintptr(low), unix.F_DUPFD_CLOEXEC, int(min(limit.Cur, maxRoom))-1)
	if err == nil {
		_ = unix.Close(fd)
	}
}
