package bin

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"pianola/format"
)

// Spool holds data that a Writer cannot write to the output yet, usually in a
// temporary file. It must be empty at first. The Writer does not close it.
type Spool interface {
	io.Writer
	io.ReaderAt
}

// heldWords bounds the rows that a Writer holds in memory, of all threads
// together, in words: 64 MiB. The others go to the spool.
const heldWords = 8 << 20

// Writer writes a compiled trace. It implements format.Writer.
//
// Events have their thread's number in TID; those of spans have in Compute the time from
// the end of the thread's previous event to the end of the span. Others have canonical operations, Compute and
// Off; Start and Notes are not kept. Events of one thread come in order. Any
// interleaving of threads gives the same output. Parts are compressed as they
// fill and go to the spool; Close puts them in order. A Writer holds the
// distinct strings, up to 64 MiB of rows, and about 40 bytes for every 8192
// events of a thread.
type Writer struct {
	// Limit is how many bytes of memory the distinct strings may take, 0 for no
	// limit. Beyond it, the error is ErrLimit.
	Limit int64

	// Internal state.
	out     io.Writer
	spool   Spool
	spooled int64 // bytes in the spool
	loader  loader
	encoder *encoder
	frame   frame
	packed  []byte
	rows    []uint64 // of a part that is read back from the spool

	threads map[int32]*thread
	last    *thread // of the event before
	held    int     // words that the rows of all streams have room for
	maxHeld int

	ids     map[string]int // by first use as events come in
	strings []string
	text    int64  // bytes that they take
	order   *order // while closing, if numbers change

	err error // sticky
}

// thread is what a Writer holds for each thread.
type thread struct {
	number  int32
	streams []stream // of the kinds from kindRecords
	events  int64
	replies int64 // of these
	spans   int64
	awaited int64 // last event that another thread waits for, -1 for none
}

func (t *thread) stream(k kind) *stream { return &t.streams[k-kindRecords] }

// stream is the rows of one kind of one thread.
type stream struct {
	parts []part   // finished
	chain part     // last chunk of the unfinished part in the spool, if any
	early int      // rows in these chunks
	rows  []uint64 // the rows after them
	used  bool     // some row differs from the default
}

var errClosed = errors.New("write to a closed trace")

// NewWriter returns a Writer of a trace to out. It writes nothing to out before
// Close.
func NewWriter(out io.Writer, spool Spool) *Writer {
	return &Writer{
		out: out, spool: spool,
		loader:  newLoader(spool, math.MaxInt64),
		encoder: newEncoder(),
		threads: make(map[int32]*thread),
		maxHeld: heldWords,
		ids:     make(map[string]int),
	}
}

// Write adds events. An error is final.
func (w *Writer) Write(events []format.Event) error {
	for i := range events {
		if w.err != nil {
			break
		}
		w.err = w.event(&events[i])
	}
	return w.err
}

func (w *Writer) event(e *format.Event) error {
	if e.TID < 1 {
		return fmt.Errorf("%d is not a thread number", e.TID)
	}
	t := w.thread(e.TID)
	if e.Span != nil {
		return w.span(t, e)
	}
	switch {
	case !e.Op.Valid():
		return fmt.Errorf("thread %d, event %d: unknown operation %d", e.TID, t.events, e.Op)
	case e.List != nil && !stores(e.List):
		return fmt.Errorf("thread %d, event %d: a list of %d numbers can't be stored", e.TID, t.events, len(e.List.Items))
	case e.Dur < format.Unknown:
		return fmt.Errorf("thread %d, event %d: duration %d ns", e.TID, t.events, e.Dur)
	}
	for _, edge := range e.Edges {
		if !edge.Valid(e.TID, t.events) {
			return fmt.Errorf("thread %d, event %d: waits for event %d of thread %d", e.TID, t.events, edge.Event, edge.Thread)
		}
		if edge.Thread == 0 {
			continue
		}
		other := w.thread(edge.Thread)
		other.awaited = max(other.awaited, edge.Event)
	}
	for i := range t.streams {
		l := &kinds[int(kindRecords)+i]
		if l.encode == nil || l.some != nil && !l.some(e) {
			continue // of the whole trace, of spans, or of other events
		}
		rows := t.streams[i].rows
		more := l.encode(w, e, t.events, rows)
		if len(more) == len(rows) {
			continue // most kinds hold few events
		}
		if err := w.add(t, kindRecords+kind(i), more); err != nil {
			return err
		}
	}
	if e.Op == format.OpClientReply {
		t.replies++
	}
	t.events++
	return w.checkText(t)
}

// add replaces the rows of a stream by rows, which begin with them.
func (w *Writer) add(t *thread, k kind, rows []uint64) error {
	s, l := t.stream(k), &kinds[k]
	n, room := len(s.rows), cap(s.rows)
	if s.rows = rows; len(rows) == n {
		return nil
	}
	w.held += cap(s.rows) - room
	s.used = s.used || l.tells(s.rows[n:])
	if len(s.rows) >= s.room(l) || w.held > w.maxHeld {
		return w.relieve(t, k)
	}
	return nil
}

// checkText holds the string table to the limit.
func (w *Writer) checkText(t *thread) error {
	if w.Limit > 0 && w.text > w.Limit {
		return fmt.Errorf("thread %d, event %d: the string table %w of %d bytes", t.number, t.events-1, ErrLimit, w.Limit)
	}
	return nil
}

func (w *Writer) thread(number int32) *thread {
	if w.last != nil && w.last.number == number {
		return w.last
	}
	t := w.threads[number]
	if t == nil {
		t = &thread{number: number, streams: make([]stream, len(kinds)-int(kindRecords)), awaited: -1}
		w.threads[number] = t
	}
	w.last = t
	return t
}

// stringBytes is the memory of a distinct string besides its text: in the map,
// and in the table, which can double while it grows.
const stringBytes = 96

// id returns the number of a string, -1 for none.
func (w *Writer) id(s []byte) int64 {
	if s == nil {
		return -1
	}
	id, ok := w.ids[string(s)]
	if !ok {
		id = len(w.strings)
		w.strings = append(w.strings, string(s))
		w.ids[w.strings[id]] = id
		w.text += stringBytes + int64(len(s))
	}
	return int64(id)
}

// tells reports whether some word of rows differs from the default.
func (l *layout) tells(rows []uint64) bool {
	return l.required || slices.ContainsFunc(rows, func(v uint64) bool { return v != l.absent })
}

// relieve finishes the full parts of a kind, and spills rows beyond the memory
// limit.
func (w *Writer) relieve(t *thread, k kind) error {
	for s := t.stream(k); len(s.rows) >= s.room(&kinds[k]); {
		if err := w.finish(t, k); err != nil {
			return err
		}
	}
	if w.held > w.maxHeld {
		return w.spill()
	}
	return nil
}

// room returns how many words a full part of a stream has.
func (s *stream) room(l *layout) int { return (rowsPerPart - s.early) * l.width }
