package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"pianola/internal/interrupt"
)

// The program ends early by a signal, or because its output has lost its reader. Both go through
// the context or through errors, so that nothing temporary is left.

// errInterrupted is the error of work that a signal has ended. Its status is for SIGINT;
// report finds that of the signal.
var errInterrupted = &exitError{status: exitInterrupted}

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
		os.Exit(interrupt.Of(ctx).Status())
	})
}
