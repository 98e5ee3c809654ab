package replay

import (
	"errors"
	"fmt"
	"math"
)

// Timing says when an event is due.
type Timing uint8

// The timings.
const (
	Compute  Timing = iota // when the thread's last event ended, plus the recorded compute
	Schedule               // at its recorded time since the start
	AFAP                   // at once: as fast as possible
)

var timingNames = [...]string{Compute: "compute", Schedule: "schedule", AFAP: "afap"}

func (t Timing) String() string { return timingNames[t] }

// ParseTiming returns the timing of that name.
func ParseTiming(name string) (Timing, error) {
	for i, s := range timingNames {
		if s == name {
			return Timing(i), nil
		}
	}
	return 0, fmt.Errorf("unknown timing %q: want compute, schedule or afap", name)
}

// Options say how to replay. Only Root is needed.
type Options struct {
	Root   string  // directory to work in; made if missing
	Timing Timing  // when events are due
	Speed  float64 // scales compute: 2 is twice as fast; 0 stands for 1
	Strict bool    // end at the first result that differs
	Keep   bool    // leave what was made below the root
	Limits Limits  // what a trace may use

	// Progress, if not nil, is told how many bytes of the fileset exist, and
	// how many are wanted. It is called from one goroutine at a time.
	Progress func(done, total int64)
}

// Limits bound what a trace may use, for it can come from a stranger. They are
// checked before anything is written as far as the trace tells, and while it
// is replayed. A field that is 0 stands for its default.
type Limits struct {
	Files       int64 // files and directories of the fileset: 1 Mi
	Bytes       int64 // of the fileset and written by events, together; also the length of any file: 1 TiB
	Descriptors int64 // of a process, as the recording numbers them: 64 Ki
	Threads     int   // 1024
	Memory      int64 // bytes of buffers, descriptor tables and the log: 1 GiB
}

var defaults = Limits{Files: 1 << 20, Bytes: 1 << 40, Descriptors: 1 << 16, Threads: 1024, Memory: 1 << 30}

// ErrLimit is wrapped by the error of a replay that asks for more than Limits
// allow.
var ErrLimit = errors.New("limit exceeded")

// ErrDiffers is wrapped by the error of a strict replay that ended because a
// result differed.
var ErrDiffers = errors.New("result differs")

// minMemory is what the smallest replay needs: a page of descriptors and one
// of buffers for a process.
const minMemory = 1 << 20

// complete returns o with its defaults filled in.
func (o Options) complete() (Options, error) {
	l := &o.Limits
	orDefault(&l.Files, defaults.Files)
	orDefault(&l.Bytes, defaults.Bytes)
	orDefault(&l.Descriptors, defaults.Descriptors)
	orDefault(&l.Threads, defaults.Threads)
	orDefault(&l.Memory, defaults.Memory)
	orDefault(&o.Speed, 1)
	switch {
	case o.Root == "":
		return o, errors.New("no root given")
	case int(o.Timing) >= len(timingNames):
		return o, fmt.Errorf("unknown timing %d", o.Timing)
	case !(o.Speed > 0) || math.IsInf(o.Speed, 1):
		return o, fmt.Errorf("speed %v is not above 0", o.Speed)
	case l.Files < 0 || l.Bytes < 0 || l.Descriptors < 0 || l.Threads < 0:
		return o, errors.New("a limit is below 0")
	case l.Memory < minMemory:
		return o, fmt.Errorf("a memory limit of %d bytes is below %d", l.Memory, int64(minMemory))
	}
	return o, nil
}

func orDefault[T int | int64 | float64](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}
