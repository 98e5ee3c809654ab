package transform

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"pianola/format"
)

// around finds the spans around events. A span comes after the events within it, so the
// recording or the compiled trace is read once for that, and then again. It remembers the
// spans that hold events. Others are around none.
type around struct {
	format.Reader // from the beginning; of a recording, with spans
	threads       map[int32]*covered
	names         []string // memory of of
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

var errNoSpans = errors.New("the field span needs a recording or a trace with calls of libraries, before any other transform")

// surrounded is a reader of the events of a compiled trace that knows the spans around them.
type surrounded interface {
	around() (*around, error)
}

func (r rewinder) around() (*around, error) {
	if s, ok := r.Reader.(surrounded); ok {
		return s.around()
	}
	return nil, nil
}

func (s onlySpans) around() (*around, error) {
	if lineageOf(s.Reader) == nil {
		return nil, nil // a recording can be read again
	}
	return s.only.spans, nil
}

// around reads the spans of the trace.
func (l *lifted) around() (*around, error) {
	events := l.trace.Events()
	a := &around{threads: map[int32]*covered{}}
	return a, a.look(events)
}

// before returns what finds the spans around the events of r, from the first on.
func (a *around) before(r format.Reader) *around {
	out := &around{Reader: r, threads: make(map[int32]*covered, len(a.threads))}
	for thread, t := range a.threads {
		out.threads[thread] = &covered{all: t.all}
	}
	return out
}

func newAround(r format.Reader) (*around, error) {
	if s, ok := r.(surrounded); ok {
		if a, err := s.around(); a != nil || err != nil {
			if err != nil {
				return nil, err
			}
			return a.before(r), nil
		}
	}
	rewinds, ok := r.(Rewinder)
	if !ok {
		return nil, errNoSpans
	}
	a := &around{threads: map[int32]*covered{}}
	if err := a.look(r); err != nil {
		return nil, err
	}
	var err error
	if a.Reader, err = rewinds.Again(); err != nil {
		return nil, err
	}
	return a, nil
}

// look reads the whole recording.
func (a *around) look(r format.Reader) error {
	batch := make([]format.Event, lookAhead)
	names, spans, some := map[string]string{}, 0, false
	for {
		n, err := r.Read(batch)
		for i := range batch[:n] {
			e := &batch[i]
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
				spans++
			}
		}
		if spans > maxHeldSpans {
			return fmt.Errorf("more than %d calls of libraries with system calls in them", maxHeldSpans)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if !some {
		return errNoSpans
	}
	for _, t := range a.threads {
		slices.SortStableFunc(t.all, func(a, b held) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
		})
	}
	return nil
}

// of returns the names of the spans around an event or a span, which must be the next of
// its thread. The result is valid until the next call.
func (a *around) of(e *format.Event) []string {
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

func (a *around) lineage() *lineage { return lineageOf(a.Reader) }
