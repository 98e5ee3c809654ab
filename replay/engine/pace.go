package engine

import (
	"runtime"

	"pianola/format"
	"pianola/internal/eventcount"
)

const (
	// shortSpin is the longest gap for which a worker always spins, because
	// going to sleep would take longer.
	shortSpin = 5_000

	// warmUp is the maximum time, in nanoseconds, that a worker spins for the compute
	// before a call.
	warmUp = 1_000_000

	// refillGap is the shortest gap in which records are read ahead. Reading
	// and decompressing a batch takes less.
	refillGap = 200_000
)

// pace waits until the record is due and returns when that was and when the
// wait ended, in nanoseconds of the clock.
//
// The delay of an event is taken from the next compute, because the next due
// time is computed from the due time of this event, not from its start.
func (w *Worker) pace(r *format.Record) (due, now int64) {
	computed := r.Compute - r.Off // reading ahead moves r
	switch w.e.Timing {
	case AFAP:
		return w.end, w.end
	case Schedule:
		w.recorded += max(r.Compute, 0)
		due = max(w.e.start+w.e.scale(w.recorded), w.edgeAt)
		w.scheduled = w.recorded
		w.recorded += max(w.nanos[w.at], 0)
	default:
		// An event that other threads have to release is due when they should have
		// released it, not when they did: they have to catch up with their own
		// lateness.
		due = max(w.due+w.e.scale(max(r.Compute-w.held, 0)), w.after)
		if w.early > 0 || w.tick > 0 {
			due = w.awaitWaker(due)
		}
		if w.e.processors != nil {
			due = w.compute(due)
		}
	}
	// An overdue event begins at the end of the last one; a reading of the
	// clock here would only delay it.
	if now = w.end; now >= due {
		return due, now
	}
	// The application computed during part of this time. A processor that sleeps all
	// the time is slower at the call: its caches are cold and it has to wake up.
	awake := min(w.e.scale(computed), warmUp)
	near := max(awake, w.e.Margin)
	if w.e.Wait == Sleep {
		near = 0
	}
	return due, w.waitUntil(due, near)
}

// waitUntil waits until due or a stop, and returns the time then. It sleeps
// while due is further away than near, and then spins. Times are in
// nanoseconds.
func (w *Worker) waitUntil(due, near int64) int64 {
	e := w.e
	now := w.useGap(e.Now(), due)
	if e.Idle {
		now = w.player.Idle(now, due)
	}
	if due-now > near && e.Wait != Spin {
		now = w.SleepUntil(due - near)
	}
	for now < due && !e.Stopped() {
		// With fewer processors than waiting threads, a spinning thread would
		// keep others from their work, so the others sleep to the end.
		mine := e.acquireSpin()
		if !mine && due-now > shortSpin {
			now = w.SleepUntil(due)
			continue
		}
		for now < due && !e.Stopped() {
			if w.used != nil && due-now > shortSpin {
				w.used.tryReap(w)
			}
			if e.Collect && due-now > e.Margin { // a pinned worker keeps the collector waiting
				w.Unpin()
				runtime.Gosched()
				w.Pin()
			}
			now = e.Now()
		}
		if mine {
			e.releaseSpin()
		}
	}
	return now
}

// useGap publishes the worker's progress and reads ahead, if there is time for that
// before due, and returns the time afterwards.
func (w *Worker) useGap(now, due int64) int64 {
	if due-now <= refillGap {
		return now
	}
	w.noted.Store(w.Event)
	if left := w.filled - w.at; left < len(w.batch)/2 && w.Event+int64(left) < w.length {
		w.readAhead()
		now = w.e.Now()
	}
	return now
}

// SleepUntil sleeps until a time or a stop, and returns the time afterwards. While
// requests are in flight, it reaps their completions as they arrive, so that their
// times are right.
func (w *Worker) SleepUntil(t int64) int64 {
	e := w.e
	now := e.Now()
	for now < t {
		seq := w.WakeUp.Value()
		if e.Stopped() {
			break
		}
		if w.used == nil || !w.used.waitAndReap(w, t-now) {
			w.sleep(&w.WakeUp, seq, e.deadline(t))
		}
		now = e.Now()
	}
	return now
}

// maxBrief is the longest time for which a pinned worker sleeps, in nanoseconds. It delays a stop of
// all goroutines, of which a run needs few.
const maxBrief = 1_000_000

// sleep sleeps until f has another value than seq, or CLOCK_MONOTONIC reaches a time; 0 means no
// limit. It can return early.
func (w *Worker) sleep(f *eventcount.Count, seq uint32, until int64) {
	brief := w.e.deadline(w.e.Now() + maxBrief)
	if until > 0 && until <= brief {
		f.WaitPinned(seq, until)
		return
	}
	if f.WaitPinned(seq, brief); f.Value() == seq {
		w.Unpin()
		f.Wait(seq, until)
		w.Pin()
	}
}

// scale returns recorded nanoseconds at the replay's speed.
func (e *Engine) scale(nanos int64) int64 {
	if e.Speed == 1 {
		return nanos
	}
	return int64(float64(nanos) / e.Speed)
}
