package ptrace

import (
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/internal/futex"
)

// Calls in which threads wait for others are not operations. Their ends are recorded: a
// sleep as part of the time before the thread's next event, all others as an event of
// format.OpWait, with the waker if it is certain. For a futex it is certain if both
// calls were seen.

// wait says how a thread waits in a call.
type wait struct {
	kind   uint64 // of format.WaitKinds
	ending ending
}

// ending is how the result of a call shows that a time ended it.
type ending uint8

const (
	endsNot     ending = iota // by a time
	endsByZero                // poll
	endsByError               // ETIMEDOUT, EAGAIN: futex, sigtimedwait
	endsAlways                // nanosleep
)

// waits are by the number of the system call.
var waits = func() map[uint64]wait {
	all := map[uint64]wait{
		unix.SYS_FUTEX:           {format.WaitFutex, endsByError},
		unix.SYS_RT_SIGTIMEDWAIT: {format.WaitSignal, endsByError},
		unix.SYS_RT_SIGSUSPEND:   {format.WaitSignal, endsNot},
		unix.SYS_NANOSLEEP:       {0, endsAlways},
		unix.SYS_CLOCK_NANOSLEEP: {0, endsAlways},
		unix.SYS_RESTART_SYSCALL: {}, // another one goes on
	}
	for _, nr := range append([]uint64{unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2}, olderPolls...) {
		all[nr] = wait{format.WaitPoll, endsByZero}
	}
	return all
}()

// planWaits plans for the calls in which threads wait.
func planWaits(plans *[format.MaxSys]plan) {
	for nr := range waits {
		plans[nr].atEntry, plans[nr].waits = beginWait, true
	}
}

// shortestWait is what a call must last, in nanoseconds, that is no futex, to be an
// event: without any wait the stops take some 25 us of it.
const shortestWait = 50_000

func beginWait(tr *tracer, t *thread) {
	if nr := uint64(t.Nr); nr != unix.SYS_RESTART_SYSCALL {
		t.wait, t.object = waits[nr], t.Args[0]
	}
	if t.wait.kind != format.WaitFutex {
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
	tr.futexes.Begin(t.TID, t.place(), t.futex)
}

// place is where the thread waits at a futex. Processes that share memory have
// theirs apart.
func (t *thread) place() futex.Place {
	return futex.Place{Process: t.process.id, Address: int64(t.object)}
}

// endWait records what the end of a call tells in which the thread may have waited.
func (tr *tracer) endWait(t *thread, end int64) {
	w, waker := t.wait, int32(0)
	if w.kind == format.WaitFutex {
		if t.futex != futex.Waits {
			tr.futexes.Woke(t.TID, t.place(), t.futex, t.Ret)
			return
		}
		waker = tr.futexes.Woken(t.TID, t.place())
	}
	dur := end - t.Start
	timedOut := w.ending == endsByZero && t.Ret == 0 ||
		w.ending == endsByError && (t.Ret == -int64(unix.ETIMEDOUT) || t.Ret == -int64(unix.EAGAIN))
	switch {
	case !tr.running || tr.quiet:
	case w.kind == format.WaitFutex && t.Ret == -int64(unix.EAGAIN): // it did not wait
	case w.ending == endsAlways, timedOut && (t.object == 0 || dur < shortestWait): // poll with nothing to wait for is a sleep
		t.Off.Timer += dur
	case w.kind == format.WaitFutex || dur >= shortestWait:
		t.Nr, t.Args, t.Dur, t.Type, t.Flags = uint32(bpf.CNumberNR_WAIT), [format.MaxArgs]uint64{w.kind, t.object}, dur, 0, 0
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
