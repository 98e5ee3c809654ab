package compile

import (
	"sort"
	"strings"
	"unsafe"

	"pianola/format"
	"pianola/mpi"
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

const (
	maxMoments  = 1 << 16
	momentBytes = int(unsafe.Sizeof(moment{}))
)

// add adds the newest event or span.
func (p *moments) add(n moment, b *budget) {
	if len(p.all) == maxMoments {
		p.all, p.early = p.all[:copy(p.all, p.all[maxMoments/2:])], true
	}
	room := cap(p.all)
	p.all = append(p.all, n)
	b.take(forOrder, momentBytes*(cap(p.all)-room))
}

// span puts a span into the trace. Its cost is that of the thread's next compute.
func (m *model) span(e *format.Event) error {
	t := m.thread(e)
	t.cost = min(t.cost+t.rate.Span, maxCut)
	if e.Span.Layer == mpi.Layer {
		m.mpi(t, e)
	}
	if m.out == nil || m.options.Bare {
		return nil
	}
	g := &t.gapSpans
	if !g.listed {
		g.listed = true
		m.spanning = append(m.spanning, t)
	}
	g.all = append(g.all, gapSpan{e.Clone(), m.clock(t, e.End())})
	if last := g.all[len(g.all)-1].end; len(g.all) == maxGapSpans {
		return m.placeSpans(t, last, last)
	}
	return nil
}

// gapSpans are the spans of a thread since its last event. They wait for the next event,
// which says for how much of the time in between others had the processor.
type gapSpans struct {
	all    []gapSpan
	from   int64 // on the trace's clock: what is before is settled
	listed bool  // in model.spanning
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
func (m *model) placeSpans(t *thread, seemed, did int64) error {
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
		if err := m.placeSpan(t, &s.event, settled(end-max(s.event.Dur, 0)), settled(end)); err != nil {
			return err
		}
	}
	g.all, g.from = g.all[:0], max(did, from)
	return nil
}

// placeSpan puts a span into the trace. It starts at start, if nothing is within it.
func (m *model) placeSpan(t *thread, e *format.Event, start, end int64) error {
	first := sort.Search(len(t.moments.all), func(i int) bool { return t.moments.all[i].recorded >= e.Start })
	if first < len(t.moments.all) && (first > 0 || !t.moments.early) {
		within := &t.moments.all[first]
		start = within.start - (within.recorded - e.Start)
	}
	if first > 0 {
		start = max(start, t.moments.all[first-1].end)
	}
	start = min(start, end)
	t.moments.all = t.moments.all[:first]
	t.moments.add(moment{e.Start, start, end}, m.budget)

	out := &m.events[:len(m.events)+1][len(m.events)]
	*out = format.Event{TID: t.num, Start: start, Dur: end - start, Compute: end - t.now, Ret: e.Ret, Span: m.keepSpan(t, e.Span)}
	if e.Dur < 0 {
		out.Start, out.Dur = end, format.Unknown
	}
	m.report.Spans++
	m.events = m.events[:len(m.events)+1]
	if n := len(m.events); n > 1 {
		out.How.Flags = m.events[n-2].How.Flags & format.ReqLinks // a batch ends at no link
	}
	full := m.isFull(out)
	out.How = format.How{}
	if full {
		return m.flush()
	}
	return nil
}

// keepSpan copies a span of a thread into the memory of the batch, as far as the options
// allow. Names of files become absolute.
func (m *model) keepSpan(t *thread, s *format.Span) *format.Span {
	from := len(m.spans.Values)
	for _, v := range s.Args {
		switch v.Kind {
		case format.ValuePath, format.ValueText:
			if m.options.Key != nil || v.Kind == format.ValuePath && !m.options.Names {
				v = format.Value{}
				break
			}
			path := string(v.Text)
			if v.Kind == format.ValuePath && path != "" && path[0] != '/' {
				path = m.absolute(t, path)
			}
			v.Text = m.text(path)
		case format.ValueNumbers:
			n := len(m.spans.Numbers)
			m.spans.Numbers = append(m.spans.Numbers, v.Numbers...)
			v.Numbers = m.spans.NumbersFrom(n)
		}
		m.spans.Values = append(m.spans.Values, v)
	}
	kept := m.spans.Add(*s)
	kept.Args = m.spans.ValuesFrom(from)
	return kept
}

// absolute returns the absolute form of a relative path of the application, as far as the
// working directory is known.
func (m *model) absolute(t *thread, path string) string {
	dir := t.dir().node
	if dir == m.names.root && m.cwd == "" {
		return path
	}
	return strings.TrimSuffix(m.names.original(dir.at), "/") + "/" + path
}
