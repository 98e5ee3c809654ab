package engine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"pianola/format"
	"pianola/internal/limit"
)

// Changer changes the events of threads while the replay runs.
type Changer interface {
	// Await returns the changes of a thread's events, from one that the thread has on, in the
	// order of the events, and the event from which on none is known yet. It waits until that is a
	// later one than from, or done is closed, and reports whether it had to wait. The worker of
	// the thread calls it, not pinned.
	Await(thread int32, from int64, done <-chan struct{}) (changes []format.Change, until int64, waited bool, err error)
}

// Made is a call that the trace does not have, and its entry of the log.
type Made struct {
	Record format.Record
	Entry  Entry
}

// madeSize is at least the memory of a Change and of its first call, in bytes.
const madeSize = 512

// Changes counts what a Changer has changed.
type Changes struct {
	Inserted, Altered, Removed int64
	Late                       int64         // how often a thread waited for the Changer
	Waited                     time.Duration // the sum of these waits
}

// Add adds other counts.
func (c *Changes) Add(o *Changes) {
	c.Inserted, c.Altered, c.Removed = c.Inserted+o.Inserted, c.Altered+o.Altered, c.Removed+o.Removed
	c.Late, c.Waited = c.Late+o.Late, c.Waited+o.Waited
}

// changing is what a worker knows of the changes of its events.
type changing struct {
	nextChange int64           // the event at which it looks for one; never reached without a Changer
	known      int64           // the event from which on none is known yet
	changes    []format.Change // from the next one on
	change     *format.Change  // of the current event; nil for none
	made       []Made          // with room for those of all known changes
	changed    Changes
}

// awaitChanges gets the next changes. The worker is not pinned.
func (w *Worker) awaitChanges() error {
	begin := w.e.Now()
	changes, until, waited, err := w.e.Changes.Await(w.Number, w.known, w.e.Done())
	if err != nil {
		return err
	}
	calls := 0
	for i := range changes {
		calls += len(changes[i].Before) + 1
	}
	if w.e.changeBytes.Add(int64(calls)*madeSize) > w.e.Memory/4 {
		return fmt.Errorf("the changes of events take more than a quarter of the memory: %w", limit.Of("memory"))
	}
	w.made = slices.Grow(w.made, calls)
	w.changes, w.known = changes, until
	if waited {
		w.changed.Late++
		w.changed.Waited += time.Duration(w.e.Now() - begin)
	}
	w.nextChange = w.followingChange()
	return nil
}

func (w *Worker) followingChange() int64 {
	if len(w.changes) > 0 {
		return w.changes[0].Event
	}
	return w.known
}

// takeChange finds the change of the next event, if there is one, and alters its record. It
// returns false if the run must end.
func (w *Worker) takeChange(r *format.Record) bool {
	if w.Event == w.known {
		w.Unpin()
		err := w.awaitChanges()
		w.Pin()
		w.end = w.e.Now()
		if err != nil {
			w.Failf("changes from event %d of thread %d on: %w", w.Event, w.Number, err)
		}
		if w.e.Stopped() {
			return false
		}
	}
	if len(w.changes) > 0 && w.changes[0].Event == w.Event {
		w.change, w.changes = &w.changes[0], w.changes[1:]
		r.Compute += w.change.Compute
		if as := &w.change.As; w.change.Altered {
			r.Op, r.Ret, r.Args = as.Op, as.Ret, as.Args
		}
	}
	w.nextChange = w.followingChange()
	return true
}

// playBefore plays the calls before an event, and reports whether the run goes on.
func (w *Worker) playBefore() bool {
	e := w.e
	for i := range w.change.Before {
		w.made = append(w.made, Made{Record: w.change.Before[i]})
		m := &w.made[len(w.made)-1]
		r := &m.Record
		if !e.plays(r.Op) {
			w.made = w.made[:len(w.made)-1]
			w.Failf(unplayable, w.Event, w.Number, r.Op)
			return false
		}
		due := e.Now()
		switch e.Timing {
		case Compute:
			due = max(w.due+e.scale(r.Compute), w.after)
		case Schedule:
			w.recorded += r.Compute
			due = e.start + e.scale(w.recorded)
		}
		if w.waitUntil(due, e.Margin); e.Stopped() {
			w.made = w.made[:len(w.made)-1]
			return false
		}
		if e.operation[r.Op].Prepares {
			w.player.Prepare(r)
		}
		w.changed.Inserted++
		if !w.call(r, w.Number, w.Event, format.Unknown, due, &m.Entry) {
			return false
		}
		w.due = due + m.Entry.Dur
	}
	return true
}

// endChange counts the change of an event after its entry. A call that was altered goes to the made
// ones.
func (w *Worker) endChange(r *format.Record) {
	entry := &w.log.entries[len(w.log.entries)-1]
	switch {
	case w.change.Removed:
		w.changed.Removed++
	case w.change.Altered:
		w.changed.Altered++
		w.made = append(w.made, Made{*r, *entry})
		entry.Dur = Omitted
	}
	w.change = nil
}

// Made returns the calls of each thread that the trace does not have, after the end.
func (e *Engine) Made() (all [][]Made) {
	if e.Changes == nil {
		return nil
	}
	for _, w := range e.Workers {
		all = append(all, w.made)
	}
	return all
}

// startChanges has a worker look for changes from its first event on.
func (w *Worker) startChanges() error {
	if w.nextChange = math.MaxInt64; w.e.Changes == nil || w.length == 0 {
		return nil
	}
	err := w.awaitChanges()
	w.changed = Changes{} // the run has not begun, or the thread does not live
	return err
}
