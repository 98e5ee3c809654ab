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
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/record"
)

// Attach records the process o.PID, which runs already, with all its threads
// and descendants, to s, or what is in the cgroup o.Cgroup and enters it later. It
// ends when the process has ended or the cgroup is removed, after o.Duration,
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
	what, err := openTarget(&o)
	if err != nil {
		return record.Result{}, err
	}
	defer what.close()
	r, err := attach(ctx, &o, what, s)
	if err != nil {
		return record.Result{}, err
	}
	defer r.close()
	return r.run(ctx, func(ctx context.Context, failed <-chan struct{}) error {
		defer func() { r.result.Elapsed = time.Since(r.began) }()
		return r.awaitEnd(ctx, what, o.Duration, failed)
	})
}

// target is what a recorder attaches to.
type target interface {
	poll() int   // a descriptor that can be read when it may have ended
	ended() bool // whether it has, once that can be read
	close() error
}

func openTarget(o *record.Options) (target, error) {
	if o.Cgroup == "" {
		fd, err := openProcess(o.PID)
		return pidfd(fd), err
	}
	dir, err := findCgroup(o.Cgroup)
	if err != nil {
		return nil, err
	}
	o.Cgroup = dir
	return awaitRemoval(dir)
}

// pidfd is a process.
type pidfd int

func (fd pidfd) poll() int    { return int(fd) }
func (fd pidfd) ended() bool  { return true }
func (fd pidfd) close() error { return unix.Close(int(fd)) }

// openProcess returns a pidfd.
func openProcess(pid int) (int, error) {
	if pid <= 0 {
		return -1, fmt.Errorf("%d is not a process id", pid)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case err == nil:
		return fd, nil
	case err == unix.ESRCH:
		return -1, fmt.Errorf("attach to process %d: %w", pid, os.ErrProcessDone)
	case err == unix.EINVAL || err == unix.ENOENT:
		if of := processOf(pid); of > 0 && of != pid {
			return -1, fmt.Errorf("attach to process %d: it is a thread of process %d", pid, of)
		}
	}
	return -1, fmt.Errorf("attach to process %d: %w", pid, err)
}

// processOf returns the process of a thread, 0 if there is no such thread.
func processOf(tid int) int {
	pid, _ := strconv.Atoi(record.Status(tid, "Tgid"))
	return pid
}

// attach sets everything up and begins to record.
func attach(ctx context.Context, o *record.Options, what target, s record.Sink) (_ *recording, err error) {
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
	if err = r.begin(); err != nil {
		return nil, err
	}
	// The hooks are there already: a thread that starts or enters from here on is
	// either seen by them or found in the list.
	if o.Cgroup != "" {
		err = r.program.followCgroup(o.Cgroup)
	} else if err = r.program.follow(what.poll()); err != nil {
		err = fmt.Errorf("attach to process %d: %w", o.PID, err)
	}
	if err != nil {
		return nil, err
	}
	members, err := r.program.followTree()
	if err != nil {
		return nil, err
	}
	listed, err := monotonic()
	if err != nil {
		return nil, err
	}
	if err := r.program.noteMapped(); err != nil {
		return nil, err
	}
	r.learnMapped(members)
	all := processes(members)
	if r.probes != nil {
		if err := r.probes.mapped(all); err != nil {
			return nil, err
		}
	}
	h, err := attachHeader(o, all, r.result.Cost)
	if err != nil {
		return nil, err
	}
	h.Meta = append(h.Meta, r.probed()...)
	if h.Files, err = r.program.mappedFiles(all, h.Descriptors); err != nil {
		return nil, err
	}
	if o.Cgroup != "" {
		r.drain.joined = newcomers(o, all, listed, r.drain.writer)
	}
	if err := r.ready(ctx, o); err != nil {
		return nil, err
	}
	if err := r.drain.writer.Begin(h); err != nil {
		return nil, err
	}
	r.drain.gives, err = record.NewBackground(o.Nice, o.Processors)
	return r, err
}

// newcomers returns what the drain does with a process that enters the cgroup: the
// recording says how it stood, before its first event. The recording's header has the
// state of those that were listed at a time, in nanoseconds; they can leave and enter
// again.
func newcomers(o *record.Options, known []process, listed int64, w *record.Writer) func(*bpf.CJoined) error {
	told := make(map[int32]bool)
	for _, p := range known {
		told[p.pid] = true
	}
	return func(j *bpf.CJoined) error {
		pid := int32(j.Tid)
		if told[pid] && int64(j.Start) < listed {
			return nil
		}
		p := process{pid: pid, parent: int32(j.Parent), threads: threadsOf(pid)}
		if len(p.threads) == 0 { // it has ended
			p.threads = []int32{pid}
		}
		if j.Space != 0 {
			w.Learn(j.Space, pid)
		}
		h := &format.Header{}
		if err := p.describe(o, h); err != nil {
			return err
		}
		return w.WriteHeader(h)
	}
}

// threadsOf returns the threads of a process, none if it has ended.
func threadsOf(pid int32) (all []int32) {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, entry := range entries {
		if tid, err := strconv.ParseInt(entry.Name(), 10, 32); err == nil {
			all = append(all, int32(tid))
		}
	}
	return all
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

// mappedFiles describes the files that processes have mapped already, except for programs and for
// what they have open as well.
func (p *program) mappedFiles(all []process, open []format.Descriptor) (files []format.File, err error) {
	told := map[string]bool{}
	for i := range open {
		told[open[i].Path] = true
	}
	for _, process := range all {
		mapped, _ := record.MappedFiles(process.pid) // none of one that has ended
		for _, m := range mapped {
			if told[m.Path] || m.Deleted {
				continue
			}
			told[m.Path] = true
			id := bpf.CFileId{Ino: m.File.Ino, Dev: m.File.Dev.Major<<20 | m.File.Dev.Minor}
			var known bpf.CMapped
			if err := p.coll.Maps[bpf.CMapFiles].Lookup(id, &known); errors.Is(err, ebpf.ErrKeyNotExist) {
				continue // it has no storage
			} else if err != nil {
				return nil, fmt.Errorf("list mapped files: %w", err)
			}
			if known.Exec != 0 {
				continue
			}
			if f, ok := m.Describe(process.pid); ok {
				files = append(files, f)
			}
		}
	}
	return files, nil
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
	pid := o.PID
	if pid == 0 {
		pid = os.Getpid()
		if len(all) > 0 {
			pid = int(all[0].pid)
		}
	}
	h := record.CommonHeader(o, pid, commandLine(o.PID), tool, cost)
	if o.Cgroup != "" {
		h.Set(format.MetaCgroup, string(format.AppendQuoted(nil, []byte(o.Cgroup))))
	}
	for _, p := range all {
		if err := p.describe(o, h); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// describe adds to a header how the process stands.
func (p *process) describe(o *record.Options, h *format.Header) error {
	if _, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid)); errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w: the descriptors of process %d: needs root or CAP_SYS_PTRACE", record.ErrPermission, p.pid)
	}
	h.Meta = append(h.Meta, format.Meta{Key: format.MetaProcess, Value: p.remark(o)})
	h.Descriptors = append(h.Descriptors, record.Descriptors(int(p.pid))...)
	return nil
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

// awaitEnd waits for the end of a recording that Attach began.
func (r *recording) awaitEnd(ctx context.Context, what target, d time.Duration, failed <-chan struct{}) error {
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
	go func() { ended <- awaitTarget(what, stop) }()
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

// awaitTarget waits until the recorded process has ended (a zombie counts as ended), or stop can be
// read.
func awaitTarget(what target, stop int) error {
	fds := []unix.PollFd{{Fd: int32(what.poll()), Events: unix.POLLIN}, {Fd: int32(stop), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return os.NewSyscallError("poll", err)
		case fds[1].Revents != 0 || what.ended():
			return nil
		}
	}
}
