package engine

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"pianola/format"
	"pianola/internal/limit"
	"pianola/internal/schedstat"
	"pianola/internal/stats"
)

// batchRecords is how many records a slot holds if Options.Buffer doesn't say. Below half of
// that, its worker uses a long gap to read more.
const batchRecords = 1024

// Slot is what a worker needs while its thread lives: a thread of the operating system,
// and memory. When the thread ends, the slot goes to a thread that is created later. A
// ring has a slot without a thread. Executors use the exported fields and methods on the
// thread of the worker.
type Slot struct {
	e     *Engine
	state SlotState    // nil if the executor needs nothing
	next  chan *Worker // the next worker of an idle slot

	FirstCall int64 // when the event made its first call, by the clock; 0 for none yet
	LastCall  int64 // when its last one returned, 0 for none yet
	Ran       int64 // nanoseconds of it that are in the compute before the next event

	runs *schedstat.Stat // how long the thread runs, nil if unknown
	ran  int64           // for how long it did in the newest call, if that is known

	// The current batch of records, with their recorded durations for a
	// schedule, or where calls take them.
	batch     []format.Record
	nanos     []int64
	at        int // the next one
	filled    int
	records   format.RecordReader
	durations format.DurationReader

	// Results of all threads that had the slot.
	late        stats.Histogram
	byOp        [format.NumOps]OpResult
	differences []Difference
}

// NewSlot makes a slot without a thread, such as that of a ring.
func (e *Engine) NewSlot() *Slot {
	s := &Slot{e: e, batch: make([]format.Record, cmp.Or(e.Buffer, batchRecords)), differences: make([]Difference, 0, maxDifferences), late: stats.Histogram{Digits: latenessDigits}}
	if e.Timing == Schedule || e.Recorded {
		s.nanos = make([]int64, len(s.batch))
	}
	e.slots.all = append(e.slots.all, s)
	return s
}

// rewinder is a reader of a trace that can begin again with another thread without new
// memory.
type rewinder interface{ Rewind(thread int32) }

// rewind has the slot read the records of a thread from the start.
func (s *Slot) rewind(thread int32) {
	s.at, s.filled = 0, 0
	if r, ok := s.records.(rewinder); ok {
		r.Rewind(thread)
	} else {
		s.records = s.e.Trace.Records(thread)
	}
	if s.nanos == nil {
		return
	}
	if d, ok := s.durations.(rewinder); ok {
		d.Rewind(thread)
	} else {
		s.durations = s.e.Trace.Durations(thread)
	}
}

// CallBegins and CallEnds enclose each call or wait of an event.
func (s *Slot) CallBegins() {
	if s.FirstCall == 0 {
		s.FirstCall = s.e.Now()
	}
}

func (s *Slot) CallEnds() { s.LastCall = s.e.Now() }

// enter makes the slot's thread ready for workers.
func (s *Slot) enter() error {
	if s.e.Sleeper != nil {
		if err := s.e.Sleeper(); err != nil {
			return err
		}
	}
	if s.state == nil {
		return nil
	}
	return s.state.Enter()
}

// run is the body of the goroutine of a slot. Its thread ends with it, because it
// can't leave its jail. Ready is called when the first worker is ready.
func (s *Slot) run(w *Worker, ready func()) {
	runtime.LockOSThread()
	if s.e.processors != nil {
		s.runs = schedstat.Open()
		defer s.runs.Close()
	}
	err := s.enter()
	for ; w != nil; w = s.release(w) {
		w.Slot = s
		if err == nil {
			err = w.prepare(s.state)
		}
		if err != nil {
			s.e.Fail(fmt.Errorf("thread %d: %w", w.Number, err))
		}
		if ready != nil {
			ready()
			ready = nil
		}
		<-s.e.begin
		Pinned(func() {
			w.play()
			w.exit()
			w.finish()
		})
	}
}

// slotPool gives slots to workers. Each thread that is there from the start has one at
// the start, and so have the next ones to be created, in the order of the recording,
// because a slot takes longer to make ready than a thread takes to be created. A
// thread that is created before its turn gets an idle slot or a new one.
type slotPool struct {
	sync.Mutex
	all      []*Slot
	idle     [2][]*Slot   // of each kind
	pending  [2][]*Worker // those for each, in the order of their creation
	window   int32        // how many pending threads have a slot at most
	reserved atomic.Int32 // how many have one
	alive    atomic.Int32 // threads
}

const (
	// fewThreads is the largest number of threads that all have a slot from the start.
	fewThreads = 1024

	// readySlots is how many pending threads of a larger trace have a slot.
	readySlots = 128
)

// window returns how many of a number of threads have a slot before they are created.
func window(threads int) int32 {
	if threads <= fewThreads {
		return int32(threads)
	}
	return readySlots
}

// threads returns how many threads have workers with a goroutine.
func (e *Engine) threads() (n int) {
	for _, w := range e.Workers {
		if !w.Foreign() && w.ring == nil {
			n++
		}
	}
	return n
}

// MaxSlots returns how many threads of the trace have slots at a time, at most.
func (e *Engine) MaxSlots() int {
	n := e.threads()
	return min(n, e.Threads+int(window(n)))
}

// ReusesSlots reports whether some threads can get their slots only after the start.
func (e *Engine) ReusesSlots() bool { return e.threads() > fewThreads }

// startWorkers gives the first slots to workers, which are ready when it returns.
func (e *Engine) startWorkers() {
	s := &e.slots
	var initial, pending []*Worker
	for _, w := range e.Workers {
		switch {
		case w.Foreign():
		case w.ring != nil: // others play it
			_ = w.refill() // an error comes again
			w.lateReads = 0
		case w.parent == nil:
			initial = append(initial, w)
		default:
			pending = append(pending, w)
		}
	}
	slices.SortStableFunc(pending, func(a, b *Worker) int { return cmp.Compare(a.recorded, b.recorded) })
	s.window = window(len(initial) + len(pending))
	first := min(len(pending), int(s.window))
	s.alive.Store(int32(len(initial)))
	s.Lock()
	for i, w := range slices.Concat(initial, pending) {
		if i >= len(initial)+first {
			s.pending[w.player.Kind()] = append(s.pending[w.player.Kind()], w)
			continue
		}
		e.ready.Add(1)
		if err := e.assignSlot(w, e.ready.Done); err != nil {
			e.ready.Done()
			e.Fail(err)
			break
		}
	}
	s.Unlock()
	e.ready.Wait()
}

// assignSlot gives an idle slot or a new one to a worker. The slot pool is locked.
func (e *Engine) assignSlot(w *Worker, ready func()) error {
	if err := w.player.Allocate(); err != nil {
		return err
	}
	w.hasSlot.Store(true)
	if w.parent != nil {
		e.slots.reserved.Add(1)
	}
	e.running.Add(1)
	idle := &e.slots.idle[w.player.Kind()]
	if n := len(*idle); n > 0 {
		s := (*idle)[n-1]
		*idle = (*idle)[:n-1]
		s.next <- w
		return nil
	}
	s := e.NewSlot()
	s.state, s.next = e.executor.NewSlotState(s, w.player.Kind()), make(chan *Worker, 1)
	go s.run(w, ready)
	return nil
}

// reserveSlot gives a slot to a thread that the worker creates, unless it has one.
func (w *Worker) reserveSlot(child *Worker) {
	if child.hasSlot.Load() {
		return
	}
	w.Unpin()
	s := &w.e.slots
	s.Lock()
	if !child.hasSlot.Load() && !w.e.Stopped() {
		if err := w.e.assignSlot(child, nil); err != nil {
			w.e.Fail(fmt.Errorf("thread %d: %w", child.Number, err))
		}
	}
	s.Unlock()
	w.Pin()
}

// markAlive notes that the thread has been created, and reports whether the run may go on.
func (w *Worker) markAlive() bool {
	w.e.slots.reserved.Add(-1)
	if n := int(w.e.slots.alive.Add(1)); n > w.e.Threads {
		w.Failf("thread %d: %d threads at a time exceed the limit of %d: %w", w.Number, n, w.e.Threads, limit.Of("threads"))
	}
	return !w.e.Stopped()
}

// release ends the use of the slot by a worker, and returns the next one, nil if there
// is none.
func (s *Slot) release(w *Worker) (next *Worker) {
	e, all := s.e, &s.e.slots
	w.Slot = nil
	all.Lock()
	if e.Stopped() {
		all.Unlock()
		e.running.Done()
		return nil
	}
	if len(all.pending[0])+len(all.pending[1]) > 0 {
		w.player.Recycle()
	}
	all.idle[w.player.Kind()] = append(all.idle[w.player.Kind()], s)
	for kind := range all.idle {
		for len(all.idle[kind]) > 0 && all.reserved.Load() < all.window {
			child := all.nextPending(kind)
			if child == nil {
				break
			}
			if err := e.assignSlot(child, nil); err != nil {
				e.Fail(fmt.Errorf("thread %d: %w", child.Number, err))
			}
		}
	}
	all.Unlock()
	e.running.Done()
	return <-s.next
}

// nextPending removes and returns the next thread to be created, nil if there is none.
func (s *slotPool) nextPending(kind int) *Worker {
	for len(s.pending[kind]) > 0 {
		w := s.pending[kind][0]
		s.pending[kind] = s.pending[kind][1:]
		if !w.hasSlot.Load() {
			return w
		}
	}
	return nil
}

// closeIdle ends the threads of idle slots.
func (s *slotPool) closeIdle() {
	s.Lock()
	defer s.Unlock()
	for _, idle := range s.idle {
		for _, slot := range idle {
			close(slot.next)
		}
	}
}
