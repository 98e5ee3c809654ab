package record

import "golang.org/x/sys/unix"

// olderPolls are the calls of this architecture that wait for descriptors and
// that newer ones have none of.
var olderPolls = []int{unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_WAIT}
