package record

import (
	"errors"
	"time"

	"pianola/format"
	"pianola/format/coverage"
)

// Sink takes what is recorded. Its methods are called by one goroutine at a
// time. A Sink that also has a method Flush() error is flushed about once a
// second, so that a recorder that is killed leaves nearly everything behind.
type Sink interface {
	format.Writer

	// WriteHeader is called before the first event with what is known at the
	// start, before an event of a process that enters the recording with how that
	// stood, and after the last with what is known at the end only.
	WriteHeader(*format.Header) error
}

// Parted is a Sink that makes several scripts of a recording. Before the first event a
// recorder that knows in mid-run calls Ends with a function that returns what the last header
// would say if the recording ended before the events that the Sink was given last. It may be
// called by the methods of the Sink.
type Parted interface {
	Sink
	Ends(func() (*format.Header, error))
}

// looker is a Sink that has something to do whenever a recorder has looked for events,
// though there were none.
type looker interface{ Look() error }

type flusher interface{ Flush() error }

const (
	batchEvents   = 1024
	flushInterval = time.Second
)

// Writer decodes calls and hands the events to a Sink in batches. It belongs to
// one goroutine at a time.
type Writer struct {
	sink     Sink
	decoder  decoder
	requests inFlight
	spaces   spaces
	blocks   blocks
	batch    [batchEvents]format.Event
	account  coverage.Account // of what the events hold
	handed   coverage.Account // of those before the batch that the sink is given; for a Parted sink
	parted   bool             // the sink is
	n        int              // events in the batch
	events   int64            // handed to the sink
	began    time.Time        // the time 0 of the events
	flushed  time.Time
	machine  usage // at the begin
	dirty    bool  // events since flushed
}

// NewWriter returns a writer of events whose time counts from start, in
// nanoseconds of the clock of the calls, which is now.
func NewWriter(s Sink, start int64) *Writer {
	now := time.Now()
	_, parted := s.(Parted)
	return &Writer{parted: parted, sink: s, decoder: decoder{arch: format.HostArch, start: start}, began: now, flushed: now, machine: readUsage()}
}

// Begin writes the header that the recording begins with. Its start is the time 0 of the events, so
// that recordings which were made side by side keep their distance.
func (w *Writer) Begin(h *format.Header) error {
	h.Set(format.MetaStart, w.began.Format(time.RFC3339Nano))
	return w.sink.WriteHeader(h)
}

// Add decodes a call into the batch and reports whether the batch is full; Write
// must come next then. The batch borrows the strings of the call until Write.
func (w *Writer) Add(c *Call) (full bool, err error) {
	if err := w.decoder.decode(c, &w.batch[w.n]); err != nil {
		return false, err
	}
	e := &w.batch[w.n]
	w.blocks.note(e, c, w.began)
	if c.Space == 0 {
		w.spaces.opened(e)
		account(&w.account, e)
	} else {
		accountMapped(&w.account, e, w.spaces.call(c.Space, e))
	}
	if e.Op == format.OpIOSubmit && e.Ret < e.Args[1] && e.Notes.Known(format.NotedBatch) {
		w.requests.cut(e.TID, e.Notes.Request.Batch, uint32(max(e.Ret, 0)))
	}
	w.n++
	return w.n == len(w.batch), nil
}

// WriteHeader writes lines that stand before the next event.
func (w *Writer) WriteHeader(h *format.Header) error {
	if err := w.Write(); err != nil {
		return err
	}
	return w.sink.WriteHeader(h)
}

// Write hands the batch to the sink and empties it.
func (w *Writer) Write() error {
	if w.n == 0 {
		return nil
	}
	err := w.sink.Write(w.batch[:w.n])
	if enough, ok := errors.AsType[*Enough](err); ok {
		w.events += int64(enough.Taken)
		w.n = 0
	}
	if err != nil {
		return err
	}
	w.events += int64(w.n)
	w.n, w.dirty = 0, true
	if w.parted {
		w.account.CopyTo(&w.handed)
	}
	w.decoder.reset()
	w.blocks.reset()
	return nil
}

// Flush flushes the sink if it can be flushed and it is time to.
func (w *Writer) Flush() error {
	if l, ok := w.sink.(looker); ok {
		if err := l.Look(); err != nil {
			return err
		}
	}
	f, ok := w.sink.(flusher)
	if !ok || !w.dirty || time.Since(w.flushed) < flushInterval {
		return nil
	}
	w.flushed, w.dirty = time.Now(), false
	return f.Flush()
}

// Events returns how many events the sink has taken.
func (w *Writer) Events() int64 { return w.events }

// Handed sets a to the coverage of the events that were handed to a Parted sink before those
// that it is given.
func (w *Writer) Handed(a *coverage.Account) {
	w.handed.CopyTo(a)
	a.Known = true
}

// Account returns the coverage of the events so far, as far as they tell it. A
// recorder adds what it has counted besides.
func (w *Writer) Account() coverage.Account {
	w.account.Known = true
	return w.account
}
