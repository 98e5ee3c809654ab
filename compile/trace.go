package compile

import "pianola/format"

// trace is what a pass has of the trace.
type trace struct {
	appNames *appNames // nil in all passes but the last, and where none are kept
	out      *writer   // nil in all passes but the last
	batch
	written int // batches so far
	table   []format.Thread
	broken  error // why the pass ends
}

// compute returns the time from the thread's last event in the trace to a time,
// minus the recorder's cost. If the cost is larger than that time, compute is 0
// and debt is the rest, to be subtracted later. This happens where an event
// costs less than the mean.
func (t *thread) compute(at int64) (compute, debt int64) {
	compute = at - t.last - t.cost
	return max(compute, 0), max(-compute, 0)
}

// onTrace returns a time on the recording's clock, after the thread's last event in
// the trace, on the trace's clock.
func (t *thread) onTrace(at int64) int64 {
	compute, _ := t.compute(at)
	return t.now + compute
}

// emit appends an event to the trace.
func (p *pass) emit(s *simEvent) {
	t, e, out := s.t, s.e, s.out
	compute, debt := t.compute(e.Start)
	if n := len(t.moments.all); n > 0 {
		compute = max(compute, t.moments.all[n-1].end-t.now) // spans before it have some time
	}
	out.Compute = compute
	out.Off = format.Off{}
	if !t.off.IsZero() || !e.Off.IsZero() {
		out.Off = t.off.Plus(e.Off).Within(compute)
		t.off = format.Off{}
	}
	p.report.Computed += compute - out.Off.Total()
	t.last, t.cost = e.End(), debt+t.rate.Around(e.Op)
	switch info := out.Op.Info(); {
	case info.Kind == format.MadeKind && info.Class == format.ClassProcess:
		t.cost = debt // see leaveOut
	case info.Acts.Any(format.Awaits) && s.joined:
		t.cost += t.rate.Inside // spent after the end of what it waited for
	case info.Class == format.ClassProcess && !info.Acts.Any(format.Awaits):
		// A replay does not make the call, and its duration is not time spent
		// in I/O. So it becomes compute.
		t.last, t.cost = e.Start, debt+t.rate.Inside+t.rate.Around(e.Op)
		out.Dur = 0
	case out.Dur >= 0:
		out.Dur = max(out.Dur-t.rate.Inside, 0)
	}
	if p.options.Bare {
		out.Dur = format.Unknown
	}
	p.tell(factWritten, s)
	t.now += out.Compute + max(out.Dur, 0)
	t.events++
	p.put(s, t.num, t.events)
	t.seen, t.owed = p.order.seen, t.owed[:0]
}

// emitMade appends an event to the trace that is not in the recording. Its recording
// cost is 0.
func (p *pass) emitMade(t *thread, e, out *format.Event) {
	p.emit(p.rowOf(t, e, out))
	t.cost -= t.rate.Around(e.Op)
}

// applyMade simulates such an added event, and writes it to the trace.
func (p *pass) applyMade(t *thread, e *format.Event) {
	p.simulate(e)
	t.cost -= t.rate.Around(e.Op)
}

// put puts a finished event of the batch into the trace, with the collected edges.
// count is the number of the thread's events including it.
func (p *pass) put(s *simEvent, thread int32, events int64) {
	out := s.out
	out.TID = thread
	for len(p.order.count) <= int(thread) {
		p.order.count = append(p.order.count, 0)
	}
	p.order.count[thread] = events
	p.report.Events++
	if p.out == nil {
		p.spans.Reset() // a list of the event
		return
	}
	if s == &p.event {
		p.callAll(s)
	}
	n := len(p.edges)
	p.edges = append(p.edges, p.order.edges...)
	out.Edges = p.edges[n:len(p.edges):len(p.edges)]
	p.events = p.events[:len(p.events)+1] // out is already in its place
	if p.isFull(out) {
		p.flush()
	}
}

// isFull reports whether the batch ends after its newest event.
func (p *pass) isFull(out *format.Event) bool {
	full := len(p.events) >= batchSize || len(p.edges) >= maxEdges || len(p.arena) >= maxArena || len(p.spans.Numbers) >= maxNumbers
	return full && (out.How.Flags&format.ReqLinks == 0 || len(p.events) >= batchSize+maxChain) // see relink
}

// A batch is written early once it holds more than these bounds.
const (
	maxEdges = 1 << 16
	maxArena = 1 << 20 // bytes

	maxNumbers = 1 << 16 // of spans and lists
)

// maxChain is how many linked requests a batch may have beyond its size.
const maxChain = 128

// text copies a string into the batch's arena.
func (p *pass) text(s string) []byte {
	n := len(p.arena)
	p.arena = append(p.arena, s...)
	return p.arena[n:len(p.arena):len(p.arena)]
}

// flush hands the batch to the writer.
func (p *pass) flush() {
	p.written++
	if p.out != nil && len(p.batch.events) > 0 {
		var err error
		p.batch, err = p.out.write(p.batch)
		p.fails(err)
	}
}

// next returns the place of the next event of the batch. An event that is left out leaves it to
// the one after it.
func (p *pass) next() *format.Event { return &p.events[:len(p.events)+1][len(p.events)] }

// begin begins an event, in its place in the batch.
func (p *pass) begin(t *thread, e *format.Event) *simEvent {
	out := p.next()
	p.args.canonical(e, out)
	s := &p.event
	*s = simEvent{}
	s.e, s.out, s.t = e, out, t
	p.order.begin(t, len(p.table) == 1)
	p.trail = p.trail[:0]
	return s
}

// beginMade begins a row that is no event of the recording.
func (p *pass) beginMade(t *thread, e *format.Event) (out *format.Event) {
	out = p.next()
	*out = *e
	p.order.begin(t, len(p.table) == 1)
	p.order.after(t.born, format.EdgeBirth)
	return out
}

// fails ends the pass with an error, unless it is nil, after the current event.
func (p *pass) fails(err error) {
	if p.broken == nil {
		p.broken = err
	}
}
