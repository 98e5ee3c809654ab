package ebpf

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"pianola/record"
)

// child is the command. It stands still before its first instruction until
// release.
type child struct {
	pid   int
	pidfd int
}

// startChild starts the command and leaves it stopped. The calling goroutine
// must be locked to its thread until release, for only that thread may let
// the command go.
func startChild(o *record.Options) (*child, error) {
	path, err := o.Program()
	if err != nil {
		return nil, err
	}
	pid, err := syscall.ForkExec(path, o.Command, &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   o.Env,
		Files: []uintptr{o.Stdin.Fd(), o.Stdout.Fd(), o.Stderr.Fd()},
		Sys:   &syscall.SysProcAttr{Ptrace: true, Credential: o.Credential},
	})
	if err != nil {
		return nil, record.NewStartError(o.Command[0], err)
	}
	c := &child{pid: pid, pidfd: -1}
	status, err := c.wait()
	if err == nil && !status.Stopped() {
		err = errors.New("it ended before its first instruction")
	}
	if err == nil {
		c.pidfd, err = unix.PidfdOpen(pid, 0)
	}
	if err != nil {
		c.kill()
		return nil, fmt.Errorf("start %s: %w", o.Command[0], err)
	}
	return c, nil
}

// release lets the command run, free of the tracer.
func (c *child) release() error {
	if err := unix.PtraceDetach(c.pid); err != nil {
		return fmt.Errorf("let the command go: %w", err)
	}
	return nil
}

// wait waits until the command stops or ends.
func (c *child) wait() (status unix.WaitStatus, err error) {
	for {
		if _, err = unix.Wait4(c.pid, &status, 0, nil); err != unix.EINTR {
			return status, os.NewSyscallError("wait4", err)
		}
	}
}

// signal sends a signal, and none to another process once the command has
// been waited for.
func (c *child) signal(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		_ = unix.PidfdSendSignal(c.pidfd, n, nil, 0) // it may have ended
	}
}

// kill ends a command that could not be recorded.
func (c *child) kill() {
	_ = unix.Kill(c.pid, unix.SIGKILL)
	_, _ = c.wait()
	c.close()
}

func (c *child) close() {
	if c.pidfd >= 0 {
		_ = unix.Close(c.pidfd)
	}
	c.pidfd = -1
}
