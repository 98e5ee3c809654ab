package bin

import (
	"io"

	"pianola/format"
	"pianola/format/schedule"
)

// EventsAt returns a reader of the events of all threads as they would be at a pace, by
// package schedule. A replay at that pace is compared with them.
//
// The reader is like that of Events, and its order is by the start at that pace. It
// keeps the edges of all events in memory. At the pace of the recording it is that of
// Events.
func (t *Trace) EventsAt(p format.Pace) (format.Reader, error) {
	if p.Recorded() {
		return t.Events(), nil
	}
	r := &paced{merged: merged{trace: t, text: make([]byte, 0, 1<<10)}, pace: p, lines: make([]*line, len(t.threads))}
	var err error
	r.schedule, err = schedule.New(t, schedule.Options{Pace: p}, func(thread int32) (schedule.Source, error) {
		l, err := t.line(thread)
		r.lines[thread-1] = l
		return source{l, t}, err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// paced implements format.Reader.
type paced struct {
	merged
	pace     format.Pace
	schedule *schedule.Schedule
	lines    []*line // by the number of the thread, from 0; nil before its first event
}

// source has the events of a line for a schedule.
type source struct {
	*line
	trace *Trace
}

// Peek implements schedule.Source.
func (s source) Peek() (*format.Record, int64, error) {
	err := s.ready()
	if err == io.EOF {
		s.close(s.trace)
	}
	if err != nil {
		return nil, 0, err
	}
	return &s.recs[s.rec], s.durs[s.dur], nil
}

// Read implements format.Reader. The strings and edges of the events are valid until the
// next call.
func (r *paced) Read(events []format.Event) (int, error) { return r.read(events, r.next) }

// next fills e with the next event of the schedule.
func (r *paced) next(e *format.Event) (filled bool, err error) {
	at, err := r.schedule.Next()
	if err != nil {
		return false, err
	}
	if err := r.event(e, &turn{at.Start, at.Thread, r.lines[at.Thread-1]}); err != nil {
		return false, err
	}
	e.Off = e.Off.Each(r.pace.Scale)
	e.Dur = min(e.Dur, at.End-at.Start) // an operation without a call takes no time
	return true, nil
}
