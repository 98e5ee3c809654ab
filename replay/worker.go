package replay

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"

	"pianola/device"
	"pianola/format"
	"pianola/ranks"
)

// worker replays one recorded thread. All of it belongs to its own goroutine,
// except for progress and noted. There can be very many, of which few live at a time, so what
// takes memory is in the seat.
type worker struct {
	progress
	*seat // nil before and after the thread's life

	e          *engine
	number     int32     // of the thread, from 1
	parent     *worker   // nil if the thread was there from the start
	children   []*worker // that it creates
	seated     atomic.Bool
	tid        int     // of its thread of the operating system
	unpinned   int     // calls of unpin without their pin
	forkedFrom *worker // whose descriptors it fetches at its start; nil for none
	process    *process
	queue      *queue // of a ring, whose requests other workers submit; nil for a thread
	ring       *queue // that it used last; nil for none
	length     int64  // events that the thread has
	lateReads  int64
	noted      atomic.Int64 // events that had been replayed at its last pause: see shown

	event  int64         // position of the next event in the thread
	waits  []format.Wait // ends with one that is never reached
	places []int32       // of each wait: the index of its event in targets of the thread that it is for
	wait   int           // the next one
	timed  int           // none of EdgeTimed is between the next one and this one
	held   int64         // of the compute before the next event what its waits account for
	early  int64         // of the rest what can end early

	hasEarly bool  // some event has that
	after    int64 // when the waits of the next event let it begin; 0 if it has none

	elsewhere bool          // another process replays it
	source    *ranks.Source // then its progress; nil if no thread here waits for it
	in        []ranks.Post  // and the ends of its targets
	posts     []int32       // of each target: its slot in the board; nil if other processes wait for none

	targets []int64        // events of this thread that others wait for, in order; the last element is never reached
	ends    []atomic.Int64 // of each target: when it ended if no event had been late; valid once done says so
	target  int            // the next one
	tells   []*anyOf       // of each target: what counts it for a thread that waits for any of several; nil if no target is counted
	any     *anyOf         // what this thread waits for in that way; nil if it never does

	current   int64 // when the current event was due
	bornAt    int64 // when the event that creates the thread was due
	due       int64 // end of the last event if no event had been late
	end       int64 // actual end of the last event
	recorded  int64 // of a schedule: position of the thread in the recording
	scheduled int64 // of a schedule: where the last event begins in the recording
	edgeAt    int64 // when the last wait for others ended
	last      int64 // end of the last event since the start
	exited    bool

	endsProcess bool // it was the last thread of its process, and has left the table and the memory empty

	touchNanos int64 // how long a page of memory took to touch, of late
	mostHeld   int64 // pages of all processes that were touched at a time, as seen here

	orderWait int64
	log       *log
	asked     []device.Asked // what its events ask of a fitted model
}

// prepare makes the worker ready for its first event, in its seat.
func (w *worker) prepare() error {
	w.rewind(w.number)
	if w.process.private && w.parent == nil {
		if err := w.e.openDescriptors(&w.guard, w.process); err != nil {
			return err
		}
	}
	if err := w.refill(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	w.lateReads = 0
	return nil
}

// play is the hot path.
func (w *worker) play() {
	e := w.e
	w.end, w.due = e.start, e.start+e.scale(w.recorded)
	if e.Session != nil { // the start is further away
		w.end = w.waitUntil(e.start, e.margin)
	}
	if w.parent != nil {
		if !w.awaitStart() || !w.live() {
			return
		}
		w.inherit()
		w.end = e.now()
		if w.due = w.bornAt; w.due == 0 { // that event is not in the trace
			w.due = w.end
		}
	}
	for !e.stopped.Load() {
		if w.at == w.filled && !w.more() {
			return
		}
		r := &w.batch[w.at]
		inside := r.Op == format.OpRingSubmit && w.waitsInside(r)
		if w.event == w.waits[w.wait].Event && !inside && !w.awaitEdges() {
			return
		}
		if int(r.Op) < len(intoArena) && intoArena[r.Op] {
			w.readyPages(r)
		}
		if r.Op == format.OpRingSubmit {
			w.awaitReaped(r)
		}
		due, begin := w.pace(r)
		if begin < due {
			return // stopped
		}
		r = &w.batch[w.at] // reading ahead moves it
		if !e.plays(r.Op) {
			w.failf(unplayable, w.event, w.number, r.Op)
			return
		}
		waited := w.waited(r, begin)
		w.current = due
		if w.firstCall, w.lastCall, w.ran = 0, 0, 0; e.Timing == AFAP {
			w.firstCall = begin // one reading of the clock for each event is enough
		}
		if inside {
			w.firstCall = begin
			w.queueOf(r).reapUntil(w)
			if !w.awaitEdges() {
				return
			}
			w.callEnds()
			w.held, w.after = 0, 0
		}
		got := e.calls[r.Op](w, r)
		issued, end := w.firstCall, w.lastCall
		if end == 0 {
			issued, end = begin, e.now()
		}
		if e.device != nil && seen[r.Op] {
			end = w.served(r, got, issued, end)
			r = &w.batch[w.at] // reading ahead moves it
		}
		if w.exited {
			// The exit closes descriptors, which can take long. That is not in
			// the recording, because the call does not return.
			end = issued
		}

		// The recorded durations are those of the calls alone, so the cost of
		// measuring is subtracted.
		dur := max(end-issued-e.cost-w.ran, 0)
		w.end, w.due, w.last = end, due+dur, end-e.start
		if bookkeeping[r.Op] {
			w.due = due
		}
		if e.Timing != AFAP {
			w.late.Add(begin - due)
		}
		w.byOp[r.Op].Executed++
		if w.log.full() && !w.spill() {
			return
		}
		w.log.entries = append(w.log.entries, entry{issued - e.start, dur, got, waited})
		same := got == r.Ret || w.score(r, w.event, got)
		w.at++
		if w.event++; w.event > w.targets[w.target] {
			w.publish()
		}
		if !same {
			return
		}
	}
}

// plays reports whether an operation can be replayed.
func (e *engine) plays(op format.Op) bool { return int(op) < len(e.calls) && e.calls[op] != nil }

// unplayable is the error of an event whose operation can't be replayed.
const unplayable = "event %d of thread %d: operation %d can't be replayed"

// waited returns for how long the thread has waited for others before an event,
// and forgets what the event waited for.
func (w *worker) waited(r *format.Record, begin int64) (nanos int64) {
	if w.after > 0 && w.event > 0 {
		nanos = max(begin-w.e.start-w.last-w.e.scale(max(r.Compute-w.held, 0)), 0)
	}
	w.held, w.early, w.after = 0, 0, 0
	return nanos
}

// more reads the next batch, late, and reports whether there is one.
func (w *worker) more() bool {
	w.noted.Store(w.event)
	w.unpin()
	err := w.refill()
	w.pin()
	w.end = w.e.now()
	switch {
	case err == nil:
		return true
	case !errors.Is(err, io.EOF):
		w.failf("read event %d of thread %d: %w", w.event, w.number, err)
	case w.event != w.length:
		w.failf("read event %d of thread %d: %w", w.event, w.number, io.ErrUnexpectedEOF)
	}
	return false
}

// readAhead reads the next batch, and writes entries out, in a gap. It ignores
// errors, which come again when the batch is needed.
func (w *worker) readAhead() {
	w.unpin()
	late := w.lateReads
	_ = w.refill()
	w.lateReads = late
	if w.log.crowded() {
		if err := w.log.spill(); err != nil {
			w.e.fail(err)
		}
	}
	w.pin()
}

// refill moves the rest of the batch to its front and reads more. The error is
// io.EOF only if nothing is left.
func (w *worker) refill() error {
	left := copy(w.batch, w.batch[w.at:w.filled])
	copy(w.nanos, w.nanos[min(w.at, len(w.nanos)):min(w.filled, len(w.nanos))])
	w.at, w.filled = 0, left
	w.lateReads++
	n, err := w.records.Read(w.batch[left:])
	if err == nil && w.durations != nil {
		err = readDurations(w.durations, w.nanos[left:left+n])
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			w.lateReads--
			if left > 0 {
				return nil
			}
		}
		return err
	}
	w.filled = left + n
	return nil
}

func readDurations(from format.DurationReader, nanos []int64) error {
	for len(nanos) > 0 {
		n, err := from.Read(nanos)
		if err != nil {
			return fmt.Errorf("durations: %w", noEOF(err))
		}
		nanos = nanos[n:]
	}
	return nil
}

// spill writes out the log's entries if there was no gap for that.
func (w *worker) spill() bool {
	w.unpin()
	err := w.log.spill()
	w.pin()
	if err != nil {
		w.e.fail(err)
	}
	return err == nil
}

// failf stops the run with a formatted error. It unpins the worker meanwhile,
// because package fmt may wait for a lock.
func (w *worker) failf(text string, args ...any) {
	w.unpin()
	err := fmt.Errorf(text, args...)
	w.pin()
	w.e.fail(err)
}

// result prints as in a script.
type result int64

func (v result) String() string {
	if v < 0 && v >= -format.MaxErrno {
		return "-1 " + format.ErrnoName(int(-v))
	}
	return strconv.FormatInt(int64(v), 10)
}
