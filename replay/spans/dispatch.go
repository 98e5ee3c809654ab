package spans

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"pianola/format"
	"pianola/format/layer"
	"pianola/replay"
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

// item is a span for a player.
type item struct {
	event format.Event
	place int // of its function in the layer; -1 for one that the layer lacks
	gap   int64
}

// ref is a span of a thread, by its number among those that are played.
type ref struct {
	thread *thread
	number int64
	end    int64 // in the recording
}

// queued is how many spans of a thread are read ahead.
const queued = 1024

// resource is a handle or a file that spans of several threads use.
type resource struct {
	process int32
	kind    string // type of the handle; "" for a file
	value   int64
	path    string
}

// maxResources bounds the resources that are tracked. At the bound all are dropped, so
// that threads may use one in another order.
const maxResources = 1 << 20

// outermost calls f with the spans that are played and their threads, in the order of their
// ends, and other with the other events of threads.
func (r *Replay) outermost(f func(t *thread, e *format.Event) error, other func(t *thread, e *format.Event)) error {
	for _, t := range r.threads {
		t.spans, t.next = 0, 0
	}
	return r.each(func(e *format.Event) error {
		t := r.threads[e.TID-1]
		if e.Span == nil {
			other(t, e)
			return nil
		}
		if e.Span.Layer != r.layer.Name {
			return nil
		}
		index := t.spans
		if t.spans++; t.next == len(t.outer) || t.outer[t.next].index != index {
			return nil
		}
		t.next++
		return f(t, e)
	})
}

// dispatch gives each thread its spans. It waits while a queue is full. A span waits only
// for spans that were dispatched before, so the queue empties.
func (r *Replay) dispatch(stopped <-chan struct{}) error {
	return r.outermost(func(t *thread, e *format.Event) error {
		it := &item{event: e.Clone(), place: -1, gap: e.Start - t.end}
		t.end = e.End()
		if i, ok := r.byName[e.Span.Function]; ok {
			it.place = i
		}
		select {
		case t.queue <- it:
			return nil
		case <-stopped:
			return errStopped
		}
	}, func(t *thread, e *format.Event) {
		if t.next < len(t.outer) && t.outer[t.next].start <= e.Start && e.End() <= t.outer[t.next].end {
			r.result.Inside++
		} else {
			r.result.Outside++
			r.result.OutNanos += max(e.Dur, 0)
		}
	})
}

// errStopped ends dispatch after a stop. It comes after the error that stopped the run.
var errStopped = errors.New("the replay was stopped")

// order finds the waits of spans: for the last span of another thread that used one of their
// handles or files and had ended. The waits may take so many bytes.
func (r *Replay) order(memory int64) error {
	if len(r.threads) == 1 {
		return nil
	}
	last, all := map[resource]ref{}, int64(0)
	return r.outermost(func(t *thread, e *format.Event) error {
		number := int64(t.next - 1)
		use := func(k resource) {
			if before, ok := last[k]; ok && before.thread != t && before.end <= e.Start {
				t.waits = append(t.waits, format.Wait{Event: number, For: format.Edge{Thread: before.thread.number, Event: before.number}})
				all++
			}
			if len(last) >= maxResources {
				clear(last)
			}
			last[k] = ref{t, number, e.End()}
		}
		for _, v := range e.Span.Args {
			if v.Kind == format.ValuePath {
				use(resource{path: string(v.Text)})
			}
		}
		if i, ok := r.byName[e.Span.Function]; ok {
			f := r.layer.Functions[i]
			for _, list := range [][]layer.Handle{f.Map, f.Undefine, f.Define} {
				for _, h := range list {
					if n, ok := valueOf(f, h, e); ok {
						use(resource{process: t.process, kind: h.Type, value: n})
					}
				}
			}
		}
		if all*waitBytes > memory {
			return fmt.Errorf("the waits of spans take more than %d bytes: %w", memory, replay.ErrLimit)
		}
		return nil
	}, func(*thread, *format.Event) {})
}

const waitBytes = int64(unsafe.Sizeof(format.Wait{}))

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
