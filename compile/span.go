package compile

import (
	"sort"
	"strings"

	"pianola/format"
)

// Spans, the calls of libraries, are not simulated. The trace keeps them beside the
// events, on its own clock.

// moment is the start of an event or span on both clocks, and its end on the trace's.
type moment struct{ recorded, start, end int64 }

// moments are those of a thread's newest events and spans, in the order of their start.
// A span takes the place of those within it: spans nest, so what ends later begins before
// the span or after it.
type moments struct {
	all   []moment
	early bool // older ones were dropped
}

const maxMoments = 1 << 16

// add adds the newest event or span.
func (p *moments) add(n moment, b *budget) {
	if len(p.all) == maxMoments {
		p.all, p.early = p.all[:copy(p.all, p.all[maxMoments/2:])], true
	}
	p.all = grow(b, forOrder, p.all, n)
}

// spans is the concern of spans.
type spans struct {
	*pass
	threads []*thread // that have spans, in the last pass
}

func (ss *spans) enlist() {
	if !ss.spanned || ss.options.Bare {
		return
	}
	ss.when(factSpan, ss.add)
	ss.when(factTimed, func(f fact) {
		if s := f.s; len(s.t.gapSpans.all) > 0 {
			ss.placeSpans(s.t, ss.seemed, s.t.onTrace(s.e.Start))
		}
	})
	ss.when(factWritten, func(f fact) {
		s := f.s
		at := s.t.now + s.out.Compute
		s.t.moments.add(moment{s.e.Start, at, at + max(s.out.Dur, 0)}, ss.budget)
	})
	ss.when(factOver, func(fact) {
		for _, t := range ss.threads {
			ss.settle(t)
		}
	})
}

// add adds a span to those of a thread's gap.
func (ss *spans) add(f fact) {
	t, e := f.s.t, f.s.e
	g := &t.gapSpans
	if !g.listed {
		g.listed = true
		ss.threads = append(ss.threads, t)
	}
	if g.all = append(g.all, gapSpan{e.Clone(), t.onTrace(e.End())}); len(g.all) == maxGapSpans {
		ss.settle(t)
	}
}

// settle puts the spans of a thread's gap where they seem to be.
func (ss *spans) settle(t *thread) {
	if n := len(t.gapSpans.all); n > 0 {
		last := t.gapSpans.all[n-1].end
		ss.placeSpans(t, last, last)
	}
}

// gapSpans are the spans of a thread since its last event. They wait for the next event,
// which says for how much of the time in between others had the processor.
type gapSpans struct {
	all    []gapSpan
	from   int64 // on the trace's clock: what is before is settled
	listed bool  // in spans.threads
}

// gapSpan is a span, and its end on the trace's clock as far as that is known.
type gapSpan struct {
	event format.Event
	end   int64
}

// maxGapSpans bounds them. Those before are put where they seem to be.
const maxGapSpans = 1024

// placeSpans puts the spans of a thread's gap into the trace. The gap seemed to end at one
// time of the trace's clock, and did end at the other one.
func (ss *spans) placeSpans(t *thread, seemed, did int64) {
	g := &t.gapSpans
	from, scale := max(g.from, t.now), 1.0
	if seemed > from {
		scale = float64(max(did, from)-from) / float64(seemed-from)
	}
	settled := func(at int64) int64 {
		if at <= from {
			return at
		}
		return from + int64(float64(at-from)*scale)
	}
	for i := range g.all {
		s := &g.all[i]
		end := max(s.end, t.now)
		ss.placeSpan(t, &s.event, settled(end-max(s.event.Dur, 0)), settled(end))
	}
	g.all, g.from = g.all[:0], max(did, from)
}

// placeSpan puts a span into the trace. It starts at start, if nothing is within it. It has a
// nanosecond at least, also where others had the processor for all of its time: a reader of
// the trace finds what is within it by the times.
func (ss *spans) placeSpan(t *thread, e *format.Event, start, end int64) {
	first := sort.Search(len(t.moments.all), func(i int) bool { return t.moments.all[i].recorded >= e.Start })
	if first < len(t.moments.all) && (first > 0 || !t.moments.early) {
		within := &t.moments.all[first]
		start = within.start - (within.recorded - e.Start)
	}
	if n := len(t.moments.all); n > 0 {
		end = max(end, t.moments.all[n-1].end)
	}
	if first > 0 {
		before := t.moments.all[first-1].end
		start, end = max(start, before), max(end, before+1)
	}
	start = min(start, end-1)
	t.moments.all = t.moments.all[:first]
	t.moments.add(moment{e.Start, start, end}, ss.budget)

	out := ss.next()
	*out = format.Event{TID: t.num, Start: start, Dur: end - start, Compute: end - t.now, Ret: e.Ret, Span: ss.keepSpan(t, e.Span)}
	if e.Dur < 0 {
		out.Start, out.Dur = end, format.Unknown
	}
	ss.report.Spans++
	ss.events = ss.events[:len(ss.events)+1]
	if n := len(ss.events); n > 1 {
		out.How.Flags = ss.events[n-2].How.Flags & format.ReqLinks // a batch ends at no link
	}
	full := ss.isFull(out)
	out.How = format.How{}
	if full {
		ss.flush()
	}
}

// keepSpan copies a span of a thread into the memory of the batch, as far as the options
// allow. Names of files become absolute.
func (ss *spans) keepSpan(t *thread, s *format.Span) *format.Span {
	from := len(ss.spans.Values)
	for _, v := range s.Args {
		switch v.Kind {
		case format.ValuePath, format.ValueText:
			if ss.options.Key != nil || v.Kind == format.ValuePath && !ss.options.Names {
				v = format.Value{}
				break
			}
			path := string(v.Text)
			if v.Kind == format.ValuePath && path != "" && path[0] != '/' {
				path = ss.absolute(t, path)
			}
			v.Text = ss.text(path)
		case format.ValueNumbers:
			n := len(ss.spans.Numbers)
			ss.spans.Numbers = append(ss.spans.Numbers, v.Numbers...)
			v.Numbers = ss.spans.NumbersFrom(n)
		}
		ss.spans.Values = append(ss.spans.Values, v)
	}
	kept := ss.spans.Add(*s)
	kept.Args = ss.spans.ValuesFrom(from)
	return kept
}

// absolute returns the absolute form of a relative path of the application, as far as the
// working directory is known.
func (ss *spans) absolute(t *thread, path string) string {
	dir := t.dir().node
	if dir == ss.names.root && ss.names.cwd == "" {
		return path
	}
	return strings.TrimSuffix(ss.names.original(dir.at), "/") + "/" + path
}
