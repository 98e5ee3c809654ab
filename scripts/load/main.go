// Command load makes system calls and says what each took.
//
//	load pread  THREADS CALLS         4 KiB from the page cache, as fast as it goes
//	load fstat THREADS CALLS
//	load open  THREADS CALLS          opens and closes a file; the time is that of both
//	load getppid THREADS CALLS        a call that is not recorded
//	load paced  THREADS RATE SECONDS  preads at RATE a second of all threads together
//
// It prints nanoseconds per call of a thread, and for paced also the rate that
// was reached.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func pread(fd int, buf []byte) error {
	_, err := syscall.Pread(fd, buf, 0)
	return err
}

// kinds are the calls that a thread makes.
var kinds = map[string]func(fd int, buf []byte) error{
	"pread": pread, "paced": pread,
	"fstat": func(fd int, _ []byte) error {
		var st syscall.Stat_t
		return syscall.Fstat(fd, &st)
	},
	"open": func(int, []byte) error {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return syscall.Close(fd)
	},
	"getppid": func(int, []byte) error {
		_, _, _ = syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
		return nil
	},
}

func run(args []string) error {
	var n [3]int
	for i := range n {
		if i+1 < len(args) {
			n[i], _ = strconv.Atoi(args[i+1])
		}
	}
	if len(args) < 3 || n[0] < 1 || n[1] < 1 {
		return fmt.Errorf("want KIND THREADS NUMBER, got %q", args)
	}
	f, err := os.CreateTemp("", "load")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(make([]byte, 4096)); err != nil {
		return err
	}
	fd := int(f.Fd())
	calls, call := n[1], kinds[args[0]]
	if call == nil {
		return fmt.Errorf("no kind %q", args[0])
	}
	var gap time.Duration // between the calls of a thread
	if args[0] == "paced" {
		gap = time.Second * time.Duration(n[0]) / time.Duration(n[1])
		calls = n[1] / n[0] * n[2]
	}
	var threads sync.WaitGroup
	start := time.Now()
	for range n[0] {
		threads.Go(func() {
			runtime.LockOSThread()
			buf := make([]byte, 4096)
			for i := range calls {
				// Every 16th call is enough: the thread catches up.
				if gap > 0 && i%16 == 0 {
					for time.Since(start) < gap*time.Duration(i) {
					}
				}
				if err := call(fd, buf); err != nil {
					panic(err)
				}
			}
		})
	}
	threads.Wait()
	took := time.Since(start)
	fmt.Printf("%.1f %.0f\n", float64(took.Nanoseconds())/float64(calls), float64(n[0]*calls)/took.Seconds())
	return nil
}
