package plugin

import (
	"errors"
	"io"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/script"
)

const batchSize = 512

// atNote is the key of the note that says which event of the trace a line is:
// THREAD:EVENT, as in edges.
const atNote = "at"

// feed writes a trace to a program. In a trace that can have edges, it adds notes that
// identify the events. It also counts the events and keeps the edges, which may be read
// after the feed has ended.
type feed struct {
	in     format.Reader
	to     *process
	marked bool // events can have edges, because there are several threads or clients
	fed    []atomic.Int64
	waits  [][]format.Wait
	part   *Part   // that the program is given; nil for all
	count  []int64 // events of each thread so far
	whole  bool    // the program was given all
	times  times   // of what it was given
	err    error   // of the trace
	done   chan struct{}
}

func newFeed(in format.Reader, part *Part, to *process) *feed {
	f := &feed{in: in, part: part, to: to, done: make(chan struct{})}
	tool, _ := in.Header().Value(format.MetaTool)
	if n := max(len(in.Header().Threads), 1); n > 1 || part != nil || tool == "ebpf" { // which tells what a thread sent to clients
		f.marked = true
		f.count, f.fed, f.waits = make([]int64, n), make([]atomic.Int64, n), make([][]format.Wait, n)
		for i := range f.fed {
			if part != nil { // those that the program is not given can be there before
				f.fed[i].Store(part.Trace.Len(int32(i + 1)))
			}
		}
	}
	return f
}

// run is the body of a goroutine. It ends when the program stops reading.
func (f *feed) run() {
	defer close(f.done)
	defer f.to.closeInput()
	if f.err = f.all(); errors.Is(f.err, unix.EPIPE) {
		f.err = nil
	}
	if f.err != nil {
		f.to.kill()
	}
}

// Write implements io.Writer. A program may block the feed while it writes itself; its
// reader checks for progress.
func (f *feed) Write(b []byte) (int, error) { return len(b), f.to.write(b, 0) }

func (f *feed) all() error {
	w := script.NewIntermediateWriter(f, f.in.Header())
	batch := make([]format.Event, batchSize)
	notes := make([]format.Notes, batchSize)
	for {
		n, err := f.in.Read(batch)
		f.times.add(batch[:n])
		given := 0
		for i := range batch[:n] {
			if !f.marked || f.mark(&batch[i], &notes[given]) {
				batch[given] = batch[i]
				given++
			}
		}
		if werr := w.Write(batch[:given]); werr != nil {
			return werr
		}
		if errors.Is(err, io.EOF) {
			f.whole = true
			return w.Flush()
		}
		if err != nil {
			return err
		}
	}
}

// mark adds the note that identifies an event, and reports whether the program is given the
// event. It reuses the memory of the note.
func (f *feed) mark(e *format.Event, notes *format.Notes) bool {
	thread := e.TID - 1
	event := f.count[thread]
	if f.count[thread]++; f.part == nil {
		f.fed[thread].Store(event + 1)
	}
	for _, edge := range e.Edges {
		f.waits[thread] = append(f.waits[thread], format.Wait{Event: event, For: edge})
	}
	setAt(e, notes, event)
	return f.part == nil || f.part.Selected.Has(e.TID, event)
}

// setAt gives an event the note that says which event of its thread it is.
func setAt(e *format.Event, notes *format.Notes, event int64) {
	text := append(notes.Text[:0], atNote+"="...)
	text = strconv.AppendInt(text, int64(e.TID), 10)
	notes.Text = strconv.AppendInt(append(text, ':'), event, 10)
	e.Notes = notes
}
