package spans

import (
	"context"
	"strings"
	"unsafe"

	"pianola/format"
	"pianola/layer"
)

// outer is a span of a thread that no other encloses.
type outer struct {
	index      int64 // among the spans of the thread and layer
	start, end int64
}

// within reports whether a later span of the thread encloses o. A short call has no
// duration once its cost is subtracted, and can lie where the next one begins.
func (o *outer) within(e *format.Event) bool {
	return o.start >= e.Start && o.end <= e.End() && o.end > e.Start
}

const outerBytes = int64(unsafe.Sizeof(outer{}))

// item is a span that a worker plays.
type item struct {
	event format.Event
	place int // of its function in the layer; -1 for one that the layer lacks
	gap   int64
	after []ref // spans of other threads that it waits for
}

// ref is a span of a thread, by its position among those that are dealt.
type ref struct {
	thread *thread
	seq    int64
	end    int64 // in the recording
}

// queued is how many spans of a thread are read ahead.
const queued = 1024

// thing is what spans of several threads use: a handle or a file.
type thing struct {
	process int32
	kind    string // type of the handle; "" for a file
	value   int64
	path    string
}

// maxThings bounds how many are remembered. Beyond that all are forgotten, so that
// threads may come to use one in another order.
const maxThings = 1 << 20

// deal gives each thread its spans. A queue that is full keeps it waiting; a span waits
// only for spans that were dealt before, so the queue empties.
func (r *Replay) deal(ctx context.Context) error {
	last := map[thing]ref{}
	several := 0
	for _, t := range r.threads {
		if len(t.outer) > 0 {
			several++
		}
	}
	return r.each(func(e *format.Event) error {
		t := r.threads[e.TID-1]
		if e.Span == nil {
			if len(t.outer) > 0 && t.outer[0].start <= e.Start && e.End() <= t.outer[0].end {
				r.result.Inside++
			} else {
				r.result.Outside++
				r.result.OutNanos += max(e.Dur, 0)
			}
			return nil
		}
		if e.Span.Layer != r.layer.Name {
			return nil
		}
		index := t.spans
		if t.spans++; len(t.outer) == 0 || t.outer[0].index != index {
			return nil
		}
		t.outer = t.outer[1:]
		it := &item{event: e.Clone(), place: -1, gap: e.Start - t.end}
		t.end = e.End()
		r.result.Recorded = max(r.result.Recorded, duration(t.end))
		if i, ok := r.byName[e.Span.Function]; ok {
			it.place = i
		}
		if several > 1 {
			r.order(it, t, last)
		}
		t.dealt++
		select {
		case t.queue <- it:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// order finds what a span waits for: the last span of another thread that used one of
// its handles or files and had ended.
func (r *Replay) order(it *item, t *thread, last map[thing]ref) {
	use := func(k thing) {
		if before, ok := last[k]; ok && before.thread != t && before.end <= it.event.Start {
			it.after = append(it.after, before)
		}
		if len(last) >= maxThings {
			clear(last)
		}
		last[k] = ref{t, t.dealt, it.event.End()}
	}
	s := it.event.Span
	for _, v := range s.Args {
		if v.Kind == format.ValuePath {
			use(thing{path: r.places[string(v.Text)]})
		}
	}
	if it.place < 0 {
		return
	}
	f := r.layer.Functions[it.place]
	for _, list := range [][]layer.Handle{f.Map, f.Undefine, f.Define} {
		for _, h := range list {
			if n, ok := valueOf(f, h, &it.event); ok {
				use(thing{process: t.process, kind: h.Type, value: n})
			}
		}
	}
}

// valueOf returns the value of a handle in a span, if it was recorded.
func valueOf(f *layer.Function, h layer.Handle, e *format.Event) (int64, bool) {
	if h.Value == layer.Result {
		return e.Ret, e.Ret != format.NoResult
	}
	i := f.Index(strings.TrimPrefix(h.Value, "*"))
	if i < 0 || i >= len(e.Span.Args) || e.Span.Args[i].Kind == format.ValueUnread {
		return 0, false
	}
	return e.Span.Args[i].Int, true
}
