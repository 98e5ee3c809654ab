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
	whole  bool  // the program was given all
	times  times // of what it was given
	err    error // of the trace
	done   chan struct{}
}

func newFeed(in format.Reader, to *process) *feed {
	f := &feed{in: in, to: to, done: make(chan struct{})}
	tool, _ := in.Header().Value(format.MetaTool)
	if n := max(len(in.Header().Threads), 1); n > 1 || tool == "ebpf" { // which tells what a thread sent to clients
		f.marked = true
		f.fed, f.waits = make([]atomic.Int64, n), make([][]format.Wait, n)
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
		for i := range batch[:n] {
			if f.marked {
				f.mark(&batch[i], &notes[i])
			}
		}
		if werr := w.Write(batch[:n]); werr != nil {
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

// mark adds the note that identifies an event. It reuses the memory of the note.
func (f *feed) mark(e *format.Event, notes *format.Notes) {
	thread := e.TID - 1
	event := f.fed[thread].Add(1) - 1
	for _, edge := range e.Edges {
		f.waits[thread] = append(f.waits[thread], format.Wait{Event: event, For: edge})
	}
	text := append(notes.Text[:0], atNote+"="...)
	text = strconv.AppendInt(text, int64(e.TID), 10)
	notes.Text = strconv.AppendInt(append(text, ':'), event, 10)
	e.Notes = notes
}
