// Package engine plays the events of traces in the order, and at the times, of their
// recording. An Executor plays each event; the engine knows only that some operations
// start and end threads, and that others submit requests of a ring.
//
//	trace ── records ──► worker 1 ──► Player
//	      ── records ──► worker 2 ──► Player
//	                        ▲ edges between events ▲
//
// There is one Worker for each recorded thread, on a thread of the operating system of its
// own. A worker takes a record, waits for the events that the record depends on
// (order.go), waits until it is due (pace.go), has its Player play it, and notes when it
// began, how long it took and what it returned (log.go). That path allocates nothing, takes
// no lock and leaves the Go scheduler out: the worker is pinned to its processor slot
// while it doesn't wait, and the garbage collector is off.
//
// On a simulated clock no worker runs. Package schedule finds the times, and the results
// and the log are those of any replay (simulate.go).
package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"pianola/format"
	"pianola/format/commits"
	"pianola/internal/limit"
)

// Engine plays one trace. Its exported methods can be called by any goroutine, also by
// pinned workers unless they say otherwise.
type Engine struct {
	*Stage
	Options
	Name    string       // of the trace, if there are several
	Trace   format.Trace // what this process plays of it
	Whole   format.Trace // with the threads that other processes play
	Workers []*Worker    // by the number of the thread, from 0
	Logs    []Log        // the same

	executor    Executor
	operation   *[format.NumOps]Operation // of the executor
	covers      [format.NumOps]bool       // of the model
	slots       slotPool
	processors  *processors   // for which the threads compete; nil if they do not
	plan        *commits.Plan // how threads commit; nil for as recorded
	logs        []*logQueue   // those of the plan
	changeBytes atomic.Int64  // memory of the changes
	start       int64         // when the first event may be due, by the clock
	begin       chan struct{}
	ready       sync.WaitGroup
	running     sync.WaitGroup

	notesLock sync.Mutex
	notes     []string
}

// Executor plays the events of the threads of one trace.
type Executor interface {
	// Operations says how the executor plays each operation, by its number. The engine
	// reads it from Build on.
	Operations() *[format.NumOps]Operation

	// Player returns what plays the events of a thread or of a ring. Build calls it once
	// for each, a parent before its children.
	Player(w *Worker) (Player, error)

	// SlotState returns what the executor needs on the thread of a slot of a kind; nil for nothing.
	NewSlotState(s *Slot, kind int) SlotState
}

// Operation says how an executor plays an operation.
type Operation struct {
	Plays    bool // it can
	Prepares bool // Player.Prepare is called before
}

// Player plays the events of one thread. The worker of the thread calls its methods,
// except where they say otherwise.
type Player interface {
	// Kind returns the kind of slots that the thread can have, 0 or 1.
	Kind() int

	// Allocate is called before the thread has a slot. The slot pool is locked.
	Allocate() error

	// Attach is called in a slot, before the first event. The worker is not pinned.
	Attach(p SlotState) error

	// Begin is called when the thread has been created by an event of another.
	Begin()

	// Prepare prepares an event whose Operation says so, before it is due, and reports
	// whether that took time.
	Prepare(r *format.Record) bool

	// Play plays an event, also requests of rings that the worker submits, and returns its
	// result, or -errno. For operations that submit requests it calls Worker.Submit.
	// CallBegins and CallEnds enclose what belongs to the duration of the event.
	Play(r *format.Record) int64

	// Idle may use the time until the next event is due, and returns the time afterwards.
	// It is called if Options.Idle is set.
	Idle(now, due int64) int64

	// End ends the thread, after its last event.
	End()

	// Recycle is called after End, if other threads have yet to be created. The slot pool
	// is locked.
	Recycle()

	// Explain returns the file that an event is about, below the root, and why a result
	// can differ from the recorded one; "" if it is not known.
	Explain(r *format.Record, got int64) (path, reason string)
}

// SlotState is what an executor needs on a thread of the operating system.
type SlotState interface {
	// Enter makes the calling thread, which runs nothing else, ready for players.
	Enter() error
}

// NewEngine returns an engine for a trace, part of whose threads this process plays. The
// workers of all engines of a stage play at the same time.
func (s *Stage) NewEngine(name string, part, whole format.Trace, o Options) *Engine {
	e := &Engine{Stage: s, Options: o, Name: name, Trace: part, Whole: whole, begin: make(chan struct{})}
	s.engines = append(s.engines, e)
	return e
}

// Build makes the workers, and all memory that they will use.
func (e *Engine) Build(ctx context.Context, x Executor) (err error) {
	if e.Only != nil {
		x = e.narrow(x)
	}
	e.executor, e.operation = x, x.Operations()
	for op := range e.covers {
		e.covers[op] = e.Model != nil && e.Model.Covers(format.Op(op))
	}
	if n := e.Trace.Header().Processors(); n > 0 && e.Timing == Compute && e.Order != Thread && e.Peers == nil {
		e.processors = newProcessors(n)
	}
	threads := ThreadsOf(e.Trace.Header())
	lengths := make([]int64, len(threads))
	for i := range threads {
		lengths[i] = e.Trace.Len(int32(i + 1))
		if e.LogsOfAll {
			lengths[i] = e.Whole.Len(int32(i + 1))
		}
	}
	if e.Logs, err = newLogs(lengths, e.Memory/4); err != nil {
		return err
	}
	for i := range threads {
		e.Workers = append(e.Workers, e.newWorker(int32(i+1), threads[i].Process))
	}
	if e.Buffer > batchRecords && int64(e.MaxSlots())*int64(e.Buffer)*int64(unsafe.Sizeof(format.Record{})) > e.Memory/4 {
		return fmt.Errorf("%d events decoded ahead by each of %d threads take more than a quarter of the memory: %w", e.Buffer, e.MaxSlots(), limit.Of("memory"))
	}
	for i, th := range threads {
		w := e.Workers[i]
		if w.Foreign() {
			continue
		}
		w.recorded = max(th.Start, 0)
		if th.Ring != format.ViaCall {
			w.Slot = e.NewSlot()
			w.rewind(w.Number)
			w.ring = newRing(w, th.Ring)
		} else if th.Parent != 0 {
			w.setParent(e.Workers[th.Parent-1])
		}
	}
	for _, w := range e.Workers {
		if w.Foreign() {
			continue
		}
		if w.player, err = x.Player(w); err != nil {
			return err
		}
	}
	return e.makeWaits(ctx)
}

// ThreadsOf returns the threads of a trace with a header, which has at least one.
func ThreadsOf(h *format.Header) []format.Thread {
	if len(h.Threads) > 0 {
		return h.Threads
	}
	return []format.Thread{{Process: 1}}
}

func (e *Engine) newWorker(number, process int32) *Worker {
	w := &Worker{e: e, Number: number, Process: process, length: e.Trace.Len(number), log: &e.Logs[number-1]}
	w.foreign = e.Peers != nil && e.Peers.Plays(number)
	w.awaited.Store(unawaited)
	w.nextCommit = math.MaxInt64
	return w
}

// makeWaits finds the waits of events, and marks the events waited for.
func (e *Engine) makeWaits(ctx context.Context) error {
	for _, w := range e.Workers {
		waits, err := e.Trace.Waits(w.Number)
		if err != nil {
			return fmt.Errorf("read the waits of thread %d: %w", w.Number, err)
		}
		before := int64(0)
		for _, v := range waits {
			k := v.For.Thread
			if v.Event < before || v.Held < 0 || v.Expired < 0 || v.For != (format.Edge{}) && !v.For.Valid(w.Number, v.Event) || int(k) > len(e.Workers) || k > 0 && v.For.Event >= e.Whole.Len(k) {
				return fmt.Errorf("event %d of thread %d waits for event %d of thread %d: this edge is invalid", v.Event, w.Number, v.For.Event, k)
			}
			before = v.Event
			w.hasEarly = w.hasEarly || v.Expired > 0 || v.For.Kind == format.EdgeTick
		}
		w.waits = waits
	}
	switch e.Order {
	case Thread:
		for _, w := range e.Workers {
			w.waits = nil
		}
	case Total:
		if err := e.orderAll(); err != nil {
			return err
		}
	}
	if err := e.makeCommits(); err != nil {
		return err
	}
	if err := e.markAwaited(ctx); err != nil {
		return err
	}
	if e.Order == Resource {
		e.makeAny()
	}
	for _, w := range e.Workers {
		w.waits = append(w.waits[:len(w.waits):len(w.waits)], format.Wait{Event: math.MaxInt64})
	}
	return nil
}

// markAwaited makes a list for each thread of its events that are waited for, and
// has waits lead to their places in these lists. Other processes say which events their
// threads wait for.
func (e *Engine) markAwaited(ctx context.Context) error {
	for _, w := range e.Workers {
		for _, v := range w.waits {
			if v.For.Thread > 0 {
				k := e.Workers[v.For.Thread-1]
				k.targets = append(k.targets, v.For.Event)
			}
		}
	}
	asked, err := e.exchange(ctx)
	if err != nil {
		return err
	}
	for _, w := range e.Workers {
		w.targets = append(w.targets, asked[w.Number]...)
		w.sortTargets()
		w.targets = append(w.targets, math.MaxInt64)
		if !w.Foreign() {
			w.ends = make([]atomic.Int64, len(w.targets))
		}
	}
	for _, w := range e.Workers {
		w.places = make([]int32, len(w.waits))
		for i, v := range w.waits {
			if v.For.Thread > 0 {
				place, _ := slices.BinarySearch(e.Workers[v.For.Thread-1].targets, v.For.Event)
				w.places[i] = int32(place)
			}
		}
	}
	return e.wire(asked)
}

func (w *Worker) sortTargets() {
	slices.Sort(w.targets)
	w.targets = slices.Compact(w.targets)
}

// Elapsed returns the time since the start, in nanoseconds. It can be below 0.
func (e *Engine) Elapsed() int64 { return e.Now() - e.start }

// Note adds a note, once, on a difference from the recording that no result shows. The
// calling worker must not be pinned.
func (e *Engine) Note(note string) {
	e.notesLock.Lock()
	defer e.notesLock.Unlock()
	if !slices.Contains(e.notes, note) {
		e.notes = append(e.notes, note)
	}
}

// Notes returns the notes, after the end.
func (e *Engine) Notes() []string { return e.notes }

// Fail stops the run because of an error. It is for pinned workers, so it
// doesn't print the name.
func (e *Engine) Fail(err error) {
	if e.Name != "" {
		err = &partError{e.Name, err}
	}
	e.Stage.Fail(err)
}

type partError struct {
	name string
	error
}

func (e *partError) Error() string { return e.name + ": " + e.error.Error() }
func (e *partError) Unwrap() error { return e.error }

// Stateless has all methods of a Player but Play, for threads that share no state of which the
// engine must know.
type Stateless struct{}

// Kind implements Player.
func (Stateless) Kind() int { return 0 }

// Allocate implements Player.
func (Stateless) Allocate() error { return nil }

// Attach implements Player.
func (Stateless) Attach(SlotState) error { return nil }

// Begin implements Player.
func (Stateless) Begin() {}

// Prepare implements Player.
func (Stateless) Prepare(*format.Record) bool { return false }

// Idle implements Player.
func (Stateless) Idle(now, _ int64) int64 { return now }

// End implements Player.
func (Stateless) End() {}

// Recycle implements Player.
func (Stateless) Recycle() {}

// Explain implements Player.
func (Stateless) Explain(*format.Record, int64) (path, reason string) { return "", "" }

// All are the operations of an executor that plays all of them, and prepares none.
var All = func() (all [format.NumOps]Operation) {
	for op := range all {
		all[op].Plays = true
	}
	return all
}()
