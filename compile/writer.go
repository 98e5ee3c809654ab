package compile

import "pianola/format"

// batch is compiled events, with the memory of their strings, edges and spans.
type batch struct {
	events []format.Event // capacity is at least one more than the length
	arena  []byte
	edges  []format.Edge
	spans  format.SpanMemory
	err    error // of the Sink
}

func newEvents() []format.Event { return make([]format.Event, 0, batchSize+maxChain+1) }

// batches is how many batches there are between a pass and the Sink.
const batches = 4

// writer hands batches to a Sink in a goroutine of its own.
type writer struct {
	full, free chan batch
	done       chan error
}

func newWriter(out Sink) *writer {
	w := &writer{full: make(chan batch, batches), free: make(chan batch, batches), done: make(chan error, 1)}
	for range batches {
		w.free <- batch{events: newEvents()}
	}
	go func() {
		var err error
		for b := range w.full {
			if err == nil {
				err = out.Write(b.events)
			}
			b.spans.Reset()
			w.free <- batch{events: b.events[:0], arena: b.arena[:0], edges: b.edges[:0], spans: b.spans, err: err}
		}
		w.done <- err
	}()
	return w
}

// write hands a batch over and returns an empty one.
func (w *writer) write(b batch) (batch, error) {
	w.full <- b
	b = <-w.free
	return b, b.err
}

// end waits until all batches are written. The writer can't be used afterwards.
func (w *writer) end() error {
	close(w.full)
	return <-w.done
}
