package record

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Yield lets the recorder's own work give way: it sets the nice value of all its threads and the
// processors that they may use, none for all. Threads that start later inherit that, and so would
// a command: it must have been started before.
func Yield(nice int, processors []int) error {
	if nice == 0 && len(processors) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, n := range processors {
		set.Set(n)
	}
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
			if nice != 0 {
				err = unix.Setpriority(unix.PRIO_PROCESS, tid, nice)
			}
			if err == nil && len(processors) > 0 {
				err = unix.SchedSetaffinity(tid, &set)
			}
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("set nice value %d and processors %v of the recorder: %w", nice, processors, err)
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
