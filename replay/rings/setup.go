package rings

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"golang.org/x/sys/unix"
)

// SetupFlags are those of the set-up of a ring; the numbers are the kernel's
// (IORING_SETUP_*).
type SetupFlags uint32

// The flags that can be played.
const (
	IOPoll       SetupFlags = 1 << 0
	SQPoll       SetupFlags = 1 << 1
	SQAff        SetupFlags = 1 << 2
	CQSize       SetupFlags = 1 << 3
	Clamp        SetupFlags = 1 << 4
	SubmitAll    SetupFlags = 1 << 7
	CoopTaskrun  SetupFlags = 1 << 8
	TaskrunFlag  SetupFlags = 1 << 9
	SingleIssuer SetupFlags = 1 << 12
	DeferTaskrun SetupFlags = 1 << 13
	NoSQArray    SetupFlags = 1 << 16
	HybridIOPoll SetupFlags = 1 << 17
)

// setupFlags has a row for each flag of the kernel. A flag that needs others comes
// after them.
var setupFlags = []struct {
	flag  SetupFlags
	name  string
	plays bool // if not, the flag is about how the application shared or laid out the ring
}{
	{SQPoll, "SQPOLL", true},
	{SQAff, "SQ_AFF", true},
	{IOPoll, "IOPOLL", true},
	{HybridIOPoll, "HYBRID_IOPOLL", true},
	{CQSize, "CQSIZE", true},
	{Clamp, "CLAMP", true},
	{SubmitAll, "SUBMIT_ALL", true},
	{SingleIssuer, "SINGLE_ISSUER", true},
	{CoopTaskrun, "COOP_TASKRUN", true},
	{DeferTaskrun, "DEFER_TASKRUN", true},
	{TaskrunFlag, "TASKRUN_FLAG", true},
	{NoSQArray, "NO_SQARRAY", true},
	{1 << 5, "ATTACH_WQ", false},
	{1 << 6, "R_DISABLED", false},
	{1 << 10, "SQE128", false},
	{1 << 11, "CQE32", false},
	{1 << 14, "NO_MMAP", false},
	{1 << 15, "REGISTERED_FD_ONLY", false},
}

// String returns the kernel's names, joined by |.
func (f SetupFlags) String() string {
	var names []string
	for _, row := range setupFlags {
		if f&row.flag != 0 {
			names = append(names, row.name)
			f &^= row.flag
		}
	}
	if f != 0 {
		names = append(names, fmt.Sprintf("%#x", uint32(f)))
	}
	return strings.Join(names, "|")
}

// playable returns the flags that a replay can use.
func (f SetupFlags) playable() (plays SetupFlags) {
	for _, row := range setupFlags {
		if row.plays {
			plays |= f & row.flag
		}
	}
	return plays
}

// setup calls io_uring_setup for a configuration, and returns a descriptor or
// -errno. The kernel's answer is in p.
func (c *Config) setup(p *ringParams, flags SetupFlags, entries int) int64 {
	*p = ringParams{flags: uint32(flags)}
	if flags&CQSize != 0 {
		p.cqEntries = uint32(max(c.CQEntries, entries))
	}
	if flags&SQPoll != 0 {
		p.threadIdle = c.ThreadIdle
	}
	if flags&SQAff != 0 {
		p.threadCPU = c.ThreadCPU
	}
	fd := c.Kernel.Call(unix.SYS_IO_URING_SETUP, uintptr(entries), address(p), 0)
	switch {
	case fd < 0:
		return fd
	case flags&SQPoll != 0 && p.features&featThreadNonfix == 0: // only on registered files, before Linux 5.11
		c.Kernel.Call(unix.SYS_CLOSE, uintptr(fd), 0, 0)
		return -int64(unix.EPERM)
	}
	return fd
}

// establish sets up a ring as close to the configuration as possible, and returns its
// descriptor, or -errno if no ring is possible. It notes what the kernel refuses: flags
// if they are the reason, otherwise entries.
func (c *Config) establish(p *ringParams, t *tables) int64 {
	flags := c.Flags.playable()
	if left := c.Flags &^ flags; left != 0 {
		t.notef("io_uring: set up without %v, which a replay does not need", left)
	}
	fd := c.setup(p, flags, c.Entries)
	if fd >= 0 {
		return fd
	}
	// A flag is kept if the kernel accepts it together with those kept before.
	reason, entries, kept := unix.Errno(-fd), c.Entries, SetupFlags(0)
	for fd = c.setup(p, 0, entries); fd == -int64(unix.ENOMEM) && entries > 1; fd = c.setup(p, 0, entries) {
		entries = 1 << (bits.Len(uint(entries-1)) - 1) // RLIMIT_MEMLOCK, before Linux 5.12
	}
	if fd < 0 {
		return fd
	}
	answer := *p
	for _, row := range setupFlags {
		if flags&row.flag == 0 {
			continue
		}
		if with := c.setup(p, kept|row.flag, entries); with >= 0 {
			c.Kernel.Call(unix.SYS_CLOSE, uintptr(fd), 0, 0)
			fd, kept, answer = with, kept|row.flag, *p
		}
	}
	*p = answer
	if lost := flags &^ kept; lost != 0 {
		t.notef("io_uring: the kernel refuses %v (%v), so the ring is set up without it", lost, reason)
	}
	if entries < c.Entries {
		t.notef("io_uring: the kernel refuses %d entries (%v), so the ring is set up with %d", c.Entries, reason, p.sqEntries)
	}
	return fd
}

// refused reports whether the kernel doesn't let this process use an interface:
// not built in, forbidden by sysctl or a filter, or not enough memory may be
// locked.
func refused(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOMEM)
}
