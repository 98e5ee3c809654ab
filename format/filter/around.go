package filter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"pianola/format"
)

// Around finds the spans around events. A span comes after the events within it, so a
// recording or a compiled trace is read once for that, and then again. It remembers the
// spans that hold events. Others are around none.
type Around struct {
	threads map[int32]*covered
	names   []string // memory of Of
}

// covered is the spans of a thread that hold events, by their start, outer ones first.
type covered struct {
	all  []held
	next int    // the first of all that no event has reached
	open []held // those that an event has reached, and that have not ended
	last int64  // start of the newest event, -1 before the first
}

// held is a span that holds events.
type held struct {
	start, end int64
	name       string
}

// maxHeldSpans bounds the spans that hold events, 160 MiB of them.
const maxHeldSpans = 1 << 22

// ErrNoSpans is the error of an expression with the field span for events without spans.
var ErrNoSpans = errors.New("the field span needs a recording or a trace with calls of libraries, before any other transform")

// NewAround reads all events and spans of r.
func NewAround(r format.Reader) (*Around, error) {
	a := &Around{threads: map[int32]*covered{}}
	names, spans, some := map[string]string{}, 0, false
	err := format.Each(r, func(e *format.Event) error {
		t := a.threads[e.TID]
		if t == nil {
			t = &covered{last: -1}
			a.threads[e.TID] = t
		}
		some = some || e.Span != nil
		switch {
		case e.Span == nil:
			t.last = max(t.last, e.Start)
		case e.Dur >= 0 && t.last >= e.Start:
			name := e.Span.Name()
			if names[name] == "" {
				names[name] = name
			}
			t.all = append(t.all, held{e.Start, e.End(), names[name]})
			if spans++; spans > maxHeldSpans {
				return fmt.Errorf("more than %d calls of libraries with system calls in them", maxHeldSpans)
			}
		}
		return nil
	})
	if err == nil && !some {
		err = ErrNoSpans
	}
	if err != nil {
		return nil, err
	}
	for _, t := range a.threads {
		slices.SortStableFunc(t.all, func(a, b held) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
		})
	}
	return a, nil
}

// Again returns the same for the events from the first one on.
func (a *Around) Again() *Around {
	out := &Around{threads: make(map[int32]*covered, len(a.threads))}
	for thread, t := range a.threads {
		out.threads[thread] = &covered{all: t.all}
	}
	return out
}

// Of returns the names of the spans around an event or a span, which must be the next of
// its thread. The result is valid until the next call.
func (a *Around) Of(e *format.Event) []string {
	a.names = a.names[:0]
	t := a.threads[e.TID]
	if t == nil {
		return nil
	}
	end := max(e.End(), e.Start)
	for ; t.next < len(t.all) && t.all[t.next].start <= e.Start; t.next++ {
		t.open = append(t.open, t.all[t.next])
	}
	if e.Span == nil {
		t.open = slices.DeleteFunc(t.open, func(s held) bool { return s.end <= e.Start && s.end < end })
	}
	for _, s := range t.open {
		if s.start <= e.Start && s.end >= end {
			a.names = append(a.names, s.name)
		}
	}
	return a.names
}
