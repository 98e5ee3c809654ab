package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"pianola/format"
	"pianola/format/schedule"
)

// simulation plays a trace on a simulated clock, which begins at 0: each event has its
// recorded result, and takes as long as recorded or as the model of a device says. So it
// takes no longer than reading the trace, and two simulations give the same times.
type simulation struct {
	*timeline
	e     *Engine
	slot  *Slot // for the counts of all threads
	start int64 // of the next event; math.MaxInt64 if there is none

	making []Group // the group of each log that has begun
}

// contextEvents is after how many events a simulation checks whether it must end.
const contextEvents = 4096

// Simulate is Play on a simulated clock, which begins at 0: each event has its recorded result, and
// no Player is called. It takes no longer than reading the traces. The engines share the model,
// which gets calls in the order of time.
func (s *Stage) Simulate(ctx context.Context) error {
	s.awaitReplies()
	all := make([]*simulation, len(s.engines))
	for i, e := range s.engines {
		m, err := e.newSimulation()
		if err == nil {
			err = m.findNext()
		}
		if err != nil {
			return err
		}
		all[i] = m
	}
	for n := 0; ; n++ {
		if n%contextEvents == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		next := all[0]
		for _, m := range all[1:] {
			if m.start < next.start {
				next = m
			}
		}
		if next.start == math.MaxInt64 {
			return nil
		}
		if err := next.play(); err != nil {
			return err
		}
		if s.answered {
			next.completeAll()
			return nil
		}
	}
}

// orderedTrace is the trace of an engine with the waits that its order leaves.
type orderedTrace struct {
	format.Trace
	workers []*Worker
}

func (t orderedTrace) Waits(thread int32) ([]format.Wait, error) {
	return t.workers[thread-1].Waits(), nil
}

func (e *Engine) newSimulation() (m *simulation, err error) {
	m = &simulation{e: e, slot: e.NewSlot(), making: make([]Group, len(e.logs))}
	pace := format.Pace{Speed: e.Speed, Schedule: e.Timing == Schedule, Timed: e.Outside == Timed}
	m.timeline, err = newTimeline(orderedTrace{e.Trace, e.Workers}, schedule.Options{Pace: pace, AFAP: e.Timing == AFAP, Duration: m.duration, Plan: e.plan})
	return m, err
}

// duration returns how long the model has an event take.
func (m *simulation) duration(at *schedule.Event, recorded int64) int64 {
	e := m.e
	if op := at.Record.Op; recorded >= 0 && int(op) < len(e.covers) && e.covers[op] {
		return e.Model.Until(at.Thread, at.Number, op, at.Record.Ret, at.Start, recorded) - at.Start
	}
	return recorded
}

// findNext finds when the next event starts. At the end it completes the last events.
func (m *simulation) findNext() (err error) {
	if m.start, err = m.Start(); err == nil {
		return nil
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("simulate: %w", err)
	}
	m.start = math.MaxInt64
	m.completeAll()
	return nil
}

// completeAll corrects the ends of the last events of all threads.
func (m *simulation) completeAll() {
	for _, w := range m.e.Workers {
		m.complete(w, m.Ended(w.Number))
	}
}

// complete corrects the end of a thread's last event, which can have waited for completions.
func (m *simulation) complete(w *Worker, end int64) {
	if n := len(w.log.entries); n > 0 && w.ring == nil && w.log.entries[n-1].Dur != Omitted {
		w.last = end
		w.log.entries[n-1].Dur = end - w.log.entries[n-1].Start
	}
}

// play plays the next event.
func (m *simulation) play() error {
	at, err := m.Next()
	if err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	e, r := m.e, at.Record
	w := e.Workers[at.Thread-1]
	if at.Group != nil {
		m.commits(&at)
		return m.findNext()
	}
	if !e.plays(r.Op) {
		return fmt.Errorf(unplayable, w.Event, w.Number, r.Op)
	}
	m.complete(w, at.Before)
	if w.log.full() {
		if err := w.log.spill(); err != nil {
			return err
		}
	}
	entry := Entry{at.Start, at.End - at.Start, r.Ret, at.Waited}
	if at.Regrouped {
		entry.Dur = Omitted
		m.slot.byOp[r.Op].Regrouped++
	} else {
		m.slot.byOp[r.Op].Executed++
	}
	w.log.entries = append(w.log.entries, entry)
	if w.last = max(w.last, at.End); e.Timing == Schedule {
		w.scheduled = at.Recorded
	}
	w.orderWait += at.Waited
	w.Event++
	if r.Op == format.OpClientReply {
		e.replied()
	}
	return m.findNext()
}

// commits adds a call of a group to those of its log.
func (m *simulation) commits(at *schedule.Event) {
	g, q := at.Group, m.e.logs[at.Group.Log]
	entry := Entry{Start: at.Start, Dur: at.End - at.Start, Ret: at.Record.Ret}
	m.slot.byOp[at.Record.Op].Executed++
	made := &m.making[g.Log]
	if g.Ends && g.Like.Syncs() {
		made.sync = entry
	} else {
		made.write = entry
	}
	if g.Ends {
		made.Thread, made.Commits, made.made, made.like = at.Thread, g.Commits, g.Made, g.Like
		q.groups = append(q.groups, *made)
	}
}
