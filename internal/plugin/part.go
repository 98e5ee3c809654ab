package plugin

import (
	"errors"
	"fmt"
	"io"
	"math/bits"

	"pianola/format"
	"pianola/format/filter"
)

// Part is the events of a trace that a program is given.
type Part struct {
	Selected filter.Selection
	Trace    interface {
		Len(thread int32) int64
		EventsOf(thread int32) format.Reader
	}
}

// merger puts the events that a program was not given between the lines of its output.
type merger struct {
	places  *places
	part    *Part // nil if the program was given all
	to      func([]format.Event) error
	use     func(*format.Event) // is called with each event that is put between the lines
	threads []mergedThread      // of the trace
	one     [1]format.Event
	notes   format.Notes // of that
}

// mergedThread is a place in a thread of the trace.
type mergedThread struct {
	events format.Reader // nil before the first
	at     int64         // position of the next event
}

func newMerger(p *places, part *Part, to func([]format.Event) error) *merger {
	m := &merger{places: p, part: part, to: to}
	if part != nil {
		m.threads = make([]mergedThread, len(part.Selected))
	}
	return m
}

// add takes lines of the program's output.
func (m *merger) add(events []format.Event) error {
	if m.part == nil {
		return m.to(events)
	}
	for i := range events {
		e := &events[i]
		if int(e.TID) <= len(m.threads) {
			until, err := m.before(e)
			if err == nil {
				err = m.insert(e.TID, until)
			}
			if err != nil {
				return err
			}
		}
		if err := m.to(events[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// before returns before which event of its thread a line stands. That of a new line is the
// first one that the program was given.
func (m *merger) before(e *format.Event) (int64, error) {
	at, err := m.places.at(e)
	switch {
	case err != nil:
		return 0, err
	case at >= 0 && !m.part.Selected.Has(e.TID, at):
		return 0, fmt.Errorf("at=%d:%d: the program was not given this event", e.TID, at)
	case at >= 0 || m.threads[e.TID-1].at > 0:
		return at, nil
	}
	for i, word := range m.part.Selected[e.TID-1] {
		if word != 0 {
			return int64(i<<6 + bits.TrailingZeros64(word)), nil
		}
	}
	return m.part.Trace.Len(e.TID), nil
}

// insert passes on the events of a thread before one that the program was not given.
func (m *merger) insert(thread int32, until int64) error {
	t := &m.threads[thread-1]
	if t.events == nil && t.at < until {
		t.events = format.WithoutSpans(m.part.Trace.EventsOf(thread))
	}
	for t.at < until {
		n, err := t.events.Read(m.one[:])
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // the trace has less events than it says
		}
		if n == 0 && err != nil {
			return err
		}
		if n == 1 && !m.part.Selected.Has(thread, t.at) {
			setAt(&m.one[0], &m.notes, t.at)
			m.use(&m.one[0])
			if err := m.to(m.one[:]); err != nil {
				return err
			}
		}
		t.at += int64(n)
	}
	return nil
}

// finish passes on the events after the last lines.
func (m *merger) finish() error {
	for i := range m.threads {
		if err := m.insert(int32(i+1), m.part.Trace.Len(int32(i+1))); err != nil {
			return err
		}
		m.threads[i].events = nil
	}
	return nil
}
