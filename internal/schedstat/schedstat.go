// Package schedstat asks the kernel how long a thread has run (CLOCK_THREAD_CPUTIME_ID in
// clock_gettime(2)) and has waited for a processor (/proc/PID/schedstat in proc(5)).
package schedstat

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Stat is the schedstat file of one thread. It is for one goroutine at a time.
type Stat struct {
	file *os.File
	buf  [64]byte
}

// Open opens the file of the calling thread, which must be locked; nil if the kernel has none. The
// caller closes it.
func Open() *Stat {
	file, err := os.Open("/proc/thread-self/schedstat")
	if err != nil {
		return nil
	}
	return &Stat{file: file}
}

// Close closes the file, if there is one.
func (s *Stat) Close() {
	if s != nil {
		_ = s.file.Close()
	}
}

// Ran returns how long the calling thread has run, in nanoseconds; 0 if the kernel does not tell. The file
// knows that only until the last tick of the kernel, so a clock says it.
func Ran() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return t.Nano()
}

// Waited returns how long the thread has waited for a processor, in nanoseconds; 0 if the kernel does not tell.
func (s *Stat) Waited() (waited int64) {
	n, _ := s.file.ReadAt(s.buf[:], 0)
	_, rest, _ := bytes.Cut(s.buf[:n], []byte(" "))
	second, _, _ := bytes.Cut(rest, []byte(" "))
	waited, _ = strconv.ParseInt(string(second), 10, 64)
	return waited
}
