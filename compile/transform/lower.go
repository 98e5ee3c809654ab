package transform

import (
	"slices"

	"pianola/format"
	"pianola/format/process"
)

// lower turns the transformed events of a lifted trace into events of a compiled trace.
// Compute comes from the times, as in compile; edges are those of the trace:
//
//   - An edge to an event leads to the event with its effects: the last of its parts, or
//     the call that it was merged into. For a wait the time counts: the edge leads to the
//     last written event at the end of the awaited event, with a longer delay.
//   - The next event of the thread inherits the edges of a removed event.
//   - An inserted event comes after the open of its descriptor, and a close comes after
//     the inserted event.
//   - An event that was moved back comes before the next events on its file if these
//     relied on the order of the threads.
//
// All edges lead to events that were written before, so there is no cycle.
type lower struct {
	r      format.Reader
	from   *lifted
	lines  *lineage
	follow *process.Follower // from the first event on

	batch   []format.Event
	out     []format.Event // to be returned
	threads []*outThread   // by number-1, with those of rings
	born    []where        // by thread: the event that makes it
	knows   map[[2]int32]int64
	closed  []*handle // descriptions whose descriptor the current event closes
	late    []moved   // what came out late, where names don't tell files apart
	tangled bool
	floor   int64
	syncs   int64
}

// outThread is a thread of the new trace.
type outThread struct {
	row     format.Thread
	count   int64 // events so far
	line    int64 // the newest that it has passed
	last    int64 // end of the newest event or wait, in time of the old trace
	stood   int64 // end of the newest event, likewise
	debt    int64 // what was to be taken off compute that was not there
	now     int64 // end of the newest event, in time of the new trace
	passed  int   // targets
	floor   int64
	pending pending
	handed  []format.Edge   // of events that are taken out, as they were
	follows map[int32]int64 // by thread: one more than the newest event that it comes after
	ring    int32           // its ring, 0 for none
	asked   []format.Event  // requests that the next call submits
}

// pending is the time of a thread since its newest event.
type pending struct {
	compute, held, expired int64
	off                    format.Off
	waits                  []lapsed
	marks                  []waitEnd
}

// own returns how much of it is not waiting.
func (p *pending) own() int64 { return p.compute - p.held }

// waitEnd is the end of a wait of an event, in time of the old trace.
type waitEnd struct{ line, end, own int64 }

// lapsed is an edge of a wait that has ended.
type lapsed struct {
	line int64 // of the event that waited
	edge int64 // its number
	was  format.Edge
	own  int64 // pending.own then
}

// moved is what came out late: events of a thread, from a line on.
type moved struct {
	where
	line int64
}

// handle is the state of an open file description.
type handle struct {
	serial int64
	made   []where // by what threads its descriptors were made
	used   []where // newest calls on it that were put in
}

// fate is what came out late on a file, and what made it longer.
type fate struct {
	late  []moved
	grown []where
}

// newLower returns the reader of a new trace. r reads what transforms made of from.
func newLower(r format.Reader, from *lifted) *lower {
	w := &lower{r: r, from: from, lines: from.lines, batch: make([]format.Event, 256), knows: map[[2]int32]int64{}}
	for _, row := range from.header.Threads {
		w.threads = append(w.threads, &outThread{row: row, last: row.Start, stood: row.Start, now: row.Start, follows: map[int32]int64{}})
	}
	w.born = make([]where, len(w.threads))
	for i, row := range from.header.Threads {
		if row.Parent == 0 {
			w.threads[i].floor = row.Start
		}
	}
	return w
}

// Read implements format.Reader.
func (w *lower) Read(events []format.Event) (int, error) {
	for len(w.out) == 0 {
		n, err := w.r.Read(w.batch)
		if w.follow == nil && n > 0 {
			w.follow = process.New(begun(w.r.Header()), maxFiles)
			w.follow.Closed = func(_ *process.Thread, _ int32, d process.Descriptor) {
				if h := handleOf(d.Description); len(h.used) > 0 {
					w.closed = append(w.closed, h)
				}
			}
		}
		w.out = w.out[:0]
		for i := range w.batch[:n] {
			w.event(&w.batch[i])
		}
		if n == 0 && err != nil {
			return 0, err
		}
	}
	n := copy(events, w.out)
	w.out = w.out[n:]
	return n, nil
}

// event takes the next event of a thread.
func (w *lower) event(e *format.Event) {
	t := w.threads[e.TID-1]
	if e.Via != format.ViaCall {
		t.asked = append(t.asked, e.Clone())
		return
	}
	compute := e.Start - t.last - sum(t.debt, e.Cut)
	compute, t.debt = max(compute, 0), max(-compute, 0)
	t.last = e.End()
	p := &t.pending
	p.compute, p.off = sum(p.compute, compute), p.off.Plus(e.Off)
	b := &w.lines.threads[e.TID-1]
	if e.Op == format.OpWait {
		p.wait(e, b.find(e.Line))
		return
	}
	o := b.find(e.Line)
	switch {
	case e.Line <= 0:
	case o != nil && o.through > 0:
		w.advance(t, b, e.TID, o.through)
	case e.Line > t.line:
		w.advance(t, b, e.TID, e.Line-1)
		t.line, o = e.Line, b.find(e.Line)
	}
	if e.Op == format.OpUringEnter && len(t.asked) == 0 {
		p.compute = sum(p.compute, max(e.Dur, 0)) // its requests were taken out
		return
	}
	w.write(e, t, b, o)
	b.pass(t.line)
}

// wait adds a wait of an event.
func (p *pending) wait(e *format.Event, o *origin) {
	p.compute = sum(p.compute, e.Dur)
	if e.Args[1] != expiredWait {
		p.held += e.Dur
	}
	p.marks = append(p.marks, waitEnd{e.Line, e.End(), p.own()})
	if o != nil {
		p.off = p.off.Plus(o.moved)
		o.moved = format.Off{}
	}
	if e.Args[1] == expiredWait {
		p.expired += e.Dur
		return
	}
	if e.Args[1] >= 0 && o != nil && int(e.Args[1]) < len(o.edges) {
		was := o.edges[e.Args[1]]
		was.Delay = e.Args[2]
		p.waits = append(p.waits, lapsed{e.Line, e.Args[1], was, p.own()})
	}
}

// advance lets a thread pass the events up to a line, which were taken out or come out
// late.
func (w *lower) advance(t *outThread, b *threadLineage, thread int32, to int64) {
	if to <= t.line {
		return
	}
	i, _ := b.search(t.line + 1)
	for ; i < len(b.origins) && b.origins[i].line <= to; i++ {
		if o := &b.origins[i]; !o.handed {
			o.handed = true
			for _, edge := range o.edges {
				w.learn(thread, edge)
				if isOrder(edge.Kind) {
					t.handed = append(t.handed, edge)
				}
			}
		}
	}
	for ; t.passed < len(b.targets) && b.targets[t.passed].event < to; t.passed++ {
		if k := &b.targets[t.passed]; !k.stands {
			w.stand(t, b, thread, k)
		}
	}
	t.line = to
}

// stand replaces an event that is not written by the last written event of a thread.
func (w *lower) stand(t *outThread, b *threadLineage, thread int32, k *target) {
	k.at, k.lag, k.more = w.before(t, b, thread, k)
	k.stands = true
	k.floor = sum(t.floor, k.lag)
}

// before returns the last written event at the end of a removed event.
func (w *lower) before(t *outThread, b *threadLineage, thread int32, k *target) (at where, lag int64, more []format.Edge) {
	p, line := &t.pending, k.event+1
	// From the newest wait before it, or from what stands.
	from := waitEnd{t.line + 1, t.stood, 0}
	for i := range p.marks {
		if p.marks[i].line <= line {
			from = p.marks[i]
		}
	}
	lag = sum(from.own, max(k.end-from.end-b.without(from.line-1, line), 0))
	for i := range p.waits {
		if p.waits[i].line <= line {
			edge := p.waits[i].was
			edge.Delay = sum(edge.Delay, lag-p.waits[i].own)
			more = append(more, edge)
		}
	}
	if at = (where{thread, t.count - 1}); t.count == 0 {
		if at = w.born[thread-1]; at.thread == 0 {
			lag = sum(lag, t.row.Start)
		}
	}
	return at, lag, more
}

// learn notes that a thread has an edge to another one.
func (w *lower) learn(thread int32, edge format.Edge) {
	if edge.Thread > 0 && !edge.Kind.Commits() {
		key := [2]int32{thread, edge.Thread}
		w.knows[key] = max(w.knows[key], edge.Event+1)
	}
}

// write puts an event into the trace.
func (w *lower) write(e *format.Event, t *outThread, b *threadLineage, o *origin) {
	c := collector{w: w, self: e.TID, t: t}
	late := o != nil && o.through > 0 || e.Line > 0 && e.Line < t.line
	own := o != nil && !o.handed && !late
	if own {
		o.handed = true
		for i, edge := range o.edges {
			w.learn(e.TID, edge)
			switch {
			case isWait(edge.Kind):
				c.waited(e.Line, int64(i))
			case edge.Kind.Commits():
				c.keepCommit(edge)
			default:
				c.keep(edge)
			}
		}
		for _, line := range o.joined { // they have come forward
			if k := b.find(line); k != nil {
				for _, edge := range k.edges {
					if isOrder(edge.Kind) {
						c.order(edge)
					}
				}
			}
		}
	}
	c.waited(0, -1)
	for _, edge := range t.handed {
		c.order(edge)
	}
	t.handed = t.handed[:0]
	submits := e.Op == format.OpUringEnter
	if submits {
		w.openRing(e, t)
	}
	here := where{e.TID, t.count}
	ahead := own && len(o.joined) > 0
	for i := range t.asked {
		w.touch(&t.asked[i], &c, here, late, e.Line, false)
	}
	if !submits {
		w.touch(e, &c, here, late, e.Line, ahead)
	}
	p := &t.pending
	out := format.Event{
		Op: e.Op, TID: e.TID, Start: e.Start, Dur: e.Dur, Ret: e.Ret, Args: e.Args, Str: e.Str, List: e.List.Clone(),
		Compute: p.compute, Expired: min(p.expired, p.compute), Off: p.off.Within(p.compute), Edges: c.edges,
	}
	out.Held = min(p.held, p.compute-out.Expired)
	if e.Faults > 0 && transfers(e) {
		out.Args[1] |= format.FreshBuffer
	}
	if k := e.Op.Info().At.Vector; k >= 0 {
		out.Args[k] = 0
	}
	for i, text := range out.Str {
		out.Str[i] = slices.Clone(text)
	}
	at := t.floor + max(out.Compute-out.Held-out.Expired, 0)
	at = max(at, c.floor)
	t.floor, w.floor = at, max(w.floor, at)
	start := t.now + out.Compute
	if submits {
		w.submit(t, &out)
	}
	w.out = append(w.out, out)
	t.count++
	t.now = start + max(out.Dur, 0)
	*p = pending{waits: p.waits[:0], marks: p.marks[:0]}
	t.stood = t.last
	switch info := e.Op.Info(); {
	case info.Class == format.ClassSync:
		w.syncs++
	case e.Did().Any(format.Starts) && int(e.Ret) <= len(w.born):
		child := w.threads[e.Ret-1]
		w.born[e.Ret-1], child.now = here, max(child.row.Start+start-e.Start, 0)
		child.floor = at
		child.row.Start = child.now
	}
	w.image(e, b, o, here, at, late)
}

// image notes what stands for the events that an event was.
func (w *lower) image(e *format.Event, b *threadLineage, o *origin, here where, floor int64, late bool) {
	if e.Line <= 0 {
		return
	}
	if k := b.target(e.Line - 1); k != nil {
		if k.data = here; !late {
			k.at, k.lag, k.more, k.floor, k.stands = here, 0, nil, floor, true
		}
	}
	if o != nil {
		o.out = true
		for _, line := range o.joined {
			if k := b.target(line - 1); k != nil {
				k.data = here
			}
		}
	}
}

// touch orders an event after what it depends on besides: of what was put in, the open
// of its descriptor; of a close, the calls that were put in; and what came out late, or
// made longer what it reads.
func (w *lower) touch(e *format.Event, c *collector, here where, late bool, line int64, ahead bool) {
	f := w.follow.Fact(e)
	if f.Description != nil && line == 0 {
		h := handleOf(f.Description)
		for _, at := range h.made {
			c.after(at, format.EdgeDescriptor, 0)
		}
		h.used = newestOf(h.used, here)
	}
	if w.tangled = w.tangled || f.Did.Any(format.Tangles); f.File != nil {
		w.meet(f, c, here, late, line, ahead)
	}
	w.closed = w.closed[:0]
	w.follow.Apply(f)
	for _, h := range w.closed {
		for _, at := range h.used {
			c.after(at, format.EdgeDescriptor, 0)
		}
	}
	if f.Did.Any(format.Opens | format.Duplicates) {
		if d := f.Thread.Table.At(e.Ret); d != nil {
			h := handleOf(d)
			h.made = newestOf(h.made, here)
		}
	}
}

// meet orders an event on a file after what came out late.
func (w *lower) meet(f *process.Fact, c *collector, here where, late bool, line int64, ahead bool) {
	e := f.Event
	of, ok := f.File.Data.(*fate)
	if !ok {
		of = new(fate)
		f.File.Data = of
	}
	known := of.late
	if w.tangled {
		known = w.late
	}
	for _, k := range known {
		if k.thread != e.TID && w.knows[[2]int32{e.TID, k.thread}] >= k.line {
			c.after(k.where, format.EdgeBytes, 0)
		}
	}
	if late {
		of.late, w.late = newestMoved(of.late, moved{here, line}), newestMoved(w.late, moved{here, line})
	}
	if m := f.Moves(); m == &f.Written && m.To > f.File.Length {
		of.grown = newestOf(of.grown, here)
	} else if ahead && m == &f.Read {
		for _, at := range of.grown {
			c.after(at, format.EdgeBytes, 0)
		}
	}
}

func handleOf(d *process.Description) *handle {
	h, ok := d.Data.(*handle)
	if !ok {
		h = new(handle)
		d.Data = h
	}
	if h.serial != d.Serial {
		*h = handle{serial: d.Serial}
	}
	return h
}

// newestOf replaces the place of a thread, or adds it.
func newestOf(all []where, at where) []where {
	all = slices.DeleteFunc(all, func(k where) bool { return k.thread == at.thread })
	return append(all, at)
}

// newestMoved does the same. The line is the first of all.
func newestMoved(all []moved, at moved) []moved {
	all = slices.DeleteFunc(all, func(k moved) bool {
		if k.thread == at.thread {
			at.line = min(at.line, k.line)
		}
		return k.thread == at.thread
	})
	return append(all, at)
}

// openRing makes the ring of a thread, before its first requests.
func (w *lower) openRing(e *format.Event, t *outThread) {
	if t.ring > 0 {
		return
	}
	t.ring = int32(len(w.threads) + 1)
	row := format.Thread{Process: t.row.Process, Parent: e.TID, Start: t.now, Ring: format.ViaUring}
	w.threads = append(w.threads, &outThread{row: row, now: t.now})
	w.out = append(w.out, format.Event{Op: format.OpRingOpen, TID: e.TID, Args: [format.MaxArgs]int64{int64(t.ring), maxUring}})
	t.count++
}

// submit puts the requests of a thread into the trace, and makes of an event the call
// that submits them and waits for all.
func (w *lower) submit(t *outThread, out *format.Event) {
	r := w.threads[t.ring-1]
	number := int64(len(t.asked))
	start := t.now + out.Compute
	for i := range t.asked {
		q := &t.asked[i]
		how := q.Notes.Request
		if how.Flags&format.ReqLinks != 0 && (i+1 == len(t.asked) || t.asked[i+1].Notes.Request.Chain != how.Chain) {
			how.Flags &^= format.ReqLinks
		}
		request := format.Event{Op: q.Op, Via: format.ViaUring, TID: t.ring, Dur: q.Dur, Ret: q.Ret, Args: q.Args, Compute: start - r.now, How: format.How{Flags: how.Flags, RW: how.RW}}
		if k := q.Op.Info().At.Vector; k >= 0 {
			request.Args[k] = 0
		}
		r.now = start
		w.out = append(w.out, request)
	}
	out.Op, out.Ret = format.OpRingSubmit, 0
	out.Args = [format.MaxArgs]int64{int64(t.ring), number, number, r.count, 0}
	r.count += number
	t.asked = t.asked[:0]
}

// Header implements format.Reader. It is that of the new trace after the last event.
func (w *lower) Header() *format.Header {
	h := *w.r.Header()
	h.Threads = nil
	for _, t := range w.threads {
		h.Threads = append(h.Threads, t.row)
	}
	h.Meta = slices.DeleteFunc(slices.Clone(h.Meta), func(m format.Meta) bool { return m.Key == format.MetaLayer || m.Key == format.MetaGlobal }) // it has no spans
	if floor, ok := h.Floor(); ok && w.floor != w.from.floor {
		floor.Total = max(floor.Total+w.floor-w.from.floor, 0)
		h.Set(format.MetaFloor, floor.String())
	}
	if w.syncs != w.from.syncs && w.syncs > 0 { // without any, writes end the groups
		h.Meta = slices.DeleteFunc(h.Meta, func(m format.Meta) bool { return m.Key == format.MetaGrouped })
	}
	return &h
}

// Compiled is a compiled trace to which transforms are applied.
type Compiled struct {
	*lower
	chain *Chain
}

// OpenCompiled applies transforms to a compiled trace. The reader's events are compiled:
// those of a new trace. It takes memory for each event of the trace that an edge leads
// to. The caller closes it.
func OpenCompiled(t Trace, funcs ...Func) (*Compiled, error) {
	from, err := newLifted(t)
	if err != nil {
		return nil, err
	}
	chain := NewChain(func() (format.Reader, error) { return from, nil }, funcs...)
	r, err := chain.Open()
	if err != nil {
		return nil, err
	}
	return &Compiled{newLower(r, from), chain}, nil
}

// Close ends the transforms.
func (c *Compiled) Close() error { return c.chain.Close() }
