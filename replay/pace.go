package replay

import "pianola/format"

const (
	// shortSpin is the longest gap that is spun through without asking: going
	// to sleep would take longer.
	shortSpin = 5_000

	// warmUp is how long is spun at most, of the time that the application
	// computed for before a call.
	warmUp = 1_000_000

	// refillGap is the shortest gap in which records are read ahead: reading
	// and decompressing a batch takes less.
	refillGap = 200_000
)

// pace waits until the record is due and returns when that was and when the
// wait ended, in nanoseconds of the clock.
//
// What an event was late by is taken from the compute that follows, because
// the next due time is reckoned from this one's, not from when it was issued.
func (w *worker) pace(r *format.Record) (due, now int64) {
	switch w.e.Timing {
	case AFAP:
		return w.end, w.end
	case Schedule:
		w.recorded += max(r.Compute, 0)
		due = w.e.start + w.e.scale(w.recorded)
		w.recorded += max(w.nanos[w.at], 0)
	default:
		due = w.due + w.e.scale(max(r.Compute, 0))
	}
	if w.edgeAt > due {
		due = w.edgeAt
	}
	// An event that is overdue already begins when the last one ended; a
	// reading of the clock here would only make it later.
	if now = w.end; now >= due {
		return due, now
	}
	// The application computed for some of the time. A processor that slept
	// all of it would be slower at the call: its caches are cold and it has to
	// wake up.
	awake := min(w.e.scale(r.Compute-r.Off), warmUp)
	near := max(awake, w.e.margin)
	if w.e.Wait == Sleep {
		near = 0
	}
	return due, w.waitUntil(due, near)
}

// waitUntil returns the time at which it found that due had come, or that the
// run had stopped. It sleeps while due is further than near and then spins,
// times in nanoseconds.
func (w *worker) waitUntil(due, near int64) int64 {
	e := w.e
	now := e.now()
	if left := w.filled - w.at; due-now > refillGap && left < lowRecords && w.event+int64(left) < w.length {
		w.readAhead()
		now = e.now()
	}
	if e.Memory {
		now = w.touch(now, due)
	}
	if due-now > near && e.Wait != Spin {
		now = w.sleepUntil(due - near)
	}
	for now < due && !e.stopped.Load() {
		// With fewer processors than waiting threads a spinning one would
		// keep others from their work, so the rest sleep to the end.
		mine := e.claimSpin()
		if !mine && due-now > shortSpin {
			now = w.sleepUntil(due)
			continue
		}
		for now < due && !e.stopped.Load() {
			now = e.now()
		}
		if mine {
			e.releaseSpin()
		}
	}
	return now
}

// sleepUntil sleeps until the time has come, or a stop, and returns the time.
func (w *worker) sleepUntil(t int64) int64 {
	e := w.e
	now := e.now()
	for now < t {
		seq := w.wakeUp.count.Load()
		if e.stopped.Load() {
			break
		}
		unpin()
		w.wakeUp.wait(seq, e.deadline(t))
		pin()
		now = e.now()
	}
	return now
}

// scale returns recorded nanoseconds at the replay's speed.
func (e *engine) scale(nanos int64) int64 {
	if e.Speed == 1 {
		return nanos
	}
	return int64(float64(nanos) / e.Speed)
}
