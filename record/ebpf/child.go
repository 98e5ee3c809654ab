package ebpf

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/record"
)

// child is the command. It stands still before its first instruction until
// release.
type child struct {
	pid   int
	pidfd int
}

// startChild starts the command, which the program in the kernel stops. A tracer would do that as
// well, but then the kernel ignores the set-user-ID bit for a command that runs as another user.
// The calling goroutine must be locked to its thread.
func (p *program) startChild(o *record.Options) (*child, error) {
	path, err := o.Program()
	if err != nil {
		return nil, err
	}
	if _, err := p.coll.Programs[bpf.CProgHoldChildren].Run(&ebpf.RunOptions{}); err != nil {
		return nil, fmt.Errorf("hold the command: %w", err)
	}
	defer func() { _ = p.coll.Variables[bpf.CVarHolding].Set(int32(0)) }()
	pid, err := syscall.ForkExec(path, o.Command, &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   o.Env,
		Files: []uintptr{o.Stdin.Fd(), o.Stdout.Fd(), o.Stderr.Fd()},
		Sys: &syscall.SysProcAttr{
			Credential: o.Credential,
			// A recorder that is killed now leaves no stopped command behind: the signal comes when
			// the command gets another parent, and from then on the program in the kernel stops it no
			// more. A command with the set-user-ID bit gets no such signal.
			Pdeathsig: unix.SIGCONT,
		},
	})
	if err != nil {
		return nil, record.NewStartError(o.Command[0], err)
	}
	c := &child{pid: pid, pidfd: -1}
	status, err := c.wait(unix.WUNTRACED)
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

// release lets the command run.
func (c *child) release() error {
	if err := unix.Kill(c.pid, unix.SIGCONT); err != nil {
		return fmt.Errorf("let the command go: %w", err)
	}
	return nil
}

// wait waits until the command ends, or with WUNTRACED stops.
func (c *child) wait(options int) (status unix.WaitStatus, err error) {
	for {
		if _, err = unix.Wait4(c.pid, &status, options, nil); err != unix.EINTR {
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

// kill ends a command that could not be recorded. One that has become another user goes on.
func (c *child) kill() {
	if unix.Kill(c.pid, unix.SIGKILL) == nil {
		_, _ = c.wait(0)
	} else {
		_ = c.release()
	}
	c.close()
}

func (c *child) close() {
	if c.pidfd >= 0 {
		_ = unix.Close(c.pidfd)
	}
	c.pidfd = -1
}
