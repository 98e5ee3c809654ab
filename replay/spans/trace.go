package spans

import (
	"io"

	"pianola/format"
)

// trace presents the played spans to the engine as records with their places in time.
type trace struct{ r *Replay }

// spanOp is the operation of the records. The engine only checks whether it starts or
// ends a thread, which no span does.
const spanOp = format.OpRead

// Header implements format.Trace. All threads are there from the start.
func (t *trace) Header() *format.Header {
	h := &format.Header{}
	for _, k := range t.r.threads {
		h.Threads = append(h.Threads, format.Thread{Process: k.process})
	}
	return h
}

// Strings implements format.Trace, as the methods below.
func (t *trace) Strings() []string { return nil }

func (t *trace) Len(thread int32) int64                    { return int64(len(t.of(thread).outer)) }
func (t *trace) Waits(thread int32) ([]format.Wait, error) { return t.of(thread).waits, nil }
func (t *trace) Ways(int32) format.WayReader               { return nil }
func (t *trace) Lists(int32) format.ListReader             { return nil }
func (t *trace) Records(thread int32) format.RecordReader  { return (*records)(t.of(thread)) }

func (t *trace) Durations(thread int32) format.DurationReader {
	return &durations{of: t.of(thread).outer}
}

func (t *trace) of(thread int32) *thread { return t.r.threads[thread-1] }

// records reads the records of a thread as dispatch queues its spans.
type records thread

// Read implements format.RecordReader. It waits for a span only if none is left to be
// played, and not before the start: until then, dispatch may wait for this thread.
func (k *records) Read(batch []format.Record) (n int, err error) {
	if !k.opened {
		k.opened = true
		return 0, nil
	}
	for n < len(batch) {
		it := k.take(len(k.items) == 0)
		if it == nil {
			break
		}
		k.items = append(k.items, it)
		batch[n] = format.Record{Op: spanOp, Compute: it.gap}
		n++
	}
	if len(k.items) == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// take returns the next dispatched span. It returns nil if there is none yet, or, if waits
// is set, at the end or after a stop.
func (k *records) take(waits bool) *item {
	if !waits {
		select {
		case it := <-k.queue:
			return it
		default:
			return nil
		}
	}
	select {
	case it := <-k.queue:
		return it
	case <-k.r.engine.Done():
		return nil
	}
}

// durations reads how long the spans of a thread took.
type durations struct{ of []outer }

// Read implements format.DurationReader.
func (d *durations) Read(nanos []int64) (int, error) {
	if len(d.of) == 0 {
		return 0, io.EOF
	}
	n := min(len(nanos), len(d.of))
	for i, o := range d.of[:n] {
		nanos[i] = o.end - o.start
	}
	d.of = d.of[n:]
	return n, nil
}
