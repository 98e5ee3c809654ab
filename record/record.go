package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record/ebpf"
)

// DefaultRingBytes is the size of the ring buffer where Options say none: 700
// thousand plain events.
const DefaultRingBytes = 64 << 20

const maxRingBytes = 1 << 30

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
	// recorder; rounded up to a power of two, 0 for DefaultRingBytes.
	RingBytes int

	Memory bool // also brk, mmap, munmap, mremap and madvise

	// Of Attach, which takes no command.
	PID      int           // the process
	Duration time.Duration // the recording ends then; 0: with the process
}

// Result says how a recording went.
type Result struct {
	Status  int           // of the command, as a shell says it: 128+n for signal n
	Elapsed time.Duration // of the command
	Events  int64         // handed to the Sink

	// Lost is the number of events that could not be recorded, LostByOp the
	// same by operation. Besides operations it has "32-bit" for calls through
	// the 32-bit table, "threads" for threads that could not be followed, and
	// "recursion" for calls within the program's own work.
	Lost     int64
	LostByOp map[string]int64

	// LostByCPU is the number of events, by processor, that found the ring
	// full; nil where none did.
	LostByCPU []int64

	// Compat is the number of system calls through the 32-bit table: programs
	// of 32 bits ran, whose I/O is not recorded. They count as lost, too.
	Compat int64

	Cost format.Cost
}

// Run runs the command and records it, with all its descendants, to s. It
// returns when the command and all of them have ended. Its errors are a
// *StartError where there is no command to run, ErrPermission, errors of the
// sink, and failures of the kernel; a command that fails is no error. Where
// the command ran, the Result holds its status even if there is an error.
//
// SIGINT and SIGQUIT are left to the command, which a terminal sends them as
// well; SIGTERM and SIGHUP are passed on to it. Once the command has ended,
// any of them ends the recording, and descendants that still run, such as
// daemons, go on without it. When ctx ends, the command is killed and
// descendants are not waited for.
func Run(ctx context.Context, o Options, s Sink) (Result, error) {
	if err := o.complete(); err != nil {
		return Result{}, err
	}
	r, err := start(&o, s)
	if err != nil {
		return Result{}, err
	}
	defer r.close()
	return r.run(ctx, r.await)
}

// complete fills in what has a default.
func (o *Options) complete() error {
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
	return o.completeRing()
}

// completeRing fills in the size of the ring.
func (o *Options) completeRing() error {
	if o.RingBytes == 0 {
		o.RingBytes = DefaultRingBytes
	}
	if o.RingBytes < 0 || o.RingBytes > maxRingBytes {
		return fmt.Errorf("a ring buffer of %d bytes is not possible", o.RingBytes)
	}
	size := os.Getpagesize()
	for size < o.RingBytes {
		size *= 2
	}
	o.RingBytes = size
	return nil
}

// config says what the program in the kernel is to note.
func config(o *Options) ebpf.Config {
	return ebpf.Config{RingBytes: o.RingBytes, Memory: o.Memory, Type: true, Faults: true, Off: true}
}

// recording is a recording under way.
type recording struct {
	program *ebpf.Recorder
	child   *child
	ring    *ring
	drain   *drain
	signals *signals
	sink    Sink
	result  Result
	began   time.Time
}

// start sets everything up and lets the command go.
func start(o *Options, s Sink) (_ *recording, err error) {
	r := &recording{sink: s}
	defer func() {
		if err != nil {
			if r.child != nil {
				r.child.kill()
			}
			r.close()
		}
	}()

	// Only the thread that started the command may let it go, and the thread
	// that the cost is measured on must be one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err = r.load(o); err != nil {
		return nil, err
	}
	if r.child, err = startChild(o); err != nil {
		return nil, err
	}
	if err = s.WriteHeader(startHeader(o, r.child, r.result.Cost)); err != nil {
		return nil, err
	}
	if err = r.program.Follow(r.child.pidfd); err != nil {
		return nil, err
	}
	r.signals = catchSignals()
	if err = r.begin(); err != nil {
		return nil, err
	}
	return r, r.child.release()
}

// load loads the program, lets it run and measures what it costs. The calling
// goroutine must be locked to its thread.
func (r *recording) load(o *Options) (err error) {
	if r.program, err = ebpf.Load(config(o)); err != nil {
		return permission(err)
	}
	if r.ring, err = openRing(r.program.Ring()); err != nil {
		return err
	}
	r.result.Cost, err = calibrate(r.program, r.ring)
	return permission(err)
}

// begin makes this moment the time 0 of the recording.
func (r *recording) begin() error {
	r.began = time.Now()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	r.drain = newDrain(r.ring, r.sink, now.Nano())
	return nil
}

// run records until await returns. failed is closed when draining has failed.
func (r *recording) run(ctx context.Context, await func(_ context.Context, failed <-chan struct{}) error) (Result, error) {
	stop, drained := make(chan struct{}), make(chan struct{})
	var drainErr error
	go func() {
		defer close(drained)
		if drainErr = r.drain.run(stop); drainErr != nil {
			// The command is not to pay for what nobody keeps.
			drainErr = errors.Join(drainErr, r.program.Detach())
		}
	}()
	err := await(ctx, drained)
	err = errors.Join(err, r.program.Detach())
	close(stop)
	<-drained
	err = errors.Join(drainErr, err)

	r.result.Events = r.drain.events
	lost, lerr := r.program.Lost()
	if err = errors.Join(err, lerr); err != nil {
		return r.result, err
	}
	r.result.count(lost)
	return r.result, r.sink.WriteHeader(r.endHeader())
}

// livePause is how often descendants that outlive the command are looked for.
const livePause = 10 * time.Millisecond

// await waits for the command, and then for its descendants, unless they are
// no longer recorded because draining has failed.
func (r *recording) await(ctx context.Context, failed <-chan struct{}) error {
	type end struct {
		status unix.WaitStatus
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		status, err := r.child.wait()
		ended <- end{status, err}
	}()

	done := ctx.Done()
	for running := true; running; {
		select {
		case e := <-ended:
			if e.err != nil {
				return e.err
			}
			r.result.Status, r.result.Elapsed = exitStatus(e.status), time.Since(r.began)
			running = false
		case s := <-r.signals.c:
			if r.signals.forwarded(s) {
				r.child.signal(s)
			}
		case <-done:
			r.child.signal(unix.SIGKILL)
			done = nil
		}
	}

	tick := time.NewTicker(livePause)
	defer tick.Stop()
	for {
		live, err := r.program.Live()
		if live <= 0 || err != nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-r.signals.c:
			return nil
		case <-failed:
			return nil
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (r *recording) close() {
	if r.signals != nil {
		r.signals.release()
	}
	if r.child != nil {
		r.child.close()
	}
	if r.ring != nil {
		_ = r.ring.close()
	}
	if r.program != nil {
		_ = r.program.Close()
	}
}
