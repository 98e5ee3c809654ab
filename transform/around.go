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
// recording is read once for that, and then again. It remembers the spans that hold events.
// Others are around none.
type around struct {
	format.Reader // the recording, from its beginning, with spans
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

var errNoSpans = errors.New("the field span needs a recording with calls of libraries, before any other transform")

func newAround(r format.Reader) (*around, error) {
	rewinds, ok := r.(Rewinder)
	if !ok || !format.WantSpans(r) {
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
	format.WantSpans(a.Reader)
	return a, nil
}

// look reads the whole recording.
func (a *around) look(r format.Reader) error {
	batch := make([]format.Event, lookAhead)
	names, spans := map[string]string{}, 0
	for {
		n, err := r.Read(batch)
		for i := range batch[:n] {
			e := &batch[i]
			t := a.threads[e.TID]
			if t == nil {
				t = &covered{last: -1}
				a.threads[e.TID] = t
			}
			switch {
			case e.Op != format.OpSpan:
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
	if e.Op != format.OpSpan {
		t.open = slices.DeleteFunc(t.open, func(s held) bool { return s.end <= e.Start && s.end < end })
	}
	for _, s := range t.open {
		if s.start <= e.Start && s.end >= end {
			a.names = append(a.names, s.name)
		}
	}
	return a.names
}
