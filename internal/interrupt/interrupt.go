// Package interrupt ends a program by its context when a signal comes, so that nothing temporary
// is left. Its functions may be called concurrently.
package interrupt

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Error is the cause for which a context ends: a signal. It is a context.Canceled.
type Error struct{ Signal syscall.Signal }

func (e *Error) Error() string { return e.Signal.String() }

// Is reports whether target is context.Canceled.
func (e *Error) Is(target error) bool { return target == context.Canceled }

// Status is the exit status of a program that a signal ended: 128 + the signal, as in a shell.
func (e *Error) Status() int { return 128 + int(e.Signal) }

// Of returns the signal that ended a context; SIGINT where something else did.
func Of(ctx context.Context) *Error {
	if e, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
		return e
	}
	return &Error{unix.SIGINT}
}

// ending are the signals that end the program. Where SIGHUP is ignored, as under nohup, it stays
// ignored. SIGINT is ignored in a background job of a script, which ends the job by kill -INT.
func ending() []os.Signal {
	all := []os.Signal{unix.SIGINT, unix.SIGTERM}
	if !signal.Ignored(unix.SIGHUP) {
		all = append(all, unix.SIGHUP)
	}
	return all
}

// Context returns the context of the program, which the first signal ends.
//
// It also catches SIGPIPE, which would kill the program at a write to standard output or standard
// error without a reader: the error of the write says the same. It does not ignore the signal,
// because the commands that the program starts would inherit that.
func Context() context.Context {
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, ending()...)
	go func() { cancel(&Error{(<-signals).(syscall.Signal)}) }()
	return ctx
}

// UntilBegun returns a context that ends with the program's one until begin is called: a recorded
// command gets the signals that come later. begin returns an error if a signal has come, however
// short a time ago. It can be called again, and must be called at least once.
func UntilBegun(program context.Context) (_ context.Context, begin func() error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(program))
	follow := context.AfterFunc(program, func() { cancel(context.Cause(program)) })
	if program.Err() != nil {
		cancel(context.Cause(program)) // the function runs a moment later
	}
	early := make(chan os.Signal, 1)
	signal.Notify(early, ending()...)
	return ctx, func() error {
		signal.Stop(early) // returns once signals that have come are in the channel
		follow()
		select {
		case n := <-early:
			cancel(&Error{n.(syscall.Signal)})
		default:
		}
		return context.Cause(ctx)
	}
}
