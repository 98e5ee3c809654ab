package profile

import (
	"sort"
	"strings"

	"pianola/format"
	"pianola/internal/stats"
)

// spans finds out what the calls of libraries (format.Span) caused. A span comes after
// all that is within it. So each thread has, for each layer, a list of what no span of
// the layer holds so far: a span takes from its end what begins within the span, and
// stands there in its place. So each call is taken by the innermost span of the layer.
//
// Memory is bounded: the older a part of a list is, the more of it is one block.
type spans struct {
	layers  []*layer
	remarks int // of the header that were looked at
	blocks  int // of all lists
	threads map[*threadSpans]struct{}
	calls   spanCalls
}

const (
	// maxLayers and maxFunctions bound the layers, and the functions of all of them,
	// that are told apart. A histogram of a function takes 36 KiB.
	maxLayers    = 16
	maxFunctions = 1 << 10

	// maxBlocks is how many blocks the list of a thread has at most, and maxAllBlocks
	// how many all lists have together, about 60 MiB of them. A thread whose list would be
	// beyond that starts again with an empty one.
	maxBlocks    = 1 << 12
	maxAllBlocks = 1 << 19

	// blockPart is the part of the newer events of a list that a block holds at most, where
	// there are too many blocks. A span that begins within a block lacks it.
	blockPart = 1 << 7

	// maxEndedSpans is how many spans wait for the next event of their thread, and maxPoints
	// how many points a course has.
	maxEndedSpans = 1 << 12
	maxPoints     = 1 << 10
)

// layer is what is counted of a layer.
type layer struct {
	name      string
	place     int                  // in threadSpans.lists
	functions map[string]*function // by name
	list      []*function
	asks      bool  // see function
	asked     int64 // by reads and writes
}

// function is what is counted of a function. Its figures are those of Function.
type function struct {
	layer *layer
	name  string
	kind  string

	calls, failed int64
	nanos, self   int64
	waited, ready int64 // off the processor between events, in self
	asks          bool  // some of its calls say how many bytes they were asked to move
	asked         int64
	caused        map[cause]*Total
	durations     stats.Histogram
}

// cause is what the events of a span are grouped by.
type cause struct {
	op   format.Op
	what Activity
}

// item is what a block holds of one cause, or of one function.
type item struct {
	of    *function // nil for a cause
	cause cause
	total Total // of a function the time only
}

// block is neighbouring events and outermost spans of a thread.
type block struct {
	start int64 // of the first
	count int64 // of them
	first item
	more  []item
	file  *file // that they are about: nil for none, or manyFiles

	// These are the sums of the spans.
	nanos, waited, ready, asked int64
}

// threadSpans is what spans of a thread need.
type threadSpans struct {
	lane  *lane
	lists [maxLayers][]block // by layer
	ended []endedSpan        // since the last event, in order
	off   course
}

// endedSpan is a span whose time off the processor is not known before the next event.
type endedSpan struct {
	function   *function
	start, end int64
	asked      int64
	failed     bool
	path       string // that the call names
}

// course is the time off the processor up to some moments, with straight lines between.
type course []point

type point struct{ at, waited, ready int64 }

// add adds what passed off the processor in a gap between two events.
func (c *course) add(from, to int64, off format.Off) {
	if len(*c) >= maxPoints {
		list := *c
		n := len(list) / 4 // the older half loses every other point
		for i := range n {
			list[i] = list[2*i]
		}
		*c = append(list[:n], list[2*n:]...)
	}
	last := point{}
	if n := len(*c); n > 0 {
		last = (*c)[n-1]
	}
	ready := off.Ready + off.Own
	*c = append(*c, point{max(from, last.at), last.waited, last.ready}, point{to, last.waited + off.Total() - ready, last.ready + ready})
}

// until returns the time off the processor up to a moment.
func (c course) until(at int64) (waited, ready int64) {
	i := sort.Search(len(c), func(i int) bool { return c[i].at > at })
	if i == 0 {
		return 0, 0
	}
	a := &c[i-1]
	if i == len(c) {
		return a.waited, a.ready
	}
	b := &c[i]
	part := float64(at-a.at) / float64(b.at-a.at)
	return a.waited + int64(part*float64(b.waited-a.waited)), a.ready + int64(part*float64(b.ready-a.ready))
}

// name makes the layers that the header newly names, so that calls before their first
// span count.
func (s *spans) name(h *format.Header) {
	for _, m := range h.Meta[s.remarks:] {
		if m.Key == format.MetaLayer {
			name, _, _ := strings.Cut(m.Value, " ")
			s.layer(name)
		}
	}
	s.remarks = len(h.Meta)
}

// layer returns the layer of a name. Those beyond the bound share one.
func (s *spans) layer(name string) *layer {
	for _, l := range s.layers {
		if l.name == name {
			return l
		}
	}
	n := len(s.layers)
	switch n {
	case maxLayers:
		return s.layers[n-1]
	case maxLayers - 1:
		name = othersName
	}
	l := &layer{name: name, place: n, functions: map[string]*function{}}
	s.layers = append(s.layers, l)
	return l
}

// function returns the function of a span. Those of a layer beyond the bound share
// one.
func (s *spans) function(span *format.Span) *function {
	l := s.layer(span.Layer)
	if f := l.functions[span.Function]; f != nil {
		return f
	}
	all := 0
	for _, l := range s.layers {
		all += len(l.list)
	}
	name, kind := span.Function, span.Kind
	if all >= maxFunctions {
		name, kind = othersName, ""
		if f := l.functions[name]; f != nil {
			return f
		}
	}
	f := &function{layer: l, name: name, kind: kind, caused: map[cause]*Total{}}
	l.functions[name] = f
	l.list = append(l.list, f)
	return f
}

// call adds a call of a thread, on a file or none, which began after the thread's last one
// ended.
func (s *spans) call(t *thread, c *call, e *format.Event, f *file) {
	if len(s.layers) == 0 {
		return
	}
	s.follow(t)
	if gap := c.start - t.last; gap > 0 && !e.Off.IsZero() {
		t.spans.off.add(t.last, c.start, e.Off.Within(gap))
	}
	s.settle(t.spans)
	for i := range s.layers {
		s.push(t.spans, i, block{start: c.start, count: 1, file: f, first: item{cause: cause{e.Op, c.activity(e)}, total: c.total}})
	}
	if e.Acts().Any(format.Ends) {
		s.end(t)
	}
}

// span adds a span of a thread.
func (s *spans) span(t *thread, e *format.Event) {
	f := s.function(e.Span)
	s.follow(t)
	f.calls++
	if e.Span.Failed {
		f.failed++
	}
	if e.Dur < 0 {
		return
	}
	f.durations.Add(e.Dur)
	start := max(e.Start, 0)
	one := endedSpan{function: f, start: start, end: start + e.Dur, asked: min(e.Span.Bytes, maxTime), failed: e.Span.Failed}
	if s.calls.to > 0 {
		one.path = s.calls.path(e.Span)
	}
	t.spans.ended = append(t.spans.ended, one)
	if len(t.spans.ended) == maxEndedSpans {
		s.settle(t.spans)
	}
}

// end forgets the lists of a thread that has ended.
func (s *spans) end(t *thread) {
	if t.spans == nil {
		return
	}
	s.settle(t.spans)
	for i := range t.spans.lists {
		s.blocks -= len(t.spans.lists[i])
	}
	delete(s.threads, t.spans)
	t.spans = nil
}

// follow makes a thread have lists.
func (s *spans) follow(t *thread) {
	if t.spans != nil {
		return
	}
	t.spans = &threadSpans{lane: t.lane}
	if s.threads == nil {
		s.threads = map[*threadSpans]struct{}{}
	}
	s.threads[t.spans] = struct{}{}
}

// settle lets the spans that have ended take what is within them.
func (s *spans) settle(t *threadSpans) {
	for i := range t.ended {
		s.take(t, &t.ended[i])
	}
	t.ended = t.ended[:0]
}

func (s *spans) take(t *threadSpans, e *endedSpan) {
	f := e.function
	place := f.layer.place
	list := t.lists[place]
	from := len(list)
	for from > 0 && list[from-1].start >= e.start {
		from--
	}
	now := block{start: e.start, count: 1, first: item{of: f}, nanos: e.end - e.start}
	now.first.total.Nanos = now.nanos
	waited, ready := t.off.until(e.start)
	now.waited, now.ready = t.off.until(e.end)
	now.waited -= waited
	now.ready -= ready

	var inner block // the spans within
	for i := range list[from:] {
		b := &list[from+i]
		now.count += b.count
		now.file = sharedFile(now.file, b.file)
		inner.nanos += b.nanos
		inner.waited += b.waited
		inner.ready += b.ready
		inner.asked += b.asked
		b.each(func(one *item) {
			switch {
			case one.of == nil:
				f.count(one)
			case one.of == f:
				f.nanos -= one.total.Nanos // it is in this one
			default:
				now.add(one)
			}
		})
	}
	f.nanos += now.nanos
	self := max(now.nanos-inner.nanos, 0)
	f.self += self
	f.waited += max(now.waited-inner.waited, 0)
	f.ready += max(now.ready-inner.ready, 0)
	if now.asked = inner.asked; e.asked >= 0 {
		f.asks, f.asked = true, min(f.asked+e.asked, maxTime)
		if f.kind == "read" || f.kind == "write" {
			f.layer.asks = true
			f.layer.asked = min(f.layer.asked+max(e.asked-inner.asked, 0), maxTime)
			now.asked = max(e.asked, inner.asked)
		}
	}
	if s.calls.to > 0 {
		one := spanCall{function: f, lane: t.lane, file: e.path, start: e.start, end: e.end, self: self, bytes: e.asked, failed: e.failed}
		if one.file == "" && now.file != nil && now.file != manyFiles {
			one.file = now.file.name
		}
		s.calls.add(one)
	}
	s.blocks -= len(list) - from
	t.lists[place] = list[:from]
	s.push(t, place, now)
}

// push adds a block to the list of a thread and a layer.
func (s *spans) push(t *threadSpans, place int, b block) {
	list := &t.lists[place]
	switch {
	case s.blocks >= maxAllBlocks:
		s.blocks -= len(*list)
		*list = (*list)[:0]
	case len(*list) >= maxBlocks:
		s.blocks -= len(*list)
		*list = folded(*list)
		s.blocks += len(*list)
	}
	*list = append(*list, b)
	s.blocks++
}

// folded makes fewer blocks of a list, in its memory.
func folded(list []block) []block {
	newer := int64(0)
	for i := range list {
		newer += list[i].count
	}
	out := list[:0]
	for i := range list {
		b := list[i]
		newer -= b.count
		if n := len(out); n > 0 && out[n-1].count+b.count <= newer/blockPart {
			out[n-1].merge(&b)
		} else {
			out = append(out, b)
		}
	}
	clear(list[len(out):])
	return out
}

func (b *block) merge(o *block) {
	b.count += o.count
	b.nanos += o.nanos
	b.waited += o.waited
	b.ready += o.ready
	b.asked += o.asked
	b.file = sharedFile(b.file, o.file)
	o.each(b.add)
}

// each calls f with the items of a block.
func (b *block) each(f func(*item)) {
	f(&b.first)
	for i := range b.more {
		f(&b.more[i])
	}
}

// add adds an item.
func (b *block) add(one *item) {
	same := func(o *item) bool { return o.of == one.of && o.cause == one.cause }
	if same(&b.first) {
		b.first.total.add(&one.total)
		return
	}
	for i := range b.more {
		if same(&b.more[i]) {
			b.more[i].total.add(&one.total)
			return
		}
	}
	b.more = append(b.more, *one)
}

// count adds what a call of the function caused.
func (f *function) count(one *item) {
	t := f.caused[one.cause]
	if t == nil {
		t = new(Total)
		f.caused[one.cause] = t
	}
	t.add(&one.total)
}
