package script

import (
	"fmt"
	"io"

	"pianola/format"
)

// bufferSize is how much a writer gathers before it writes, in bytes.
const bufferSize = 64 << 10

// buffer gathers lines. After an error it drops them.
type buffer struct {
	w    io.Writer
	text []byte
	err  error
}

func newBuffer(w io.Writer) buffer {
	return buffer{w: w, text: make([]byte, 0, bufferSize+4<<10)}
}

// flushFull writes what is gathered if it is enough.
func (b *buffer) flushFull() error {
	if len(b.text) < bufferSize {
		return b.err
	}
	return b.flush()
}

func (b *buffer) flush() error {
	if b.err == nil && len(b.text) > 0 {
		_, b.err = b.w.Write(b.text)
	}
	b.text = b.text[:0]
	return b.err
}

// header writes the lines of h without the buffer, so the buffer keeps its size.
func (b *buffer) header(h *format.Header) error {
	if err := b.flush(); err != nil {
		return err
	}
	if lines := h.Append(nil); len(lines) > 0 {
		_, b.err = b.w.Write(lines)
	}
	return b.err
}

func checkOp(e *format.Event) error {
	if !e.Valid() {
		return fmt.Errorf("write script: operation %d is not in the table", e.Op)
	}
	return nil
}

// Writer writes a script of the Recorded dialect, of any operations of the
// table: the log of a replay is a script too. It implements format.Writer.
// Notes of an event must not hold a newline, nor a brace outside quotes.
type Writer struct {
	out   buffer
	begun bool
	clock int64 // start of the event on the preceding line
}

// NewWriter returns a Writer to w. It buffers: call Flush at the end.
func NewWriter(w io.Writer) *Writer { return &Writer{out: newBuffer(w)} }

// WriteHeader writes the lines of h, of which there can be none. It may be
// called at any time and more than once.
func (w *Writer) WriteHeader(h *format.Header) error {
	w.begin()
	return w.out.header(h)
}

// Write implements format.Writer. The first error of the underlying writer is
// returned by this and all later calls.
func (w *Writer) Write(events []format.Event) error {
	w.begin()
	for i := range events {
		e := &events[i]
		if err := checkOp(e); err != nil {
			return err
		}
		w.out.text = AppendEvent(w.out.text, e, e.Start-w.clock)
		w.clock = e.Start
		if err := w.out.flushFull(); err != nil {
			return err
		}
	}
	return w.out.err
}

// Flush writes what is buffered.
func (w *Writer) Flush() error { return w.out.flush() }

// Buffered returns how many bytes are buffered.
func (w *Writer) Buffered() int { return len(w.out.text) }

// begin says first of all what follows.
func (w *Writer) begin() {
	if !w.begun {
		w.begun = true
		w.out.text = append(w.out.text, recordedLine...)
	}
}
