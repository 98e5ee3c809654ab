package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"pianola/format"
	"pianola/format/coverage"
	"pianola/format/layer"
)

// Sizes of the ring buffer. DefaultRingBytes is that where Options say none: 700 thousand
// plain events.
const (
	MinRingBytes     = 64 << 10
	DefaultRingBytes = 64 << 20
	MaxRingBytes     = 1 << 30
)

// Options say what to record.
type Options struct {
	Command []string // name, looked up in PATH, and arguments
	Env     []string // nil: the own, with PWD for Dir
	Dir     string   // working directory, absolute; empty: the own

	// Credential is who the command runs as; nil: as the caller. It takes
	// root.
	Credential *syscall.Credential

	Stdin, Stdout, Stderr *os.File // nil: the own

	// RingBytes is the size of the buffer between the kernel and the
	// recorder; rounded up to a power of two, 0 for DefaultRingBytes. A
	// recorder without such a buffer ignores it.
	RingBytes int

	Memory   bool // also brk, mmap, munmap, mremap, madvise and mprotect, all of them
	NoFaults bool // no faults on mapped files, and no calls on such mappings; a recorder that can't see faults ignores it

	// Layers are libraries above the system calls, whose calls are recorded as spans.
	// Only a recorder with probes can. Text of calls other than names is left out
	// without LayerText, and functions whose probes are slow without LayerForce.
	Layers     []*layer.Layer
	LayerText  bool
	LayerForce bool

	// NoCommand leaves command lines out of the recording: arguments can hold
	// passwords. The paths of programs that are executed stay.
	NoCommand bool

	// The recorder's own work, not the command's: Yield.
	Nice       int
	Processors []int // numbers; none for all

	NoHost  bool          // the name of the machine stays out of the recording
	Remarks []format.Meta // what else its header says of how it was made

	// Begin is called when all is set up, before anything is written and before the command
	// starts. Its error ends the recording without the command. Nil for none.
	Begin func() error

	// Ranks are the processes of a parallel program to record besides the command; nil for
	// none.
	Ranks Ranks

	// For recordings of a process that runs already, which take no command.
	PID      int           // the process
	Cgroup   string        // or the cgroup: its directory, or its path in a hierarchy that is mounted
	Duration time.Duration // the recording ends then; 0: with the process
}

// Ranks are the processes of a parallel program on this machine besides the command, which is
// one of them. A recorder calls the methods in this order, each once.
type Ranks interface {
	// Gather waits for the processes and returns their ids. Each stands still, and runs one
	// thread only, until Release. command is the process of the command.
	Gather(ctx context.Context, command int) (pids []int, err error)

	// Meet is called when all are followed. It returns what the header says of them. clock
	// returns the time on the recording's clock, in nanoseconds, and may be called concurrently.
	// The recording's time 0 is begun on the clock of the machine.
	Meet(ctx context.Context, begun int64, clock func() int64) (*format.Header, error)

	// Release lets the processes go.
	Release() error

	// Part is called when all have ended. It returns what the header says at the end.
	Part(ctx context.Context, clock func() int64) *format.Header
}

// Complete checks the options for a command and fills in defaults, except for the
// buffer's size.
func (o *Options) Complete() error {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return errors.New("no command to record")
	}
	if o.Env == nil {
		o.Env = os.Environ()
		if o.Dir != "" {
			o.Env = slices.DeleteFunc(o.Env, func(v string) bool { return strings.HasPrefix(v, "PWD=") })
			o.Env = append(o.Env, "PWD="+o.Dir)
		}
	}
	for _, f := range []struct {
		file **os.File
		own  *os.File
	}{{&o.Stdin, os.Stdin}, {&o.Stdout, os.Stdout}, {&o.Stderr, os.Stderr}} {
		if *f.file == nil {
			*f.file = f.own
		}
	}
	return nil
}

// Program looks up the file of the command. Its error is a *StartError.
func (o *Options) Program() (string, error) {
	path, err := exec.LookPath(o.Command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", NewStartError(o.Command[0], err)
	}
	return path, nil
}

// Result says how a recording went.
type Result struct {
	Status  int           // of the command, as a shell says it: 128+n for signal n
	Elapsed time.Duration // of the command
	Events  int64         // handed to the Sink

	Ended string // why the recording ended before the command or the process did, from a Sink (Enough); else empty

	// Lost is the number of events that could not be recorded, LostByOp the
	// same by operation. Besides operations it has "threads" for threads that
	// could not be followed, and "recursion" for calls within the recorder's own
	// work in the kernel.
	Lost     int64
	LostByOp map[string]int64

	// LostByCPU is the number of events, by processor, that found the ring
	// full; nil where none did.
	LostByCPU []int64

	// Probed are the files whose functions were probed for Options.Layers.
	Probed []Probed

	// Spans is the number of recorded calls by layer, for those of Options.Layers.
	Spans map[string]int64

	// Stopped is the number of processes whose calls could not be recorded in the process, by the
	// reason: they stopped, which takes longer.
	Stopped map[string]int

	// Coverage is how much of the command's I/O the events hold.
	Coverage coverage.Account

	Cost    format.Cost // as a loop of calls was measured before
	InPlace format.Cost // as it was measured while the command ran, 0 if it was not
}

// Probed is what a recorder found of a layer in a file: a library, or a program that has
// the library in itself.
type Probed struct {
	Layer     string
	File      string
	Functions int           // probed
	Missing   int           // that the file doesn't have
	Stepped   int           // that were left out because their probes are slow (Options.LayerForce)
	Late      time.Duration // for which the file was open before it was probed: calls in that time are not recorded
	Err       error         // why nothing was probed
}

// String returns the value of format.MetaLayer.
func (p *Probed) String() string {
	b := fmt.Appendf(nil, "%s ", p.Layer)
	if name := filepath.Base(p.File); strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= unicode.MaxASCII || r == '"' }) {
		b = format.AppendQuoted(b, []byte(name))
	} else {
		b = append(b, name...)
	}
	b = fmt.Appendf(b, " functions=%d missing=%d", p.Functions, p.Missing)
	if p.Stepped > 0 {
		b = fmt.Appendf(b, " stepped=%d", p.Stepped)
	}
	if p.Late > 0 {
		b = format.AppendSeconds(append(b, " late="...), p.Late.Nanoseconds())
	}
	if p.Err != nil {
		b = format.AppendQuoted(append(b, " refused="...), []byte(p.Err.Error()))
	}
	return string(b)
}

// AddLost counts n events of an operation as lost.
func (r *Result) AddLost(name string, n uint64) {
	if n == 0 {
		return
	}
	if r.LostByOp == nil {
		r.LostByOp = make(map[string]int64)
	}
	r.LostByOp[name] += int64(n)
	r.Lost += int64(n)
}
