package ptrace

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/coverage"
	"pianola/internal/futex"
	"pianola/internal/stats"
	"pianola/internal/ticks"
	"pianola/record"
)

// thread is a thread that is traced.
type thread struct {
	record.Call // the one under way; its details and text are the thread's
	details     bpf.CDetails

	inside bool // between the two stops of a call
	called bool // it has events
	exited bool // its end has been recorded
	absent bool // the name that the call opens is not there yet

	foreign bool // the call is not recorded

	stopAgain bool // SIGSTOP came while the tracer made calls in its place

	child int32 // the thread that the call made, 0 for none

	// The last call in which it waited.
	wait   bpf.CWait
	futex  futex.Kind
	object uint64 // the first argument

	process *process
	ring    *ring    // nil where all of its calls stop
	written *written // of a thread that stands for a ring: what the record has

	// For the account of what is missing.
	held        int64           // bytes that the kernel has counted, by recorded calls and before the recording
	movedBefore int64           // bytes that it had counted when execve began
	uses        map[*mapped]use // of mapped files when execve began
	file        *mapped         // that mmap is given
	compat      bool            // it has made calls through the table of another architecture
	counted     bool            // its bytes are in the account
	settled     bool            // and its end
}

// tracer handles the stops of all threads. It belongs to one goroutine, locked
// to its thread, for the kernel lets no other thread control the command.
type tracer struct {
	records *records
	inline  *[maxNr]inlinePlan // nil where all calls stop
	command int32              // process id
	made    time.Time
	began   time.Time // of the recording

	firstTick uint64 // of the processor's counter, when the tracer was made

	memory  bool // calls on memory are recorded
	running bool // the command has begun; before, the helper measures

	// Results.
	missing   coverage.Account // Missing only, without mapped files
	durations [numWays][]int64 // of the helper's calls
	status    unix.WaitStatus
	elapsed   time.Duration
	ended     chan struct{} // closed when the command has ended

	// Internal state.
	state   sync.Mutex // guards all below but mu, from when the command runs
	mu      sync.Mutex
	threads map[int32]*thread // changed under mu by the tracer only
	born    map[int32]bool    // threads of which the maker's call is known
	killing bool              // guarded by mu

	awake     bool     // between stops
	stops     []stopOf // that have not been handled
	rings     []*ring
	copied    []byte // records that are handled
	filled    int    // the most bytes of a ring since the last pause
	steps     []step
	clock     counter
	jumps     map[uint64]jumpAt // of all processes, by address: those that were forked have the same; some were not written
	refusals  map[string]int    // processes by why they can't be recorded in the process
	filters   int               // that processes of the recording have
	slowCost  format.Cost       // of an event that stops, if that is not the one of the recording
	quiet     bool              // nothing is recorded any more
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
	lastKey    uint64 // of a request of io_uring
	strings    thread // that reads those of a request
	submission record.Submission
	completion record.Completion
	awaited    int64 // nanoseconds in calls that submit or await requests of libaio
}

// stopOf is a stop of a thread.
type stopOf struct {
	tid    int32
	status unix.WaitStatus
}

func newTracer(r *records) *tracer {
	now := time.Now()
	return &tracer{records: r, made: now, began: now, firstTick: ticks.Now(), jumps: make(map[uint64]jumpAt), filters: filtersOf(int32(os.Getpid())) + 1, ended: make(chan struct{}), threads: make(map[int32]*thread), born: make(map[int32]bool), awake: true,
		processes: make(map[int32]*process), heirs: make(map[int32][]mapping), files: make(map[fileID]*mapped),
		storages: make(map[uint32]storage), contexts: make(map[contextID]int32), path: make([]byte, 0, 2*unix.PathMax)}
}

// now returns the time of the recording, of the clock that calls in the process have.
func (tr *tracer) now() int64 {
	if tr.clock.rate != 0 {
		return tr.clock.nanos(ticks.Now())
	}
	return time.Since(tr.began).Nanoseconds()
}

// spin is how long a tracer that is awake looks for the next stop before it
// sleeps until one comes. Where processors are idle, to be woken up takes much
// longer than most calls; where none is, the command needs this one. So both
// are measured.
const spin = 20 * time.Microsecond

// next handles the next stop or end of a thread. It reports false where there
// are no threads any more.
func (tr *tracer) next() (bool, error) {
	if len(tr.stops) > 0 {
		s := tr.stops[0]
		tr.stops = slices.Delete(tr.stops, 0, 1)
		tr.locked(func() { tr.handle(s.tid, s.status) })
		return true, nil
	}
	var status unix.WaitStatus
	tid, e := tryWait(anyThread, &status)
	if tr.awake {
		for start := time.Now(); tid == 0 && e == 0 && time.Since(start) < spin; {
			tid, e = tryWait(anyThread, &status)
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
		tr.locked(func() { tr.handle(tid, status) })
		return true, nil
	case unix.EINTR:
		return true, nil
	case unix.ECHILD:
		return false, nil
	}
	return false, fmt.Errorf("wait for a stop: %w", e)
}

func (tr *tracer) locked(do func()) {
	tr.state.Lock()
	defer tr.state.Unlock()
	do()
}

// await waits for the next stop of one thread, and leaves those of others to be handled. So is the
// end of the thread. One that is its process's first and was killed has no stop any more, and no
// end before the others have been handled.
func (tr *tracer) await(tid int32) (status unix.WaitStatus, err error) {
	of := int(tid)
	for start := time.Now(); ; {
		n, e := tryWait(of, &status)
		if n == 0 && e == 0 && time.Since(start) > spin {
			var m int
			m, err = unix.Wait4(anyThread, &status, waitOptions, nil)
			if n = int32(m); err != nil {
				e = err.(unix.Errno)
			}
		}
		switch {
		case e == unix.EINTR, n == 0 && e == 0:
		case e != 0:
			return status, e
		case n != tid:
			tr.stops = append(tr.stops, stopOf{n, status})
			if isZombie(tid) {
				return status, errGone
			}
		case status.Exited() || status.Signaled() || stopEvent(status) == unix.PTRACE_EVENT_EXIT:
			tr.stops = append(tr.stops, stopOf{tid, status})
			return status, errGone
		default:
			return status, nil
		}
	}
}

func isZombie(tid int32) bool { return strings.HasPrefix(record.Status(int(tid), "State"), "Z") }

var errGone = errors.New("the thread has ended")

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
			tr.born[t.child] = true
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
		switch s := status.StopSignal(); {
		case s == syscallStop:
			tr.leave(t)
		case s == unix.SIGTRAP && tr.trapped(t):
			tr.resume(t, 0)
		case !tr.delayed(t, s):
			tr.resume(t, s)
		}
	}
}

// meet adds a thread.
func (tr *tracer) meet(tid int32) *thread {
	t := &thread{Call: record.Call{TID: tid}}
	t.Details = &t.details
	tr.join(t)
	tr.idle(t)
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
	tr.retire(t)
	tr.mu.Lock()
	delete(tr.threads, t.TID)
	delete(tr.born, t.TID)
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
	t.clear(uint32(nr), &tr.info.args)
	if tr.patch(t); tr.threads[t.TID] != t {
		return
	}
	tr.landed(t)
	tr.drain() // of the calls before
	tr.begin(t, p)
	if t.foreign {
		tr.resume(t, 0)
		return
	}
	t.Start = tr.now()
	if p.ends {
		t.exited = true
		tr.add(t, t.Start)
		tr.settleBytes(t)
	} else {
		t.inside = true
	}
	tr.resume(t, 0)
}

// clear readies a thread for a call.
func (t *thread) clear(nr uint32, args *[format.MaxArgs]uint64) {
	t.Nr, t.Flags, t.Args, t.Ret, t.Type, t.Pos, t.Channel = nr, 0, *args, 0, 0, 0, 0
	t.absent, t.foreign, t.child, t.Text, t.details = false, false, 0, t.Text[:0], bpf.CDetails{}
}

// begin reads what is known of a call when it begins.
func (tr *tracer) begin(t *thread, p *plan) {
	for n, arg := range p.args {
		if arg != 0 {
			t.readString(n, t.Args[arg-1])
		}
	}
	if p.typed && t.written == nil {
		t.Type = tr.typeOf(t, uint32(t.Args[0]))
	}
	if p.atEntry != nil {
		p.atEntry(tr, t)
	}
}

// finish reads what is known when it has ended, and hands it on.
func (tr *tracer) finish(t *thread, p *plan, end int64) {
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
}

// leave handles the end of a call.
func (tr *tracer) leave(t *thread) {
	end := tr.now()
	if !t.inside || !getSyscall(t.TID, &tr.info) {
		tr.resume(t, 0)
		return
	}
	t.inside = false
	tr.landed(t)
	p := &plans[t.Nr]
	if t.Ret = tr.info.result(); t.child != 0 && t.Ret > 0 {
		t.Ret = int64(t.child) // as the recorder sees it
	}
	if p.waits {
		tr.endWait(t, end)
		tr.resume(t, 0)
		return
	}
	tr.finish(t, p, end)
	tr.resume(t, 0)
}

// executed handles the success of an execve. All other threads of the process
// are gone then, and one that was not the first has taken over its id.
func (tr *tracer) executed(t *thread) {
	end := tr.now()
	before, ok := eventMessage(t.TID)
	for _, other := range tr.threads { // those that are gone have records
		if other.process == t.process {
			tr.retire(other)
		}
	}
	t.process.clear()
	tr.idle(t)
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
	if t.inside && t.child != 0 { // it was killed before the call that made a thread could return
		t.inside, t.Ret = false, int64(t.child)
		tr.finish(t, &plans[t.Nr], tr.now())
	}
	t.exited = true
	if !t.called && !tr.born[t.TID] && t.TID != tr.command {
		return // it was killed with the thread that was making it
	}
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
	if t.written == nil {
		tr.drain()
		t.slow(tr.slowCost, end)
	} else {
		t.Dur = end - t.Start
	}
	switch plans[t.Nr].op {
	case format.OpIOSubmit, format.OpIOGetevents, format.OpIOPgetevents:
		tr.awaited += t.Dur
	}
	t.called = true
	tr.quiet = !tr.records.add(&t.Call)
	t.Off, t.Taken = format.Off{}, 0
}

// slow sets the duration of a call that stopped. Where the recording has calls that did not, its
// cost is theirs: this takes the difference from the duration, and notes that of the time before.
func (t *thread) slow(more format.Cost, end int64) {
	t.Dur = max(end-t.Start-more.Inside, 0)
	t.Taken += more.Outside
}

// measured takes a call of the helper, whose rounds the tracer spends awake and
// asleep in turn.
func (tr *tracer) measured(op format.Op, nanos int64) {
	n := len(tr.durations[awake]) + len(tr.durations[asleep])
	switch {
	case op != format.OpLseek:
	case n == measureRounds*measureCalls:
		tr.durations[patched] = append(tr.durations[patched], nanos)
	default:
		way := n / measureCalls % 2
		tr.durations[way] = append(tr.durations[way], nanos)
		tr.awake = (n+1)/measureCalls%2 == 0
	}
}

// cost returns what an event costs, from what the helper measured, and has the
// tracer go on in the cheaper way.
func (tr *tracer) cost(m measurement) format.Cost {
	tr.awake = m[awake] <= m[asleep]
	of := func(way int) format.Cost {
		inside := stats.Median(tr.durations[way]) - m[free]
		return format.Cost{Inside: inside, Outside: m[way] - m[free] - inside}
	}
	stops := of(asleep)
	if tr.awake {
		stops = of(awake)
	}
	if len(tr.durations[patched]) < measureCalls {
		tr.inline = nil
		return stops
	}
	cost := of(patched)
	tr.slowCost = format.Cost{Inside: stops.Inside - cost.Inside, Outside: stops.Outside - cost.Outside}
	return cost
}
