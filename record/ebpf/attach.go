package ebpf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
)

// Attach records the process o.PID, which runs already, with all its threads
// and descendants, to s. It ends when the process has ended, after o.Duration,
// when ctx ends, or at SIGINT, SIGTERM, SIGQUIT or SIGHUP; the processes are
// never stopped and go on. Its errors are as those of Run; one that is
// os.ErrProcessDone says that there is no such process.
//
// The header that begins the recording holds what the processes had open, and
// where they were. It is read while they run and are recorded already: what
// they do at that very moment can stand both there and in an event. Calls
// that had begun before are not recorded.
func Attach(ctx context.Context, o record.Options, s record.Sink) (record.Result, error) {
	if o.PID == os.Getpid() {
		return record.Result{}, errors.New("a recorder can't record itself")
	}
	if err := completeRing(&o); err != nil {
		return record.Result{}, err
	}
	pidfd, err := openProcess(o.PID)
	if err != nil {
		return record.Result{}, err
	}
	defer unix.Close(pidfd)
	r, err := attach(&o, pidfd, s)
	if err != nil {
		return record.Result{}, err
	}
	defer r.close()
	return r.run(ctx, func(ctx context.Context, failed <-chan struct{}) error {
		defer func() { r.result.Elapsed = time.Since(r.began) }()
		return r.awaitProcess(ctx, pidfd, o.Duration, failed)
	})
}

// openProcess returns a pidfd.
func openProcess(pid int) (int, error) {
	if pid <= 0 {
		return -1, fmt.Errorf("%d is no process id", pid)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case err == nil:
		return fd, nil
	case err == unix.ESRCH:
		return -1, fmt.Errorf("attach to process %d: %w", pid, os.ErrProcessDone)
	case (err == unix.EINVAL || err == unix.ENOENT) && isThread(pid):
		return -1, fmt.Errorf("attach to process %d: it is a thread of process %d", pid, processOf(pid))
	}
	return -1, fmt.Errorf("attach to process %d: %w", pid, err)
}

func isThread(tid int) bool { n := processOf(tid); return n > 0 && n != tid }

// processOf returns the process of a thread, 0 if there is no such thread.
func processOf(tid int) (pid int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "Tgid:%d", &pid); err == nil {
			return pid
		}
	}
	return 0
}

// attach sets everything up and begins to record.
func attach(o *record.Options, pidfd int, s record.Sink) (_ *recording, err error) {
	r := &recording{sink: s}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err = r.load(o); err != nil {
		return nil, err
	}
	r.signals = record.CatchSignals()
	if err = r.begin(); err != nil {
		return nil, err
	}
	// The fork hook is there already: a thread that starts from here on is
	// either seen by it or found in the list.
	if err = r.program.follow(pidfd); err != nil {
		return nil, fmt.Errorf("attach to process %d: %w", o.PID, err)
	}
	members, err := r.program.followTree()
	if err != nil {
		return nil, err
	}
	if err := r.program.noteMapped(); err != nil {
		return nil, err
	}
	r.learnMapped(members)
	h, err := attachHeader(o, processes(members), r.result.Cost)
	if err != nil {
		return nil, err
	}
	return r, s.WriteHeader(h)
}

// learnMapped notes where the processes have files mapped.
func (r *recording) learnMapped(members []member) {
	learned := map[uint64]bool{0: true}
	for _, m := range members {
		if !learned[m.Space] {
			learned[m.Space] = true
			r.drain.writer.Learn(m.Space, int32(m.Tid))
		}
	}
}

// process is a process that the recorder was attached to.
type process struct {
	pid, parent int32
	threads     []int32
}

// processes sorts threads by process.
func processes(members []member) []process {
	byPID := map[int32]*process{}
	for _, m := range members {
		p := byPID[int32(m.Tgid)]
		if p == nil {
			p = &process{pid: int32(m.Tgid), parent: int32(m.Parent)}
			byPID[p.pid] = p
		}
		p.threads = append(p.threads, int32(m.Tid))
	}
	var all []process
	for _, pid := range slices.Sorted(maps.Keys(byPID)) {
		slices.Sort(byPID[pid].threads)
		all = append(all, *byPID[pid])
	}
	return all
}

// attachHeader is what is known when the recorder has attached.
func attachHeader(o *record.Options, all []process, cost format.Cost) (*format.Header, error) {
	h := record.CommonHeader(o, commandLine(o.PID), tool, cost)
	for _, p := range all {
		if _, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid)); errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("%w: the descriptors of process %d: needs root or CAP_SYS_PTRACE", record.ErrPermission, p.pid)
		}
		h.Meta = append(h.Meta, format.Meta{Key: format.MetaProcess, Value: p.remark(o)})
		h.Descriptors = append(h.Descriptors, record.Descriptors(int(p.pid))...)
	}
	return h, nil
}

// remark describes the process: 7 parent=1 threads=7,8 cwd="/" root="/" umask=0022
// command="sh". What can't be read, since the process has ended, is left out.
func (p *process) remark(o *record.Options) string {
	b := fmt.Appendf(nil, "%d parent=%d threads=", p.pid, p.parent)
	for i, tid := range p.threads {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Append(b, tid)
	}
	for _, link := range []string{"cwd", "root"} {
		if path, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", p.pid, link)); err == nil {
			b = format.AppendQuoted(fmt.Appendf(b, " %s=", link), []byte(path))
		}
	}
	if mask := record.Umask(int(p.pid)); mask != "" {
		b = fmt.Appendf(b, " %s=%s", format.MetaUmask, mask)
	}
	if words := commandLine(int(p.pid)); len(words) > 0 && !o.NoCommand {
		b = format.AppendQuoted(append(b, " command="...), []byte(words[0]))
	}
	return string(b)
}

// commandLine returns the words that a process was started with.
func commandLine(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// awaitProcess waits for the end of a recording that Attach began.
func (r *recording) awaitProcess(ctx context.Context, pidfd int, d time.Duration, failed <-chan struct{}) error {
	var timeout <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d - time.Since(r.began))
		defer timer.Stop()
		timeout = timer.C
	}
	// A tick would take the processor from the application each time.
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	defer unix.Close(stop)
	ended := make(chan error, 1)
	go func() { ended <- awaitEnd(pidfd, stop) }()
	select {
	case err := <-ended:
		return err
	case <-timeout:
	case <-ctx.Done():
	case <-r.signals.C:
	case <-failed:
	}
	_, err = unix.Write(stop, binary.NativeEndian.AppendUint64(nil, 1))
	return errors.Join(os.NewSyscallError("write", err), <-ended)
}

// awaitEnd waits until the process of a pidfd has ended, be it a zombie, or stop
// can be read.
func awaitEnd(pidfd, stop int) error {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}, {Fd: int32(stop), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
	}
}
