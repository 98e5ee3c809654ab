package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"golang.org/x/sys/unix"
)

// ErrPermission says that the caller may not record; the error that wraps it
// says which capability is missing.
var ErrPermission = errors.New("not permitted to record")

// Enough is what a Sink returns that takes no more events, though nothing has failed. The recording
// ends, and a command goes on.
type Enough struct {
	Why   string
	Taken int // events of the last Write that it took
}

func (e *Enough) Error() string { return e.Why }

// StartError says that the command could not be started.
type StartError struct {
	Command string
	Status  int // what a shell ends with then: 127 not found, 126 not executable
	Err     error
}

func (e *StartError) Error() string { return fmt.Sprintf("start %s: %v", e.Command, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// NewStartError returns the error for a command that could not be started for
// the reason err.
func NewStartError(command string, err error) *StartError {
	status := 126
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		status = 127
	}
	// The name stands in the message already.
	var ee *exec.Error
	if errors.As(err, &ee) {
		err = ee.Err
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &StartError{Command: command, Status: status, Err: err}
}

// ExitStatus is the status of an ended process as a shell says it.
func ExitStatus(s unix.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}
