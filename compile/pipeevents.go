package compile

import (
	"cmp"
	"slices"

	"pianola/format"
)

// pipeEvents gives the last pass the entries of the plan for each line.
type pipeEvents struct {
	plan   *pipePlan // nil in all passes but the last
	waits  lines[pipeWait]
	points lines[pipePoint]
}

// lines is what the plan holds for the remaining lines, in order.
type lines[T interface{ number() int64 }] []T

// of returns the element of a line, nil for none. Lines must be queried in order.
func (l *lines[T]) of(line int64) *T {
	for len(*l) > 0 && (*l)[0].number() < line {
		*l = (*l)[1:]
	}
	if len(*l) == 0 || (*l)[0].number() != line {
		return nil
	}
	return &(*l)[0]
}

func (w pipeWait) number() int64  { return w.line }
func (p pipePoint) number() int64 { return p.line }

// find returns the point of a line that is waited for.
func (p *pipePlan) find(line int64) *pipePoint {
	i, _ := slices.BinarySearchFunc(p.points, line, func(a pipePoint, line int64) int { return cmp.Compare(a.line, line) })
	return &p.points[i]
}

// awaited returns the point that the current line waits for, nil for none. If the line
// of the awaited write is yet to come, its event is emitted first, at the time when it
// began: its thread has been in the call since its last line.
func (m *model) awaited() (*pipeWait, *pipePoint, error) {
	w := m.pipe.waits.of(m.line)
	if w == nil {
		return nil, nil, nil
	}
	on := m.pipe.plan.find(w.on.line)
	if on.at.thread == 0 {
		at := m.state.Living(w.on.tid)
		if at == nil || at.Data.(*thread).num != w.on.thread {
			return nil, nil, nil
		}
		t := at.Data.(*thread)
		var err error
		if on.at, err = m.emitPipe(t, format.OpPipeWrite, w.pipe, w.on.start, 0, nil); err != nil {
			return nil, nil, err
		}
		on.now = t.now
	}
	return w, on, nil
}

// leavePipe emits the events of a call on a pipe that waited or was waited for.
// The rest of its duration is compute.
func (m *model) leavePipe(t *thread, e *format.Event, w *pipeWait, on *pipePoint) (err error) {
	op := format.OpPipeWrite
	if e.Op.Info().Class == format.ClassRead {
		op = format.OpPipeRead
	}
	p := m.pipe.points.of(m.line)
	if p != nil && p.at.thread == 0 && (w == nil || op == format.OpPipeWrite) {
		if p.at, err = m.emitPipe(t, op, p.pipe, e.Start, 0, nil); err != nil {
			return err
		}
		p.now = t.now
	}
	if w == nil {
		return nil
	}
	start, before := e.Start, w.on.start <= e.Start
	if before { // it waited before the call, in poll(2) or similar
		start = max(t.idle, w.on.start-e.Off.Total())
		t.off = t.off.Less(w.on.start - start)
	}
	begin := m.clock(t, e.Start) // of the call: after the wait
	at, err := m.emitPipe(t, op, w.pipe, start, w.on.start-start, on)
	if before {
		begin = m.clock(t, e.Start)
	}
	if p != nil && p.at.thread == 0 {
		p.at, p.now = at, begin
	}
	return err
}

// emitPipe appends a pipe_read or pipe_write event, for which a replay makes no
// call. If on is not nil, the thread waits for that point of another thread,
// from start on, for so many nanoseconds. It returns the place of the event.
func (m *model) emitPipe(t *thread, op format.Op, pipe int32, start, nanos int64, on *pipePoint) (place, error) {
	e := format.Event{Op: op, Start: start, Dur: nanos, Args: [format.MaxArgs]int64{int64(pipe)}}
	out := &m.events[:len(m.events)+1][len(m.events)]
	*out = e
	m.order.begin(t, false)
	m.order.after(t.born, format.EdgeBirth)
	if on != nil {
		m.order.after(on.at, format.EdgeMessage)
		// The duration does not include what recording cost the threads that it
		// waited for.
		out.Dur = max(on.now-m.clock(t, e.Start), 0)
	}
	t.seen, t.owed = m.order.seen, t.owed[:0]
	at := m.order.here
	return at, m.emit(t, &e, out)
}
