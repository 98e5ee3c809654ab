package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// scratch is where files are made that must cost nothing: a tmpfs where there is one.
func scratch() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
}

// watched is how long machine looks at the processors.
const watched = time.Second

// quietShare is the share of the processors' time that other work may take on a quiet
// machine. Kernel threads and timers take a few thousandths.
const quietShare = 0.05

// busy returns the share of the processors' time that is not idle, over watched,
// with what the hypervisor takes for others.
func busy() (share float64, err error) {
	before, err := ticks()
	if err != nil {
		return 0, err
	}
	time.Sleep(watched)
	after, err := ticks()
	if err != nil || after.all == before.all {
		return 0, err
	}
	return 1 - float64(after.idle-before.idle)/float64(after.all-before.all), nil
}

type times struct{ idle, all uint64 }

// ticks returns the first line of /proc/stat: proc_stat(5).
func ticks() (t times, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var fields [8]uint64 // user nice system idle iowait irq softirq steal
	rest := strings.TrimPrefix(line, "cpu ")
	for i, word := range strings.Fields(rest)[:len(fields)] {
		if _, err := fmt.Sscan(word, &fields[i]); err != nil {
			return t, fmt.Errorf("/proc/stat: %w", err)
		}
		t.all += fields[i]
	}
	t.idle = fields[3] + fields[4]
	return t, nil
}

// machine says how many processors there are, and how busy they are with other work.
func machine() string {
	share, err := busy()
	if err != nil {
		return err.Error()
	}
	word := "quiet"
	if share > quietShare {
		word = "NOT QUIET"
	}
	return fmt.Sprintf("%d processors, %.0f %% of them taken by other work: %s", runtime.NumCPU(), 100*share, word)
}
