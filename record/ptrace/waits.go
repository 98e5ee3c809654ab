package ptrace

import (
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/internal/futex"
	"pianola/record"
)

// Calls in which threads wait for others are not operations. Their ends are recorded: a
// sleep as part of the time before the thread's next event, all others as an event of
// format.OpWait, with the waker if it is certain. For a futex it is certain if both
// calls were seen.

// stopsAt reports whether the tracer stops at a call of record.Waits: those for futexes, descriptors
// and signals, and sleeps.
func stopsAt(nr int) bool {
	w := record.Waits[nr]
	known := w.Kind != bpf.CWaitKindWAIT_OTHER && w.Kind != bpf.CWaitKindWAIT_SOCKET || w.Timed == bpf.CTimedByTIMED_ALWAYS
	return known && format.BySyscall(format.HostArch, nr) == format.OpNone || nr == unix.SYS_RESTART_SYSCALL // another one goes on
}

// planWaits plans for the calls in which threads wait.
func planWaits(plans *[format.MaxSys]plan) {
	for nr := range plans {
		if stopsAt(nr) {
			plans[nr].atEntry, plans[nr].waits = beginWait, true
		}
	}
}

// shortestWait is what a call must last, in nanoseconds, that is no futex, to be an
// event: without any wait the stops take some 25 us of it.
const shortestWait = 50_000

func beginWait(tr *tracer, t *thread) {
	if t.Nr != unix.SYS_RESTART_SYSCALL {
		t.wait, t.object = record.Waits[t.Nr], t.Args[0]
	}
	if t.wait.Kind != bpf.CWaitKindWAIT_FUTEX {
		return
	}
	t.futex = futex.Other
	if t.Nr == unix.SYS_FUTEX {
		t.futex = futex.KindOf(uint32(t.Args[1]))
	}
	if t.futex == futex.Other {
		t.foreign = true
		return
	}
	if t.written == nil { // of others, a step has done it
		tr.futexes.Begin(t.TID, t.place(), t.futex)
	}
}

// place is where the thread waits at a futex. Processes that share memory have
// theirs apart.
func (t *thread) place() futex.Place {
	return futex.Place{Process: t.process.id, Address: int64(t.object)}
}

// endWait records what the end of a call tells in which the thread may have waited.
func (tr *tracer) endWait(t *thread, end int64) {
	if t.written == nil {
		tr.drain()
	}
	w, waker := t.wait, int32(0)
	if w.Kind == bpf.CWaitKindWAIT_FUTEX {
		if t.futex != futex.Waits {
			tr.futexes.Woke(t.TID, t.place(), t.futex, t.Ret)
			return
		}
		waker = tr.futexes.Woken(t.TID, t.place())
	}
	dur := end - t.Start
	timedOut := w.Timed == bpf.CTimedByTIMED_ZERO && t.Ret == 0 ||
		w.Timed == bpf.CTimedByTIMED_ERROR && (t.Ret == -int64(unix.ETIMEDOUT) || t.Ret == -int64(unix.EAGAIN))
	switch {
	case !tr.running || tr.quiet:
	case w.Kind == bpf.CWaitKindWAIT_FUTEX && t.Ret == -int64(unix.EAGAIN): // it did not wait
	case w.Timed == bpf.CTimedByTIMED_ALWAYS, timedOut && (t.object == 0 || dur < shortestWait): // poll with nothing to wait for is a sleep
		t.Off.Timer += dur
	case w.Kind == bpf.CWaitKindWAIT_FUTEX || dur >= shortestWait:
		t.Nr, t.Args, t.Dur, t.Type, t.Flags = uint32(bpf.CNumberNR_WAIT), [format.MaxArgs]uint64{uint64(w.Kind), t.object}, dur, 0, 0
		if t.Ret == 0 && !timedOut {
			t.Waker = waker
		}
		if t.Ret = 0; timedOut {
			t.Ret = -int64(unix.ETIMEDOUT)
		}
		tr.quiet = !tr.records.add(&t.Call)
		t.Off, t.Waker = format.Off{}, 0
	}
}
