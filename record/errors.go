package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pianola/record/ebpf"
)

// ErrPermission says that the caller may not record; the error that wraps it
// says which capability is missing.
var ErrPermission = errors.New("not permitted to record")

// StartError says that the command could not be started.
type StartError struct {
	Command string
	Status  int // what a shell ends with then: 127 not found, 126 not executable
	Err     error
}

func (e *StartError) Error() string { return fmt.Sprintf("start %s: %v", e.Command, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

func startError(command string, err error) *StartError {
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

// permission turns a refusal of the kernel into ErrPermission. To those who
// lack a capability the kernel refuses in many ways, for libraries probe it.
func permission(err error) error {
	if err == nil {
		return nil
	}
	if missing := missingCapabilities(); missing != "" {
		return fmt.Errorf("%w: needs root or %s", ErrPermission, missing)
	}
	if !ebpf.Denied(err) {
		return err
	}
	return fmt.Errorf("%w: the kernel refuses eBPF programs, as in a container or under lockdown: %w", ErrPermission, err)
}

// missingCapabilities names those that recording takes and the process lacks.
func missingCapabilities() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	return missingIn(string(status))
}

// missingIn is missingCapabilities for the text of a status file.
func missingIn(status string) string {
	_, rest, _ := strings.Cut(status, "CapEff:")
	line, _, _ := strings.Cut(rest, "\n")
	effective, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	if err != nil || effective&(1<<unix.CAP_SYS_ADMIN) != 0 {
		return ""
	}
	var names []string
	if effective&(1<<unix.CAP_BPF) == 0 {
		names = append(names, "CAP_BPF")
	}
	if effective&(1<<unix.CAP_PERFMON) == 0 {
		names = append(names, "CAP_PERFMON")
	}
	return strings.Join(names, "+")
}
