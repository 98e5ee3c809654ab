package engine

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"

	"pianola/format"
)

// Worker replays one recorded thread, or holds a ring, whose requests the workers of threads
// submit. All of it belongs to its own goroutine, except for progress and noted. There can be
// very many, of which few live at a time, so memory belongs to the slot. Executors call its
// exported methods from its goroutine only, and while it is pinned unless they say otherwise.
type Worker struct {
	progress
	*Slot // nil before and after the thread's life
	family
	waiting
	committing
	changing
	awaitedEvents
	times

	e       *Engine
	player  Player // nil if a peer plays the thread
	Number  int32  // of the thread, from 1
	Process int32  // of the thread
	Event   int64  // position of the next event in the thread
	length  int64  // events that the thread has
	foreign bool   // a peer plays it
	remote  Remote // then its progress; nil if no thread here waits for it

	ring *Ring // of a ring; nil for a thread
	used *Ring // that the thread used last; nil for none

	unpinned  int // calls of Unpin without their Pin
	exited    bool
	lateReads int64
	noted     atomic.Int64 // events that had been replayed at its last pause: see countPlayed
	log       *Log
}

// family is the parent and the children of a thread.
type family struct {
	parent   *Worker   // nil if the thread was there from the start
	children []*Worker // that it creates
	hasSlot  atomic.Bool
}

// waiting is what a thread waits for.
type waiting struct {
	waits     []format.Wait // ends with one that is never reached
	places    []int32       // of each wait: the index of its event in targets of the thread that it is for
	wait      int           // the next one
	timed     int           // none of EdgeTimed is between the next one and this one
	any       *anyOf        // what this thread waits for without naming one; nil if it never does
	hasEarly  bool          // some event waits for a time limit
	held      int64         // of the compute before the next event what its waits account for
	early     int64         // of the rest what can end early
	timer     bool          // that is a timer
	work      int64         // on a processor that is left before the next event, if threads compete for them
	committed int64         // of its compute before the next event: before commits of it
	tick      int64         // when a timer of another thread lets the next event begin; 0 if there is none
	after     int64         // when the waits of the next event let it begin; 0 if it has none
	edgeAt    int64         // when the last wait for others ended
	orderWait int64         // nanoseconds of all
}

// awaitedEvents are the events of a thread that others wait for.
type awaitedEvents struct {
	targets  []int64        // in order; the last element is never reached
	ends     []atomic.Int64 // of each target: when it ended if no event had been late; valid once done says so
	target   int            // the next one
	notifies []*anyOf       // of each target: the anyOf that counts it; nil if no target is counted
	poster   Poster         // tells peers; nil if they wait for none
	posts    []int32        // of each target: its place in what they asked for, -1 for none; nil without poster
}

// times are those of a thread by the clock, in nanoseconds.
type times struct {
	current   int64 // when the current event was due
	createdAt int64 // when the event that creates the thread was due
	due       int64 // end of the last event if no event had been late
	end       int64 // actual end of the last event
	last      int64 // the same, since the start
	recorded  int64 // of a schedule: position of the thread in the recording
	scheduled int64 // of a schedule: where the last event begins in the recording
}

// Foreign reports whether a peer plays the thread. Any goroutine may call it.
func (w *Worker) Foreign() bool { return w.foreign }

// Player returns what plays the thread; nil if a peer does. Any goroutine may call it.
func (w *Worker) Player() Player { return w.player }

// Parent returns the worker whose thread creates this one; nil if it was there from the start.
// Any goroutine may call it.
func (w *Worker) Parent() *Worker { return w.parent }

// Waits returns what the thread waits for, as far as the order of the engine says so, in the
// order of the events. Any goroutine may call it.
func (w *Worker) Waits() []format.Wait { return w.waits[:len(w.waits)-1] }

// Child returns the worker of the thread that an event of this one creates, nil if there is
// none or it has been created.
func (w *Worker) Child(r *format.Record) *Worker {
	if !starts[r.Op] || r.Ret < 1 || r.Ret > int64(len(w.e.Workers)) {
		return nil
	}
	child := w.e.Workers[r.Ret-1]
	if child.parent != w || child.started.Load() {
		return nil
	}
	return child
}

// IsBusy reports whether the thread lives and does not sleep for an event of another. Any
// goroutine may call it.
func (w *Worker) IsBusy() bool { return w.forThread.Load() == 0 && w.done.Load() != ended }

// starts and ends are the sets of operations that create and end threads, submits is that of
// requests of rings, and bookkeeping that of operations for which a replay makes no call.
// Their time is subtracted from the next compute if the trace has the durations of the
// application's calls. syncs is that of calls that write to storage and wait for it, transfers
// that of all calls that can wait for storage to move data.
var starts, ends, submits, bookkeeping, syncs, transfers = func() (starts, ends, submits, bookkeeping, syncs, transfers [format.NumOps]bool) {
	for op := range starts {
		info := format.Op(op).Info()
		starts[op] = info.Acts.Any(format.Starts)
		ends[op] = info.Acts.Any(format.Ends)
		submits[op] = info.Acts.Any(format.Submits)
		bookkeeping[op] = info.Class == format.ClassProcess
		syncs[op] = info.Class == format.ClassSync
		transfers[op] = syncs[op] || info.Class == format.ClassRead || info.Class == format.ClassWrite
	}
	return
}()

// prepare makes the worker ready for its first event, in its slot.
func (w *Worker) prepare(p SlotState) error {
	w.rewind(w.Number)
	if err := w.player.Attach(p); err != nil {
		return err
	}
	if err := w.refill(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	w.lateReads = 0
	return w.startChanges()
}

// play is the hot path.
func (w *Worker) play() {
	e := w.e
	w.end, w.due = e.start, e.start+e.scale(w.recorded)
	if e.Peers != nil { // the start is further away
		w.end = w.waitUntil(e.start, e.Margin)
	}
	if w.parent != nil {
		if !w.awaitStart() || !w.markAlive() {
			return
		}
		w.player.Begin()
		w.end = e.Now()
		if w.due = w.createdAt; w.due == 0 { // that event is not in the trace
			w.due = w.end
		}
	}
	for !e.Stopped() {
		if w.at == w.filled && !w.more() {
			return
		}
		if w.Event == w.nextCommit {
			if !w.makeCommit() {
				return
			}
			continue
		}
		r := &w.batch[w.at]
		if w.Event == w.nextChange && !w.takeChange(r) {
			return
		}
		inside := r.Op == format.OpRingSubmit && w.waitsInside(r)
		if e.processors != nil {
			w.computeFirst(r)
		}
		if w.Event == w.waits[w.wait].Event && !inside && !w.awaitEdges() {
			return
		}
		if w.change != nil && !w.playBefore() {
			return
		}
		r = &w.batch[w.at] // reading ahead moves it
		if !e.plays(r.Op) {
			w.Failf(unplayable, w.Event, w.Number, r.Op)
			return
		}
		if e.operation[r.Op].Prepares && w.player.Prepare(r) {
			w.end = e.Now()
		}
		if r.Op == format.OpRingSubmit {
			w.awaitReaped(r)
		}
		due, begin := w.pace(r)
		if begin < due {
			return // stopped
		}
		r = &w.batch[w.at] // reading ahead moves it
		waited := w.waited(r, begin)
		w.current = due
		if w.FirstCall, w.LastCall, w.Ran, w.ran = 0, 0, 0, 0; e.Timing == AFAP {
			w.FirstCall = begin // one reading of the clock for each event is enough
		}
		if inside {
			w.FirstCall = begin
			w.Ring(r).reapForEdges(w)
			if !w.awaitEdges() {
				return
			}
			w.CallEnds()
			w.held, w.after = 0, 0
		}
		var got int64
		omitted := w.change != nil && w.change.Removed
		switch {
		case omitted:
			got = r.Ret
		case bookkeeping[r.Op]:
			got = w.playProcess(r)
		default:
			got = w.playCall(r)
		}
		issued, end := w.FirstCall, w.LastCall
		if end == 0 {
			issued, end = begin, e.Now()
		}
		if e.covers[r.Op] && !omitted {
			c := served{thread: w.Number, event: w.Event, op: r.Op, got: got, issued: issued, end: end}
			if e.Recorded {
				c.recorded = w.nanos[w.at]
			}
			end = w.served(c)
			r = &w.batch[w.at] // reading ahead moves it
		}
		if w.exited {
			// The exit closes descriptors, which can take long. That is not in
			// the recording, because the call does not return.
			end = issued
		}

		// The recorded durations are those of the calls alone, so the cost of
		// measuring is subtracted.
		dur := max(end-issued-e.Cost-w.Ran, 0)
		w.end, w.last = end, end-e.start
		if w.due = due; !bookkeeping[r.Op] {
			w.due = w.afterCall(due, dur, syncs[r.Op])
		}
		if got == Unplayed {
			omitted = true
		} else {
			w.noteLateness(due, begin)
		}
		if omitted {
			dur = Omitted
		} else {
			w.byOp[r.Op].Executed++
		}
		if w.log.full() && !w.spill() {
			return
		}
		w.log.entries = append(w.log.entries, Entry{issued - e.start, dur, got, waited})
		if w.change != nil {
			w.endChange(r)
		}
		same := omitted || got == r.Ret || w.score(r, w.Event, got)
		w.at++
		if w.Event++; w.Event > w.targets[w.target] {
			w.publish()
		}
		if !same {
			return
		}
	}
}

// playProcess plays an event that can create or end a thread.
func (w *Worker) playProcess(r *format.Record) int64 {
	child := w.Child(r)
	if child != nil {
		w.reserveSlot(child)
	}
	got := w.player.Play(r)
	if child != nil {
		child.Start()
	}
	switch {
	case ends[r.Op]:
		w.exit()
	case r.Op == format.OpClientReply:
		w.e.replied()
	}
	return got
}

// exit ends the thread, once.
func (w *Worker) exit() {
	if !w.exited {
		w.exited = true
		w.e.slots.alive.Add(-1)
		w.player.End()
	}
}

// plays reports whether an operation can be replayed.
func (e *Engine) plays(op format.Op) bool {
	return int(op) < len(e.operation) && e.operation[op].Plays
}

// unplayable is the error of an event whose operation can't be replayed.
const unplayable = "event %d of thread %d: operation %d can't be replayed"

// waited returns for how long the thread has waited for others before an event,
// and forgets what the event waited for.
func (w *Worker) waited(r *format.Record, begin int64) (nanos int64) {
	if w.after > 0 && w.Event > 0 {
		nanos = max(begin-w.e.start-w.last-w.e.scale(max(r.Compute-w.held, 0)), 0)
	}
	w.held, w.early, w.after, w.tick, w.timer = 0, 0, 0, 0, false
	return nanos
}

// more reads the next batch, late, and reports whether there is one.
func (w *Worker) more() bool {
	w.noted.Store(w.Event)
	w.Unpin()
	err := w.refill()
	w.Pin()
	w.end = w.e.Now()
	switch {
	case err == nil:
		return true
	case !errors.Is(err, io.EOF):
		w.Failf("read event %d of thread %d: %w", w.Event, w.Number, err)
	case w.Event != w.length:
		w.Failf("read event %d of thread %d: %w", w.Event, w.Number, io.ErrUnexpectedEOF)
	}
	return false
}

// readAhead reads the next batch, and writes entries out, in a gap. It ignores
// errors, which come again when the batch is needed.
func (w *Worker) readAhead() {
	w.Unpin()
	late := w.lateReads
	_ = w.refill()
	w.lateReads = late
	if w.log.nearlyFull() {
		if err := w.log.spill(); err != nil {
			w.e.Fail(err)
		}
	}
	w.Pin()
}

// refill moves the rest of the batch to its front and reads more. The error is
// io.EOF only if nothing is left.
func (w *Worker) refill() error {
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
			return fmt.Errorf("durations: %w", NoEOF(err))
		}
		nanos = nanos[n:]
	}
	return nil
}

// spill writes out the log's entries if there was no gap for that.
func (w *Worker) spill() bool {
	w.Unpin()
	err := w.log.spill()
	w.Pin()
	if err != nil {
		w.e.Fail(err)
	}
	return err == nil
}

// Failf stops the run with a formatted error. It unpins the worker meanwhile,
// because package fmt may wait for a lock.
func (w *Worker) Failf(text string, args ...any) {
	w.Unpin()
	err := fmt.Errorf(text, args...)
	w.Pin()
	w.e.Fail(err)
}

// result is a result that prints as in a script.
type result int64

func (v result) String() string {
	if v < 0 && v >= -format.MaxErrno {
		return "-1 " + format.ErrnoName(int(-v))
	}
	return strconv.FormatInt(int64(v), 10)
}

// served is a call that a model is about.
type served struct {
	thread      int32
	event       int64
	op          format.Op
	got         int64
	issued, end int64 // by the clock
	recorded    int64 // its recorded duration, if calls take that
}

// served waits until a call ends by the model, and returns the time then. Reading ahead moves
// the record.
func (w *Worker) served(c served) int64 {
	e := w.e
	took := max(c.end-c.issued-e.Cost-w.Ran, 0)
	if e.Recorded {
		if took = c.recorded; took < 0 {
			return c.end // not recorded
		}
	}
	until := e.Model.Until(c.thread, c.event, c.op, c.got, c.issued, took) + e.Cost + w.Ran
	if until <= c.end {
		return c.end
	}
	near := e.Margin
	if e.Wait == Sleep {
		near = 0
	}
	return w.waitUntil(until, near)
}

// NoEOF replaces io.EOF by io.ErrUnexpectedEOF.
func NoEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
