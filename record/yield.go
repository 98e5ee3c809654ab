package record

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Background lets the recorder's own work give way to other programs as long as its buffer has
// room: a thread of the application, or of its clients, that wakes on a processor on which the
// recorder runs would else wait for a time slice of some milliseconds. It is used by one
// goroutine.
type Background struct {
	nice int // where the buffer fills, and at the end
	away bool
}

const (
	// awayNice takes the least share of a processor with which a look at the buffer comes in
	// time where other programs keep all processors busy: a tenth.
	awayNice = 10

	// slice is the shortest time slice that Linux gives (since 6.12; older kernels ignore it).
	slice = 100 * time.Microsecond

	// The recorder gives way no more when so much of the buffer is in use, and again when so
	// much is.
	urgent, calm = 1.0 / 4, 1.0 / 8
)

// Yield restricts the threads of the process, and those that start later, to the processors, none
// for all, and sets their nice value, 0 for the one that they have. A command would inherit that,
// so it must have been started before.
func Yield(nice int, processors []int) error {
	if len(processors) > 0 {
		var set unix.CPUSet
		for _, n := range processors {
			set.Set(n)
		}
		if err := eachThread(func(tid int) error { return unix.SchedSetaffinity(tid, &set) }); err != nil {
			return fmt.Errorf("set processors %v of the recorder: %w", processors, err)
		}
	}
	if nice == 0 {
		return nil
	}
	return yield(nice, 0)
}

// NewBackground is Yield, and then lets the process give way until End. It doesn't give way without
// the right to take a nice value back (CAP_SYS_NICE, RLIMIT_NICE), nor with another policy than the
// usual one, which the user has chosen.
func NewBackground(nice int, processors []int) (*Background, error) {
	if err := Yield(nice, processors); err != nil {
		return nil, err
	}
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return nil, fmt.Errorf("read the nice value of the recorder: %w", err)
	}
	if own.Policy != unix.SCHED_NORMAL || !mayTake(int(own.Nice)) {
		return nil, nil
	}
	b := &Background{nice: int(own.Nice), away: true}
	return b, yield(max(b.nice, awayNice), slice)
}

// End gives all threads the nice value and the time slice that they had, for what the process does
// after the recording. It does nothing on nil.
func (b *Background) End() error {
	if b == nil {
		return nil
	}
	return yield(b.nice, 0)
}

// Look takes how many of the bytes of the buffer are in use. It does nothing on nil.
func (b *Background) Look(used, size int) error {
	if b == nil {
		return nil
	}
	switch share := float64(used) / float64(size); {
	case b.away && share > urgent:
		b.away = false
		return yield(b.nice, slice)
	case !b.away && share < calm:
		b.away = true
		return yield(max(b.nice, awayNice), slice)
	}
	return nil
}

// yield sets the nice value and the time slice of all threads of the process; 0 for the usual slice.
func yield(nice int, slice time.Duration) error {
	a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: int32(nice), Runtime: uint64(slice)}
	if err := eachThread(func(tid int) error { return unix.SchedSetAttr(tid, &a, 0) }); err != nil {
		return fmt.Errorf("set nice value %d of the recorder: %w", nice, err)
	}
	return nil
}

// mayTake reports whether the process may take a nice value, however high its own is.
func mayTake(nice int) bool {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NICE, &limit) == nil && limit.Cur >= uint64(20-nice) {
		return true
	}
	var data [2]unix.CapUserData
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0])
	return err == nil && data[0].Effective&(1<<unix.CAP_SYS_NICE) != 0
}

// eachThread calls a function for all threads of the process, those that start meanwhile, too.
func eachThread(do func(tid int) error) error {
	done := make(map[string]bool)
	for more := true; more; {
		more = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err != nil || done[t.Name()] {
				continue
			}
			done[t.Name()], more = true, true
			if err := do(tid); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return nil
}

// maxProcessors are those that the kernel's set of 1024 bits numbers.
const maxProcessors = 1024

// ParseProcessors parses a list of numbers of processors, as taskset and systemd take it; nil for
// an empty one.
func ParseProcessors(list string) (all []int, err error) {
	if list == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(word, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || first > last || last >= maxProcessors {
			return nil, fmt.Errorf("%q is not a list of processors (want for example 0-3,8)", list)
		}
		for n := first; n <= last; n++ {
			all = append(all, int(n))
		}
	}
	return all, nil
}
