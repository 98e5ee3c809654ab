package replaykit

import (
	"path"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"pianola/internal/spin"
)

// Failing is a kernel that refuses one call: the Nth of a number, or all if N is 0. Pinned
// workers make the calls, so it never waits in Go.
type Failing struct {
	Under func(nr, a, b, c, d, e, f uintptr) int64 // a kernel as of package sandbox
	Nr    uintptr
	N     int
	Errno unix.Errno

	spin.Lock
	Calls [1024]int   // by number
	where [12]uintptr // the functions that made the refused call
}

// Call is the kernel.
func (f *Failing) Call(nr, a, b, c, d, e, g uintptr) int64 {
	f.Take()
	f.Calls[nr]++
	refused := nr == f.Nr && (f.N == 0 || f.Calls[nr] == f.N)
	if refused {
		runtime.Callers(2, f.where[:])
	}
	f.Give()
	if refused && nr != unix.SYS_CLOSE { // a failed close has closed
		return -int64(f.Errno)
	}
	got := f.Under(nr, a, b, c, d, e, g)
	if refused {
		return -int64(f.Errno)
	}
	return got
}

// Callers names the functions that made the refused call.
func (f *Failing) Callers() string {
	var names []string
	frames := runtime.CallersFrames(f.where[:])
	for frame, more := frames.Next(); more; frame, more = frames.Next() {
		names = append(names, path.Base(frame.Function))
	}
	return strings.Join(names, " < ")
}
