package engine

import (
	"sync/atomic"

	"pianola/format"
	"pianola/internal/spin"
)

// anyOf holds the ends of the processes that a thread waits for without naming one (wait4 of -1).
// For example, make starts the next compiler when any of four has ended. On other storage another
// process may end first, so the thread's n-th such wait waits for the same number of ends as in the
// recording, of any processes. Other dependencies of the following events have their own edges.
type anyOf struct {
	waiter  *Worker
	targets []anyTarget
	lock    spin.Lock      // for count
	ended   atomic.Int64   // how many of targets
	ends    []atomic.Int64 // times in the order of ending; those below ended are valid
}

// anyTarget is the end of a process, in the order of the recording's waits.
type anyTarget struct {
	worker *Worker
	event  int64
}

// makeAny finds the threads that wait for any of several processes, and replaces the
// target of such a wait by the number of processes that must have ended.
func (e *Engine) makeAny() {
	for _, w := range e.Workers {
		for i := range w.waits {
			v := &w.waits[i]
			if v.For.Kind != format.EdgeAny || v.For.Thread == 0 {
				continue
			}
			k := e.Workers[v.For.Thread-1]
			if k.Foreign() {
				v.For.Kind = format.EdgeExit
				continue
			}
			if w.any == nil {
				w.any = &anyOf{waiter: w}
			}
			if k.notifies == nil {
				k.notifies = make([]*anyOf, len(k.targets))
			}
			switch tells := &k.notifies[w.places[i]]; *tells {
			case nil:
				*tells = w.any
				w.any.targets = append(w.any.targets, anyTarget{k, v.For.Event})
			case w.any:
			default: // another thread waits for it, too
				v.For.Kind = format.EdgeExit
				continue
			}
			w.places[i] = int32(len(w.any.targets))
		}
		if w.any != nil {
			w.any.ends = make([]atomic.Int64, len(w.any.targets))
		}
	}
}

// count records that one of the processes has ended.
func (a *anyOf) count(end int64) {
	a.lock.Take()
	n := a.ended.Load()
	a.ends[n].Store(end)
	a.ended.Store(n + 1)
	a.lock.Give()
	a.waiter.WakeUp.Advance()
}

// awaitAny waits until so many of the processes have ended. It reports false if the
// run stopped first.
func (w *Worker) awaitAny(n int64) bool {
	a := w.any
	if a.ended.Load() >= n {
		return true
	}
	defer w.waitedFrom(w.e.Now())
	for {
		seq := w.WakeUp.Value()
		if a.ended.Load() >= n {
			return true
		}
		for i := range a.targets[:n] {
			if t := &a.targets[i]; !w.satisfied(t.worker, t.event) {
				if !w.sleepFor(t.worker, t.event, &w.WakeUp, seq) {
					return false
				}
				break
			}
		}
	}
}
