package replay

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/replay/sandbox"
)

const (
	batchRecords = 1024             // that a worker holds
	lowRecords   = batchRecords / 2 // below which it uses a long gap to read more
)

// worker replays one recorded thread. All of it belongs to its own goroutine,
// except for progress.
type worker struct {
	progress

	e          *engine
	number     int32   // of the thread, from 1
	tid        int     // of its thread
	parent     *worker // nil if the thread was there from the start
	forkedFrom *worker // whose descriptors it fetches at its start; nil for none
	process    *process
	queue      *queue // of a ring, whose requests other workers submit; nil for a thread
	ring       *queue // that it used last; nil for none
	length     int64  // events that the thread has
	guard      sandbox.Guard
	sys        sandbox.Kernel // what the calls are made of: timed
	firstCall  int64          // when the event made its first system call, 0 for none yet
	lastCall   int64          // when its last one returned, 0 for none yet

	// The current batch of records, with their recorded durations for a
	// schedule.
	batch     []format.Record
	nanos     []int64
	at        int // the next one
	filled    int
	records   format.RecordReader
	durations format.DurationReader
	lateReads int64

	event  int64         // position of the next event in the thread
	waits  []format.Wait // ends with one that is never reached
	places []int32       // of each wait: the index of its event in targets of the thread that it is for
	wait   int           // the next one
	held   int64         // of the compute before the next event what its waits account for
	early  int64         // of the rest what can end early

	hasEarly bool  // some event has that
	after    int64 // when the waits of the next event let it begin; 0 if it has none

	targets []int64        // events of this thread that others wait for, in order; ends with one that is never reached
	ends    []atomic.Int64 // of each target: when it ended if no event had been late; valid once done says so
	target  int            // the next one
	tells   []*anyOf       // of each target: what counts it for a thread that waits for any of several; nil if no target is counted
	any     *anyOf         // what this thread waits for in that way; nil if it never does

	current   int64 // when the current event was due
	bornAt    int64 // when the event that creates the thread was due
	due       int64 // end of the last event if no event had been late
	end       int64 // actual end of the last event
	recorded  int64 // of a schedule: position of the thread in the recording
	edgeAt    int64 // when the last wait for others ended
	last      int64 // end of the last event since the start
	allowance int64 // bytes that may be written before asking for more
	exited    bool

	touchNanos int64 // how long a page of memory took to touch, of late
	mostHeld   int64 // pages of all processes that were touched at a time, as seen here

	orderWait   int64
	late        histogram
	byOp        [format.NumOps]OpResult
	differences []Difference
	log         *log

	// Memory whose address the kernel gets.
	iov     [maxSegments]unix.Iovec
	scratch [pageSize]byte // for results that are not read: stat and the like
	stat    unix.Stat_t
	flock   unix.Flock_t
	offsets [2]int64
}

func (w *worker) scratchPointer() uintptr { return uintptr(unsafe.Pointer(&w.scratch)) }

// run is the body of the worker's goroutine. Its thread ends with it, because
// it can't leave its jail.
func (w *worker) run() {
	runtime.LockOSThread()
	defer w.e.running.Done()
	err := w.prepare()
	w.e.ready.Done()
	if err != nil {
		w.e.fail(fmt.Errorf("thread %d: %w", w.number, err))
	}
	<-w.e.begin
	pin()
	w.play()
	w.exit()
	w.finish()
	unpin()
}

// prepare makes the thread ready for its first event.
func (w *worker) prepare() error {
	blockSignals()
	fineTimers()
	w.guard.Kernel = w.sys
	if w.e.Backend == Posix {
		if err := w.guard.Enter(w.guard.Jailed()); err != nil {
			return err
		}
	}
	w.tid = unix.Gettid()
	if w.process.private {
		if err := w.leaveTable(); err != nil {
			return err
		}
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

// timed makes a system call of an event, and takes the time. What the worker does
// before the first and after the last one, which is a third of a short call where
// the processor has just forgotten the code for it, is no part of the event: it
// comes out of the following compute.
func (w *worker) timed(nr, a, b, c, d, e, f uintptr) (got int64) {
	if w.firstCall == 0 {
		w.firstCall = w.e.now()
	}
	if w.e.Backend == Posix {
		got = sandbox.Linux(nr, a, b, c, d, e, f)
	} else {
		got = w.e.guard.Kernel(nr, a, b, c, d, e, f)
	}
	w.lastCall = w.e.now()
	return got
}

// blockSignals blocks the program's signals in this thread, so that none
// interrupts its calls. Faults can't be blocked.
func blockSignals() {
	all := unix.Sigset_t{}
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	for _, s := range []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT} {
		all.Val[(s-1)/64] &^= 1 << (uint(s-1) % 64)
	}
	_ = unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil)
}

// play is the hot path.
func (w *worker) play() {
	e := w.e
	w.end, w.due = e.start, e.start+e.scale(w.recorded)
	if w.parent != nil {
		if !w.awaitStart() {
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
		if int(r.Op) >= len(e.calls) || e.calls[r.Op] == nil {
			w.failf("event %d of thread %d: operation %d can't be replayed", w.event, w.number, r.Op)
			return
		}
		waited := w.waited(r, begin)
		w.current = due
		if w.firstCall, w.lastCall = 0, 0; e.Timing == AFAP {
			w.firstCall = begin // one reading of the clock for each event is enough
		}
		if inside {
			w.queueOf(r).reapUntil(w)
			if !w.awaitEdges() {
				return
			}
			w.held, w.after = 0, 0
		}
		got := e.calls[r.Op](w, r)
		issued, end := w.firstCall, w.lastCall
		if end == 0 {
			issued, end = begin, e.now()
		}
		if w.exited {
			// The exit closes descriptors, which can take long. That is not in
			// the recording, because the call does not return.
			end = issued
		}

		// The recorded durations are those of the calls alone, so the cost of
		// measuring is subtracted.
		dur := max(end-issued-e.cost, 0)
		w.end, w.due, w.last = end, due+dur, end-e.start
		if bookkeeping[r.Op] {
			w.due = due
		}
		if e.Timing != AFAP {
			w.late.add(begin - due)
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
	unpin()
	err := w.refill()
	pin()
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
	unpin()
	late := w.lateReads
	_ = w.refill()
	w.lateReads = late
	if w.log.crowded() {
		if err := w.log.spill(); err != nil {
			w.e.fail(err)
		}
	}
	pin()
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

// spill writes the log's entries out if there was no gap to do it.
func (w *worker) spill() bool {
	unpin()
	err := w.log.spill()
	pin()
	if err != nil {
		w.e.fail(err)
	}
	return err == nil
}

// failf stops the run with a formatted error. It unpins the worker meanwhile,
// because package fmt may wait for a lock.
func (w *worker) failf(text string, args ...any) {
	unpin()
	err := fmt.Errorf(text, args...)
	pin()
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
