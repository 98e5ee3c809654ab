package ptrace

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/internal/futex"
	"pianola/internal/stats"
	"pianola/record"
)

// thread is a thread that is traced.
type thread struct {
	record.Call // the one under way; its details and text are the thread's
	details     bpf.CDetails

	inside bool // between the two stops of a call
	exited bool // its end has been recorded
	absent bool // the name that the call opens is not there yet

	foreign bool // the call is not recorded

	child int32 // the thread that the call made, 0 for none

	// The last call in which it waited.
	wait   bpf.CWait
	futex  futex.Kind
	object uint64 // the first argument

	process *process

	// For the account of what is missing.
	held        int64           // bytes that the kernel has counted, by recorded calls and before the recording
	movedBefore int64           // bytes that it had counted when execve began
	uses        map[*mapped]use // of mapped files when execve began
	file        *mapped         // that mmap is given
	compat      bool            // it has made calls through the table of another architecture
	settled     bool            // its end is in the account
}

// tracer handles the stops of all threads. It belongs to one goroutine, locked
// to its thread, for the kernel lets no other thread control the command.
type tracer struct {
	records *records
	command int32     // process id
	began   time.Time // of the recording
	memory  bool      // calls on memory are recorded
	running bool      // the command has begun; before, the helper measures

	// Results.
	missing   coverage.Account // Missing only, without mapped files
	durations [2][]int64       // of the helper's calls; awake and asleep
	status    unix.WaitStatus
	elapsed   time.Duration
	ended     chan struct{} // closed when the command has ended

	// Internal state.
	mu      sync.Mutex
	threads map[int32]*thread // changed under mu by the tracer only
	killing bool              // guarded by mu

	awake     bool // between stops
	quiet     bool // nothing is recorded any more
	processes map[int32]*process
	heirs     map[int32][]mapping // of processes that have not been met, by their first thread
	files     map[fileID]*mapped
	storages  map[uint32]storage // of file systems without a device, by minor number
	info      syscallInfo
	segments  [segments]segment
	futexes   futex.Pairs
	path      []byte

	// Of requests.
	contexts   map[contextID]int32 // numbers of those of libaio
	lastRing   int32
	lastBatch  int64
	submission record.Submission
	completion record.Completion
	awaited    int64 // nanoseconds in calls that submit or await requests of libaio
}

func newTracer(r *records) *tracer {
	return &tracer{records: r, began: time.Now(), ended: make(chan struct{}), threads: make(map[int32]*thread), awake: true,
		processes: make(map[int32]*process), heirs: make(map[int32][]mapping), files: make(map[fileID]*mapped),
		storages: make(map[uint32]storage), contexts: make(map[contextID]int32), path: make([]byte, 0, 2*unix.PathMax)}
}

func (tr *tracer) now() int64 { return time.Since(tr.began).Nanoseconds() }

// spin is how long a tracer that is awake looks for the next stop before it
// sleeps until one comes. Where processors are idle, to be woken up takes much
// longer than most calls; where none is, the command needs this one. So both
// are measured.
const spin = 20 * time.Microsecond

// next handles the next stop or end of a thread. It reports false where there
// are no threads any more.
func (tr *tracer) next() (bool, error) {
	var status unix.WaitStatus
	tid, e := tryWait(&status)
	if tr.awake {
		for start := time.Now(); tid == 0 && e == 0 && time.Since(start) < spin; {
			tid, e = tryWait(&status)
		}
	}
	if tid == 0 && e == 0 {
		n, err := unix.Wait4(-1, &status, waitOptions, nil)
		tid = int32(n)
		if err != nil {
			e = err.(unix.Errno)
		}
	}
	switch e {
	case 0:
		tr.handle(tid, status)
		return true, nil
	case unix.EINTR:
		return true, nil
	case unix.ECHILD:
		return false, nil
	}
	return false, fmt.Errorf("wait for a stop: %w", e)
}

// handle handles a stop or the end of a thread.
func (tr *tracer) handle(tid int32, status unix.WaitStatus) {
	t := tr.threads[tid]
	if status.Exited() || status.Signaled() {
		if t != nil {
			tr.settle(t, uint64(status))
			tr.end(t, uint64(status))
			tr.forget(t, status)
		}
		return
	}
	if t == nil {
		t = tr.meet(tid) // by its first stop
	}
	switch stopEvent(status) {
	case unix.PTRACE_EVENT_SECCOMP:
		tr.enter(t)
	case unix.PTRACE_EVENT_CLONE, unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK:
		if child, ok := eventMessage(tid); ok {
			t.child = int32(child)
			if stopEvent(status) == unix.PTRACE_EVENT_FORK {
				tr.inherit(t.process, t.child)
			}
		}
		tr.resume(t, 0)
	case unix.PTRACE_EVENT_EXEC:
		tr.executed(t)
	case unix.PTRACE_EVENT_EXIT:
		if code, ok := eventMessage(tid); ok {
			tr.settle(t, code)
			tr.end(t, code)
		}
		t.inside = false
		tr.resume(t, 0)
	case unix.PTRACE_EVENT_STOP:
		switch status.StopSignal() {
		case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
			request(unix.PTRACE_LISTEN, tid, 0) // its process is stopped, and is to stay so
		default:
			tr.resume(t, 0)
		}
	default:
		if s := status.StopSignal(); s == syscallStop {
			tr.leave(t)
		} else {
			tr.resume(t, s)
		}
	}
}

// meet adds a thread.
func (tr *tracer) meet(tid int32) *thread {
	t := &thread{Call: record.Call{TID: tid}}
	t.Details = &t.details
	tr.join(t)
	tr.mu.Lock()
	tr.threads[tid] = t
	killing := tr.killing
	tr.mu.Unlock()
	if killing {
		_ = unix.Kill(int(tid), unix.SIGKILL)
	}
	return t
}

// forget removes a thread that is gone.
func (tr *tracer) forget(t *thread, status unix.WaitStatus) {
	tr.futexes.Abandon(t.TID, t.place())
	tr.mu.Lock()
	delete(tr.threads, t.TID)
	tr.mu.Unlock()
	if t.TID == tr.command {
		tr.status, tr.elapsed = status, time.Since(tr.began)
		close(tr.ended)
	}
}

// kill ends all threads and those that they are making. It may be called by
// any goroutine.
func (tr *tracer) kill() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.killing = true
	for tid := range tr.threads {
		_ = unix.Kill(int(tid), unix.SIGKILL)
	}
}

// resume lets a thread run on, to the end of its call if it is in one. That it
// may have been killed meanwhile shows by its end.
func (tr *tracer) resume(t *thread, s unix.Signal) {
	what := uintptr(unix.PTRACE_CONT)
	if t.inside {
		what = unix.PTRACE_SYSCALL
	}
	request(what, t.TID, uintptr(s))
}

// enter handles the beginning of a call.
func (tr *tracer) enter(t *thread) {
	if tr.quiet || !getSyscall(t.TID, &tr.info) {
		tr.resume(t, 0)
		return
	}
	nr := tr.info.nr
	if tr.info.data != stopCall || nr >= format.MaxSys {
		t.compat = true
		count(coverage.Compat)(tr, t)
		tr.resume(t, 0)
		return
	}
	p := &plans[nr]
	t.Nr, t.Flags, t.Args, t.Ret, t.Type, t.Pos, t.Channel = uint32(nr), 0, tr.info.args, 0, 0, 0, 0
	t.absent, t.foreign, t.child, t.Text, t.details = false, false, 0, t.Text[:0], bpf.CDetails{}
	for n, arg := range p.args {
		if arg != 0 {
			t.readString(n, t.Args[arg-1])
		}
	}
	if p.typed {
		t.Type = tr.typeOf(t, uint32(t.Args[0]))
	}
	if p.atEntry != nil {
		p.atEntry(tr, t)
	}
	if t.foreign {
		tr.resume(t, 0)
		return
	}
	t.Start = tr.now()
	if p.ends {
		t.exited = true
		tr.add(t, t.Start)
	} else {
		t.inside = true
	}
	tr.resume(t, 0)
}

// leave handles the end of a call.
func (tr *tracer) leave(t *thread) {
	end := tr.now()
	if !t.inside || !getSyscall(t.TID, &tr.info) {
		tr.resume(t, 0)
		return
	}
	t.inside = false
	p := &plans[t.Nr]
	if t.Ret = tr.info.result(); t.child != 0 && t.Ret > 0 {
		t.Ret = int64(t.child) // as the recorder sees it
	}
	if p.waits {
		tr.endWait(t, end)
		tr.resume(t, 0)
		return
	}
	info := p.op.Info()
	t.process.forget(&t.Call, info)
	if t.Ret >= 0 {
		t.held += t.Ret * p.counted
		if p.atExit != nil {
			p.atExit(tr, t)
		}
	}
	if info.Acts.Any(format.Execs) {
		tr.holdExec(t)
	}
	tr.add(t, end)
	tr.resume(t, 0)
}

// executed handles the success of an execve. All other threads of the process
// are gone then, and one that was not the first has taken over its id.
func (tr *tracer) executed(t *thread) {
	end := tr.now()
	before, ok := eventMessage(t.TID)
	t.process.clear()
	if !tr.running {
		tr.running = true
		t.inside = false
		t.held, _ = tr.movedBytes(t.TID)
		return // the command stands before its first instruction
	}
	if other := tr.threads[int32(before)]; ok && other != nil && other != t {
		tr.end(t, 0) // as killed, where it has not ended before
		other.TID = t.TID
		other.Flags |= bpf.CFlagFLAG_RENUMBERED
		other.Args[5] = before
		tr.mu.Lock()
		delete(tr.threads, int32(before))
		tr.threads[t.TID] = other
		tr.mu.Unlock()
		t = other
	}
	if t.inside {
		t.inside = false
		tr.holdExec(t)
		tr.keep(t.uses)
		tr.add(t, end)
	}
	tr.resume(t, 0)
}

// end records the end of a thread that has not called exit. The code is a wait
// status.
func (tr *tracer) end(t *thread, code uint64) {
	if t.exited {
		return
	}
	t.exited = true
	t.Nr, t.Ret, t.Type, t.Pos, t.Channel, t.Text, t.details = exitNr, 0, 0, 0, 0, t.Text[:0], bpf.CDetails{}
	t.Args = [format.MaxArgs]uint64{code >> 8 & 0xff, code & 0x7f}
	t.Flags = bpf.CFlagFLAG_KILLED
	if t.Args[1] != 0 {
		t.Flags = bpf.CFlagFLAG_SIGNAL
	}
	t.Start = tr.now()
	tr.add(t, t.Start)
}

var exitNr = uint32(format.OpExit.Info().Sys[format.HostArch])

// add hands the call of a thread on.
func (tr *tracer) add(t *thread, end int64) {
	if !tr.running {
		tr.measured(plans[t.Nr].op, end-t.Start)
		return
	}
	if tr.quiet || !record.Records(plans[t.Nr].op, tr.memory) {
		return
	}
	t.Dur = end - t.Start
	switch plans[t.Nr].op {
	case format.OpIOSubmit, format.OpIOGetevents, format.OpIOPgetevents:
		tr.awaited += t.Dur
	}
	tr.quiet = !tr.records.add(&t.Call)
	t.Off = format.Off{}
}

// measured takes a call of the helper, whose rounds the tracer spends awake and
// asleep in turn.
func (tr *tracer) measured(op format.Op, nanos int64) {
	n := len(tr.durations[0]) + len(tr.durations[1])
	if op != format.OpLseek || n == measureRounds*measureCalls {
		return
	}
	way := n / measureCalls % 2
	tr.durations[way] = append(tr.durations[way], nanos)
	tr.awake = (n+1)/measureCalls%2 == 0
}

// cost returns what an event costs, from what the helper measured, and has the
// tracer go on in the cheaper way.
func (tr *tracer) cost(m measurement) format.Cost {
	tr.awake = m.Awake <= m.Asleep
	total, way := m.Awake, 0
	if !tr.awake {
		total, way = m.Asleep, 1
	}
	inside := stats.Median(tr.durations[way]) - m.Free
	return format.Cost{Inside: inside, Outside: total - m.Free - inside}
}
