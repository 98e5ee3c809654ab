package ptrace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
)

// Run records a command as record.Recorder says, with these limits:
//
//   - no events are lost, whatever Options.RingBytes is;
//   - pages in the page cache are noted from Linux 6.5 on;
//   - what outlives the command can't go on without a tracer. It is recorded
//     until it ends, and killed when a signal or ctx ends the recording.
//   - calls are recorded in the process where that is possible.
func Run(ctx context.Context, o record.Options, s record.Sink) (record.Result, error) {
	return recordWith(ctx, o, s, inProcess() == nil)
}

// Stops is Run, except that the command stops at each call that is recorded.
func Stops(ctx context.Context, o record.Options, s record.Sink) (record.Result, error) {
	return recordWith(ctx, o, s, false)
}

func recordWith(ctx context.Context, o record.Options, s record.Sink, inProcess bool) (record.Result, error) {
	if !hooked.Load() {
		return record.Result{}, errors.New("internal error: ptrace.Main was not called")
	}
	if err := o.Complete(); err != nil {
		return record.Result{}, err
	}
	type outcome struct {
		result record.Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		// The thread is not used again: the kernel kills what is left of the
		// command with it.
		runtime.LockOSThread()
		r, err := trace(ctx, &o, s, inProcess)
		done <- outcome{r, err}
	}()
	end := <-done
	return end.result, end.err
}

// outcome is how the writing of a recording ended, and when.
type outcome struct {
	err error
	at  time.Time
}

// trace is Run, on a thread of its own.
func trace(ctx context.Context, o *record.Options, s record.Sink, inProcess bool) (r record.Result, err error) {
	records := newRecords()
	tr := newTracer(records)
	tr.memory = o.Memory
	if inProcess {
		all := inlinePlans(o.Memory)
		tr.inline = &all
	}
	defer ignoreStops()()
	if r.Cost, err = tr.start(o); err != nil {
		return r, err
	}
	signals, err := o.Ready(ctx)
	if err != nil {
		return r, tr.abandon(err)
	}
	defer signals.Release()
	h := record.StartHeader(o, int(tr.command), tr.name(), r.Cost)
	if err = record.Yield(o.Nice, o.Processors); err != nil {
		return r, tr.abandon(err)
	}
	pidfd, err := unix.PidfdOpen(int(tr.command), 0)
	if err != nil {
		return r, tr.abandon(fmt.Errorf("open the command: %w", err))
	}
	defer unix.Close(pidfd)

	stop, written, watched, drained := make(chan struct{}), make(chan outcome, 1), make(chan struct{}), make(chan struct{})
	stopDrains := make(chan struct{})
	tr.began, records.writer = time.Now(), record.NewWriter(s, 0)
	if err = records.writer.Begin(h); err != nil {
		return r, tr.abandon(err)
	}
	go func() {
		err := records.run(stop)
		written <- outcome{err, time.Now()}
	}()
	go func() {
		tr.watch(ctx, signals, pidfd, stop)
		close(watched)
	}()
	if tr.inline != nil {
		tr.clock.start(tr.began, tr.firstTick, tr.made)
		go func() {
			tr.drains(stopDrains)
			close(drained)
		}()
	} else {
		close(drained)
	}
	tr.resume(tr.threads[tr.command], 0)
	err = tr.all()
	close(stopDrains)
	<-drained
	close(stop)
	<-watched
	r.Status, r.Elapsed = record.ExitStatus(tr.status), tr.elapsed
	end := <-written
	if enough, ok := errors.AsType[*record.Enough](end.err); ok {
		r.Ended, r.Elapsed, end.err = enough.Why, end.at.Sub(tr.began), nil
	}
	err = errors.Join(end.err, err)

	r.Events = records.writer.Events()
	if err != nil {
		return r, err
	}
	r.Stopped = tr.refusals
	r.Coverage = records.writer.Account()
	tr.addMissing(&r.Coverage)
	return r, s.WriteHeader(records.writer.EndHeader(&r, true))
}

// name is that of the recorder in the header.
func (tr *tracer) name() string {
	if tr.inline != nil {
		return "in-process"
	}
	return "ptrace"
}

// all handles stops until there is no thread left.
func (tr *tracer) all() error {
	for {
		if more, err := tr.next(); !more {
			return err
		}
	}
}

// watch passes signals on to the command, and ends what is left when one comes
// after its end, or ctx does.
func (tr *tracer) watch(ctx context.Context, s *record.Signals, pidfd int, stop <-chan struct{}) {
	ended := tr.ended
	done := ctx.Done()
	for {
		select {
		case <-stop:
			return
		case <-ended:
			ended = nil
		case <-done:
			done = nil
			tr.kill()
		case n := <-s.C:
			if ended == nil {
				tr.kill()
			} else if number, ok := n.(syscall.Signal); ok && record.Forwarded(n) {
				_ = unix.PidfdSendSignal(pidfd, number, nil, 0) // it may have ended
			}
		}
	}
}

// start starts the helper, has it measure, and leaves the command stopped
// before its first instruction.
func (tr *tracer) start(o *record.Options) (cost format.Cost, err error) {
	name := o.Command[0]
	path, err := o.Program()
	if err != nil {
		return cost, err
	}
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return cost, fmt.Errorf("start %s: %w", name, err)
	}
	own := os.NewFile(uintptr(sockets[0]), "helper")
	defer own.Close()
	memory := ""
	if o.Memory {
		memory = "memory"
	}
	pid, err := syscall.ForkExec("/proc/self/exe", append([]string{helperName, strconv.Itoa(sockets[1]), memory, path}, o.Command...), &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   o.Env,
		Files: inherited(o, sockets[1]),
		Sys:   &syscall.SysProcAttr{Credential: o.Credential},
	})
	unix.Close(sockets[1])
	if err != nil {
		return cost, record.NewStartError(name, err)
	}
	tr.command = int32(pid)
	if err = tr.follow(own); err != nil {
		return cost, tr.abandon(fmt.Errorf("start %s: %w", name, err))
	}
	for more := true; more && !tr.running && err == nil; {
		more, err = tr.next()
	}
	if err != nil {
		return cost, tr.abandon(err)
	}
	return tr.answer(name, own)
}

// follow traces the helper, once that has begun: its own exec would look like
// that of the command.
func (tr *tracer) follow(helper io.ReadWriter) error {
	var word [1]byte
	if _, err := io.ReadFull(helper, word[:]); err != nil {
		return fmt.Errorf("the helper has ended: %w", err)
	}
	if err := seize(tr.command); err == unix.EPERM {
		return fmt.Errorf("%w: the kernel refuses ptrace, as in a container or by kernel.yama.ptrace_scope", record.ErrPermission)
	} else if err != nil {
		return fmt.Errorf("trace the helper: %w", err)
	}
	tr.meet(tr.command)
	_, err := helper.Write(word[:])
	return err
}

// abandon ends a command that can't be recorded.
func (tr *tracer) abandon(err error) error {
	_ = unix.Kill(int(tr.command), unix.SIGKILL) // it may not be followed yet
	tr.kill()
	return errors.Join(err, tr.all())
}

// answer reads what the helper has measured, and why it could not become the
// command.
func (tr *tracer) answer(name string, helper io.Reader) (cost format.Cost, err error) {
	var m measurement
	if tr.running {
		if err = binary.Read(helper, binary.NativeEndian, &m); err != nil {
			return cost, tr.abandon(fmt.Errorf("start %s: %w", name, err))
		}
		return tr.cost(m), nil
	}
	text, err := io.ReadAll(io.LimitReader(helper, 64))
	if err != nil || len(text) < 8 {
		return cost, fmt.Errorf("start %s: the helper has ended", name)
	}
	e := unix.Errno(binary.NativeEndian.Uint64(text[len(text)-8:]))
	if len(text) == 8 {
		return cost, fmt.Errorf("start %s: install the filter: %w", name, e)
	}
	return cost, record.NewStartError(name, e)
}

// inherited returns the files of the helper: its standard streams, the socket,
// and what is inherited anyway, at the same numbers as here.
func inherited(o *record.Options, socket int) []uintptr {
	files := []uintptr{o.Stdin.Fd(), o.Stdout.Fd(), o.Stderr.Fd()}
	for fd := len(files); fd < socket; fd++ {
		keep := ^uintptr(0)
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			keep = uintptr(fd)
		}
		files = append(files, keep)
	}
	return append(files, uintptr(socket))
}
