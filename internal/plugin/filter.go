package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"pianola/format"
	"pianola/format/script"
)

// Sink takes the events of a trace and, at the end, its header.
type Sink interface {
	format.Writer
	Close(h *format.Header) error
}

// Filter passes a trace through the program. It writes the events of in to the program,
// with the header and the thread numbers, and the program's output to out. Both
// directions run at the same time. Spool must be empty; it holds the program's output.
//
// In a trace of several threads, and in one that was recorded by eBPF, each line has a
// note at=THREAD:EVENT. Edges in the program's output name events by these numbers,
// whatever events were added or removed before them. Other notes, and notes of events
// that do not exist, are errors.
//
//   - An edge to a repeated line waits for the last one.
//
//   - An edge to a removed event waits for the line before it in its thread.
//
//   - The next line of the thread inherits the edges of a removed event.
//
//   - An edge to a line of the same thread that does not come before is dropped.
//
// With a part, the program is given only its events. The others keep their place among the
// events of their thread, and a new line stands directly after the line before it.
//
// Delays stay unchanged. The compute before a removed event, including its wait, is
// added to the next line, so that line does not begin earlier than recorded.
//
// Memory: 4 bytes per event and 40 per edge.
func (p *Program) Filter(ctx context.Context, in format.Reader, part *Part, spool io.ReadWriteSeeker, out Sink) error {
	r, err := p.start(ctx, true)
	if err != nil {
		return err
	}
	f := newFeed(in, part, r)
	go f.run()
	places := newPlaces(f)
	_, fault := p.read(ctx, io.TeeReader(r, spool), newMerger(places, part, places.survey))
	err = r.end(fault)
	<-f.done
	switch {
	case f.err != nil && ctx.Err() == nil:
		return f.err
	case err != nil:
		return err
	}
	places.settle()
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var left times
	h, err := p.read(ctx, spool, newMerger(places, part, func(events []format.Event) error {
		left.add(events)
		if err := places.mend(events); err != nil {
			return err
		}
		return out.Write(events)
	}))
	if err == nil {
		if left != f.times {
			h = withoutFloor(h)
		}
		err = p.named(out.Close(h))
	}
	return err
}

// read reads an intermediate script to its end, unless ctx is done first, merges it with what
// the program was not given, and returns the header.
func (p *Program) read(ctx context.Context, from io.Reader, all *merger) (*format.Header, error) {
	r := script.NewReader(from, p.text)
	r.Partial = true // the program may have removed all events of a path
	all.use = r.Use
	batch := make([]format.Event, batchSize)
	some := false
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n, err := r.Read(batch)
		if d := r.Dialect(); n > 0 && d != script.Intermediate {
			return nil, fmt.Errorf("%s: wrote a script of the %s dialect, not an intermediate one", p, d)
		}
		if err := all.add(batch[:n]); err != nil {
			return nil, p.named(err)
		}
		some = some || n > 0
		switch {
		case errors.Is(err, io.EOF) && !some && (p.Only == "" || r.Dialect() != script.Intermediate): // it may remove all that it is given
			return nil, fmt.Errorf("%s: wrote no events", p)
		case errors.Is(err, io.EOF):
			if err := all.finish(); err != nil {
				return nil, p.named(err)
			}
			r.Settle()
			return r.Header(), nil
		case err != nil:
			return nil, err
		}
	}
}

// times are the totals on which the minimum run time of a trace depends.
type times struct{ events, compute, held, expired int64 }

func (t *times) add(events []format.Event) {
	t.events += int64(len(events))
	for i := range events {
		t.compute += events[i].Compute
		t.held += events[i].Held
		t.expired += events[i].Expired
	}
}

// withoutFloor returns a header without the minimum run time.
func withoutFloor(h *format.Header) *format.Header {
	other := *h
	other.Meta = slices.DeleteFunc(slices.Clone(h.Meta), func(m format.Meta) bool { return m.Key == format.MetaFloor })
	return &other
}

// named adds the program's name to an error. It returns nil for nil.
func (p *Program) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", p, err)
}
