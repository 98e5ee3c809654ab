package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The program ends early by a signal, or because its output has lost its reader. Both go through
// the context or through errors, so that nothing temporary is left.

// errInterrupted is the error of work that a signal has ended. Its status is for SIGINT;
// interruptedStatus has that of the signal.
var errInterrupted = &exitError{status: exitInterrupted}

// interruption is the cause for which a context ends: a signal.
type interruption struct{ signal syscall.Signal }

func (i *interruption) Error() string { return i.signal.String() }

func (i *interruption) Is(target error) bool { return target == context.Canceled }

// endingSignals are those that end the program. Where SIGHUP is ignored, as under nohup, it stays
// ignored. SIGINT is ignored in a background job of a script, which ends the job by kill -INT.
func endingSignals() []os.Signal {
	all := []os.Signal{unix.SIGINT, unix.SIGTERM}
	if !signal.Ignored(unix.SIGHUP) {
		all = append(all, unix.SIGHUP)
	}
	return all
}

// interruptible returns the context of the program, which the first signal ends.
//
// It also catches SIGPIPE, which would kill the program at a write to standard output or standard
// error without a reader: the error of the write says the same. It does not ignore the signal,
// because the commands that the program starts would inherit that.
func interruptible() context.Context {
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, endingSignals()...)
	go func() { cancel(&interruption{(<-ending).(syscall.Signal)}) }()
	return ctx
}

// untilBegun returns a context that ends with the program's one until begin is called: a recorded
// command gets the signals that come later. begin returns an error if a signal has come, however
// short a time ago. It can be called again, and must be called at least once.
func untilBegun(program context.Context) (_ context.Context, begin func() error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(program))
	follow := context.AfterFunc(program, func() { cancel(context.Cause(program)) })
	early := make(chan os.Signal, 1)
	signal.Notify(early, endingSignals()...)
	return ctx, func() error {
		signal.Stop(early) // returns once signals that have come are in the channel
		follow()
		select {
		case n := <-early:
			cancel(&interruption{n.(syscall.Signal)})
		default:
		}
		return context.Cause(ctx)
	}
}

// interruptedStatus returns the exit status for a context that has ended: 128 + the signal, as in
// a shell.
func interruptedStatus(ctx context.Context) int {
	if i, ok := errors.AsType[*interruption](context.Cause(ctx)); ok {
		return 128 + int(i.signal)
	}
	return exitInterrupted
}

// isUnread reports whether an error says that standard output has lost its reader.
func isUnread(err error) bool {
	at, ok := errors.AsType[*fs.PathError](err)
	return ok && at.Path == os.Stdout.Name() && errors.Is(at, unix.EPIPE)
}

// running is read-locked while a plug-in runs. An interrupt ends the plug-in
// first and then the process.
var running sync.RWMutex

// endOn ends the program once ctx is done and no plug-in runs, as an interrupt
// does without a handler, and removes incomplete outputs. It is for commands
// that only read and write files. They call the function that it returns at
// their end.
func endOn(ctx context.Context) (release func() bool) {
	return context.AfterFunc(ctx, func() {
		running.Lock()
		session.files.RemoveUnfinished()
		os.Exit(interruptedStatus(ctx))
	})
}
