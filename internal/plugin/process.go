package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a running program. One goroutine at a time reads its output, and another
// can write its input. Both wait in the kernel and not in Go's poller, which would wake
// them through another thread.
type process struct {
	*Program
	ctx   context.Context
	cmd   *exec.Cmd
	in    int          // what the program reads, -1 for nothing
	out   int          // what it writes
	taken atomic.Int64 // bytes that it has read or that are in the pipe
	lines int64        // that it wrote
	eof   bool         // it has closed its output
	said  *tail
	calm  func() bool // ends the watch over ctx

	closing atomic.Bool // no writer waits for it any more

	shot bool // it was killed because of a fault before end was called

	mu     sync.Mutex
	reaped bool          // its number may be another's
	ended  chan struct{} // closed once it was reaped
	status error
}

// errHangs is the error of reading and writing if the program makes no progress within
// its timeout.
var errHangs = errors.New("no progress")

// start runs the program until it ends or ctx is done. The caller must call end, after
// closeInput.
func (p *Program) start(ctx context.Context, fed bool) (*process, error) {
	r := &process{Program: p, ctx: ctx, in: -1, out: -1, ended: make(chan struct{})}
	r.cmd = exec.Command(p.args[0], p.args[1:]...)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if r.cmd.Dir = p.Dir; p.Dir != "" && strings.Contains(p.args[0], "/") {
		if r.cmd.Path, r.cmd.Err = filepath.Abs(p.args[0]); r.cmd.Err != nil {
			return nil, fmt.Errorf("%s: %w", p, r.cmd.Err)
		}
	}
	theirs, err := r.connect(fed)
	if err == nil {
		err = r.cmd.Start()
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		r.closeInput()
		r.close()
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	r.calm = context.AfterFunc(ctx, r.kill)
	go r.said.read(p.Stderr)
	go r.reap()
	return r, nil
}

// connect creates the pipes, and returns the program's ends.
func (r *process) connect(fed bool) (theirs []*os.File, err error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r.said, r.cmd.Stderr, theirs = newTail(from), to, append(theirs, to)
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return theirs, os.NewSyscallError("pipe2", err)
	}
	to = os.NewFile(uintptr(fds[1]), "stdout")
	r.out, r.cmd.Stdout, theirs = fds[0], to, append(theirs, to)
	if !fed {
		return theirs, nil
	}
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return theirs, os.NewSyscallError("pipe2", err)
	}
	from = os.NewFile(uintptr(fds[0]), "stdin")
	r.in, r.cmd.Stdin, theirs = fds[1], from, append(theirs, from)
	return theirs, unix.SetNonblock(r.in, true)
}

// closeInput closes the input of the program. The writer calls it.
func (r *process) closeInput() {
	if r.in >= 0 {
		_ = unix.Close(r.in)
		r.in = -1
	}
}

func (r *process) close() {
	if r.out >= 0 {
		_ = unix.Close(r.out)
	}
	if r.said != nil {
		r.said.close()
	}
}

// reap waits for the program's end and kills the rest of its process group. No other
// group can have its number until it is reaped.
func (r *process) reap() {
	for unix.Waitid(unix.P_PID, r.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	r.kill()
	r.mu.Lock()
	r.status = r.cmd.Wait()
	r.reaped = true
	r.mu.Unlock()
	r.calm()
	close(r.ended)
}

// kill kills the program and its children.
func (r *process) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reaped {
		_ = unix.Kill(-r.cmd.Process.Pid, unix.SIGKILL)
	}
}

// look is the interval at which a wait checks for a child that left the group and keeps
// the pipe open. The pipe does not show that.
const look = time.Second

// ready waits until a pipe is ready. It fails with errHangs if the program reads
// nothing within the timeout; 0 means no timeout.
func (r *process) ready(fd int, events int16, timeout time.Duration) error {
	pipe := []unix.PollFd{{Fd: int32(fd), Events: events}}
	slice := look
	if timeout > 0 {
		slice = min(slice, timeout)
	}
	taken, idle := r.taken.Load(), time.Duration(0)
	for {
		n, err := unix.Poll(pipe, int(max(slice.Milliseconds(), 1)))
		switch now := r.taken.Load(); {
		case err == unix.EINTR:
		case err != nil:
			return os.NewSyscallError("poll", err)
		case n > 0:
			return nil
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		case events == unix.POLLOUT && (r.closing.Load() || r.hasEnded()):
			return unix.EPIPE
		case now != taken:
			taken, idle = now, 0
		default:
			if idle += slice; timeout > 0 && idle >= timeout {
				return errHangs
			}
		}
	}
}

func (r *process) hasEnded() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// Read implements io.Reader.
func (r *process) Read(b []byte) (int, error) {
	if err := r.ready(r.out, unix.POLLIN, r.Timeout); err != nil {
		return 0, err
	}
	for {
		switch n, err := unix.Read(r.out, b); {
		case err == unix.EINTR:
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0 && len(b) > 0:
			r.eof = true
			return 0, io.EOF
		default:
			r.lines += int64(bytes.Count(b[:n], []byte{'\n'}))
			return n, nil
		}
	}
}

// write writes all of b to the program. timeout is the longest time between two reads
// of the program.
func (r *process) write(b []byte, timeout time.Duration) error {
	for len(b) > 0 {
		switch n, err := unix.Write(r.in, b); err {
		case nil:
			r.taken.Add(int64(n))
			b = b[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			if err := r.ready(r.in, unix.POLLOUT, timeout); err != nil {
				return err
			}
		default:
			return os.NewSyscallError("write", err)
		}
	}
	return nil
}

// awaitRead waits until the program has read its input, at most as long as it may make
// no progress.
func (r *process) awaitRead() {
	for begin := time.Now(); (r.Timeout == 0 || time.Since(begin) < r.Timeout) && r.ctx.Err() == nil && !r.hasEnded(); {
		if left, err := unix.IoctlGetInt(r.in, unix.TIOCINQ); err != nil || left == 0 {
			return
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// end waits for the program's end. It returns an error if ctx is done, the program
// failed, or its output has a fault.
func (r *process) end(fault error) error {
	defer r.close()
	hangs, alone := errors.Is(fault, errHangs), r.hasEnded() && !r.shot
	if fault != nil && !r.eof {
		r.kill()
	}
	var late <-chan time.Time
	if r.Timeout > 0 {
		timer := time.NewTimer(r.Timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-r.ended:
	case <-late:
		r.kill()
		<-r.ended
		if fault == nil {
			fault = fmt.Errorf("%s: closed its output, but did not end within %v", r, r.Timeout)
		}
		r.eof = false
	}
	last := r.said.last()
	switch {
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case r.status != nil && (fault == nil || r.eof || hangs && alone):
		// An incomplete line is only a consequence of the program's end.
		fault = fmt.Errorf("%s: after %d lines: %w", r, r.lines, r.status)
	case hangs && alone:
		fault = fmt.Errorf("%s: after %d lines: it has ended, but a child that left its process group keeps its output open", r, r.lines)
	case hangs:
		fault = fmt.Errorf("%s: after %d lines: no progress for %v", r, r.lines, r.Timeout)
	case fault == nil:
		return nil
	}
	if last != "" {
		fault = fmt.Errorf("%w; its last line on stderr: %s", fault, last)
	}
	return fault
}
