package compile

import "pianola/format"

// batch is compiled events with what their strings and edges are parts of.
type batch struct {
	events []format.Event // with room for one more
	arena  []byte
	edges  []format.Edge
	err    error // of the Sink
}

// batches is how many are between a pass and the Sink at once.
const batches = 4

// writer hands batches to a Sink by a goroutine of its own.
type writer struct {
	full, free chan batch
	done       chan error
}

func newWriter(out Sink) *writer {
	w := &writer{full: make(chan batch, batches), free: make(chan batch, batches), done: make(chan error, 1)}
	for range batches {
		w.free <- batch{events: make([]format.Event, 0, batchSize+1)}
	}
	go func() {
		var err error
		for b := range w.full {
			if err == nil {
				err = out.Write(b.events)
			}
			w.free <- batch{events: b.events[:0], arena: b.arena[:0], edges: b.edges[:0], err: err}
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

// end waits until all is written. The writer is of no use afterwards.
func (w *writer) end() error {
	close(w.full)
	return <-w.done
}
